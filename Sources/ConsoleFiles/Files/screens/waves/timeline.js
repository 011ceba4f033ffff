// The waves as a picture: a bar for each instant, over the hours of UTC.

import {h, svg} from '../../core/dom.js';
import {dateTime, number} from '../../core/text.js';

const width = 960, height = 180, foot = 24, inset = 20;
const hour = 3_600_000;

/**
 * @param waves of `schedule()`, in order
 * @param now the instant that a line marks, if it lies among the waves
 */
export function wavesTimeline(waves, {now, label}) {
  const first = Math.floor(Date.parse(waves[0].at) / hour) * hour;
  const last = Math.max(first + 4 * hour, Math.ceil(Date.parse(waves.at(-1).at) / hour) * hour);
  const x = (instant) => inset + ((instant - first) / (last - first)) * (width - 2 * inset);
  const largest = Math.max(1, ...waves.map((wave) => wave.count));
  const base = height - foot;
  return h('div', {class: 'chart-frame', tabindex: '0', role: 'region', 'aria-label': label}, svg(
    'svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
    ticks(first, last).map((tick) => [
      svg('line', {class: 'chart-grid', x1: x(tick), x2: x(tick), y1: 0, y2: base}),
      svg('text', {class: 'chart-text', x: x(tick), y: height - 6, 'text-anchor': 'middle'},
        new Date(tick).toISOString().slice(11, 16)),
    ]),
    now > first && now < last ? svg('line', {class: 'chart-now', x1: x(now), x2: x(now), y1: 0, y2: base}) : null,
    waves.map((wave) => {
      const size = Math.max(2, (wave.count / largest) * (base - 8));
      return svg(
        'rect', {class: wave.isPast ? 'bar-fill past' : 'bar-fill', x: x(Date.parse(wave.at)) - 4, y: base - size, width: 8,
          height: size, rx: 2},
        svg('title', {}, `${dateTime(wave.at)}: ${number(wave.count)}`));
    })));
}

/** Full hours of UTC, at most some ten of them. */
function ticks(first, last) {
  const step = ([1, 2, 3, 6].find((hours) => (last - first) / (hours * hour) <= 10) ?? 12) * hour;
  const ticks = [];
  for (let tick = Math.ceil(first / step) * step; tick <= last; tick += step) ticks.push(tick);
  return ticks;
}
