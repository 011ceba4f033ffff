// Segments: the saved filters of the app.

import {currentAudience} from '../core/audience.js';
import {appPath, audiencePath, call} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {emptyPanel, failureText} from '../core/panels.js';
import {go, href} from '../core/router.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {dateTime, number, relative, t, timeOfDay} from '../core/text.js';
import {allSegments, segmentNamed} from '../filter/saving.js';
import {inWords} from '../filter/summary.js';
import {nodesOf, treeOf} from '../filter/tree.js';
import {confirmed} from '../parts/dialog.js';
import {actionsTitle, table} from '../parts/table.js';
import {toast} from '../parts/toast.js';

class SegmentsScreen extends Screen {
  start() {
    this.place = h('div', {});
    this.append(this.heading(t('nav.segments'), t('segments.lead'), newFilter('button')), this.place);
    this.#list();
    if (this.parts[0]) this.#open(this.parts[0]);
  }

  async #list() {
    const counts = new Map();
    const isShown = await this.load(this.place, (signal) => allSegments(signal), (segments) => {
      if (segments.length === 0) {
        return emptyPanel(t('segments.empty'), t('segments.emptyText'), newFilter('button primary'));
      }
      const users = usersOf(segments);
      for (const {name} of segments) counts.set(name, h('span', {}, '…'));
      const columns = this.#columns(users, counts, this.#messagesOf(segments));
      return table({caption: t('nav.segments'), captionHidden: true, rows: segments, columns});
    });
    if (isShown) this.#countVisible(counts);
  }

  /** The newest messages that were exported with each segment: `(name) => node`, filled when they are known. */
  #messagesOf(segments) {
    const places = new Map(segments.map(({name}) => [name, h('ul', {class: 'plain'})]));
    call('GET', `${appPath(session.app, 'messages')}?limit=1000`, {signal: this.signal}).then(({data}) => {
      for (const {message, title, segments} of data.messages) {
        const link = () => h('a', {href: href('messages', message)}, foreign(title ?? message));
        for (const name of segments) places.get(name)?.append(h('li', {}, t('segments.message'), ' ', link()));
      }
    }, (error) => {
      if (!this.signal.aborted) toast(failureText(error), 'error');
    });
    return (name) => places.get(name);
  }

  #columns(users, counts, messages) {
    return [
      {title: t('views.name'), cell: (segment) => [
        h('button', {type: 'button', class: 'link', onclick: () => this.#open(segment.name)}, foreign(segment.name)),
        segment.description ? h('div', {}, foreign(segment.description)) : null,
        h('div', {class: 'hint'}, inWords(treeOf(segment.filter))),
      ]},
      {title: t('include.reachable'), numeric: true, cell: (segment) => counts.get(segment.name)},
      {title: t('segments.updated'), cell: (segment) => h(
        'time', {datetime: segment.updatedAt, title: dateTime(segment.updatedAt)}, relative(segment.updatedAt))},
      {title: t('segments.usedIn'), cell: ({name}) => [
        foreign((users.get(name) ?? []).join(', ')), messages(name)]},
      ...(session.may(['marketing']) ? [{title: actionsTitle(), cell: ({name}) => h('button', {
        type: 'button', class: 'quiet', 'aria-label': t('segments.deleteNamed', {name}),
        onclick: () => this.#delete(name),
      }, t('segments.delete'))}] : []),
    ];
  }

  /** Counts a segment when it comes into sight, one after the other: the list shows at once, and the counts follow. */
  #countVisible(counts) {
    const names = new Map([...counts].map(([name, place]) => [place, name]));
    let last = Promise.resolve();
    const observer = new IntersectionObserver((entries) => {
      for (const {target} of entries.filter((entry) => entry.isIntersecting)) {
        observer.unobserve(target);
        last = last.then(() => this.#count(names.get(target), target));
      }
    });
    for (const place of names.keys()) observer.observe(place);
    this.signal.addEventListener('abort', () => observer.disconnect());
  }

  async #count(name, place) {
    if (!place.isConnected) return;
    try {
      const body = {filter: {segment: name}, include: 'reachable'};
      const {data} = await call('POST', audiencePath(session.app, 'count'), {body, signal: this.signal});
      replace(place, number(data.count), ' ', h('small', {title: data.asOf}, timeOfDay(data.asOf)));
    } catch (error) {
      if (!this.signal.aborted) replace(place, h('span', {class: 'fault'}, failureText(error)));
    }
  }

  async #open(name) {
    try {
      const found = await segmentNamed(name);
      if (!found) return this.#list();
      const {filter, description} = found.data;
      const segment = {name, etag: found.etag, description: description ?? ''};
      currentAudience.set({filter, include: 'reachable', segment});
      go('audience');
    } catch (error) {
      toast(failureText(error), 'error');
    }
  }

  async #delete(name) {
    const title = t('segments.deleteTitle', {name});
    if (!(await confirmed({title, text: t('segments.deleteText'), action: t('segments.delete')}))) return;
    try {
      await call('DELETE', appPath(session.app, 'segments', name));
      if (currentAudience.segment?.name === name) currentAudience.set({segment: null});
      toast(t('segments.deleted', {name}));
    } catch (error) {
      toast(failureText(error), 'error');
    }
    this.#list();
  }
}

function newFilter(kind) {
  return h('a', {class: kind, href: href('audience')}, t('segments.new'));
}

/** The segments that name each segment: `{name: [names]}`. */
function usersOf(segments) {
  const users = new Map();
  for (const {name, filter} of segments) {
    for (const node of nodesOf(treeOf(filter))) {
      if (node.kind === 'segment' && node.name !== name) users.set(node.name, [...(users.get(node.name) ?? []), name]);
    }
  }
  return users;
}

customElements.define('segments-screen', SegmentsScreen);
