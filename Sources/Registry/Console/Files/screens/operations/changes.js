// Who changed what: in the app, and for the admin key also what belongs to no app.

import {appPath} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {hasText, list, parts, t} from '../../core/text.js';
import {exactly, section} from '../../parts/facts.js';
import {loaded, pages} from '../../parts/pages.js';
import {table, tableRows} from '../../parts/table.js';

export function changesPage(screen) {
  const place = (title, path) => section(title, loaded(screen, path, (first) => changes(screen, title, path, first)));
  return h(
    'div', {},
    session.app && place(t('ops.page.changes'), appPath(session.app, 'audit')),
    session.choosesApp && place(t('changes.ofNoApp'), '/v1/audit'));
}

function changes(screen, caption, path, first) {
  if (first.entries.length === 0) return emptyPanel(t('changes.empty'));
  const columns = [
    {title: t('changes.when'), cell: ({at}) => exactly(at)},
    {title: t('changes.who'), cell: who},
    {title: t('views.what'), cell: ({action}) => (
      hasText(`changes.did.${action}`) ? t(`changes.did.${action}`) : h('code', {}, foreign(action)))},
    {title: t('changes.target'), cell: ({target}) => h('code', {}, foreign(target))},
    {title: t('changes.members'), cell: ({members}) => list(members.map(memberName))},
  ];
  const rows = table({caption, captionHidden: true, rows: [], columns});
  const [, more] = pages(
    screen, path, first, ({entries}) => tableRows(columns, entries), rows.querySelector('tbody'));
  return [rows, more];
}

/** `admin`, `<role>:<key id>` with the key's name, or `cli:<user of the system>`. */
function who({actor, actorName}) {
  if (actor === 'admin') return t('changes.adminKey');
  if (actor.startsWith('cli:')) return parts('changes.command', {user: foreign(actor.slice(4))});
  return [actorName && [h('b', {}, foreign(actorName)), ' '], h('code', {class: 'hint'}, foreign(actor))];
}

/** A member of the policy; the API's own name if there is no other. */
function memberName(name) {
  const key = [`ops.member.${name}`, `ops.${name}`].find(hasText);
  return key ? t(key) : name;
}
