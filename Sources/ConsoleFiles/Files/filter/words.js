// A filter in words, as a list of sentences: what the builder of the screen Audience shows, to be read only.

import {foreign, h} from '../core/dom.js';
import {hasText, number, t} from '../core/text.js';
import {kindOf} from './fields.js';
import {fieldLabel, valueLabel} from './labels.js';
import {treeOf} from './tree.js';
import {amountOf} from '../parts/durations.js';

export function filterWords(filter) {
  return h('ul', {class: 'filter-words', 'aria-label': t('chosen.audience')}, treeOf(filter).children.map(item));
}

function item(node) {
  if (node.kind === 'group') {
    return h('li', {}, t(`chosen.${node.mode}`), h('ul', {class: 'filter-words'}, node.children.map(item)));
  }
  const content = node.kind === 'segment'
    ? [t('field.segment'), ' ', h('b', {}, foreign(node.name))]
    : [fieldLabel(node.field), ' ', operator(node), ' ', values(node)];
  return h('li', {}, node.negated ? `${t('chosen.not')} ` : null, content);
}

function operator({field, operator}) {
  const special = `operator.${operator}.${kindOf(field)}`;
  return t(hasText(special) ? special : `operator.${operator}`);
}

function values({field, operator, values}) {
  switch (operator) {
    case 'known': case 'unknown': return null;
    case 'within': return h('b', {}, duration(values[0]));
    case 'between': return h('b', {}, values.join(' – '));
    case 'near': {
      const [latitude, longitude, radius] = values;
      return h('b', {}, t('chosen.near', {radius, place: `${number(latitude)} ${number(longitude)}`}));
    }
    default: return values.map((value, index) => [index > 0 ? `, ${index === values.length - 1 ? `${t('chosen.or')} ` : ''}`
      : null, h('b', {}, valueLabel(field, value))]);
  }
}

function duration(text) {
  const {amount, unit} = amountOf(text);
  return hasText(`unit.${unit}`) ? `${number(amount)} ${t(`unit.${unit}`)}` : text;
}
