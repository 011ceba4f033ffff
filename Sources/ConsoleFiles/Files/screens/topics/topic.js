// The form of a topic. Saving over a topic shows the difference; a topic that somebody else has changed meanwhile is shown,
// and not overwritten: the catalogue has no ETags, so the topic is read again before it is written.

import {Problem, appPath, call} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {failureText} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {t} from '../../core/text.js';
import {changeTable} from '../../parts/changes.js';
import {dialog} from '../../parts/dialog.js';
import {toast} from '../../parts/toast.js';
import {choice, field} from '../../parts/facts.js';

/** @param topic null for a new one @param others the slugs that exist @param done called after a change */
export async function editTopic(topic, others, done) {
  const fields = controls(topic, others);
  for (;;) {
    const goesOn = await dialog({
      title: t(topic ? 'topics.edit' : 'topics.create'), content: fields.nodes,
      actions: [{label: t('topics.review'), value: true, kind: 'primary'}],
    });
    if (!goesOn) return;
    const {slug, body} = fields.read();
    try {
      if (!await isAgreed(topic, slug, body)) continue;
      await call('PUT', appPath(session.app, 'topics', slug), {body});
      toast(t('topics.saved', {name: body.name}));
      return done();
    } catch (error) {
      toast(failureText(error), 'error');
      if (!(error instanceof Problem)) return;
    }
  }
}

function controls(topic, others) {
  const slug = h('input', {
    type: 'text', required: true, maxlength: 64, pattern: '[a-z0-9._\\-]{1,64}', value: topic?.topic ?? '', disabled: topic !== null,
    class: 'wide', spellcheck: 'false', oninput: () => slug.setCustomValidity(
      others.includes(slug.value) ? t('topics.exists') : ''),
  });
  const text = (name, isRequired) => h('input', {
    type: 'text', required: isRequired, maxlength: 256, value: topic?.[name] ?? '', class: 'wide',
  });
  const [name, description, category] = [text('name', true), text('description', false), text('category', false)];
  const standard = choice(['in', 'out'].map((value) => [value, t(`topics.default.${value}`)]), topic?.default ?? 'in');
  const locked = h('input', {type: 'checkbox', checked: topic?.locked ?? false});
  const check = () => standard.setCustomValidity(
    locked.checked && standard.value === 'out' ? t('topics.lockedIsOut') : '');
  standard.addEventListener('change', check);
  locked.addEventListener('change', check);
  return {
    nodes: [
      field(t('topics.slug'), slug, t('topics.slugHint')).node,
      field(t('topics.name'), name, t('topics.nameHint')).node,
      field(t('topics.description'), description).node,
      field(t('topics.category'), category, t('topics.categoryHint')).node,
      field(t('topics.default'), standard, t('topics.defaultHint')).node,
      field(t('topics.locked'), locked, t('topics.lockedHint')).node,
    ],
    read: () => ({slug: slug.value, body: {
      name: name.value.trim(), description: description.value.trim() || null, category: category.value.trim() || null,
      default: standard.value, locked: locked.checked,
    }}),
  };
}

/** Shows what saving would change; of a topic that was changed meanwhile, against what it is now. */
async function isAgreed(topic, slug, body) {
  if (!topic) return true;
  const {data} = await call('GET', appPath(session.app, 'topics', slug));
  const [before, present] = [bodyOf(topic), bodyOf(data)];
  const isConflict = JSON.stringify(before) !== JSON.stringify(present);
  return await dialog({
    title: t(isConflict ? 'topics.conflict' : 'topics.difference'),
    content: [
      isConflict ? [h('p', {class: 'note'}, t('topics.conflictText')), changeTable(rowsOf(before, present)),
        h('p', {}, t('topics.yourChange'))] : null,
      changeTable(rowsOf(present, body)),
    ],
    actions: [{label: t('topics.save'), value: true, kind: 'primary'}],
  }) === true;
}

/** The members that a PUT has, in its order. */
function bodyOf({name, description, category, default: standard, locked}) {
  return {name, description, category, default: standard, locked};
}

function rowsOf(before, after) {
  return Object.keys(before).filter((name) => before[name] !== after[name]).map((name) => ({
    name: t(`topics.${name}`), before: valueNode(name, before[name]), after: valueNode(name, after[name]),
  }));
}

function valueNode(name, value) {
  if (value === null) return t('changes.none');
  switch (name) {
    case 'default': return t(`topics.default.${value}`);
    case 'locked': return t(value ? 'value.true' : 'value.false');
    default: return foreign(value);
  }
}
