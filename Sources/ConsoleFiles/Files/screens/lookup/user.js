// A user: the installations that are bound to the user, and the user's choices about topics.

import {appPath} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {session} from '../../core/session.js';
import {table} from '../../parts/table.js';
import {t} from '../../core/text.js';
import {section, when} from '../../parts/facts.js';
import {valueLabel} from '../../filter/labels.js';
import {loaded, reachability, topicChoices} from './installation.js';

/** @param page the first page of the user's installations, which is not empty */
export function userView(screen, userId, page) {
  return [
    h('h2', {tabindex: '-1'}, t('lookup.user'), ' ', h('code', {}, foreign(userId))),
    h('p', {}, t('lookup.userCount', {n: page.installations.length}), page.next ? ` ${t('lookup.userMore')}` : null),
    table({caption: t('lookup.installations'), captionHidden: true, rows: page.installations, columns: [
      {title: t('lookup.installation'), cell: ({installId}) => h(
        'button', {type: 'button', class: 'link', onclick: () => screen.look('installation', installId)},
        foreign(installId))},
      {title: t('lookup.reachability'), cell: reachability},
      {title: t('lookup.model'), cell: ({device}) => foreign(`${device.deviceModel} · ${device.systemVersion}`)},
      {title: t('lookup.provider'), cell: ({provider}) => valueLabel('provider', provider)},
      {title: t('lookup.lastSeen'), cell: ({lastSeenAt}) => when(lastSeenAt)},
    ]}),
    section(t('lookup.topics'), loaded(screen, appPath(session.app, 'users', userId, 'topics'), topicChoices)),
  ];
}
