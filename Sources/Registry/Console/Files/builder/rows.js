// One sentence of the builder: field, operator in words, value, and what can be done with it.

import {h, plain} from '../core/dom.js';
import {menu} from '../parts/menu.js';
import {t} from '../core/text.js';
import {fieldGroups, operatorsOf} from '../filter/fields.js';
import {fieldLabel} from '../filter/labels.js';
import {operatorWords} from '../filter/summary.js';
import {row as newRow, segment as newSegment} from '../filter/tree.js';
import {valueEditor} from './values.js';

/** @param builder the Builder that owns the tree. */
export function rowElement(node, builder) {
  const isSegment = node.kind === 'segment';
  return h(
    'div', {class: 'sentence', 'data-node': node.id, role: 'group', 'aria-label': t('builder.condition')},
    h('div', {class: 'words'},
      node.negated ? h('span', {class: 'word not'}, t('builder.not')) : null,
      fieldSelect(node, builder),
      isSegment ? segmentSelect(node, builder) : [operatorSelect(node, builder), values(node, builder)]),
    h('span', {class: 'keeps'}),
    h('div', {class: 'tools'},
      menu(t('builder.more'), nodeActions(node, builder), {'data-part': 'menu'}),
      h('button', {
        type: 'button', class: 'quiet icon', 'aria-label': t('builder.remove'), title: t('builder.remove'),
        onclick: () => builder.remove(node.id),
      }, '×')),
    h('p', {class: 'fault', hidden: true}),
    h('p', {class: 'hint notes', hidden: true}));
}

/** The actions that rows and groups share. */
export function nodeActions(node, builder) {
  return [
    {label: t('builder.up'), run: () => builder.move(node.id, -1), disabled: !builder.canMove(node.id, -1)},
    {label: t('builder.down'), run: () => builder.move(node.id, 1), disabled: !builder.canMove(node.id, 1)},
    {label: t('builder.duplicate'), run: () => builder.duplicate(node.id)},
    {label: t('builder.negate'), run: () => builder.negate(node.id)},
    {label: t('builder.wrap'), run: () => builder.wrap(node.id)},
  ];
}

function fieldSelect(node, builder) {
  const groups = Object.entries(fieldGroups).map(([group, fields]) => h(
    'optgroup', {label: t(`fields.${group}`)}, fields.map((field) => h('option', {value: field}, fieldLabel(field)))));
  return h('select', {
    class: 'field-name', 'data-part': 'field', 'aria-label': t('builder.field'),
    value: node.kind === 'segment' ? 'segment' : node.field,
    onchange: (event) => builder.replaceNode(node.id, ofField(event.target.value), 'field'),
  }, groups, h('optgroup', {label: t('fields.saved')}, h('option', {value: 'segment'}, t('field.segment'))));
}

/** A new sentence about a field, with its first operator. */
export function ofField(field) {
  return field === 'segment' ? newSegment('') : newRow(field, operatorsOf(field)[0]);
}

function operatorSelect(node, builder) {
  return h('select', {
    'data-part': 'operator', 'aria-label': t('builder.operator'), value: node.operator,
    onchange: (event) => builder.changeOperator(node, event.target.value),
  }, operatorsOf(node.field).map((operator) => h('option', {value: operator}, operatorWords(node.field, operator))));
}

function values(node, builder) {
  return valueEditor(node, (values, isTyping) => builder.changeValues(node.id, values, isTyping), {
    suggest: () => builder.suggest(node),
    chooseMissing: operatorsOf(node.field).includes('unknown')
      ? () => builder.changeOperator(node, node.operator === 'isNot' ? 'known' : 'unknown') : undefined,
  });
}

function segmentSelect(node, builder) {
  return h('select', {
    'data-part': 'segment', 'aria-label': t('field.segment'), value: node.name,
    onchange: (event) => builder.change(node.id, {name: event.target.value}),
  }, segmentOptions(builder.segmentNames, node.name));
}

/** @param chosen stays an option if no segment has the name */
export function segmentOptions(names, chosen) {
  return [
    h('option', {value: ''}, t('builder.chooseSegment')),
    [...new Set([...names, chosen])].filter(Boolean).map((name) => h('option', {value: name}, plain(name))),
  ];
}
