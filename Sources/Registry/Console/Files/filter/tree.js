// A filter as a tree of sentences. Values only: nothing here touches the page.
//
// A node is a group `{id, kind: 'group', mode: 'all' | 'any' | 'none', children}`, a row
// `{id, kind: 'row', field, operator, values, negated}`, or `{id, kind: 'segment', name, negated}`. `values` is a list,
// or null while nothing has been typed: an empty list is a valid condition that nothing meets. The root is a group
// `all`. Nodes are never changed: every edit makes a new tree, which is what undo keeps.
//
// `treeOf(json)` reads every valid filter; `filterOf(tree)` writes the service's JSON in its shortest form. An object
// is an `all` of its members, and `all` within `all` is one list.

import {kindOf, operatorsOf} from './fields.js';

export const group = (mode, children = []) => ({id: nextId(), kind: 'group', mode, children});
export const row = (field, operator, values = null, negated = false) =>
  ({id: nextId(), kind: 'row', field, operator, values, negated});
export const segment = (name, negated = false) => ({id: nextId(), kind: 'segment', name, negated});

const nextId = () => ++lastId;
let lastId = 0;

/** A filter that is not valid, with the pointer of the part. */
export class InvalidFilter extends Error {
  constructor(pointer, reason) {
    super(reason);
    this.pointer = pointer;
    this.reason = reason;
  }
}

// MARK: From JSON

/** @throws InvalidFilter if the tree cannot show it. Values are left for the service to judge. */
export function treeOf(filter) {
  return group('all', membersOf(filter, ''));
}

/** The nodes of an object, all of which must hold. */
function membersOf(object, pointer) {
  if (!isObject(object)) throw new InvalidFilter(pointer, 'object');
  return Object.entries(object).flatMap(([name, value]) => {
    const place = `${pointer}/${escaped(name)}`;
    switch (name) {
      case 'all': return listOf(value, place).flatMap((part, index) => membersOf(part, `${place}/${index}`));
      case 'any': return [group('any', listOf(value, place).map((part, index) => nodeOf(part, `${place}/${index}`)))];
      case 'not': return [negation(nodeOf(value, place))];
      case 'segment':
        if (typeof value !== 'string') throw new InvalidFilter(place, 'text');
        return [segment(value)];
      default: return conditionsOf(name, value, place);
    }
  });
}

function nodeOf(object, pointer) {
  const members = membersOf(object, pointer);
  return members.length === 1 ? members[0] : group('all', members);
}

/** `ne` and `nin` are the plain negation of `eq` and `in`, and so for `exists`; other rows keep the word "not". */
function negation(node) {
  if (node.kind === 'group') return node.mode === 'any' ? {...node, mode: 'none'} : group('none', [node]);
  const opposite = node.kind === 'row' ? opposites[node.operator] : undefined;
  return opposite ? {...node, operator: opposite} : {...node, negated: !node.negated};
}
const opposites = {is: 'isNot', isNot: 'is', known: 'unknown', unknown: 'known'};

function conditionsOf(field, value, pointer) {
  if (!kindOf(field)) throw new InvalidFilter(pointer, 'field');
  const allowed = operatorsOf(field);
  const checked = (operator, values, place) => {
    if (!allowed.includes(operator)) throw new InvalidFilter(place, 'operator');
    return row(field, operator, values);
  };
  if (Array.isArray(value)) return [checked('is', scalars(value, pointer), pointer)];
  if (!isObject(value)) return [checked('is', scalars([value], pointer), pointer)];
  const members = Object.entries(value);
  if (members.length === 0) throw new InvalidFilter(pointer, 'operator');
  return members.map(([name, operand]) => {
    const place = `${pointer}/${escaped(name)}`;
    switch (name) {
      case 'eq': return checked('is', scalars([operand], place), place);
      case 'ne': return checked('isNot', scalars([operand], place), place);
      case 'in': return checked('is', scalars(listOf(operand, place), place), place);
      case 'nin': return checked('isNot', scalars(listOf(operand, place), place), place);
      case 'exists':
        if (typeof operand !== 'boolean') throw new InvalidFilter(place, 'flag');
        return checked(operand ? 'known' : 'unknown', [], place);
      case 'between': return checked('between', scalars(listOf(operand, place), place), place);
      case 'near':
        if (!isObject(operand)) throw new InvalidFilter(place, 'object');
        return checked('near', [operand.latitude, operand.longitude, operand.radiusKm], place);
      default: return checked(name, scalars([operand], place), place);
    }
  });
}

function scalars(values, pointer) {
  if (values.every((value) => ['string', 'number', 'boolean'].includes(typeof value))) return values;
  throw new InvalidFilter(pointer, 'value');
}

function listOf(value, pointer) {
  if (!Array.isArray(value)) throw new InvalidFilter(pointer, 'list');
  return value;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const escaped = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');

// MARK: To JSON

/** The JSON filter of a complete tree. */
export function filterOf(tree) {
  return written(tree).filter;
}

/** The JSON filter, and the pointer of every node in it: `{filter, places: [{pointer, id}]}`. */
export function written(tree) {
  const places = [];
  const filter = object(tree, '', places);
  return {filter, places};
}

/** The node that a pointer into the filter is about: the innermost one. */
export function nodeAt(pointer, places) {
  const holds = (place) => pointer === place.pointer || pointer.startsWith(place.pointer + '/');
  return places.filter(holds).reduce((best, place) => (place.pointer.length >= best.pointer.length ? place : best)).id;
}

function object(node, pointer, places) {
  places.push({pointer, id: node.id});
  const members = unique(membersToWrite(node));
  return Object.fromEntries(members.map(({name, write}) => [name, write(`${pointer}/${name}`, places)]));
}

/** The members of the object that a node becomes: `{name, write(pointer, places)}`. */
function membersToWrite(node) {
  if (node.kind === 'segment') return [signed(node, {name: 'segment', write: () => node.name})];
  if (node.kind === 'row') return [signed(node, condition([node]))];
  switch (node.mode) {
    case 'all':
      return runs(node.children).flatMap((run) => (run.length > 1 ? [condition(run)] : membersToWrite(run[0])));
    case 'any': return [{name: 'any', write: (pointer, places) => objects(node.children, pointer, places)}];
    default: return [{name: 'not', write: (pointer, places) => {
      if (node.children.length === 1) return object(node.children[0], pointer, places);
      return {any: objects(node.children, `${pointer}/any`, places)};
    }}];
  }
}

/** Marks where a single row stands, and writes its "not". */
function signed(node, member) {
  const marked = {name: member.name, write: (pointer, places) => {
    places.push({pointer, id: node.id});
    return member.write(pointer, places);
  }};
  if (!node.negated) return marked;
  const write = (pointer, places) => ({[member.name]: marked.write(`${pointer}/${member.name}`, places)});
  return {name: 'not', write};
}

function objects(nodes, pointer, places) {
  return nodes.map((node, index) => object(node, `${pointer}/${index}`, places));
}

/** One member of each name stays a member: the deepest, so that the filter is nowhere deeper than it was. The others go
 * into `all`. */
function unique(members) {
  const byName = Map.groupBy(members, (member) => member.name);
  const first = [...byName.values()].map((same) => (same.length === 1 ? same[0] : deepest(same)));
  const others = members.filter((member) => !first.includes(member));
  if (others.length === 0) return first;
  const all = {name: 'all', write: (pointer, places) => others.map((member, index) =>
    ({[member.name]: member.write(`${pointer}/${index}/${member.name}`, places)}))};
  return [...first, all];
}

function deepest(members) {
  const depths = members.map((member) => depthOf(member.write('', [])));
  return members[depths.indexOf(Math.max(...depths))];
}

function depthOf(value) {
  return typeof value === 'object' ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
}

/** Neighbouring rows of one field with different operators share a condition: `{"gte": "17", "lt": "18"}`. */
function runs(nodes) {
  const runs = [];
  for (const node of nodes) {
    const run = runs.at(-1);
    const fits = run && [...run, node].every((member) => member.kind === 'row' && !member.negated &&
      member.field === node.field) && !run.some((member) => operatorName(member) === operatorName(node));
    if (fits) run.push(node);
    else runs.push([node]);
  }
  return runs;
}

function condition(rows) {
  const [only] = rows;
  if (rows.length === 1 && only.operator === 'is') {
    return {name: only.field, write: () => (isPlain(only) ? only.values[0] : only.values)};
  }
  return {name: only.field, write: (pointer, places) => Object.fromEntries(rows.map((row) => {
    places.push({pointer: `${pointer}/${operatorName(row)}`, id: row.id});
    return [operatorName(row), operand(row)];
  }))};
}

/** Ids of users are always lists. */
function isPlain({field, values}) {
  return values.length === 1 && kindOf(field) !== 'user';
}

function operatorName(row) {
  switch (row.operator) {
    case 'is': return isPlain(row) ? 'eq' : 'in';
    case 'isNot': return isPlain(row) ? 'ne' : 'nin';
    case 'known': case 'unknown': return 'exists';
    default: return row.operator;
  }
}

function operand(row) {
  const {operator, values} = row;
  switch (operator) {
    case 'is': case 'isNot': return isPlain(row) ? values[0] : values;
    case 'known': return true;
    case 'unknown': return false;
    case 'between': return values;
    case 'near': return {latitude: values[0], longitude: values[1], radiusKm: values[2]};
    default: return values[0];
  }
}

// MARK: Questions

/** Whether every row says all that the service needs. An incomplete filter is never sent. */
export function isComplete(node) {
  switch (node.kind) {
    case 'group': return node.children.every(isComplete);
    case 'segment': return node.name !== '';
    default: return hasValues(node);
  }
}

function hasValues({operator, values}) {
  if (operator === 'known' || operator === 'unknown') return true;
  if (values === null) return false;
  const size = {between: 2, near: 3}[operator] ?? (operator === 'is' || operator === 'isNot' ? null : 1);
  const isFilled = values.every((value) => value !== null && value !== undefined && value !== '');
  return isFilled && (size === null || values.length === size);
}

/** All nodes, parents first. */
export function* nodesOf(node) {
  yield node;
  for (const child of node.children ?? []) yield* nodesOf(child);
}

/** The fields that the rows name. */
export function fieldsOf(tree) {
  return new Set([...nodesOf(tree)].filter((node) => node.kind === 'row').map((node) => node.field));
}

export function hasSegment(tree) {
  return [...nodesOf(tree)].some((node) => node.kind === 'segment');
}
