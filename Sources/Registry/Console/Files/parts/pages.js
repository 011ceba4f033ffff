// What a place shows of a resource: all of it, or a list that comes in pages.

import {call} from '../core/client.js';
import {h, replace} from '../core/dom.js';
import {failurePanel, loadingPanel} from '../core/panels.js';
import {t} from '../core/text.js';
import {button} from './form.js';

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
 * @param path of the resource, which takes the parameter `after`
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
      const query = `${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(after)}`;
      show((await call('GET', path + query, {signal: screen.signal})).data);
    } catch (error) {
      if (!screen.signal.aborted) replace(foot, failurePanel(error, () => load(after)));
    }
  };
  show(first);
  return [list, foot];
}
