// What the breaker for feedback holds of the app, and the two decisions about it. The numbers are those of dry runs.

import {appPath, call} from '../../core/client.js';
import {h} from '../../core/dom.js';
import {session} from '../../core/session.js';
import {t} from '../../core/text.js';
import {choicesOf} from '../../filter/fields.js';
import {valueText} from '../../filter/labels.js';
import {dialog} from '../../parts/dialog.js';
import {button, field} from '../../parts/form.js';
import {toast} from '../../parts/toast.js';

/** A note for each provider of which something is held; nothing if all is well. */
export function heldNotes(screen) {
  const [place, providers] = [h('div'), choicesOf('provider')];
  const load = () => screen.load(
    place, (signal) => Promise.all(providers.map((provider) => decide('release', {provider, dryRun: true}, signal))),
    (counts) => counts.map((n, index) => n > 0 && note(providers[index], n, load)));
  load();
  return place;
}

function note(provider, n, reload) {
  const name = valueText('provider', provider);
  return h(
    'div', {class: 'note spaced', 'data-provider': provider},
    h('p', {}, t('held.note', {n, provider: name})), h('p', {}, t('held.text')),
    h('p', {class: 'actions'}, button(t('held.restore'), () => restore(provider, reload), null, name),
      button(t('held.release'), () => settle('release', {provider}, n, reload), 'danger', name)));
}

/** @returns how many installations and tokens the decision changes, or would change. */
async function decide(decision, body, signal) {
  const {data} = await call('POST', appPath(session.app, 'feedback', decision), {body, signal});
  return data[`${decision}d`];
}

/** Asks when the outage began, and counts before it asks whether to go on. */
async function restore(provider, reload) {
  const input = h('input', {type: 'datetime-local', required: true});
  const counted = await dialog({
    title: t('held.restore'),
    content: [h('p', {}, t('held.restoreText')), field(t('held.since'), input, t('held.sinceHint')).node],
    actions: [{label: t('held.count'), value: true, kind: 'primary'}],
    run: async () => {
      const since = new Date(input.value).toISOString();
      return {since, n: await decide('restore', {provider, since, dryRun: true})};
    },
  });
  if (counted) await settle('restore', {provider, since: counted.since}, counted.n, reload);
}

/** Asks whether to go on. */
async function settle(decision, body, n, reload) {
  const done = await dialog({
    title: t(`held.${decision}`), content: h('p', {}, t(`held.${decision}Question`, {n})),
    actions: [{label: t(`held.${decision}`), value: true, kind: 'danger'}], run: () => decide(decision, body),
  });
  if (done === null) return;
  toast(t(`held.${decision}d`, {n: done}));
  reload();
}
