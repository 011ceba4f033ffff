// World: one dot for each time zone, as large as its count, and the local time around the earth.

import {currentAudience} from '../core/audience.js';
import {audiencePath, call} from '../core/client.js';
import {h, replace, svg} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {number, percent, t, timeOfDay} from '../core/text.js';
import {valueLabel, valueText} from '../filter/labels.js';
import {audienceLine} from '../filter/summary.js';
import {actionsTitle, pictureActions, table} from '../parts/table.js';
import {toast} from '../parts/toast.js';
import {coastPath} from './world/coast.js';
import {offsetStrip} from './world/offsets.js';
import {placeOf} from './world/zones.js';

const width = 1440, height = 580;
/** The radius of the largest dot. */
const radiusMax = 44, radiusMin = 2.5;

class WorldScreen extends Screen {
  start() {
    this.line = h('div', {});
    this.result = h('div', {});
    this.append(this.heading(t('nav.world'), t('world.lead')), this.line, this.result);
    this.#ask();
  }

  #ask() {
    replace(this.line, audienceLine(() => this.#ask()));
    const by = async (field, signal) => (await call('POST', audiencePath(session.app, 'breakdown'), {
      body: currentAudience.body({by: [field], limit: 1000}), signal,
    })).data;
    this.load(
      this.result, async (signal) => ({zones: await by('timeZone', signal), offsets: await by('utcOffset', signal)}),
      ({zones, offsets}) => this.#show(zones, offsets));
  }

  #show(zones, offsets) {
    if (zones.total === 0) return emptyPanel(t('breakdown.empty'), t('breakdown.emptyText'));
    const placed = zones.groups.filter((group) => placeOf(group.timeZone));
    const lost = zones.groups.filter((group) => !placed.includes(group));
    const lostCount = lost.reduce((sum, group) => sum + group.count, zones.rest.count);
    const rows = () => zones.groups.map((group) => [group.timeZone, group.count]);
    return [
      h('p', {class: 'row'},
        h('b', {}, t('world.total', {n: zones.total, zones: zones.groups.length})),
        h('span', {class: 'hint'}, t('audience.asOf', {time: timeOfDay(zones.asOf)})), h('span', {class: 'spacer'}),
        pictureActions('time-zones', ['timeZone', 'count'], rows, () => this.#picture())),
      h('div', {class: 'card picture'}, this.#map(placed, zones.total),
        lostCount > 0 ? h('p', {class: 'hint'}, t('world.lost', {n: lostCount})) : null),
      h('div', {class: 'card picture'}, h('h2', {}, t('field.localTime')),
        offsetStrip(offsets, (seconds) => this.#add('utcOffset', seconds))),
      h('details', {class: 'card'}, h('summary', {}, t('breakdown.table')), this.#table(zones)),
    ];
  }

  /** Dots are for the pointer; the table below does the same for the keyboard. */
  #map(groups, total) {
    const most = Math.max(1, ...groups.map((group) => group.count));
    const dots = groups.map((group) => {
      const [cx, cy] = placeOf(group.timeZone);
      const r = Math.max(radiusMin, Math.sqrt(group.count / most) * radiusMax).toFixed(1);
      return svg('circle', {class: 'dot', cx, cy, r, onclick: () => this.#add('timeZone', group.timeZone)},
        svg('title', {}, t('world.dot', {
          name: valueText('timeZone', group.timeZone), n: group.count, share: percent(group.count / total),
        })));
    });
    this.map = svg(
      'svg', {
        class: 'map', viewBox: `0 0 ${width} ${height}`, role: 'img',
        'aria-label': t('world.map', {zones: groups.length}),
      },
      svg('path', {class: 'land', d: coastPath(), transform: 'scale(2)'}), dots);
    return this.map;
  }

  /** The map with its colours. */
  #picture() {
    const copy = this.map.cloneNode(true);
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    copy.querySelector('.land').setAttribute('fill', '#d5dcdb');
    for (const dot of copy.querySelectorAll('.dot')) {
      dot.setAttribute('fill', '#0b6b5d');
      dot.setAttribute('fill-opacity', '0.6');
    }
    return copy;
  }

  #add(field, value) {
    currentAudience.add({[field]: value ?? {exists: false}});
    toast(t('world.added', {value: valueText(field, value)}));
    this.#ask();
  }

  #table({groups, total}) {
    return table({
      caption: t('breakdown.table'), captionHidden: true, rows: groups,
      columns: [
        {title: t('field.timeZone'), cell: ({timeZone}) => valueLabel('timeZone', timeZone)},
        {title: t('breakdown.count'), numeric: true, cell: ({count}) => number(count)},
        {title: t('breakdown.share'), numeric: true, cell: ({count}) => percent(count / total)},
        {title: actionsTitle(), cell: ({timeZone}) => h('button', {
          type: 'button', class: 'link', 'aria-label': t('world.addZone', {zone: valueText('timeZone', timeZone)}),
          onclick: () => this.#add('timeZone', timeZone),
        }, t('world.add'))},
      ],
    });
  }
}

customElements.define('world-screen', WorldScreen);
