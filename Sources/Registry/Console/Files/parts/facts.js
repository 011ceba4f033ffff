// How screens show a record: sections, names with values, times, words with a colour, and differences.

import {h} from '../core/dom.js';
import {date, dateTime, hasText, t, timeOfDay} from '../core/text.js';
import {table} from './table.js';

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

/** Members of a record that have another name in filters. */
const sameAs = {systemVersion: 'osVersion', timeZoneId: 'timeZone', timeZoneOffset: 'utcOffset'};

/** The field of filters that a member of a record is about. */
export const fieldOf = (name) => sameAs[name] ?? name;

/** The name of a field or of a record's member; the API's own if there is no other. */
export function fieldName(name) {
  const key = `field.${fieldOf(name)}`;
  return hasText(key) ? t(key) : name;
}

/**
 * A difference, for people who do not read JSON.
 *
 * @param rows `[[what, before, after]]`, nodes or texts
 * @param titles the names of the columns behind the first
 */
export function changeTable(rows, titles = ['views.now', 'views.new'], caption = t('views.difference')) {
  const cell = (row, index) => {
    if (index === 0 || titles.length > 2) return row[index];
    return h(index === 1 ? 'del' : 'ins', {}, row[index]);
  };
  return table({caption, captionHidden: true, rows, columns: ['views.what', ...titles].map(
    (title, index) => ({title: t(title), cell: (row) => cell(row, index)}))});
}
