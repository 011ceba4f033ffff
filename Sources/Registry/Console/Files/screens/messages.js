// Messages: the list, or one of them with what came of it, as a whole, by group and over time.

import {appPath, call} from '../core/client.js';
import {foreign, h, svg} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {href} from '../core/router.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {dateTime, number, percent, relative, t} from '../core/text.js';
import {valueLabel} from '../filter/labels.js';
import {bars} from '../parts/bars.js';
import {asOf, facts, fieldName, section, tag, when} from '../parts/facts.js';
import {choice} from '../parts/form.js';
import {loaded, pages} from '../parts/pages.js';
import {csvButton, table} from '../parts/table.js';

const path = (...parts) => appPath(session.app, 'messages', ...parts);
const countName = (count) => t(`messages.count.${count}`);

class MessagesScreen extends Screen {
  start() {
    const [name] = this.parts;
    this.append(
      this.heading(t('nav.messages'), t('messages.lead')),
      ...(name ? [
        h('p', {}, h('a', {href: href('messages')}, `← ${t('messages.all')}`)),
        loaded(this, path(name), (data) => message(this, data)),
      ] : [loaded(this, path(), (first) => list(this, first))]));
  }
}

function list(screen, first) {
  if (first.messages.length === 0) return emptyPanel(t('messages.empty'), t('messages.emptyText'));
  return pages(
    screen, path(), first, ({messages}) => messages.map((message) => h(
      'li', {class: 'card'},
      h('a', {href: href('messages', message.message)}, foreign(message.title ?? message.message)), ' ',
      message.title && h('code', {class: 'hint'}, foreign(message.message)),
      h('p', {class: 'hint'}, t('views.created'), ' ', when(message.createdAt), ' · ', t('messages.expires'), ' ',
        when(message.expiresAt), ' ', labels(message)))),
    h('ul', {class: 'plain'}));
}

function labels(message) {
  return Object.entries(message.labels).map(([name, value]) => [tag('', [foreign(name), ': ', foreign(value)]), ' ']);
}

function message(screen, message) {
  const about = facts([
    [t('views.name'), h('code', {}, foreign(message.message))],
    [t('messages.title'), message.title && foreign(message.title)],
    [t('views.created'), when(message.createdAt)],
    [t('messages.expires'), [when(message.expiresAt), ` (${relative(message.expiresAt)})`]],
    [t('messages.labels'), Object.keys(message.labels).length > 0 ? labels(message) : null],
  ]);
  return message.targeted === 0 ? [about, emptyPanel(t('messages.notSent'), t('messages.notSentText'))]
    : [about, whole(message), groups(screen, message), overTime(screen, message)];
}

function whole(message) {
  return section(
    t('messages.funnel'),
    bars(funnel(message).map(({step, count}) => ({label: countName(step), count})),
      {total: message.targeted, label: t('messages.funnel')}),
    h('p', {class: 'row spaced'}, ends.map((end) => h(
      'span', {}, `${countName(end)}: `, h('b', {}, number(message[end])))), asOf(message.asOf)),
    h('p', {class: 'hint'}, t('messages.lowerBound')));
}

function groups(screen, message) {
  const place = h('div');
  const breakdown = path(message.message, 'breakdown');
  const show = (by) => screen.load(
    place, async (signal) => (await call('POST', breakdown, {body: {by: [by], limit: 50}, signal})).data,
    (response) => groupTable(by, response, message.message));
  show('provider');
  const fields = ['provider', 'locale', 'osVersion', 'timeZone', 'authorizationStatus'];
  const by = choice(fields.map((name) => [name, fieldName(name)]), 'provider', show);
  return section(
    t('messages.groups'), h('p', {class: 'row'}, h('label', {class: 'nowrap'}, t('breakdown.by0'), by)), place);
}

function groupTable(by, response, name) {
  const {rest} = response;
  const rows = response.groups.map((group) => ({...group, label: valueLabel(by, group[by])}));
  if (rest.groups > 0) rows.push({...rest, label: t('messages.rest', {n: rest.groups})});
  const rate = (title, part, whole) => ({
    title: t(title), numeric: true, cell: (row) => (row[whole] > 0 ? percent(share(row[part], row[whole])) : '–'),
  });
  return [
    table({caption: t('messages.groups'), captionHidden: true, rows, columns: [
      {title: fieldName(by), cell: (row) => row.label},
      {title: t('messages.picture'), cell: smallFunnel},
      ...steps.map(countColumn),
      rate('messages.deliveryRate', 'delivered', 'targeted'), rate('messages.openRate', 'opened', 'delivered'),
      ...ends.map(countColumn),
    ]}),
    h('p', {class: 'actions spaced'}, csvButton(`${name}-${by}`, [by, ...steps, ...ends], () => rows.map(
      (row) => [row[by] ?? '', ...[...steps, ...ends].map((step) => row[step])])), asOf(response.asOf)),
  ];
}

const countColumn = (step) => ({title: countName(step), numeric: true, cell: (row) => number(row[step])});

/** A step's width is its share of what was targeted. */
function smallFunnel(row) {
  return svg('svg', {class: 'mini-funnel', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    funnel(row).map(({ofTargeted}, index, all) => svg('rect', {
      class: index === 0 ? 'bar-track' : 'bar-fill', y: index * 24 / all.length, width: (ofTargeted ?? 0) * 100,
      height: 24 / all.length - 1,
    })));
}

function overTime(screen, message) {
  const timeline = `${path(message.message, 'timeline')}?interval=${intervalOf(message)}`;
  const columns = ['delivered', 'opened', 'dismissed'];
  return section(t('messages.overTime'), loaded(screen, timeline, (response) => {
    const {buckets} = response;
    const isEmpty = buckets.every((bucket) => columns.every((name) => bucket[name] === 0));
    return isEmpty ? emptyPanel(t('messages.noReceipts')) : [
      h('p', {class: 'row'}, h('span', {class: 'key soft'}), countName('delivered'), h('span', {class: 'key'}),
        countName('opened'), asOf(response.asOf)),
      picture(buckets),
      h('details', {class: 'spaced'}, h('summary', {}, t('audience.numbers')),
        table({caption: t('messages.overTime'), captionHidden: true, rows: buckets, columns: [
          {title: t('messages.from'), cell: (bucket) => dateTime(bucket.at)}, ...columns.map(countColumn),
        ]}),
        h('p', {class: 'actions spaced'}, csvButton(`${message.message}-timeline`, ['at', ...columns], () =>
          buckets.map((bucket) => [bucket.at, ...columns.map((column) => bucket[column])])))),
    ];
  }));
}

const width = 960, height = 180, foot = 24, head = 16;

/** A bar for each bucket: deliveries behind, opened pushes before them. */
function picture(buckets) {
  const label = t('messages.overTime');
  const largest = Math.max(1, ...buckets.map((bucket) => bucket.delivered));
  const [step, base] = [width / buckets.length, height - foot];
  const bar = (kind, index, count) => {
    const size = (count / largest) * (base - head);
    const x = (index + 0.1) * step;
    return svg('rect', {class: kind, x, y: base - size, width: Math.min(step * 0.8, 48), height: size});
  };
  const time = (x, anchor, bucket) => svg(
    'text', {class: 'chart-text', x, y: height - 6, 'text-anchor': anchor}, dateTime(bucket.at));
  return h('div', {class: 'chart-frame', tabindex: '0', role: 'region', 'aria-label': label}, svg(
    'svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
    svg('line', {class: 'chart-grid', x1: 0, x2: width, y1: base, y2: base}),
    svg('text', {class: 'chart-text', x: 0, y: 12}, number(largest)),
    buckets.map((bucket, index) => svg(
      'g', {}, bar('bar-fill soft', index, bucket.delivered), bar('bar-fill', index, bucket.opened),
      svg('title', {}, `${dateTime(bucket.at)}: ${number(bucket.delivered)} / ${number(bucket.opened)}`))),
    time(0, 'start', buckets[0]), buckets.length > 1 && time(width, 'end', buckets.at(-1))));
}

// MARK: Figures

/** In the order of the way from the rows that were handed out to the pushes that were opened. */
const steps = ['targeted', 'accepted', 'delivered', 'opened'];
/** What ends the way. */
const ends = ['failed', 'dismissed'];

/**
 * @returns `[{step, count, ofTargeted}]`: a share is 0 to 1, or null of nothing. A sender that does not report what the
 *   provider accepted has no such step.
 */
export function funnel(counts) {
  return steps.filter((step) => step !== 'accepted' || counts.accepted > 0)
    .map((step) => ({step, count: counts[step], ofTargeted: share(counts[step], counts.targeted)}));
}

/** At most 1: a message that is not recorded may be handed out to one installation twice. */
function share(part, whole) {
  return whole > 0 ? Math.min(1, part / whole) : null;
}

const minutes = {PT1M: 1, PT5M: 5, PT15M: 15, PT1H: 60, PT3H: 180, PT6H: 360, P1D: 1_440};

/** The shortest interval of a time line that has at most 120 buckets; days beyond. All times are the service's. */
export function intervalOf({createdAt, expiresAt, asOf}) {
  const span = (Math.min(Date.parse(asOf), Date.parse(expiresAt)) - Date.parse(createdAt)) / 60_000;
  return Object.keys(minutes).find((interval) => span / minutes[interval] <= 120) ?? 'P1D';
}

customElements.define('messages-screen', MessagesScreen);
