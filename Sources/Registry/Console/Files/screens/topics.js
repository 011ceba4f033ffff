// Topics: what the app sends pushes about, and how many are subscribed.

import {appPath, audiencePath, call} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {emptyPanel, failureText} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {number, parts, t, timeOfDay} from '../core/text.js';
import {confirmed, dialog} from '../parts/dialog.js';
import {changeTable, section, tag} from '../parts/facts.js';
import {button, choice, field} from '../parts/form.js';
import {loaded} from '../parts/pages.js';
import {table} from '../parts/table.js';
import {toast} from '../parts/toast.js';

const path = (...parts) => appPath(session.app, 'topics', ...parts);

class TopicsScreen extends Screen {
  #topics = [];
  #reload = () => {};
  #mayWrite = session.may(['marketing']);

  start() {
    const lead = this.#mayWrite ? t('topics.lead') : `${t('topics.lead')} ${t('topics.readOnly')}`;
    this.append(this.heading(t('nav.topics'), lead, this.#createButton()), loaded(
      this, path(), ({topics}, reload) => this.#list(topics, reload)));
  }

  #createButton() {
    return this.#mayWrite ? button(t('topics.create'), () => this.#edit(null), 'primary') : null;
  }

  #list(topics, reload) {
    this.#topics = topics;
    this.#reload = reload;
    if (topics.length === 0) return emptyPanel(t('topics.empty'), t('topics.emptyText'), this.#createButton());
    const cells = new Map(topics.map((topic) => [topic.topic, h('span')]));
    if (session.may(['marketing', 'sender'])) this.#count(cells);
    return [...Map.groupBy(topics, (topic) => topic.category)].map(([category, members]) => section(
      category === null ? t('topics.noCategory') : foreign(category),
      this.#table(category ?? t('topics.noCategory'), members, cells)));
  }

  #table(caption, rows, cells) {
    return table({caption, captionHidden: true, rows, columns: [
      {title: t('views.name'), cell: (topic) => [
        h('b', {}, foreign(topic.name)), ' ', h('code', {class: 'hint'}, topic.topic),
        topic.description && h('p', {class: 'hint'}, foreign(topic.description)),
      ]},
      {title: t('topics.member.default'), cell: (topic) => [
        t(`topics.default.${topic.default}`), ' ', topic.locked && tag('', t('topics.member.locked'))]},
      {title: t('topics.subscribed'), numeric: true, cell: (topic) => cells.get(topic.topic)},
      ...(this.#mayWrite ? [{title: t('views.action'), cell: (topic) => h('div', {class: 'actions'},
        button(t('topics.edit'), () => this.#edit(topic), null, foreign(topic.name)),
        button(t('segments.delete'), () => this.#delete(topic), 'danger', foreign(topic.name)))}] : []),
    ]});
  }

  /** Counts the subscribers of all topics at once. A topic without any is in no group. */
  async #count(cells) {
    try {
      const {data} = await call('POST', audiencePath(session.app, 'breakdown'), {
        body: {filter: {}, by: ['topic'], include: 'reachable', limit: 1000}, signal: this.signal,
      });
      const counts = new Map(data.groups.map((group) => [group.topic, group.count]));
      for (const [topic, cell] of cells) {
        replace(cell, number(counts.get(topic) ?? 0), ' ', h('small', {title: data.asOf}, timeOfDay(data.asOf)));
      }
    } catch (error) {
      if (this.signal.aborted) return;
      for (const cell of cells.values()) replace(cell, h('span', {title: failureText(error)}, '–'));
    }
  }

  async #edit(topic) {
    if (await edit(topic, this.#topics.map((other) => other.topic))) this.#reload();
  }

  async #delete({topic, name}) {
    const text = parts('topics.deleteText', {name: foreign(name)});
    if (!await confirmed({title: t('topics.deleteTitle'), text, action: t('segments.delete')})) return;
    try {
      await call('DELETE', path(topic));
      this.#reload();
    } catch (error) {
      toast(failureText(error), 'error');
    }
  }
}

/** The members that a PUT has, in its order. */
const bodyOf = ({name, description, category, default: standard, locked}) =>
  ({name, description, category, default: standard, locked});

/**
 * A form for a topic, then the difference. The catalogue has no ETags, so a topic is read again before it is written:
 * what somebody else has changed meanwhile is shown, and not overwritten unseen.
 *
 * @param topic null for a new one
 * @param others the identifiers that exist
 * @returns true if it was saved, else null
 */
async function edit(topic, others) {
  const {nodes, read} = form(topic, others);
  const actions = [{label: t('topics.review'), value: true, kind: 'primary'}];
  const save = async () => {
    const {slug, body} = read();
    if (topic && !await isAgreed(topic, slug, body)) return null;
    await call('PUT', path(slug), {body});
    return true;
  };
  return dialog({title: t(topic ? 'topics.edit' : 'topics.create'), content: nodes, actions, run: save});
}

function form(topic, others) {
  const text = (name, isRequired) => h('input', {
    type: 'text', required: isRequired, maxlength: 256, value: topic?.[name] ?? '', class: 'wide',
  });
  const slug = h('input', {
    type: 'text', required: true, maxlength: 64, pattern: '[a-z0-9._\\-]{1,64}', value: topic?.topic ?? '',
    class: 'wide', disabled: topic !== null,
    oninput: () => slug.setCustomValidity(others.includes(slug.value) ? t('topics.exists') : ''),
  });
  const [name, description, category] = [text('name', true), text('description', false), text('category', false)];
  const standard = choice(['in', 'out'].map((value) => [value, t(`topics.default.${value}`)]), topic?.default ?? 'in');
  const locked = h('input', {type: 'checkbox', checked: topic?.locked ?? false});
  for (const control of [standard, locked]) {
    control.addEventListener('change', () => standard.setCustomValidity(
      locked.checked && standard.value === 'out' ? t('topics.lockedIsOut') : ''));
  }
  return {
    nodes: [
      field(t('topics.slug'), slug, t('topics.slugHint')).node, field(t('views.name'), name).node,
      field(t('topics.member.description'), description).node, field(t('topics.member.category'), category).node,
      field(t('topics.member.default'), standard).node,
      field(t('topics.member.locked'), locked, t('topics.lockedHint')).node,
    ],
    read: () => ({slug: slug.value, body: {
      name: name.value.trim(), description: description.value.trim() || null, category: category.value.trim() || null,
      default: standard.value, locked: locked.checked,
    }}),
  };
}

/** Shows what saving would change, and before it what somebody else has changed since the form was opened. */
async function isAgreed(topic, slug, body) {
  const present = bodyOf((await call('GET', path(slug))).data);
  const theirs = rowsBetween(bodyOf(topic), present);
  return dialog({
    title: t(theirs.length > 0 ? 'views.conflict' : 'views.saveThis'),
    content: [
      theirs.length > 0 && [changeTable(theirs, undefined, t('views.conflict')), h('p', {}, t('views.saveThis'))],
      changeTable(rowsBetween(present, body)),
    ],
    actions: [{label: t('views.save'), value: true, kind: 'primary'}],
  });
}

function rowsBetween(before, after) {
  const label = (name) => t(name === 'name' ? 'views.name' : `topics.member.${name}`);
  return Object.keys(before).filter((name) => before[name] !== after[name])
    .map((name) => [label(name), valueNode(name, before[name]), valueNode(name, after[name])]);
}

function valueNode(name, value) {
  if (value === null) return t('views.none');
  if (name === 'default') return t(`topics.default.${value}`);
  return typeof value === 'boolean' ? t(`value.${value}`) : foreign(value);
}

customElements.define('topics-screen', TopicsScreen);
