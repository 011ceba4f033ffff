// A list that comes in pages, with a button for the next one.

import {h, replace} from '../core/dom.js';
import {failurePanel} from '../core/panels.js';
import {t} from '../core/text.js';

/**
 * @param first the first page, as it was loaded
 * @param request `(after) => promise` of the next page
 * @param items `(page) => nodes`
 * @param list the node that the items are appended to
 * @param more the label of the button
 * @returns nodes: the list, and the button while there is a next page
 */
export function pages({first, request, items, list, more}) {
  const foot = h('div', {class: 'actions'});
  const show = (page) => {
    list.append(...items(page));
    replace(foot, page.next ? h('button', {type: 'button', onclick: () => load(page.next)}, more) : null);
  };
  const load = async (after) => {
    replace(foot, h('span', {role: 'status'}, t('panel.loading')));
    try {
      show(await request(after));
    } catch (error) {
      replace(foot, failurePanel(error, () => load(after)));
    }
  };
  show(first);
  return [list, foot];
}
