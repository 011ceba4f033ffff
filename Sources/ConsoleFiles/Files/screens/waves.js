// Waves: when to send so that a push arrives at the same local time everywhere.

import {currentAudience} from '../core/audience.js';
import {Latest, audiencePath, call} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {emptyPanel, failurePanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {csv, download, table} from '../parts/table.js';
import {dateTime, list, number, percent, t} from '../core/text.js';
import {chosenAudience} from '../filter/chosen.js';
import {exactly, field, section} from '../parts/facts.js';
import {schedule} from './waves/schedule.js';
import {wavesTimeline} from './waves/timeline.js';

/** As many zones stand in a row of the table; the others follow on demand. */
const zonesShown = 4;

export default class WavesScreen extends Screen {
  #latest = new Latest();
  #time = h('input', {type: 'time', value: '10:00', required: true});
  #date = h('input', {type: 'date', value: tomorrow(), required: true});
  #result = h('div');

  start() {
    const ask = () => this.#ask();
    this.append(
      this.heading(t('nav.waves'), t('waves.lead')),
      chosenAudience(this),
      h('form', {class: 'row', onsubmit: (event) => event.preventDefault(), oninput: ask},
        field(t('waves.time'), this.#time).node, field(t('waves.date'), this.#date, t('waves.dateHint')).node),
      this.#result);
    currentAudience.addEventListener('change', ask, {signal: this.signal});
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
      (answer) => this.#show(waves(answer, date, time)),
      (error) => this.#show(failurePanel(error, () => this.#ask({now: true}))), {now});
  }

  #show(nodes) {
    this.#result.classList.remove('stale');
    this.#result.removeAttribute('aria-busy');
    replace(this.#result, nodes);
  }
}

function waves(answer, date, time) {
  if (answer.total === 0) return emptyPanel(t('waves.empty'), t('waves.emptyText'));
  const plan = schedule(answer, {date, time, now: Date.now()});
  return [
    section(
      t('waves.plan'),
      h('p', {}, h('span', {class: 'number small'}, number(answer.total)), ' ',
        t('waves.summary', {n: plan.waves.length}), ' ',
        h('span', {class: 'hint'}, t('waves.asOf'), ' ', exactly(answer.asOf))),
      notes(answer, plan),
      plan.waves.length > 0 ? wavesTimeline(plan.waves, {now: Date.now(), label: t('waves.picture')}) : null),
    plan.waves.length > 0 ? waveTable(plan.waves) : null,
    plan.waves.length > 0 ? h('p', {class: 'actions'}, h(
      'button', {type: 'button', onclick: () => download(`waves-${date}.csv`, 'text/csv', text(plan.waves))},
      t('waves.csv'))) : null,
  ];
}

function notes(answer, plan) {
  const names = (zones) => list(zones.map((zone) => zone.name).slice(0, zonesShown * 2));
  return [
    plan.past.waves > 0 ? t('waves.pastNote', {n: plan.past.count}) : null,
    plan.shifted.length > 0 ? t('waves.skippedNote', {zones: names(plan.shifted), time: plan.shifted[0].shift.skipped})
      : null,
    plan.repeated.length > 0 ? t('waves.repeatedNote', {zones: names(plan.repeated)}) : null,
    answer.withoutTimeZone > 0 ? t('waves.withoutNote', {n: answer.withoutTimeZone}) : null,
  ].filter(Boolean).map((text) => h('p', {class: 'note'}, text));
}

function waveTable(waves) {
  return table({caption: t('waves.table'), captionHidden: true, rows: waves, columns: [
    {title: t('waves.utc'), cell: (wave) => h('time', {datetime: wave.at}, utc(wave.at))},
    {title: t('waves.yours'), cell: (wave) => dateTime(wave.at)},
    {title: t('waves.count'), numeric: true, cell: (wave) => number(wave.count)},
    {title: t('waves.share'), numeric: true, cell: (wave) => percent(wave.share)},
    {title: t('waves.zones'), cell: (wave) => zones(wave.zones)},
    {title: t('waves.note'), cell: (wave) => (wave.isPast ? h('span', {class: 'tag bad'}, t('waves.past')) : '')},
  ]});
}

function zones(zones) {
  const names = zones.map(zone);
  if (names.length <= zonesShown) return h('ul', {class: 'zones'}, names);
  return [
    h('ul', {class: 'zones'}, names.slice(0, zonesShown)),
    h('details', {}, h('summary', {}, t('waves.moreZones', {n: names.length - zonesShown})),
      h('ul', {class: 'zones'}, names.slice(zonesShown))),
  ];
}

function zone({name, shift}) {
  const mark = shift?.skipped ? t('waves.skipped', {time: shift.skipped}) : shift?.repeated ? t('waves.repeated') : null;
  return h('li', {}, name === null ? h('i', {}, t('waves.offsetOnly')) : foreign(name),
    mark ? [' ', h('span', {class: 'tag'}, mark)] : null);
}

/** `2027-03-28 01:30` */
function utc(time) {
  return time.slice(0, 16).replace('T', ' ');
}

function text(waves) {
  return csv(['at', 'count', 'timeZones'], waves.map((wave) => [
    wave.at, wave.count, wave.zones.map((zone) => zone.name ?? '').join(' '),
  ]));
}

/** The viewer's next day, as the control wants it. */
function tomorrow() {
  const day = new Date();
  day.setDate(day.getDate() + 1);
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}

customElements.define('waves-screen', WavesScreen);
