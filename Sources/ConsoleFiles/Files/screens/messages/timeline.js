// What came of a message over time: a bar for each bucket, deliveries behind, opened pushes before them.

import {h, svg} from '../../core/dom.js';
import {dateTime, number, t} from '../../core/text.js';

const width = 960, height = 180, foot = 24, head = 16;

/** @param buckets `[{at, delivered, opened}]`, at least one */
export function messageTimeline(buckets, label) {
  const largest = Math.max(1, ...buckets.map((bucket) => bucket.delivered));
  const step = width / buckets.length;
  const base = height - foot;
  const bar = (kind, index, count) => {
    const size = (count / largest) * (base - head);
    return svg('rect', {class: kind, x: index * step + step * 0.1, y: base - size, width: Math.min(step * 0.8, 48), height: size});
  };
  return h('div', {class: 'chart-frame', tabindex: '0', role: 'region', 'aria-label': label}, svg(
    'svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
    svg('line', {class: 'chart-grid', x1: 0, x2: width, y1: base, y2: base}),
    svg('text', {class: 'chart-text', x: 0, y: 12}, number(largest)),
    buckets.map((bucket, index) => svg(
      'g', {}, bar('bar-fill soft', index, bucket.delivered), bar('bar-fill', index, bucket.opened),
      svg('title', {}, t('messages.bucket', {
        at: dateTime(bucket.at), delivered: bucket.delivered, opened: bucket.opened,
      })))),
    [[0, 'start', 0], [buckets.length - 1, 'end', width]].slice(0, buckets.length).map(([index, anchor, x]) => svg(
      'text', {class: 'chart-text', x, y: height - 6, 'text-anchor': anchor}, dateTime(buckets[index].at)))));
}
