// Whether the service is ready and what hinders it, and how busy this process is.

import {call} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {t} from '../../core/text.js';
import {section, tag} from '../../parts/facts.js';

export function healthPage(screen) {
  const readiness = h('div');
  const load = () => screen.load(
    readiness, async (signal) => (await call('GET', '/v1/health', {signal})).data, findings);
  load();
  return [section(t('operations.readiness'), readiness, h('p', {class: 'actions spaced'}, h(
    'button', {type: 'button', onclick: load}, t('operations.refresh'))))];
}

function findings({obstacles, degraded}) {
  const list = (title, texts) => (texts.length > 0
    ? [h('p', {}, h('b', {}, title)), h('ul', {}, texts.map((text) => h('li', {}, foreign(text))))] : null);
  return [
    h('p', {}, obstacles.length === 0 ? tag('good', t('operations.ready')) : tag('bad', t('operations.notReady'))),
    obstacles.length + degraded.length === 0 ? h('p', {}, t('operations.allWell')) : null,
    list(t('operations.obstacles'), obstacles),
    list(t('operations.degraded'), degraded),
  ];
}
