// The audience that was built on the screen Audience, as other screens show it: which filter, of which installations,
// and how many those are.

import {currentAudience} from '../core/audience.js';
import {audiencePath, call, Latest} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {href} from '../core/router.js';
import {session} from '../core/session.js';
import {number, t} from '../core/text.js';
import {choice, exactly} from '../parts/facts.js';
import {inWords} from './summary.js';
import {treeOf} from './tree.js';

const includes = ['reachable', 'active', 'all'];

/** @param counted called with the count, or null while there is none */
export function chosenAudience(screen, counted = () => {}) {
  const latest = new Latest(0);
  const count = h('p', {class: 'row', 'aria-live': 'polite'});
  const filter = h('div');
  const update = () => {
    replace(filter, currentAudience.isEverybody
      ? h('p', {}, t('chosen.everybody'))
      : [
        currentAudience.segment ? h('p', {}, t('field.segment'), ' ', h('b', {}, foreign(segmentName()))) : null,
        h('p', {}, inWords(treeOf(currentAudience.filter))),
      ]);
    count.classList.add('stale');
    counted(null);
    latest.ask(
      async (signal) => (await call('POST', audiencePath(session.app, 'count'), {body: currentAudience.body(), signal})).data,
      (answer) => {
        count.classList.remove('stale');
        replace(count, h('span', {class: 'number small'}, number(answer.count)), h('span', {},
          t('chosen.count', {n: answer.count})), h('span', {class: 'hint'}, exactly(answer.asOf)));
        counted(answer.count);
      },
      (error) => {
        count.classList.remove('stale');
        replace(count, h('span', {class: 'fault', role: 'alert'}, failureText(error)));
      }, {now: true});
  };
  const include = choice(includes.map((name) => [name, t(`include.${name}`)]), currentAudience.include,
    (value) => currentAudience.set({include: value}));
  include.setAttribute('aria-label', t('chosen.include'));
  currentAudience.addEventListener('change', update, {signal: screen.signal});
  screen.signal.addEventListener('abort', () => latest.cancel());
  update();
  return h(
    'section', {class: 'card', 'aria-label': t('chosen.audience')},
    filter, count, h('div', {class: 'actions'}, include, h('a', {class: 'button', href: href('audience')},
      t('chosen.change'))));
}

/** A segment is a name, or an object with one. */
function segmentName() {
  return currentAudience.segment.name ?? currentAudience.segment;
}
