// Trend: the audience on the past days that the night job has recorded, and how the permission to notify has changed.

import {currentAudience} from '../core/audience.js';
import {audiencePath, call, now} from '../core/client.js';
import {h, replace, svg} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {change, date, list, number, t} from '../core/text.js';
import {valueLabel} from '../filter/labels.js';
import {audienceLine} from '../filter/summary.js';
import {fieldName, section} from '../parts/facts.js';
import {choice} from '../parts/form.js';
import {pictureActions, table} from '../parts/table.js';

const day = 86_400_000;
/** Days from one point to the next, by the days that the picture shows. */
const steps = {30: 1, 90: 1, 365: 7};
/** The chosen days, kept while the page is open. */
let chosen = '30';
/** So many versions show. */
const versionsMax = 20;

class TrendScreen extends Screen {
  start() {
    this.line = h('div');
    this.result = h('div');
    const spans = Object.keys(steps).map((days) => [days, t(`trend.span.${days}`)]);
    const span = choice(spans, chosen, (days) => {
      chosen = days;
      this.#ask();
    });
    this.append(
      this.heading(t('nav.trend'), t('trend.lead')), this.line,
      h('div', {class: 'card row'}, h('label', {}, t('trend.span'), span)), this.result);
    this.#ask();
  }

  #ask() {
    replace(this.line, audienceLine(() => this.#ask()));
    const step = steps[chosen];
    const to = now() - day;
    const body = currentAudience.body({
      from: dayOf(to - (chosen - 1) * day), to: dayOf(to), interval: step === 1 ? 'P1D' : 'P1W',
    });
    this.load(this.result, (signal) => trend(body, signal), ({points, refusal}) => {
      if (refusal) return emptyPanel(t('trend.refused'), refusal);
      return points.length > 0 ? this.#show(points, step) : emptyPanel(t('trend.empty'), t('trend.emptyText'));
    });
  }

  #show(points, step) {
    const picture = line(points, step * day);
    const rows = points.map((point, index) => ({...point, before: points[index - 1]}));
    return [
      h('p', {class: 'row'},
        h('b', {}, t('breakdown.total', {n: points.at(-1).count})),
        h('span', {class: 'hint'}, dayText(points.at(-1).at)), h('span', {class: 'spacer'}),
        pictureActions('trend', ['day', 'count'], () => points.map(({at, count}) => [at, count]), () => picture)),
      h('div', {class: 'card picture'},
        h('div', {class: 'chart-frame', tabindex: '0', role: 'region', 'aria-label': t('trend.picture')}, picture)),
      h('details', {class: 'card'}, h('summary', {}, t('breakdown.table')), table({
        caption: t('nav.trend'), captionHidden: true, rows: rows.reverse(), columns: [
          {title: t('trend.day'), cell: ({at}) => dayText(at)},
          {title: t('breakdown.count'), numeric: true, cell: ({count}) => number(count)},
          {title: t('trend.change'), numeric: true, cell: ({count, before}) => before && change(count - before.count)},
        ],
      })),
      points.length > 1 && this.#changes(points.map(({at}) => at)),
    ];
  }

  /** The changes up to one of the days, from the point before it. */
  #changes(days) {
    const place = h('div');
    const show = (to) => {
      const from = days[days.indexOf(to) - 1];
      this.load(place, (signal) => Promise.all([from, to].map((asOf) => permissions(asOf, signal))), (responses) => [
        h('p', {class: 'hint'}, t('trend.between', {from: dayText(from), to: dayText(to)})),
        changeTable(permissionChanges(...responses)),
      ]);
    };
    const last = days.at(-1);
    show(last);
    return section(
      t('trend.changes'),
      h('p', {class: 'row'}, h('label', {class: 'nowrap'}, t('trend.day'),
        choice(days.slice(1).reverse().map((at) => [at, dayText(at)]), last, show))),
      place);
  }
}

/** `{points}`, or `{refusal}`: a sentence on what the records lack. */
async function trend(body, signal) {
  try {
    return (await call('POST', audiencePath(session.app, 'trend'), {body, signal})).data;
  } catch (error) {
    const fault = error.errors?.find(({code}) => code === 'not-in-record');
    if (!fault) throw error;
    const names = /do not have ([\w, ]+)\./.exec(fault.detail)?.[1].split(', ');
    const fields = names && list(names.map(fieldName));
    return {refusal: fields ? t('trend.notInRecord', {fields}) : t('trend.topicNotInRecord')};
  }
}

async function permissions(asOf, signal) {
  const body = {
    filter: currentAudience.filter, include: 'active', by: ['authorizationStatus', 'systemName', 'osVersion'],
    limit: 1000, asOf,
  };
  return (await call('POST', audiencePath(session.app, 'breakdown'), {body, signal})).data;
}

function changeTable(rows) {
  if (rows.length === 0) return h('p', {}, t('trend.noChanges'));
  const column = (name) => ({title: t(`trend.${name}`), numeric: true, cell: (row) => change(row[name])});
  return [
    table({caption: t('trend.changes'), captionHidden: true, rows: rows.slice(0, versionsMax), columns: [
      {title: t('field.osVersion'), cell: ({system, version}) => [
        valueLabel('systemName', system), ' ', valueLabel('osVersion', version)]},
      column('allowed'), column('denied'),
    ]}),
    rows.length > versionsMax && h('p', {class: 'hint'}, t('messages.rest', {n: rows.length - versionsMax})),
  ];
}

const dayOf = (time) => new Date(time).toISOString().slice(0, 10);
/** A day has no time zone: noon is in it everywhere. */
const dayText = (day) => date(`${day}T12:00`);

// MARK: Picture

const width = 960, height = 220, foot = 24, head = 20, inset = 6;

/** A line over the days, with a gap where a record is missing. Its colours stand in it for those who save it. */
function line(points, step) {
  const times = points.map(({at}) => Date.parse(at));
  const [first, last] = [times[0], times.at(-1)];
  const largest = Math.max(1, ...points.map(({count}) => count));
  const base = height - foot;
  const places = points.map(({count}, index) => [
    last > first ? inset + ((times[index] - first) / (last - first)) * (width - 2 * inset) : width / 2,
    base - (count / largest) * (base - head),
  ].map((place) => place.toFixed(1)));
  const path = places.map((place, index) =>
    (times[index] - times[index - 1] === step ? 'L' : 'M') + place.join(' ')).join('');
  const label = (x, y, anchor, text) => svg('text', {class: 'chart-text', x, y, 'text-anchor': anchor}, text);
  return svg(
    'svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': t('trend.picture')},
    [head, base].map((y) => svg('line', {class: 'chart-grid', x1: 0, x2: width, y1: y, y2: y, stroke: '#d5dcdb'})),
    label(0, 12, 'start', number(largest)),
    svg('path', {class: 'trend-line', d: path, fill: 'none', stroke: '#0b6b5d', 'stroke-width': 2}),
    places.map(([cx, cy], index) => svg('circle', {class: 'trend-dot', cx, cy, r: 3, fill: '#0b6b5d'}, svg(
      'title', {}, `${dayText(points[index].at)}: ${number(points[index].count)}`))),
    label(0, height - 6, 'start', dayText(points[0].at)),
    points.length > 1 && label(width, height - 6, 'end', dayText(points.at(-1).at)));
}

// MARK: Changes

const kinds = {authorized: 'allowed', provisional: 'allowed', ephemeral: 'allowed', denied: 'denied'};

/**
 * What two breakdowns differ in, the largest change first. A group that one of them has, and the other may have among
 * those that it left out, is not compared.
 *
 * @returns `[{system, version, allowed, denied}]`: changes of counts.
 */
export function permissionChanges(before, after) {
  const names = ({systemName, osVersion, authorizationStatus}) =>
    JSON.stringify([systemName, osVersion, authorizationStatus]);
  const [old, young] = [before, after].map(({groups}) => new Map(groups.map((group) => [names(group), group.count])));
  const rows = {};
  for (const key of new Set([...old.keys(), ...young.keys()])) {
    const [system, version, status] = JSON.parse(key);
    const isLeftOut = (!old.has(key) && before.rest.groups > 0) || (!young.has(key) && after.rest.groups > 0);
    if (isLeftOut || !kinds[status]) continue;
    const row = rows[JSON.stringify([system, version])] ??= {system, version, allowed: 0, denied: 0};
    row[kinds[status]] += (young.get(key) ?? 0) - (old.get(key) ?? 0);
  }
  const size = ({allowed, denied}) => Math.abs(allowed) + Math.abs(denied);
  return Object.values(rows).filter((row) => size(row) > 0).sort((one, other) => size(other) - size(one));
}

customElements.define('trend-screen', TrendScreen);
