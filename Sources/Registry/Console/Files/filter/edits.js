// Edits of a tree (tree.js) and their history. Each edit returns a new tree; nodes that do not change are shared.

import {group, row, segment} from './tree.js';

/** Replaces the node of an id by what `change` makes of it: a node, a list of nodes, or null to remove it. */
export function edited(tree, id, change) {
  if (tree.id === id) return change(tree);
  if (tree.kind !== 'group') return tree;
  const children = tree.children.flatMap((child) => edited(child, id, change) ?? []);
  const isSame = children.length === tree.children.length && children.every((child, i) => child === tree.children[i]);
  return isSame ? tree : {...tree, children};
}

/** Changes members of a node. */
export const changed = (tree, id, members) => edited(tree, id, (node) => ({...node, ...members}));

/** Adds a node at the end of a group. */
export const added = (tree, groupId, node) =>
  edited(tree, groupId, (parent) => ({...parent, children: [...parent.children, node]}));

/** Removes a node, and the groups around it that it leaves empty. */
export function removed(tree, id) {
  const parent = parentOf(tree, id);
  if (parent && parent.id !== tree.id && parent.children.length === 1) return removed(tree, parent.id);
  return edited(tree, id, () => null) ?? tree;
}

/** Puts a copy behind the node. */
export const duplicated = (tree, id) => edited(tree, id, (node) => [node, copied(node)]);

/** Puts the node into a new group; a group's rows can then be joined by another word. */
export const wrapped = (tree, id, mode = 'any') => edited(tree, id, (node) => group(mode, [node]));

/** Puts the children of a group in its place. */
export const unwrapped = (tree, id) => edited(tree, id, (node) => node.children);

/** Inverts a row; a group becomes "none" or "any" of its children. */
export function negated(tree, id) {
  const opposites = {is: 'isNot', isNot: 'is', known: 'unknown', unknown: 'known'};
  return edited(tree, id, (node) => {
    if (node.kind === 'group') return {...node, mode: node.mode === 'none' ? 'any' : 'none'};
    const operator = opposites[node.operator];
    return operator ? {...node, operator} : {...node, negated: !node.negated};
  });
}

/** Moves a node by one place: past its neighbour, into a neighbouring group, or out of its own group. Null if it cannot
 * move. @param step -1 up, 1 down */
export function moved(tree, id, step) {
  const parent = parentOf(tree, id);
  if (!parent) return null;
  const index = parent.children.findIndex((child) => child.id === id);
  const node = parent.children[index];
  const neighbour = parent.children[index + step];
  if (neighbour?.kind === 'group') {
    const without = edited(tree, id, () => null);
    const children = step < 0 ? [...neighbour.children, node] : [node, ...neighbour.children];
    return changed(without, neighbour.id, {children});
  }
  if (neighbour) {
    const children = [...parent.children];
    [children[index], children[index + step]] = [neighbour, node];
    return changed(tree, parent.id, {children});
  }
  if (parent.id === tree.id) return null;
  const around = parent.children.length === 1
    ? () => node
    : (inner) => (step < 0 ? [node, without(inner)] : [without(inner), node]);
  const without = (inner) => ({...inner, children: inner.children.filter((child) => child.id !== id)});
  return edited(tree, parent.id, around);
}

export function parentOf(tree, id) {
  if (tree.kind !== 'group') return null;
  if (tree.children.some((child) => child.id === id)) return tree;
  for (const child of tree.children) {
    const found = parentOf(child, id);
    if (found) return found;
  }
  return null;
}

function copied(node) {
  switch (node.kind) {
    case 'group': return group(node.mode, node.children.map(copied));
    case 'segment': return segment(node.name, node.negated);
    default: return row(node.field, node.operator, node.values, node.negated);
  }
}

/** Undo and redo. Changes of one row that follow each other while typing are one step. */
export class History {
  #past = [];
  #future = [];
  #typing = null;
  /** The tree that is shown. */
  present;

  constructor(tree) {
    this.present = tree;
  }

  /** @param stored what `toJSON` has returned, perhaps before the page was loaded again. */
  static of({past, present, future}) {
    const history = new History(copied(present));
    history.#past = past.map(copied);
    history.#future = future.map(copied);
    return history;
  }

  toJSON() {
    const [past, future] = [this.#past, this.#future].map((steps) => steps.slice(-storedStepsMax));
    return {past, present: this.present, future};
  }

  /** @param typing what is typed into; null for a change that is a step of its own. */
  record(tree, typing = null) {
    if (tree === this.present) return;
    if (typing === null || typing !== this.#typing) this.#past.push(this.present);
    if (this.#past.length > stepsMax) this.#past.shift();
    this.#typing = typing;
    this.#future = [];
    this.present = tree;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  undo() {
    this.#step(this.#past, this.#future);
  }

  redo() {
    this.#step(this.#future, this.#past);
  }

  #step(from, to) {
    if (from.length === 0) return;
    to.push(this.present);
    this.present = from.pop();
    this.#typing = null;
  }
}
const stepsMax = 200;
const storedStepsMax = 20;
