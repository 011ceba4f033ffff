// Saving a filter as a segment. Saving over one shows the difference first; one that somebody else has changed
// meanwhile is shown, never overwritten.

import {appPath, call, Problem} from '../core/client.js';
import {dialog, difference} from '../parts/dialog.js';
import {foreign, h} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {session} from '../core/session.js';
import {parts, t} from '../core/text.js';
import {toast} from '../parts/toast.js';

/** All segments of the app, in the order of their names. */
export async function allSegments(signal) {
  const segments = [];
  let after = null;
  do {
    const query = after === null ? '' : `&after=${encodeURIComponent(after)}`;
    const {data} = await call('GET', `${appPath(session.app, 'segments')}?limit=1000${query}`, {signal});
    segments.push(...data.segments);
    after = data.next;
  } while (after !== null);
  return segments;
}

/** `{data, etag}`, or null if there is none of the name. A missing one is not asked for: that would be an error in the
 * browser's console. */
export async function segmentNamed(name) {
  const exists = (await allSegments()).some((segment) => segment.name === name);
  return exists ? call('GET', appPath(session.app, 'segments', name)) : null;
}

/**
 * Asks for a name, shows what changes, and saves.
 *
 * @param present `{name, etag, description}` of the segment that is being edited, or null.
 * @returns the saved segment's `{name, etag, description}`, or null if nothing was saved.
 */
export async function saveSegment(filter, present) {
  try {
    const wanted = await askName(present);
    if (!wanted) return null;
    const stored = await segmentNamed(wanted.name);
    const isChanged = present?.name === wanted.name && stored && stored.etag !== present.etag;
    if (stored && !(await agreed(stored.data, {...wanted, filter}, isChanged))) return null;
    return await put(wanted, filter, stored?.etag);
  } catch (error) {
    toast(failureText(error), 'error');
    return null;
  }
}

async function put(wanted, filter, etag) {
  const body = wanted.description ? {filter, description: wanted.description} : {filter};
  const options = etag ? {ifMatch: etag} : {ifNoneMatch: '*'};
  try {
    const response = await call('PUT', appPath(session.app, 'segments', wanted.name), {body, ...options});
    toast(t('segments.saved', {name: wanted.name}));
    return {...wanted, etag: response.etag};
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 412) throw error;
    const stored = await segmentNamed(wanted.name);
    if (stored && (await agreed(stored.data, {...wanted, filter}, true))) return put(wanted, filter, stored.etag);
    return null;
  }
}

async function askName(present) {
  const name = h('input', {
    id: 'segment-name', required: true, maxlength: '128', pattern: '[A-Za-z0-9._\\-]+', value: present?.name ?? '',
    autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'segment-name-hint',
  });
  const description = h('input', {id: 'segment-description', maxlength: '1024', value: present?.description ?? ''});
  const saves = await dialog({
    title: t('segments.save'),
    content: [
      h('div', {class: 'field'}, h('label', {for: 'segment-name'}, t('views.name')), name,
        h('p', {class: 'hint', id: 'segment-name-hint'}, t('segments.nameHint'))),
      h('div', {class: 'field'}, h('label', {for: 'segment-description'}, t('segments.description')), description),
    ],
    actions: [{label: t('views.save'), value: true, kind: 'primary'}],
  });
  return saves ? {name: name.value, description: description.value.trim()} : null;
}

/** Whether the person wants to replace what is stored, after seeing what differs. */
async function agreed(stored, wanted, isChanged) {
  const shown = ({filter, description}) => ({description: description || null, filter});
  return dialog({
    title: t(isChanged ? 'segments.conflict' : 'segments.replace'),
    content: [
      h('p', {}, parts(isChanged ? 'segments.conflictText' : 'segments.replaceText', {name: foreign(wanted.name)})),
      difference(shown(stored), shown(wanted)),
    ],
    actions: [{label: t('segments.replaceButton'), value: true, kind: 'danger'}],
  });
}
