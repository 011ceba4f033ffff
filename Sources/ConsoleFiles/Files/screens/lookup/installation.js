// An installation: why it is or is not reachable, what it is, and what happened to it.

import {appPath, call} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {table} from '../../parts/table.js';
import {hasText, parts, relative, t} from '../../core/text.js';
import {tag, facts, section, when} from '../../parts/facts.js';
import {fieldName} from '../../parts/names.js';
import {valueLabel} from '../../filter/labels.js';
import {checklist} from './checklist.js';
import {person, timeline} from './history.js';
import {differences, text} from './snapshots.js';

/**
 * @param screen loads the parts; `screen.look(kind, text)` looks something else up
 * @param installId of the installation
 * @param record null if the installation was deleted and only its history is left
 * @param history the first page
 */
export function installationView(screen, installId, record, history) {
  const path = (...parts) => appPath(session.app, 'installations', installId, ...parts);
  const title = h('h2', {tabindex: '-1'}, t('lookup.installation'), ' ', h('code', {}, foreign(installId)));
  const past = section(t('lookup.history'), history
    ? timeline(path('history'), history, screen.signal)
    : loaded(screen, path('history'), (page) => timeline(path('history'), page, screen.signal)));
  if (!record) return [title, h('p', {class: 'panel'}, t('lookup.deleted')), past];
  return [
    h('div', {class: 'found'}, title, reachability(record)),
    reasons(record),
    section(t('lookup.about'), facts(identity(screen, record))),
    section(t('lookup.topics'), loaded(screen, path('topics'), choices)),
    section(t('lookup.changes'), loaded(screen, path('snapshots'), changes)),
    past,
    h('details', {class: 'card'}, h('summary', {}, t('lookup.settings')), facts(values(record.settings))),
    h('details', {class: 'card'}, h('summary', {}, t('lookup.device')), facts(values(record.device))),
  ];
}

/** A place that loads a resource by itself. */
export function loaded(screen, path, render) {
  const place = h('div');
  screen.load(place, async (signal) => (await call('GET', path, {signal})).data, render);
  return place;
}

export function reachability(record) {
  return record.reachable ? tag('good', t('lookup.reachable')) : tag('bad', t('lookup.notReachable'));
}

function reasons(record) {
  const conditions = checklist(record);
  if (!conditions) return null;
  return section(t('lookup.why'), h('ul', {class: 'checklist'}, conditions.map(({condition, isMet, code}) => h(
    'li', {class: isMet ? 'good' : 'bad'},
    h('span', {class: 'mark', 'aria-hidden': 'true'}, isMet ? '✓' : '✗'),
    h('div', {}, isMet ? h('p', {}, t(`lookup.met.${condition}`)) : unmet(code))))));
}

function unmet(code) {
  if (!hasText(`lookup.unmet.${code}`)) return h('p', {}, h('code', {}, code));
  return [h('p', {}, h('b', {}, t(`lookup.unmet.${code}`))), h('p', {class: 'hint'}, t(`lookup.remedy.${code}`))];
}

function identity(screen, record) {
  const link = (kind, id) => h(
    'button', {type: 'button', class: 'link', onclick: () => screen.look(kind, id)}, foreign(id));
  return [
    [t('lookup.user'), record.userId === null ? t('lookup.anonymous') : link('user', record.userId)],
    [t('lookup.session'), record.sessionId && h('code', {}, foreign(record.sessionId))],
    [t('lookup.sessionEnd'), record.sessionExpiresAt && when(record.sessionExpiresAt)],
    [t('lookup.provider'), valueLabel('provider', record.provider)],
    [t('lookup.model'), foreign([record.device.deviceModel, record.device.systemName, record.device.systemVersion]
      .join(' · '))],
    [t('lookup.replacedBy'), record.probablyReplacedBy && link('installation', record.probablyReplacedBy)],
    [t('lookup.lastSeen'), [when(record.lastSeenAt), ` (${relative(record.lastSeenAt)})`]],
    [t('lookup.registered'), when(record.registeredAt)],
    [t('lookup.created'), when(record.createdAt)],
    [t('lookup.generation'), String(record.generation)],
  ];
}

function choices({topics}) {
  if (topics.length === 0) return emptyPanel(t('lookup.noTopics'));
  return table({caption: t('lookup.topics'), captionHidden: true, rows: topics, columns: [
    {title: t('lookup.topic'), cell: (topic) => foreign(topic.name)},
    {title: t('lookup.subscribed'), cell: (topic) => t(topic.subscribed ? 'lookup.yes' : 'lookup.no')},
    {title: t('lookup.decidedBy'), cell: (topic) => t(topic.locked ? 'lookup.from.locked' : `lookup.from.${topic.from}`)},
  ]});
}
export {choices as topicChoices};

function changes({snapshots}) {
  const changed = differences(snapshots).filter((difference) => difference.changes.length > 0);
  if (changed.length === 0) return h('p', {class: 'hint'}, t('lookup.noChanges'));
  return h('ol', {class: 'events'}, changed.map(({at, changes}) => h(
    'li', {},
    h('p', {class: 'hint'}, when(at)),
    h('ul', {class: 'changes'}, changes.map((change) => h('li', {}, parts('lookup.change', {
      name: h('b', {}, fieldName(change.name)), before: value(change.before), after: value(change.after),
    })))))));
}

function values(object) {
  return Object.entries(object).filter(([, value]) => text(value) !== null)
    .map(([name, content]) => [fieldName(name), value(text(content))]);
}

function value(text) {
  return text === null ? h('i', {}, t('lookup.noValue')) : foreign(text);
}
