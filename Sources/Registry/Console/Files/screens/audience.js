// Audience: the filter as sentences or JSON, and beside it the exact numbers.

import {currentAudience} from '../core/audience.js';
import {Latest, Problem} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {failureText, faultText} from '../core/panels.js';
import {href} from '../core/router.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {number, percent, t, timeOfDay} from '../core/text.js';
import {Builder} from '../builder/builder.js';
import {countEverything, countTree} from '../filter/counting.js';
import {History} from '../filter/edits.js';
import {jsonEditor} from '../builder/json.js';
import {allSegments, saveSegment} from '../filter/saving.js';
import {button, field} from '../parts/form.js';
import {includeChoice} from '../filter/summary.js';
import {suggestions} from '../filter/suggestions.js';
import {filterOf, group, InvalidFilter, isComplete, nodeAt, treeOf, written} from '../filter/tree.js';
import {copy, toast} from '../parts/toast.js';

class AudienceScreen extends Screen {
  #latest = new Latest();
  #total = null;
  /** The first sentence that leaves nobody. */
  #culprit = null;

  start() {
    this.#followLink();
    const history = this.#history();
    this.builder = new Builder(history, {
      suggest: (row) => this.#suggest(row), changed: (isTyping) => this.#changed(isTyping),
    });
    this.json = jsonEditor(this.builder, (tree) => {
      history.record(tree, 'json');
      this.builder.draw();
      this.#count(true);
      this.#drawHistory();
    });
    this.#draw();
    this.addEventListener('keydown', (event) => this.#shortcut(event));
    this.addEventListener('listclose', () => this.#markCulprit());
    this.signal.addEventListener('abort', () => this.#latest.cancel());
    this.#count(false);
    this.#loadSegments();
  }

  /** The filter of a link replaces the present one, which *Undo* brings back. */
  #followLink() {
    try {
      const {linked} = currentAudience;
      if (linked === undefined || JSON.stringify(linked) === JSON.stringify(currentAudience.filter)) return;
      treeOf(linked);
      currentAudience.set({filter: linked, segment: null});
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof InvalidFilter)) throw error;
      toast(t('audience.noLink'), 'error');
    }
  }

  /** It outlives the screen: who comes back finds the same sentences and may still undo. */
  #history() {
    const {filter, history: stored, isRecorded} = currentAudience;
    const history = !stored ? new History(treeOf(filter)) : stored instanceof History ? stored : History.of(stored);
    // A condition that another screen has added can be undone, too.
    if (stored && !isRecorded) history.record(treeOf(filter));
    Object.assign(currentAudience, {history, isRecorded: true});
    return history;
  }

  // MARK: Drawing

  #draw() {
    this.undo = h('button', {type: 'button', onclick: () => this.builder.undo(), title: 'Ctrl+Z'}, t('audience.undo'));
    this.redo = h('button', {type: 'button', onclick: () => this.builder.redo(), title: 'Ctrl+Y'}, t('audience.redo'));
    this.clear = h('button', {type: 'button', onclick: () => this.#clear()}, t('audience.clear'));
    this.save = session.may(['marketing'])
      ? h('button', {type: 'button', class: 'primary', onclick: () => this.#save()}, t('segments.save')) : null;
    this.panels = {sentences: this.builder.element, json: this.json.element};
    this.tabs = Object.fromEntries(Object.keys(this.panels).map((name) => [name, this.#tab(name)]));
    this.opened = h('p', {class: 'row opened'});
    this.append(
      this.heading(t('nav.audience'), t('audience.lead'), this.undo, this.redo, this.clear,
        button(t('audience.link'), () => this.#copyLink()), this.save),
      this.opened,
      h('div', {class: 'audience'},
        h('div', {class: 'card filter'},
          h('div', {
            class: 'tabs', role: 'tablist', 'aria-label': t('audience.filter'),
            onkeydown: (event) => this.#arrow(event),
          }, Object.values(this.tabs)),
          Object.entries(this.panels).map(([name, panel]) => h(
            'div', {role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`}, panel))),
        this.#numbers()));
    this.#show('sentences');
    this.#drawHistory();
    this.#drawOpened();
  }

  /** The segment that the filter was opened from. */
  #drawOpened() {
    const {segment} = currentAudience;
    this.opened.hidden = segment === null;
    if (!segment) return;
    const name = h('span', {class: 'tag good'}, t('field.segment'), ' ', foreign(segment.name));
    replace(this.opened, name, foreign(segment.description));
  }

  #tab(name) {
    return h('button', {
      type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, onclick: () => this.#show(name),
    }, t(`audience.tab.${name}`));
  }

  #show(name) {
    if (name === 'json') this.json.write();
    for (const [other, tab] of Object.entries(this.tabs)) {
      tab.setAttribute('aria-selected', String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      this.panels[other].parentNode.hidden = other !== name;
    }
  }

  #arrow(event) {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    const name = document.activeElement === this.tabs.json ? 'sentences' : 'json';
    this.#show(name);
    this.tabs[name].focus();
  }

  #numbers() {
    this.big = h('p', {class: 'number', 'data-count': 'reachable'}, '\u00A0');
    this.share = h('p', {class: 'share'}, '\u00A0');
    this.counts = Object.fromEntries(['active', 'all'].map((name) => [name, h('dd', {'data-count': name}, '–')]));
    this.asOf = h('p', {class: 'hint as-of'}, '\u00A0');
    this.status = h('p', {class: 'hint', role: 'status'});
    this.figures = h('div', {class: 'figures'}, this.big, this.share,
      h('dl', {}, ['active', 'all'].map((name) => h(
        'div', {}, h('dt', {title: t(`audience.${name}Hint`)}, t(`include.${name}`)), this.counts[name]))),
      this.asOf);
    return h(
      'div', {class: 'beside'},
      h('section', {class: 'card numbers', 'aria-label': t('audience.numbers')},
        h('h2', {}, t('include.reachable')), this.figures, this.status),
      h('div', {class: 'card onward'},
        field(t('audience.include'), includeChoice(() => {})).node,
        h('p', {class: 'actions'}, ['breakdown', 'world', 'trend', 'export', 'waves'].map((path) =>
          h('a', {class: 'button', href: href(path)}, t(`nav.${path}`))))));
  }

  #drawHistory() {
    const {history} = this.builder;
    this.undo.disabled = !history.canUndo;
    this.redo.disabled = !history.canRedo;
    this.clear.disabled = history.present.children.length === 0;
    if (this.save) this.save.disabled = !isComplete(history.present);
  }

  // MARK: Edits

  #changed(isTyping) {
    this.#drawHistory();
    if (!this.panels.json.parentNode.hidden && document.activeElement?.localName !== 'textarea') this.json.write();
    this.#count(isTyping);
  }

  #shortcut(event) {
    // In a text the browser undoes what was typed, which is an edit of the filter, too.
    if (!(event.ctrlKey || event.metaKey) || event.target.matches('input, textarea')) return;
    const key = event.key.toLowerCase();
    if (key === 'z' && !event.shiftKey) this.builder.undo();
    else if (key === 'y' || (key === 'z' && event.shiftKey)) this.builder.redo();
    else return;
    event.preventDefault();
  }

  async #save() {
    const saved = await saveSegment(filterOf(this.builder.tree), currentAudience.segment);
    if (!saved) return;
    currentAudience.set({segment: saved});
    this.#drawOpened();
    this.builder.showSegments([...this.builder.segmentNames, saved.name].sort());
  }

  #clear() {
    currentAudience.set({segment: null});
    this.#drawOpened();
    this.builder.show(group('all'));
  }

  /** The values of a field among the installations that the other sentences of the first level keep. */
  #suggest(row) {
    const isTop = this.builder.tree.children.some((child) => child.id === row.id);
    const others = isTop ? this.builder.tree.children.filter((child) => child.id !== row.id && isComplete(child)) : [];
    return suggestions(row.field, filterOf(group('all', others)));
  }

  async #loadSegments() {
    try {
      this.builder.showSegments((await allSegments(this.signal)).map((segment) => segment.name));
    } catch (error) {
      if (!this.signal.aborted) this.#fail(error);
    }
  }

  // MARK: Counting

  #count(isTyping) {
    const tree = this.builder.tree;
    this.figures.classList.add('stale');
    this.#culprit = null;
    if (!isComplete(tree)) {
      this.#latest.cancel();
      replace(this.status, t('audience.incomplete'));
      return;
    }
    const {filter, places} = written(tree);
    currentAudience.set({filter});
    currentAudience.isRecorded = true;
    replace(this.status, '');
    const ask = (signal) => this.#ask(tree, places, signal);
    this.#latest.ask(ask, () => {}, (error) => this.#fail(error, places), {now: !isTyping});
  }

  #copyLink() {
    if (currentAudience.link()) copy(location.href);
    else toast(t('audience.longLink'), 'error');
  }

  async #ask(tree, places, signal) {
    // Not with each key: browsers limit how often an address may change.
    currentAudience.link();
    await countTree(tree, signal, {
      counted: (include, response) => this.#showCount(include, response, places),
      kept: (id, count, isTop) => {
        if (count === 0 && isTop) this.#culprit ??= id;
        this.builder.markKept(id, count);
        this.#markCulprit();
      },
    });
    const isOld = !this.#total || Date.now() - this.#total.at > 30_000;
    if (isOld) this.#total = {...(await countEverything(signal)), at: Date.now()};
    this.#showShare();
  }

  /** Half a word selects nobody: whoever still chooses a value made no mistake. */
  #markCulprit() {
    if (this.#culprit && !this.querySelector('[aria-expanded=true]')) this.builder.markKept(this.#culprit, 0, true);
  }

  #showCount(include, response, places) {
    if (include !== 'reachable') {
      replace(this.counts[include], number(response.count));
      // Everybody, whatever the state, is the whole app.
      if (include === 'all' && currentAudience.isEverybody) this.#total = {...response, at: Date.now()};
      if (include === 'all') this.#showShare();
      return;
    }
    this.reachable = response.count;
    replace(this.big, number(response.count));
    replace(this.status, h('span', {class: 'sr-only'}, `${t('include.reachable')}: ${number(response.count)}`));
    replace(this.asOf, t('audience.asOf', {time: timeOfDay(response.asOf)}));
    this.figures.classList.remove('stale');
    this.builder.clearMarks();
    for (const note of response.notes ?? []) this.builder.markNote(this.#node(note, places), faultText(note));
    this.#showShare();
  }

  #showShare() {
    if (!this.#total || this.reachable === undefined) return;
    const total = this.#total.count;
    replace(this.share, total === 0 ? t('audience.empty')
      : t('audience.share', {share: percent(this.reachable / total), n: total}));
  }

  #fail(error, places = []) {
    if (!(error instanceof Problem) || error.status !== 400) return replace(this.status, failureText(error));
    this.builder.clearMarks();
    const lost = error.errors.filter((fault) => !this.builder.markFault(this.#node(fault, places), faultText(fault)));
    const details = lost.map(faultText).join(' ');
    replace(this.status, t('audience.invalid', {n: error.errors.length}), ' ', details);
    this.json.mark(error.errors.map((fault) => `${fault.pointer}: ${faultText(fault)}`).join('\n'));
  }

  #node(fault, places) {
    return nodeAt((fault.pointer ?? '').replace(/^\/filter/, ''), places);
  }
}

customElements.define('audience-screen', AudienceScreen);
