// The difference between two sets of values as a table, for people who do not read JSON.

import {h} from '../core/dom.js';
import {t} from '../core/text.js';
import {table} from './table.js';

/** @param rows `[{name, before, after}]`, each a node or a text */
export function changeTable(rows) {
  if (rows.length === 0) return h('p', {class: 'hint'}, t('dialog.noDifference'));
  return table({caption: t('changes.difference'), captionHidden: true, rows, columns: [
    {title: t('changes.member'), cell: ({name}) => name},
    {title: t('changes.now'), cell: ({before}) => h('del', {}, before)},
    {title: t('changes.new'), cell: ({after}) => h('ins', {}, after)},
  ]});
}

/** What two people changed: @param rows `[{name, before, theirs, mine}]`; null for what a side did not change */
export function conflictTable(rows) {
  return table({caption: t('changes.difference'), captionHidden: true, rows, columns: [
    {title: t('changes.member'), cell: ({name}) => name},
    {title: t('changes.was'), cell: ({before}) => before},
    {title: t('changes.theirs'), cell: ({theirs}) => theirs ?? '–'},
    {title: t('changes.mine'), cell: ({mine}) => mine ?? '–'},
  ]});
}
