// The strip of UTC offsets: how many installations have which local time now, by day and by night.

import {now} from '../../core/client.js';
import {h, replace, svg} from '../../core/dom.js';
import {number, percent, t} from '../../core/text.js';
import {offsetText} from '../../filter/labels.js';

const width = 1440, height = 170, base = 128;
const first = -12, last = 14;
const hourWidth = width / (last - first + 1);

/** @param offsets a breakdown by `utcOffset`. @param add called with the seconds. */
export function offsetStrip({groups, total}, add) {
  const known = groups.filter((group) => group.utcOffset !== null);
  const frame = h('div', {});
  draw();
  wait();
  return [frame, buttons()];

  /** Draws again at each full minute, until the strip has left the page. */
  function wait() {
    setTimeout(() => {
      if (!frame.isConnected) return;
      draw();
      wait();
    }, 60_000 - (now() % 60_000) + 50);
  }

  function draw() {
    const most = Math.max(1, ...known.map((group) => group.count));
    const hours = Array.from({length: last - first + 1}, (_, index) => first + index);
    replace(frame, svg(
      'svg', {class: 'offsets', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': t('world.offsetsLabel')},
      hours.map((hour) => svg('rect', {
        class: phaseOf(localMinutes(hour * 3600)), x: (hour - first) * hourWidth, width: hourWidth, height: base,
      })),
      known.map((group) => column(group, most)),
      hours.map((hour) => [
        svg('text', {class: 'clock', x: center(hour), y: base + 17}, clockText(localMinutes(hour * 3600))),
        svg('text', {class: 'offset', x: center(hour), y: base + 35}, offsetText(hour * 3600).slice(3, 6)),
      ])));
  }

  function column({utcOffset, count}, most) {
    const columnHeight = Math.max(2, (count / most) * (base - 10));
    return svg('rect', {
      class: 'column', x: center(utcOffset / 3600) - 9, width: 18, y: base - columnHeight, height: columnHeight, rx: 2,
      onclick: () => add(utcOffset),
    }, svg('title', {}, t('world.dot', {
      name: `${offsetText(utcOffset)}, ${clockText(localMinutes(utcOffset))}`, n: count, share: percent(count / total),
    })));
  }

  /** The same for the keyboard: the largest offsets as buttons. */
  function buttons() {
    return h('p', {class: 'row'}, known.slice(0, 8).map((group) => h(
      'button', {type: 'button', onclick: () => add(group.utcOffset)}, offsetText(group.utcOffset),
      h('small', {}, number(group.count)))));
  }
}

const center = (hours) => (hours - first + 0.5) * hourWidth;

/** Minutes since local midnight. */
function localMinutes(seconds) {
  const time = new Date(now());
  const minutes = time.getUTCHours() * 60 + time.getUTCMinutes() + seconds / 60;
  return ((minutes % 1440) + 1440) % 1440;
}

function phaseOf(minutes) {
  if (minutes < 360 || minutes >= 1320) return 'night';
  return minutes < 480 || minutes >= 1200 ? 'dusk' : 'day';
}

function clockText(minutes) {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(Math.floor(minutes % 60)).padStart(2, '0')}`;
}
