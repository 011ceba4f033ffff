// A data table.
//
//     table({caption: 'Waves', rows, columns: [
//       {title: 'Zone', cell: (row) => foreign(row.zone)},
//       {title: 'Count', numeric: true, cell: (row) => number(row.count)},
//     ]})
//
// A cell is a child of h(). The first column heads its row. `captionHidden` keeps the caption for screen readers.
// The table scrolls sideways inside its own frame, which the keyboard can reach.

import {h} from '../core/dom.js';
import {cellSeparator, t} from '../core/text.js';
import {button} from './form.js';

export function table({caption, captionHidden = false, columns, rows}) {
  return h(
    'div', {class: 'table', tabindex: '0', role: 'region', 'aria-label': caption},
    h(
      'table', {},
      h('caption', {class: captionHidden ? 'sr-only' : null}, caption),
      h('thead', {}, h('tr', {}, columns.map((column) =>
        h('th', {scope: 'col', class: kind(column)}, column.title)))),
      h('tbody', {}, tableRows(columns, rows))));
}

/** The rows alone, for a table that comes in pages. */
export function tableRows(columns, rows) {
  return rows.map((row) => h('tr', {}, columns.map((column, index) => (index === 0
    ? h('th', {scope: 'row', class: kind(column)}, column.cell(row))
    : h('td', {class: kind(column)}, column.cell(row))))));
}

const kind = (column) => (column.numeric ? 'numeric' : null);

/** The head of a column of buttons, for screen readers. */
export function actionsTitle() {
  return h('span', {class: 'sr-only'}, t('panel.actions'));
}

/**
 * RFC 4180 with CRLF, as spreadsheets of the page's language open it: with a mark of UTF-8, and with the separators of
 * cells and decimals that they expect. What a spreadsheet would run as a formula gets an apostrophe, also behind the
 * separators of other languages; numbers stay numbers.
 */
export function csv(header, rows) {
  const cell = (value) => {
    if (typeof value === 'number') return cellSeparator === ';' ? String(value).replace('.', ',') : String(value);
    const text = String(value ?? '');
    const safe = text.replace(/(^|[;\t\r\n])([" ]*)(?=[=+\-@\t\r])/g, "$1$2'");
    return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return '\uFEFF' + [header, ...rows].map((row) => row.map(cell).join(cellSeparator) + '\r\n').join('');
}

/** @param rows called when the file is wanted */
export function csvButton(name, header, rows) {
  return button('CSV', () => download(`${name}.csv`, 'text/csv', csv(header, rows())));
}

/** Buttons that save a picture's data and the picture, and print it. @param rows, svg called when they are wanted */
export function pictureActions(name, header, rows, svg) {
  return h(
    'span', {class: 'actions'}, csvButton(name, header, rows),
    button('SVG', () => download(`${name}.svg`, 'image/svg+xml', new XMLSerializer().serializeToString(svg()))),
    button(t('breakdown.print'), () => print()));
}

/** Lets the browser save a text that this page made. */
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = h('a', {href: url, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
