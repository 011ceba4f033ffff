// Waves: when to send so that a push arrives at the same local time everywhere.

import {currentAudience} from '../core/audience.js';
import {Latest, audiencePath, call, now} from '../core/client.js';
import {foreign, h, plain, replace, svg} from '../core/dom.js';
import {emptyPanel, failurePanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {dateTime, list, number, percent, t} from '../core/text.js';
import {audienceLine} from '../filter/summary.js';
import {asOf, section, tag} from '../parts/facts.js';
import {field} from '../parts/form.js';
import {csvButton, table} from '../parts/table.js';

/** As many zones stand in a row of the table; the others follow on demand. */
const zonesShown = 4;

class WavesScreen extends Screen {
  #latest = new Latest();
  #time = h('input', {type: 'time', value: '10:00', required: true});
  #date = h('input', {type: 'date', value: tomorrow(), required: true});
  #result = h('div');

  start() {
    const ask = () => this.#ask();
    this.append(
      this.heading(t('nav.waves'), t('waves.lead')), audienceLine(() => this.#ask({now: true})),
      h('form', {class: 'row', onsubmit: (event) => event.preventDefault(), oninput: ask},
        field(t('waves.time'), this.#time).node, field(t('waves.date'), this.#date).node),
      this.#result);
    this.signal.addEventListener('abort', () => this.#latest.cancel());
    this.#ask({now: true});
  }

  #ask({now = false} = {}) {
    const [time, date] = [this.#time.value, this.#date.value];
    if (!time || !date) return this.#latest.cancel();
    this.#result.classList.add('stale');
    this.#result.setAttribute('aria-busy', 'true');
    this.#latest.ask(
      async (signal) => (await call('POST', audiencePath(session.app, 'waves'), {
        body: currentAudience.body({localTime: time, date}), signal,
      })).data,
      (response) => this.#show(plan(response, date)),
      (error) => this.#show(failurePanel(error, () => this.#ask({now: true}))), {now});
  }

  #show(nodes) {
    this.#result.classList.remove('stale');
    this.#result.removeAttribute('aria-busy');
    replace(this.#result, nodes);
  }
}

function plan(response, date) {
  if (response.total === 0) return emptyPanel(t('waves.empty'));
  const {waves, ...notes} = schedule(response, now());
  return [
    section(
      t('waves.plan'),
      h('p', {}, h('span', {class: 'number small'}, number(response.total)), ' ', t('waves.summary', {n: waves.length}),
        ' ', asOf(response.asOf)),
      noteTexts(response, notes).map((text) => h('p', {class: 'note'}, text)),
      waves.length > 0 && picture(waves, now())),
    waves.length > 0 && [waveTable(waves), h('p', {class: 'actions spaced'}, csvButton(
      `waves-${date}`, ['at', 'count', 'timeZones'],
      () => waves.map((wave) => [wave.at, wave.count, wave.zones.map((zone) => zone.name ?? '').join(' ')])))],
  ];
}

function noteTexts(response, {past, skipped, repeated}) {
  const names = (zones) => list(zones.map((zone) => plain(zone.name)));
  return [
    past > 0 && t('waves.pastNote', {n: past}),
    skipped.length > 0 && t('waves.skippedNote', {zones: names(skipped), time: skipped[0].shift.localTime}),
    repeated.length > 0 && t('waves.repeatedNote', {zones: names(repeated)}),
    response.withoutTimeZone > 0 && t('waves.withoutNote', {n: response.withoutTimeZone}),
  ].filter(Boolean);
}

function waveTable(waves) {
  return table({caption: t('nav.waves'), captionHidden: true, rows: waves, columns: [
    {title: `UTC · ${t('waves.yours')}`, cell: (wave) => [
      h('time', {datetime: wave.at}, wave.at.slice(0, 16).replace('T', ' ')),
      h('p', {class: 'hint'}, dateTime(wave.at)), wave.isPast && tag('bad', t('waves.past')),
    ]},
    {title: t('views.installations'), numeric: true, cell: (wave) => number(wave.count)},
    {title: t('breakdown.share'), numeric: true, cell: (wave) => percent(wave.share)},
    {title: t('waves.zones'), cell: ({zones}) => [
      h('ul', {class: 'zones'}, zones.slice(0, zonesShown).map(zoneItem)),
      zones.length > zonesShown && h(
        'details', {}, h('summary', {}, t('waves.moreZones', {n: zones.length - zonesShown})),
        h('ul', {class: 'zones'}, zones.slice(zonesShown).map(zoneItem))),
    ]},
  ]});
}

function zoneItem({name, shift}) {
  const mark = shift && t(`waves.clock.${shift.change}`, {time: shift.localTime});
  return h('li', {}, name === null ? h('i', {}, t('waves.offsetOnly')) : foreign(name), mark && [' ', tag('', mark)]);
}

/** The viewer's next day, as the control wants it. */
function tomorrow() {
  const day = new Date(now());
  day.setDate(day.getDate() + 1);
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}

// MARK: Schedule

const hour = 3_600_000;

/**
 * What to know about the waves before sending. Of the zones, those whose clocks change come first.
 *
 * @returns `{waves: [{at, count, share, isPast, zones: [{name, shift}]}], past, skipped: [zone], repeated: [zone]}`:
 *   `past` counts installations; `shift` is null, or the service's `{change: 'skipped', localTime: '03:30'}` if clocks
 *   jump over the time (the wave is at the time given there), or `{change: 'repeated'}` if the time occurs twice (the
 *   wave is the first one).
 */
export function schedule(response, now) {
  const planned = response.total - response.withoutTimeZone;
  const waves = response.waves.map(({at, count, timeZones, clockChanges = []}) => ({
    at, count, share: planned > 0 ? count / planned : 0, isPast: Date.parse(at) <= now,
    zones: timeZones
      .map((name) => ({name, shift: clockChanges.find(({timeZone}) => timeZone === name) ?? null}))
      .sort((one, other) => Boolean(other.shift) - Boolean(one.shift)),
  }));
  const zones = waves.flatMap((wave) => wave.zones);
  const changed = (change) => zones.filter((zone) => zone.shift?.change === change);
  return {
    waves, past: waves.reduce((sum, wave) => sum + (wave.isPast ? wave.count : 0), 0), skipped: changed('skipped'),
    repeated: changed('repeated'),
  };
}

// MARK: Picture

const width = 960, height = 180, foot = 24, inset = 20;

/** A bar for each instant, over the hours of UTC. */
function picture(waves, now) {
  const first = Math.floor(Date.parse(waves[0].at) / hour) * hour;
  const last = Math.max(first + 4 * hour, Math.ceil(Date.parse(waves.at(-1).at) / hour) * hour);
  const x = (instant) => inset + ((instant - first) / (last - first)) * (width - 2 * inset);
  const largest = Math.max(1, ...waves.map((wave) => wave.count));
  const base = height - foot;
  const line = (kind, at) => svg('line', {class: kind, x1: x(at), x2: x(at), y1: 0, y2: base});
  return h('div', {class: 'chart-frame', tabindex: '0', role: 'region', 'aria-label': t('waves.picture')}, svg(
    'svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': t('waves.picture')},
    ticks(first, last).map((tick) => [line('chart-grid', tick), svg(
      'text', {class: 'chart-text', x: x(tick), y: height - 6, 'text-anchor': 'middle'},
      new Date(tick).toISOString().slice(11, 16))]),
    now > first && now < last && line('chart-now', now),
    waves.map((wave) => {
      const size = Math.max(2, (wave.count / largest) * (base - 8));
      return svg('rect', {
        class: wave.isPast ? 'bar-fill past' : 'bar-fill', x: x(Date.parse(wave.at)) - 4, y: base - size, width: 8,
        height: size, rx: 2,
      }, svg('title', {}, `${dateTime(wave.at)}: ${number(wave.count)}`));
    })));
}

/** Full hours of UTC, at most some ten of them. */
function ticks(first, last) {
  const step = ([1, 2, 3, 6].find((hours) => (last - first) / (hours * hour) <= 10) ?? 12) * hour;
  return Array.from({length: Math.floor((last - first) / step) + 1}, (_, index) => first + index * step);
}

customElements.define('waves-screen', WavesScreen);
