// Shaded tables: two fields as rows and columns, three as one table for each value of the first.

import {h} from '../../core/dom.js';
import {number, percent, t} from '../../core/text.js';
import {fieldLabel, valueLabel} from '../../filter/labels.js';
import {othersOf} from './picture.js';

const rowsMax = 20;
const columnsMax = 10;
const tablesMax = 9;
/** Rows and columns of one table among several. */
const smallMax = 5;
const shades = 9;

/** @param context of the response: `{total, overlapping, rest: {groups, count}}`; and `add(values)` */
export function pivot(fields, groups, {total, overlapping, add, rest}, caption = null) {
  const [rowField, columnField] = fields;
  const rows = largest(groups, rowField, caption ? smallMax : rowsMax);
  const columns = largest(groups, columnField, caption ? smallMax : columnsMax);
  const cells = new Map(groups.map((group) => [key(group[rowField], group[columnField]), group.count]));
  const most = Math.max(1, ...groups.map((group) => group.count));
  // Of a row whose groups overlap, the sum is no count.
  const sums = overlapping ? new Map() : sumsBy(groups, rowField);
  const cell = (row, column) => {
    const count = cells.get(key(row, column)) ?? 0;
    if (count === 0) return h('td', {class: 'numeric'});
    return h('td', {class: `numeric shade-${Math.ceil((count / most) * shades)}`}, h(
      'button', {type: 'button', class: 'cell', title: t('breakdown.add'), onclick: () => add([row, column])},
      number(count), h('small', {}, percent(count / (sums.get(row) ?? total)))));
  };
  const shown = rows.flatMap((row) => columns.map((column) => cells.get(key(row, column)) ?? 0))
    .reduce((sum, count) => sum + count, 0);
  const hidden = groups.reduce((sum, group) => sum + group.count, 0) + (rest?.count ?? 0) - shown;
  const title = caption ?? t('breakdown.byField', {field: fields.map(fieldLabel).join(' · ')});
  return [
    h('div', {
      class: 'table shaded', tabindex: '0', role: 'region', 'aria-label': caption ? null : title,
      'aria-labelledby': caption?.id,
    },
      h('table', {},
        h('caption', {class: caption ? null : 'sr-only'}, title),
        h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, `${fieldLabel(rowField)} / ${fieldLabel(columnField)}`),
          columns.map((column) => h('th', {scope: 'col', class: 'numeric'}, valueLabel(columnField, column))))),
        h('tbody', {}, rows.map((row) => h('tr', {}, h('th', {scope: 'row'}, valueLabel(rowField, row)),
          columns.map((column) => cell(row, column))))))),
    hint(hidden, !caption && !overlapping),
  ];
}

function hint(hidden, isOfRow) {
  const texts = [isOfRow && t('breakdown.ofRow'), hidden > 0 && t('breakdown.hidden', {n: hidden})].filter(Boolean);
  return texts.length > 0 && h('p', {class: 'hint'}, texts.join(' '));
}

/** One table of the second and third field for each of the largest values of the first. */
export function pivots(fields, groups, {add, rest, ...context}) {
  const [field, ...others] = fields;
  const values = largest(groups, field, tablesMax);
  const tables = values.map((value) => {
    const own = groups.filter((group) => group[field] === value);
    const sum = own.reduce((count, group) => count + group.count, 0);
    const caption = h('span', {id: `pivot-${values.indexOf(value)}`}, valueLabel(field, value), ` · ${number(sum)}`);
    return h('div', {}, pivot(others, own, {...context, add: (pair) => add([value, ...pair])}, caption));
  });
  const hidden = othersOf(groups.filter((group) => !values.includes(group[field])), rest).count;
  return [
    h('div', {class: 'multiples'}, tables),
    hint(hidden, !context.overlapping),
  ];
}

/** The values of a field with the largest sums. */
function largest(groups, field, max) {
  return [...sumsBy(groups, field)].sort((a, b) => b[1] - a[1]).slice(0, max).map(([value]) => value);
}

function sumsBy(groups, field) {
  const sums = new Map();
  for (const group of groups) sums.set(group[field], (sums.get(group[field]) ?? 0) + group.count);
  return sums;
}

const key = (row, column) => JSON.stringify([row, column]);
