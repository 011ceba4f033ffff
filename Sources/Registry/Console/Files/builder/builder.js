// The filter builder: draws a tree (tree.js) as sentences and turns what people do into edits (edits.js).
//
//     const builder = new Builder(history, {suggest, changed})
//     builder.element
//
// It dispatches nothing: it calls `changed(isTyping)` after every edit. While somebody types into a value, the sentence
// stays as it is; every other edit draws the tree again and puts the focus back.

import {h, replace} from '../core/dom.js';
import {menu} from '../parts/menu.js';
import {number, t} from '../core/text.js';
import {
  added, changed, duplicated, edited, moved, negated, parentOf, removed, unwrapped, wrapped,
} from '../filter/edits.js';
import {nodeActions, ofField, rowElement, segmentOptions} from './rows.js';
import {group, nodesOf} from '../filter/tree.js';

export class Builder {
  element = h('div', {class: 'builder'});
  segmentNames = [];

  constructor(history, {suggest, changed}) {
    this.history = history;
    this.suggest = suggest;
    this.changed = changed;
    this.draw();
  }

  /** The names may come after the first sentences. */
  showSegments(names) {
    this.segmentNames = names;
    for (const select of this.element.querySelectorAll('[data-part=segment]')) {
      const {value} = select;
      replace(select, segmentOptions(names, value));
      select.value = value;
    }
  }

  get tree() {
    return this.history.present;
  }

  // MARK: Edits

  changeValues(id, values, isTyping) {
    this.history.record(changed(this.tree, id, {values}), isTyping ? id : null);
    this.clearMarks(id);
    this.changed(isTyping);
  }

  /** Values stay if the new operator takes as many. */
  changeOperator(node, operator) {
    const present = [...nodesOf(this.tree)].find((other) => other.id === node.id);
    const keeps = shapeOf(operator) === shapeOf(present.operator);
    const shapes = `${shapeOf(present.operator)} ${shapeOf(operator)}`;
    const fits = keeps || shapes === 'one many' || (shapes === 'many one' && present.values?.length === 1);
    const values = shapeOf(operator) === 'none' ? [] : fits ? present.values : null;
    this.#apply(changed(this.tree, node.id, {operator, values}), node.id, 'operator');
  }

  change(id, members) {
    this.#apply(changed(this.tree, id, members), id, 'segment');
  }

  replaceNode(id, node, part) {
    this.#apply(edited(this.tree, id, () => ({...node, id})), id, part);
  }

  setMode(id, mode) {
    this.#apply(changed(this.tree, id, {mode}), id, 'mode');
  }

  add(groupId, node) {
    const target = node.kind === 'group' ? node.children[0] : node;
    this.#apply(added(this.tree, groupId, node), target.id, 'field');
  }

  remove(id) {
    const parent = parentOf(this.tree, id);
    const index = parent.children.findIndex((child) => child.id === id);
    const next = parent.children[index + 1] ?? parent.children[index - 1] ?? this.#shownRoot;
    this.#apply(removed(this.tree, id), next.id, next.kind === 'group' ? 'add' : 'field');
  }

  duplicate(id) {
    this.#apply(duplicated(this.tree, id), id, 'menu');
  }

  negate(id) {
    this.#apply(negated(this.tree, id), id, 'menu');
  }

  wrap(id) {
    this.#apply(wrapped(this.tree, id), id, 'menu');
  }

  unwrap(id) {
    this.#apply(unwrapped(this.tree, id), this.#shownRoot.id, 'add');
  }

  move(id, step) {
    this.#apply(moved(this.tree, id, step) ?? this.tree, id, 'menu');
  }

  canMove(id, step) {
    return moved(this.tree, id, step) !== null;
  }

  undo() {
    this.history.undo();
    this.draw();
    this.changed(false);
  }

  redo() {
    this.history.redo();
    this.draw();
    this.changed(false);
  }

  /** Shows another tree, as one step that can be undone. */
  show(tree) {
    this.history.record(tree);
    this.draw();
    this.changed(false);
  }

  #apply(tree, focusedId, part) {
    this.history.record(tree);
    this.draw();
    this.#part(focusedId, part)?.focus();
    this.changed(false);
  }

  // MARK: What the count says

  /** Shows how many installations remain after a row, the fault of a row, and notes. Unknown ids are left out. */
  markKept(id, count, isCulprit = false) {
    const keeps = this.#own(id, '.keeps');
    if (!keeps) return;
    replace(keeps, isCulprit ? t('builder.emptied') : t('builder.keeps', {n: count}));
    keeps.classList.toggle('culprit', isCulprit);
    keeps.title = number(count);
  }

  markFault(id, text) {
    const fault = this.#own(id, '.fault');
    if (!fault) return false;
    fault.append(fault.textContent === '' ? text : ` ${text}`);
    fault.hidden = false;
    this.#node(id).classList.add('faulty');
    return true;
  }

  markNote(id, text) {
    const notes = this.#own(id, '.notes');
    if (!notes) return false;
    replace(notes, text);
    notes.hidden = false;
    return true;
  }

  /** Removes the marks of one node, or of all. */
  clearMarks(id = null) {
    const nodes = id === null ? this.element.querySelectorAll('[data-node]') : [this.#node(id)];
    for (const node of nodes) {
      node?.classList.remove('faulty');
      for (const mark of node?.querySelectorAll(':scope > .fault, :scope > .notes') ?? []) {
        replace(mark);
        mark.hidden = true;
      }
      const keeps = node?.querySelector(':scope > .keeps');
      if (keeps) replace(keeps);
      keeps?.classList.remove('culprit');
    }
  }

  // MARK: Drawing

  draw() {
    replace(this.element, this.#group(this.#shownRoot, true));
  }

  /** A group that is all there is needs no "all of these" around it. */
  get #shownRoot() {
    const [only, ...others] = this.tree.children;
    return only?.kind === 'group' && others.length === 0 ? only : this.tree;
  }

  #group(node, isRoot = false) {
    const join = t(`builder.join.${node.mode}`);
    return h(
      'section', {
        class: isRoot ? 'filter-group root' : 'filter-group', 'data-node': node.id,
        'aria-label': t(`builder.mode.${node.mode}`),
      },
      h('div', {class: 'group-head'},
        h('select', {
          'data-part': 'mode', 'aria-label': t('builder.mode'), value: node.mode,
          onchange: ({target}) => (isRoot ? this.#changeRoot(target.value) : this.setMode(node.id, target.value)),
        }, ['all', 'any', 'none'].map((mode) => h('option', {value: mode}, t(`builder.mode.${mode}`)))),
        h('span', {class: 'keeps'}),
        node === this.tree ? null : h('div', {class: 'tools'},
          menu(t('builder.more'), [
            ...nodeActions(node, this), {label: t('builder.unwrap'), run: () => this.unwrap(node.id)},
          ], {'data-part': 'menu'}),
          isRoot ? null : h('button', {
            type: 'button', class: 'quiet icon', 'aria-label': t('builder.removeGroup'),
            title: t('builder.removeGroup'), onclick: () => this.remove(node.id),
          }, '×'))),
      h('p', {class: 'fault', hidden: true}),
      node.children.length === 0 ? h('p', {class: 'hint'}, t(`builder.empty.${node.mode}`)) : null,
      h('ol', {class: 'sentences'}, node.children.map((child, index) => h(
        'li', {},
        h('span', {class: 'join', 'aria-hidden': 'true'}, index === 0 ? '' : join),
        child.kind === 'group' ? this.#group(child) : rowElement(child, this)))),
      h('div', {class: 'row'},
        h('button', {
          type: 'button', 'data-part': 'add', onclick: () => this.add(node.id, ofField(this.#nextField(node))),
        }, t('builder.add')),
        h('button', {type: 'button', onclick: () => this.add(node.id, group('any', [ofField('systemName')]))},
          t('builder.addGroup'))),
      h('p', {class: 'hint notes', hidden: true}));
  }

  /** The first of the common fields that the group does not have yet. */
  #nextField(node) {
    const present = new Set(node.children.map((child) => child.field));
    // Alternatives are mostly about the same field.
    const last = node.mode === 'all' ? null : node.children.at(-1)?.field;
    return last ?? common.find((field) => !present.has(field)) ?? common[0];
  }

  /** The tree's root is always "all"; another word is that of a group in it. */
  #changeRoot(mode) {
    if (this.#shownRoot !== this.tree) return this.setMode(this.#shownRoot.id, mode);
    const wrapper = group(mode, this.tree.children);
    this.#apply({...this.tree, children: [wrapper]}, wrapper.id, 'mode');
  }

  #node(id) {
    return this.element.querySelector(`[data-node="${id}"]`);
  }

  #own(id, selector) {
    return this.#node(id)?.querySelector(`:scope > ${selector}, :scope > .group-head > ${selector}`);
  }

  #part(id, part) {
    const node = this.#node(id) ?? this.element;
    return node.querySelector(`[data-part="${part}"]`) ?? node.querySelector('[data-part]');
  }
}

const common = ['systemName', 'osVersion', 'locale', 'topic', 'region', 'appVersion'];

/** What values an operator takes. */
function shapeOf(operator) {
  switch (operator) {
    case 'is': case 'isNot': return 'many';
    case 'known': case 'unknown': return 'none';
    case 'gte': case 'gt': case 'lte': case 'lt': return 'one';
    default: return operator;
  }
}

