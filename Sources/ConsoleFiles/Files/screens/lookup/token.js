// A token: who had it, and when and why it moved. The token itself is never shown, only its digest.

import {appPath, call} from '../../core/client.js';
import {foreign, h, svg} from '../../core/dom.js';
import {session} from '../../core/session.js';
import {table} from '../../parts/table.js';
import {t} from '../../core/text.js';
import {exactly} from '../../parts/facts.js';
import {valueLabel} from '../../filter/labels.js';
import {person, sentenceNodes} from './history.js';
import {bands, holders} from './owners.js';

/** The histories of this many holders say when they gave the token up. */
const holdersMax = 5;

/** The histories of the installations that held a token. */
export async function holderEvents(events, signal) {
  const histories = await Promise.all(holders(events).slice(0, holdersMax).map(async (installId) => {
    const {data} = await call('GET', appPath(session.app, 'installations', installId, 'history'), {signal});
    return data.events;
  }));
  return histories.flat();
}

/** @param found `{provider, events, others, isPartial}`: the token's history and those of its holders */
export function tokenView(screen, {provider, events, others, isPartial}) {
  const held = bands(events, others);
  const now = Date.now();
  const start = Date.parse(held[0]?.from ?? events.at(-1).at);
  const rows = [...held].reverse();
  return [
    h('h2', {tabindex: '-1'}, t('lookup.token')),
    h('p', {}, valueLabel('provider', provider), ' · ', t('lookup.digest'), ' ',
      h('code', {class: 'digest'}, events[0].tokenSha256)),
    h('p', {}, t(held.at(-1)?.to === null ? 'lookup.heldNow' : 'lookup.heldByNobody')),
    isPartial ? h('p', {class: 'hint'}, t('lookup.partial')) : null,
    table({caption: t('lookup.owners'), rows, columns: [
      {title: t('lookup.owner'), cell: (band) => person(band.userId)},
      {title: t('lookup.time'), cell: (band) => [
        strip(band, start, now),
        h('span', {class: 'hint'}, exactly(band.from), ' – ', band.to ? exactly(band.to) : t('lookup.today')),
      ]},
      {title: t('lookup.installation'), cell: (band) => h(
        'button', {type: 'button', class: 'link', onclick: () => screen.look('installation', band.installId)},
        foreign(band.installId))},
      {title: t('lookup.state'), cell: (band) => stateName(band.state)},
      {title: t('lookup.reason'), cell: (band) => [
        h('p', {}, sentenceNodes(band.because)), band.end ? h('p', {}, t('lookup.ended'), ' ', sentenceNodes(band.end)) : null,
      ]},
    ]}),
  ];
}

/** Where on the way from the token's first event to now the band lies. */
function strip(band, start, now) {
  const span = Math.max(1, now - start);
  const left = (Date.parse(band.from) - start) / span;
  const width = Math.max(0.01, ((band.to ? Date.parse(band.to) : now) - start) / span - left);
  const x = Math.min(left, 1 - width);
  return svg(
    'svg', {class: `band ${band.state === 'active' ? 'active' : 'idle'}`, 'aria-hidden': 'true'},
    svg('rect', {class: 'bar-track', width: '100%', height: '100%', rx: '2'}),
    svg('rect', {class: 'bar-fill', x: `${(x * 100).toFixed(2)}%`, width: `${(width * 100).toFixed(2)}%`, height: '100%',
      rx: '2'}));
}

function stateName(state) {
  return t(`lookup.state.${state}`);
}
