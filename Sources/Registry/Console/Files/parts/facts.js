// Small pieces that the screens share.

import {call} from '../core/client.js';
import {h, replace, uniqueId} from '../core/dom.js';
import {failurePanel, loadingPanel} from '../core/panels.js';
import {date, dateTime, hasText, t, timeOfDay} from '../core/text.js';
import {csv, download, table} from './table.js';

/** A time in the viewer's zone; the exact one is its title. */
export function when(time) {
  return h('time', {datetime: time, title: time}, dateTime(time));
}

/** As `when`, with seconds. */
export function exactly(time) {
  return h('time', {datetime: time, title: time}, `${date(time)}, ${timeOfDay(time)}`);
}

/** The time of the data. */
export function asOf(time) {
  return h('span', {class: 'hint'}, t('views.asOf'), ' ', exactly(time));
}

/** Names and values. @param rows `[[name, value node]]`; a row without a value is left out. */
export function facts(rows) {
  return h('dl', {class: 'facts'}, rows.filter(([, value]) => value !== null && value !== undefined).map(
    ([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

export function section(title, ...children) {
  return h('section', {class: 'card'}, h('h2', {}, title), children);
}

/** A word with a colour; the word alone says it all. @param kind `good`, `bad` or '' */
export function tag(kind, text) {
  return h('span', {class: `tag ${kind}`}, text);
}

/** A button that is no submission. @param about for screen readers: what the button concerns */
export function button(text, onclick, kind = null, about = null) {
  return h('button', {type: 'button', class: kind, onclick}, text, about && h('span', {class: 'sr-only'}, ' ', about));
}

/** @param rows called when the file is wanted */
export function csvButton(name, header, rows) {
  return button('CSV', () => download(`${name}.csv`, 'text/csv', csv(header, rows())));
}

/** A select. @param options `[[value, name]]` */
export function choice(options, value, onchange = null) {
  return h('select', {value, onchange: onchange && ((event) => onchange(event.target.value))},
    options.map(([value, name]) => h('option', {value}, name)));
}

/**
 * A labelled control with its hint and its fault.
 *
 * @param control the node of the control, or of a group that begins with one
 * @returns `{node, fault}`: `fault(text or null)` shows a fault beside the control.
 */
export function field(label, control, hint = null) {
  const id = uniqueId('field');
  const input = control.matches('input, select, textarea') ? control : control.querySelector('input, select, textarea');
  const fault = h('p', {class: 'fault', id: `${id}-fault`, hidden: true});
  input.id = id;
  input.setAttribute('aria-describedby', hint ? `${id}-fault ${id}-hint` : `${id}-fault`);
  return {
    node: h(
      'div', {class: 'field'}, h('label', {for: id}, label), control,
      hint && h('p', {class: 'hint', id: `${id}-hint`}, hint), fault),
    fault: (text) => {
      fault.textContent = text ?? '';
      fault.hidden = !text;
      if (text) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    },
  };
}

/** Members of a record that have another name in filters. */
const sameAs = {systemVersion: 'osVersion', timeZoneId: 'timeZone', timeZoneOffset: 'utcOffset'};

/** The name of a field or of a record's member; the API's own if there is no other. */
export function fieldName(name) {
  const key = `field.${sameAs[name] ?? name}`;
  return hasText(key) ? t(key) : name;
}

/**
 * A place that loads a resource by itself.
 *
 * @param render `(data, reload) => nodes`
 */
export function loaded(screen, path, render) {
  const place = h('div');
  const load = () => screen.load(
    place, async (signal) => (await call('GET', path, {signal})).data, (data) => render(data, load));
  load();
  return place;
}

/**
 * A list that comes in pages, with a button for the next one.
 *
 * @param path of the resource, which takes `?after=`
 * @param first the first page, as it was loaded
 * @param items `(page) => nodes`, which are appended to `list`
 */
export function pages(screen, path, first, items, list) {
  const foot = h('div', {class: 'actions'});
  const show = (page) => {
    list.append(...items(page));
    replace(foot, page.next && button(t('views.more'), () => load(page.next)));
  };
  const load = async (after) => {
    replace(foot, loadingPanel());
    try {
      show((await call('GET', `${path}?after=${encodeURIComponent(after)}`, {signal: screen.signal})).data);
    } catch (error) {
      if (!screen.signal.aborted) replace(foot, failurePanel(error, () => load(after)));
    }
  };
  show(first);
  return [list, foot];
}

/** A difference, for people who do not read JSON. @param rows `[[name, before, after]]`, nodes or texts */
export function changeTable(rows, caption = t('views.difference')) {
  return comparison(rows, caption, ['views.now', 'views.new'], (index, cell) => h(index === 1 ? 'del' : 'ins', {}, cell));
}

/** What two people changed. @param rows `[[name, before, theirs, mine]]`; null for what a side did not change */
export function conflictTable(rows) {
  const titles = ['views.before', 'views.theirs', 'views.mine'];
  return comparison(rows, t('views.difference'), titles, (index, cell) => cell ?? '–');
}

function comparison(rows, caption, titles, cell) {
  return table({caption, captionHidden: true, rows, columns: ['views.what', ...titles].map(
    (title, index) => ({title: t(title), cell: (row) => (index === 0 ? row[0] : cell(index, row[index]))}))});
}
