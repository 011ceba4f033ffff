// Saving a filter as a segment. Saving over one shows the difference first; one that somebody else has changed
// meanwhile is shown, never overwritten.

import {appPath, call, Problem} from '../core/client.js';
import {foreign, h} from '../core/dom.js';
import {session} from '../core/session.js';
import {parts, t} from '../core/text.js';
import {dialog} from '../parts/dialog.js';
import {changeTable} from '../parts/facts.js';
import {field} from '../parts/form.js';
import {toast} from '../parts/toast.js';
import {inWords} from './summary.js';
import {treeOf} from './tree.js';

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

/** `{data, etag}` of a segment, or null if there is none of the name. */
export async function segmentNamed(name) {
  try {
    return await call('GET', appPath(session.app, 'segments', name));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

/**
 * Asks for a name, shows what changes, and saves.
 *
 * @param present `{name, etag, description}` of the segment that is being edited, or null.
 * @returns the saved segment's `{name, etag, description}`, or null if nothing was saved.
 */
export function saveSegment(filter, present) {
  const name = h('input', {
    required: true, maxlength: '128', pattern: '[A-Za-z0-9._\\-]+', title: t('segments.nameHint'),
    value: present?.name ?? '', autocomplete: 'off', spellcheck: 'false',
  });
  const description = h('input', {maxlength: '1024', value: present?.description ?? ''});
  return dialog({
    title: t('segments.save'),
    content: [field(t('views.name'), name, t('segments.nameHint')).node,
      field(t('segments.description'), description).node],
    actions: [{label: t('views.save'), value: true, kind: 'primary'}],
    run: () => save({name: name.value, description: description.value.trim()}, filter, present),
  });
}

/** @returns null if the person wants another name, or nothing. */
async function save(wanted, filter, present) {
  const stored = await segmentNamed(wanted.name);
  const isChanged = present?.name === wanted.name && stored && stored.etag !== present.etag;
  if (stored && !(await isAgreed(stored.data, {...wanted, filter}, isChanged))) return null;
  return put(wanted, filter, stored?.etag);
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
    if (stored && (await isAgreed(stored.data, {...wanted, filter}, true))) return put(wanted, filter, stored.etag);
    return null;
  }
}

/** Whether the person wants to replace what is stored, after seeing what differs. */
function isAgreed(stored, wanted, isChanged) {
  const said = ({filter}) => inWords(treeOf(filter));
  const described = ({description}) => (description ? foreign(description) : t('views.none'));
  const rows = [[t('audience.filter'), said(stored), said(wanted)]];
  if ((stored.description ?? '') !== wanted.description) {
    rows.push([t('segments.description'), described(stored), described(wanted)]);
  }
  return dialog({
    title: t(isChanged ? 'segments.conflict' : 'segments.replace'),
    content: [
      h('p', {}, parts(isChanged ? 'segments.conflictText' : 'segments.replaceText', {name: foreign(wanted.name)})),
      changeTable(rows),
    ],
    actions: [{label: t('segments.replaceButton'), value: true, kind: 'danger'}],
  });
}
