// Bars with counts and shares, drawn as SVG so that they print.
//
//     bars([{label: node or text, count: 12, onclick, muted}], {total: 40, label: 'By language'})
//
// With `onclick` a bar is a button. A share is of `total`. Bars are as long as their count against the largest.

import {h, svg} from '../core/dom.js';
import {number, percent} from '../core/text.js';

export function bars(items, {total, label}) {
  const largest = Math.max(1, ...items.map((item) => item.count));
  return h('ul', {class: 'bars', 'aria-label': label}, items.map((item) => {
    const content = [
      h('span', {class: 'bar-label'}, item.label),
      bar(item.count / largest, item.muted),
      h('span', {class: 'bar-count'}, number(item.count)),
      h('span', {class: 'bar-share'}, total > 0 ? percent(item.count / total) : ''),
    ];
    return h('li', {}, item.onclick
      ? h('button', {type: 'button', class: 'bar', onclick: item.onclick, title: item.title}, content)
      : h('div', {class: 'bar'}, content));
  }));
}

/** One bar. @param share 0 to 1 of the full width */
export function bar(share, muted = false) {
  return svg(
    'svg', {class: muted ? 'bar-line muted' : 'bar-line', 'aria-hidden': 'true'},
    svg('rect', {class: 'bar-track', width: '100%', height: '100%', rx: '2'}),
    svg('rect', {class: 'bar-fill', width: `${(Math.min(1, share) * 100).toFixed(2)}%`, height: '100%', rx: '2'}));
}
