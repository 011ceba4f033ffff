// One message: its funnel, the same by platform or another field, and over time.

import {appPath, call} from '../../core/client.js';
import {bars} from '../../parts/bars.js';
import {foreign, h, svg} from '../../core/dom.js';
import {emptyPanel} from '../../core/panels.js';
import {href} from '../../core/router.js';
import {session} from '../../core/session.js';
import {csv, download, table} from '../../parts/table.js';
import {dateTime, number, percent, relative, t} from '../../core/text.js';
import {choice, exactly, facts, section, tag, when} from '../../parts/facts.js';
import {fieldName} from '../../parts/names.js';
import {valueLabel} from '../../filter/labels.js';
import {ends, funnel, intervalOf, share, steps} from './funnel.js';
import {messageTimeline} from './timeline.js';

const dimensions = ['provider', 'locale', 'osVersion', 'timeZone', 'authorizationStatus'];

export function messageView(screen, name) {
  const place = h('div');
  screen.load(place, async (signal) => (await call('GET', appPath(session.app, 'messages', name), {signal})).data,
    (message) => [about(message), message.targeted === 0
      ? emptyPanel(t('messages.notSent'), t('messages.notSentText'))
      : [whole(message), groups(screen, message), overTime(screen, message)]]);
  return [h('p', {}, h('a', {href: href('messages')}, `← ${t('messages.all')}`)), place];
}

function about(message) {
  const labels = Object.entries(message.labels);
  return facts([
    [t('messages.name'), h('code', {}, foreign(message.message))],
    [t('messages.title'), message.title && foreign(message.title)],
    [t('messages.created'), when(message.createdAt)],
    [t('messages.expires'), [when(message.expiresAt), ` (${relative(message.expiresAt)})`]],
    [t('messages.labels'), labels.length > 0
      ? labels.map(([name, value]) => [tag('', [foreign(name), ': ', foreign(value)]), ' ']) : null],
    [t('messages.record'), message.record ? t('messages.recorded') : null],
  ]);
}

function whole(message) {
  return section(
    t('messages.funnel'),
    bars(funnel(message).map(({step, count}) => ({label: t(`messages.count.${step}`), count})),
      {total: message.targeted, label: t('messages.funnel')}),
    h('p', {class: 'row ends'}, ends.map((name) => h(
      'span', {}, `${t(`messages.count.${name}`)}: `, h('b', {}, number(message[name])))),
    h('span', {class: 'hint'}, t('messages.asOf'), ' ', exactly(message.asOf))),
    h('p', {class: 'hint'}, t('messages.lowerBound')));
}

function groups(screen, message) {
  const place = h('div');
  const show = (by) => screen.load(
    place, async (signal) => (await call('POST', appPath(session.app, 'messages', message.message, 'breakdown'), {
      body: {by: [by], limit: 50}, signal,
    })).data,
    (answer) => groupTable(by, answer, message.message));
  show('provider');
  const by = choice(dimensions.map((name) => [name, fieldName(name)]), 'provider', show);
  return section(t('messages.groups'), h('p', {class: 'row'}, h('label', {class: 'nowrap'}, t('messages.by'), by)), place);
}

function groupTable(by, {asOf, groups, rest}, name) {
  const rows = groups.map((group) => ({...group, label: valueLabel(by, group[by])}));
  if (rest.groups > 0) rows.push({...rest, label: t('messages.rest', {n: rest.groups})});
  const rate = (row, step) => percentOrNone(share(row[step], row.targeted));
  const file = () => csv([by, ...steps, ...ends], rows.map((row) => [
    row[by] ?? '', ...[...steps, ...ends].map((step) => row[step]),
  ]));
  return [
    table({caption: t('messages.groups'), captionHidden: true, rows, columns: [
      {title: fieldName(by), cell: (row) => row.label},
      {title: t('messages.picture'), cell: picture},
      ...steps.map((step) => ({title: t(`messages.count.${step}`), numeric: true, cell: (row) => number(row[step])})),
      {title: t('messages.deliveryRate'), numeric: true, cell: (row) => rate(row, 'delivered')},
      {title: t('messages.openRate'), numeric: true, cell: (row) => percentOrNone(share(row.opened, row.delivered))},
      ...ends.map((end) => ({title: t(`messages.count.${end}`), numeric: true, cell: (row) => number(row[end])})),
    ]}),
    h('p', {class: 'actions spaced'}, h('button', {
      type: 'button', onclick: () => download(`${name}-${by}.csv`, 'text/csv', file()),
    }, t('messages.csv')), h('span', {class: 'hint'}, t('messages.asOf'), ' ', exactly(asOf))),
  ];
}

/** A step's width is its share of what was targeted. */
function picture(row) {
  return svg('svg', {class: 'mini-funnel', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    funnel(row).map(({ofTargeted}, index, all) => {
      const size = 24 / all.length;
      return svg('rect', {class: index === 0 ? 'bar-track' : 'bar-fill', y: index * size, width: (ofTargeted ?? 0) * 100,
        height: size - 1});
    }));
}

function overTime(screen, message) {
  const place = h('div');
  const interval = intervalOf(message, Date.now());
  screen.load(
    place, async (signal) => (await call(
      'GET', `${appPath(session.app, 'messages', message.message, 'timeline')}?interval=${interval}`, {signal})).data,
    ({buckets, asOf}) => timeTable(buckets, asOf, message.message));
  return section(t('messages.overTime'), place);
}

function timeTable(buckets, asOf, name) {
  if (buckets.every((bucket) => bucket.delivered + bucket.opened + bucket.dismissed === 0)) {
    return emptyPanel(t('messages.noReceipts'), t('messages.noReceiptsText'));
  }
  const columns = ['delivered', 'opened', 'dismissed'];
  return [
    h('p', {class: 'row legend'}, h('span', {class: 'key soft'}), t('messages.count.delivered'), h('span', {class: 'key'}),
      t('messages.count.opened'), h('span', {class: 'hint'}, t('messages.asOf'), ' ', exactly(asOf))),
    messageTimeline(buckets, t('messages.overTimePicture')),
    h('details', {class: 'spaced'}, h('summary', {}, t('messages.numbers')),
      table({caption: t('messages.overTime'), captionHidden: true, rows: buckets, columns: [
        {title: t('messages.time'), cell: (bucket) => dateTime(bucket.at)},
        ...columns.map((column) => ({
          title: t(`messages.count.${column}`), numeric: true, cell: (bucket) => number(bucket[column]),
        })),
      ]}),
      h('p', {class: 'actions spaced'}, h('button', {type: 'button', onclick: () => download(
        `${name}-timeline.csv`, 'text/csv', csv(['at', ...columns], buckets.map(
          (bucket) => [bucket.at, ...columns.map((column) => bucket[column])])))}, t('messages.csv')))),
  ];
}

function percentOrNone(share) {
  return share === null ? '–' : percent(share);
}
