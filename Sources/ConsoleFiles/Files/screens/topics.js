// Topics: what the app sends pushes about, and how many are subscribed.

import {appPath, audiencePath, call} from '../core/client.js';
import {confirmed} from '../parts/dialog.js';
import {foreign, h, replace} from '../core/dom.js';
import {emptyPanel, failureText} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {table} from '../parts/table.js';
import {number, t, timeOfDay} from '../core/text.js';
import {toast} from '../parts/toast.js';
import {section, tag} from '../parts/facts.js';
import {editTopic} from './topics/topic.js';

export default class TopicsScreen extends Screen {
  #place = h('div');
  #topics = [];

  start() {
    this.append(
      this.heading(t('nav.topics'), this.#mayWrite ? t('topics.lead') : `${t('topics.lead')} ${t('topics.readOnly')}`,
        this.#createButton()),
      this.#place);
    this.#load();
  }

  #createButton() {
    return this.#mayWrite
      ? h('button', {type: 'button', class: 'primary', onclick: () => this.#edit(null)}, t('topics.create')) : null;
  }

  get #mayWrite() {
    return session.may(['marketing']);
  }

  #load() {
    this.load(this.#place, async (signal) => (await call('GET', appPath(session.app, 'topics'), {signal})).data,
      ({topics}) => {
        this.#topics = topics;
        if (topics.length === 0) return emptyPanel(t('topics.empty'), t('topics.emptyText'), this.#createButton());
        const cells = new Map(topics.map((topic) => [topic.topic, h('span')]));
        if (session.may(['marketing', 'sender'])) this.#count(cells);
        const groups = Map.groupBy(topics, (topic) => topic.category);
        return [...groups].map(([category, members]) => section(
          category === null ? t('topics.noCategory') : foreign(category), this.#table(category, members, cells)));
      });
  }

  #table(category, topics, cells) {
    const columns = [
      {title: t('topics.name'), cell: (topic) => [
        h('b', {}, foreign(topic.name)), ' ', h('code', {class: 'hint'}, topic.topic),
        topic.description ? h('p', {class: 'hint'}, foreign(topic.description)) : null,
      ]},
      {title: t('topics.default'), cell: (topic) => [t(`topics.default.${topic.default}`), ' ',
        topic.locked ? tag('', t('topics.lockedTag')) : null]},
      {title: t('topics.subscribed'), numeric: true, cell: (topic) => cells.get(topic.topic)},
    ];
    if (this.#mayWrite) {
      columns.push({title: t('topics.action'), cell: (topic) => h('div', {class: 'actions'},
        h('button', {type: 'button', onclick: () => this.#edit(topic)}, t('topics.edit'), named(topic)),
        h('button', {type: 'button', class: 'danger', onclick: () => this.#delete(topic)}, t('topics.delete'), named(topic)))});
    }
    return table({caption: category ?? t('topics.noCategory'), captionHidden: true, rows: topics, columns});
  }

  /** Counts the subscribers of one topic after the other, so that a large catalogue does not burden the service. */
  async #count(cells) {
    for (const [topic, cell] of cells) {
      try {
        const {data} = await call('POST', audiencePath(session.app, 'count'), {
          body: {filter: {topic}, include: 'reachable'}, signal: this.signal,
        });
        replace(cell, h('span', {title: data.asOf}, number(data.count)), ' ', h('small', {}, timeOfDay(data.asOf)));
      } catch (error) {
        if (this.signal.aborted) return;
        replace(cell, h('span', {title: failureText(error)}, '–'));
      }
    }
  }

  #edit(topic) {
    return editTopic(topic, topic ? [] : this.#topics.map((other) => other.topic), () => this.#load());
  }

  async #delete(topic) {
    const isSure = await confirmed({
      title: t('topics.deleteTitle'), text: t('topics.deleteText', {name: topic.name}), action: t('topics.delete'),
    });
    if (!isSure) return;
    try {
      await call('DELETE', appPath(session.app, 'topics', topic.topic));
      toast(t('topics.deleted', {name: topic.name}));
      this.#load();
    } catch (error) {
      toast(failureText(error), 'error');
    }
  }
}

/** For screen readers: which topic a button is about. */
function named(topic) {
  return h('span', {class: 'sr-only'}, ' ', foreign(topic.name));
}

customElements.define('topics-screen', TopicsScreen);
