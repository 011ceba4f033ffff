// Whether the service is ready and what hinders it, and how busy the process is that answers.

import {call} from '../../core/client.js';
import {foreign, h, replace, svg} from '../../core/dom.js';
import {failurePanel} from '../../core/panels.js';
import {decimal, hasText, t} from '../../core/text.js';
import {exactly, section, tag} from '../../parts/facts.js';
import {table} from '../../parts/table.js';
import {ratesBetween, series} from './rates.js';

const intervalMilliseconds = 3_000;
/** Then the page waits for a click: reading prolongs the session, which should end without a person. */
const samplesMax = 200;
/** The width of a line of rates. */
const samplesShown = 60;

export function healthPage(screen) {
  const readiness = h('div');
  const load = () => screen.load(
    readiness, async (signal) => (await call('GET', '/v1/health', {signal})).data, findings);
  load();
  return h('div', {}, section(t('operations.readiness'), readiness, h('p', {class: 'actions spaced'}, h(
    'button', {type: 'button', onclick: load}, t('operations.refresh')))), rates(screen));
}

function findings({obstacles, degraded}) {
  const list = (title, texts) => (texts.length > 0
    ? [h('p', {}, h('b', {}, title)), h('ul', {}, texts.map((text) => h('li', {}, foreign(text))))] : null);
  return [
    h('p', {}, obstacles.length === 0 ? tag('good', t('operations.ready')) : tag('bad', t('operations.notReady'))),
    obstacles.length + degraded.length === 0 ? h('p', {}, t('operations.allWell')) : null,
    list(t('operations.obstacles'), obstacles),
    list(t('operations.degraded'), degraded),
  ];
}

/** Reads the counts again and again while the page is visible, and shows their growth. */
function rates(screen) {
  const place = h('div');
  let last = null, samples = [], read = 0, timer = null;
  const start = () => {
    clearTimeout(timer);
    [last, read] = [null, 0];
    step();
  };
  const step = async () => {
    if (screen.signal.aborted) return;
    if (read++ >= samplesMax) {
      return void place.append(h('p', {class: 'actions'}, h('button', {type: 'button', onclick: start}, t('operations.goOn'))));
    }
    try {
      if (!document.hidden) take((await call('GET', '/v1/rates', {signal: screen.signal})).data);
      timer = setTimeout(step, samples.length < 2 ? 1_000 : intervalMilliseconds);
    } catch (error) {
      if (!screen.signal.aborted) replace(place, failurePanel(error, start));
    }
  };
  const take = (counts) => {
    const sample = last && ratesBetween(last, counts);
    if (last && !sample) samples = [];
    if (sample) samples = [...samples, sample].slice(-samplesShown);
    last = counts;
    replace(place, samples.length > 0 ? rateTables(samples, counts) : h('p', {class: 'hint'}, t('operations.measuring')));
  };
  screen.signal.addEventListener('abort', () => clearTimeout(timer));
  start();
  return section(t('operations.rates'), h('p', {class: 'hint'}, t('operations.ratesHint')), place);
}

function rateTables(samples, counts) {
  const rows = ['requests', 'registrations'].flatMap((group) => series(samples, group).map(
    ([name, values]) => ({name: rateName(group, name), values})));
  return [
    rows.length === 0 ? h('p', {class: 'hint'}, t('operations.noRequests'))
      : table({caption: t('operations.rates'), captionHidden: true, rows, columns: [
        {title: t('operations.what'), cell: (row) => row.name},
        {title: t('operations.perSecondNow'), numeric: true, cell: (row) => decimal(row.values.at(-1))},
        {title: t('operations.lately'), cell: (row) => line(row.values)},
      ]}),
    h('p', {class: 'hint spaced'}, t('operations.asOf'), ' ', exactly(samples.at(-1).at), ' · ',
      t('operations.process'), ' ', foreign(counts.process), ' · ', t('operations.since'), ' ', exactly(counts.startedAt)),
  ];
}

function rateName(group, name) {
  const key = `operations.rate.${group}.${name}`;
  return hasText(key) ? t(key) : `${t(`operations.rate.${group}`)} ${name}`;
}

function line(values) {
  const largest = Math.max(1, ...values);
  const points = values.map((value, index) => `${samplesShown - values.length + index},${(19 - (value / largest) * 18).toFixed(1)}`);
  return svg('svg', {class: 'spark', viewBox: `0 0 ${samplesShown} 20`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svg('polyline', {points: points.join(' ')}));
}
