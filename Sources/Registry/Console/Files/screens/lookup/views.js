// What the screen Look-up shows of an installation, a user and a token. Each view is a list of nodes.
// `screen.look(kind, text)` looks up what a link names.

import {appPath, now} from '../../core/client.js';
import {foreign, h, svg} from '../../core/dom.js';
import {emptyPanel, roleName} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {hasText, list, parts, relative, t} from '../../core/text.js';
import {valueLabel} from '../../filter/labels.js';
import {exactly, facts, fieldName, fieldOf, section, tag, when} from '../../parts/facts.js';
import {button} from '../../parts/form.js';
import {loaded, pages} from '../../parts/pages.js';
import {table, tableRows} from '../../parts/table.js';
import {bands, checklist, differences, textOf} from './rules.js';

/** @param record null if the installation was deleted and only its `history` is left */
export function installationView(screen, installId, record, history) {
  const path = (...parts) => appPath(session.app, 'installations', installId, ...parts);
  const events = (page) => timeline(screen, path('history'), page);
  const past = section(t('lookup.history'), history ? events(history) : loaded(screen, path('history'), events));
  const heading = title(t('views.installation'), installId);
  if (!record) return [heading, h('p', {class: 'note'}, t('lookup.deleted')), past];
  const link = (kind, id) => button(foreign(id), () => screen.look(kind, id), 'link');
  return [
    h('div', {class: 'row found'}, heading, reachability(record)), reasons(record),
    section(t('lookup.about'), facts([
      [t('lookup.kind.user'), record.userId === null ? t('lookup.anonymous') : link('user', record.userId)],
      [t('lookup.session'), record.sessionId && h('code', {}, foreign(record.sessionId))],
      [t('lookup.sessionEnd'), record.sessionExpiresAt && when(record.sessionExpiresAt)],
      [fieldName('provider'), valueLabel('provider', record.provider)],
      [t('lookup.group.device'), deviceName(record)],
      [t('lookup.replacedBy'), record.probablyReplacedBy && link('installation', record.probablyReplacedBy)],
      [fieldName('lastSeenAt'), [when(record.lastSeenAt), ` (${relative(record.lastSeenAt)})`]],
      [fieldName('createdAt'), when(record.createdAt)],
      [t('lookup.generation'), String(record.generation)],
    ])),
    section(t('nav.topics'), loaded(screen, path('topics'), choices)),
    section(t('lookup.changes'), loaded(screen, path('snapshots'), changes)),
    past,
    ...['settings', 'device'].map((name) => h(
      'details', {class: 'card'}, h('summary', {}, t(`lookup.group.${name}`)),
      facts(Object.entries(record[name]).map(
        ([name, value]) => [fieldName(name), valueNode(name, textOf(value), null)])))),
  ];
}

/** @param page the first page of the user's installations, which is not empty */
export function userView(screen, userId, page) {
  const columns = [
    {title: t('views.installation'), cell: ({installId}) => button(
      foreign(installId), () => screen.look('installation', installId), 'link')},
    {title: t('lookup.state'), cell: reachability},
    {title: t('lookup.group.device'), cell: deviceName},
    {title: fieldName('provider'), cell: ({provider}) => valueLabel('provider', provider)},
    {title: fieldName('lastSeenAt'), cell: ({lastSeenAt}) => when(lastSeenAt)},
  ];
  const list = table({caption: t('views.installations'), captionHidden: true, rows: [], columns});
  const [, more] = pages(
    screen, appPath(session.app, 'users', userId, 'installations'), page,
    ({installations}) => tableRows(columns, installations), list.querySelector('tbody'));
  return [
    title(t('lookup.kind.user'), userId),
    page.next === null && h('p', {}, t('lookup.userCount', {n: page.installations.length})), list, more,
    section(t('nav.topics'), loaded(screen, appPath(session.app, 'users', userId, 'topics'), choices)),
  ];
}

/**
 * A token: who had it, and when and why it moved. The token itself is never shown, only its digest.
 *
 * @param digest null where the browser cannot compute it: the oldest event names the token too
 */
export function tokenView(screen, {provider, events, next}, digest) {
  const named = digest ?? events.at(-1).tokenSha256;
  const held = bands(events, named);
  const [start, end] = [Date.parse(held[0]?.from ?? events.at(-1).at), now()];
  return [
    h('h2', {tabindex: '-1'}, t('lookup.kind.token')),
    h('p', {}, valueLabel('provider', provider), ' · SHA-256 ', h('code', {}, named)),
    h('p', {}, t(held.at(-1)?.to === null ? 'lookup.heldNow' : 'lookup.heldByNobody'), ' ',
      next && t('lookup.partial')),
    table({caption: t('lookup.owners'), rows: held.reverse(), columns: [
      {title: t('lookup.owner'), cell: (band) => person(band.userId)},
      {title: t('lookup.time'), cell: (band) => [strip(band, start, end), h(
        'span', {class: 'hint'}, exactly(band.from), ' – ', band.to ? exactly(band.to) : t('views.now'))]},
      {title: t('views.installation'), cell: ({installId}) => button(
        foreign(installId), () => screen.look('installation', installId), 'link')},
      {title: t('lookup.state'), cell: (band) => t(`lookup.state.${band.state}`)},
      {title: t('lookup.reason'), cell: ({because, end}) => [
        h('p', {}, sentence(because)), end && h('p', {}, t('lookup.ended'), ' ', sentence(end))]},
    ]}),
  ];
}

/** Where on the way from the token's first event to now the band lies. */
function strip({from, to, state}, start, end) {
  const place = (time) => (Date.parse(time) - start) / Math.max(1, end - start);
  const width = Math.max(0.01, (to ? place(to) : 1) - place(from));
  const share = (value) => `${(value * 100).toFixed(2)}%`;
  return svg(
    'svg', {class: state === 'active' ? 'band' : 'band idle', 'aria-hidden': 'true'},
    svg('rect', {class: 'bar-track', width: '100%', height: '100%'}),
    svg('rect', {class: 'bar-fill', x: share(Math.min(place(from), 1 - width)), width: share(width), height: '100%'}));
}

// MARK: Parts

function title(kind, id) {
  return h('h2', {tabindex: '-1'}, kind, ' ', h('code', {}, foreign(id)));
}

function deviceName({device}) {
  return foreign([device.deviceModel, device.systemName, device.systemVersion].join(' · '));
}

function reachability({reachable}) {
  return reachable ? tag('good', t('lookup.reachable')) : tag('bad', t('lookup.notReachable'));
}

function reasons(record) {
  const unmet = (code) => (hasText(`lookup.unmet.${code}`) ? [
    h('b', {}, t(`lookup.unmet.${code}`)), h('p', {class: 'hint'}, t(`lookup.remedy.${code}`)),
  ] : h('code', {}, code));
  const conditions = checklist(record);
  return conditions && section(t('lookup.why'), h('ul', {class: 'checklist'}, conditions.map(({condition, code}) => h(
    'li', {class: code ? 'bad' : 'good'}, h('span', {class: 'mark', 'aria-hidden': 'true'}, code ? '✗' : '✓'),
    h('div', {}, code ? unmet(code) : t(`lookup.met.${condition}`))))));
}

function choices({topics}) {
  if (topics.length === 0) return h('p', {class: 'hint'}, t('lookup.noTopics'));
  return table({caption: t('nav.topics'), captionHidden: true, rows: topics, columns: [
    {title: t('views.name'), cell: (topic) => foreign(topic.name)},
    {title: t('lookup.subscribed'), cell: (topic) => t(`value.${topic.subscribed}`)},
    {title: t('lookup.decidedBy'), cell: (topic) => t(`lookup.from.${topic.locked ? 'locked' : topic.from}`)},
  ]});
}

function changes({snapshots}) {
  const changed = differences(snapshots).filter((difference) => difference.changes.length > 0);
  if (changed.length === 0) return h('p', {class: 'hint'}, t('lookup.noChanges'));
  return h('ol', {class: 'events'}, changed.map(({at, changes}) => h(
    'li', {}, h('p', {class: 'hint'}, when(at)), changes.map(({name, before, after}) => h(
      'p', {}, h('b', {}, fieldName(name)), ': ', valueNode(name, before), ' → ', valueNode(name, after))))));
}

function valueNode(name, text, none = h('i', {}, t('views.none'))) {
  return text === null ? none : valueLabel(fieldOf(name), text);
}

// MARK: History

function timeline(screen, path, first) {
  if (first.events.length === 0) return emptyPanel(t('lookup.noEvents'));
  return pages(
    screen, path, first, ({events}) => events.map((event) => h(
      'li', {class: event.event}, h('p', {class: 'hint'}, exactly(event.at)), h('p', {}, sentence(event)),
      h('p', {class: 'hint'}, actor(event.actor), generation(event)))),
    h('ol', {class: 'events'}));
}

/** One plain sentence. The service may record kinds and reasons that are younger than this page. */
function sentence({event, reason, userId, previousUserId, topics = []}) {
  const key = event === 'tokenMoved' ? 'event.tokenMoved' : `event.${event}.${reason}`;
  const kind = h('code', {}, foreign(reason));
  return hasText(key)
    ? parts(key, {user: person(userId), previous: person(previousUserId), topics: list(topics), kind})
    : h('code', {}, foreign(`${event}, ${reason}`));
}

function person(user) {
  return user === null ? t('lookup.anonymous') : h('b', {}, foreign(user));
}

/** Who made a change: `admin`, `<role>:<key id>` or `job:<name>`. */
function actor(text) {
  if (hasText(`lookup.actor.${text}`)) return t(`lookup.actor.${text}`);
  const [role, id] = text.split(':');
  return hasText(`role.${role}`) ? parts('lookup.actor', {role: roleName(role), id: foreign(id)}) : foreign(text);
}

function generation({generationBefore: before, generationAfter: after}) {
  return after !== null && before !== after && ` · ${t('lookup.generation')} ${after}`;
}
