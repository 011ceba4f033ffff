// The shared audience in words, for the screens that use it.
//
//     this.append(audienceLine(() => ask()))   "Reachable · System is iOS and Language is German · Change"

import {currentAudience} from '../core/audience.js';
import {foreign, h, replace} from '../core/dom.js';
import {href} from '../core/router.js';
import {t} from '../core/text.js';
import {choice} from '../parts/form.js';
import {kindOf} from './fields.js';
import {fieldLabel, valueLabel} from './labels.js';
import {treeOf} from './tree.js';

/** Chooses who is counted beside the filter. @param changed called after a choice */
export function includeChoice(changed) {
  return choice(['reachable', 'active', 'all'].map((name) => [name, t(`include.${name}`)]), currentAudience.include,
    (include) => {
      currentAudience.set({include});
      changed();
    });
}

/** A line with the audience, the choice of who is counted, and a link that leads to the filter. */
export function audienceLine(changed) {
  const line = h('div', {class: 'audience-line'});
  const draw = () => {
    const include = includeChoice(() => {
      draw();
      changed();
    });
    include.ariaLabel = t('summary.include');
    replace(
      line, include, ' ',
      currentAudience.isEverybody ? t('summary.everybody') : inWords(treeOf(currentAudience.filter)), ' ',
      h('a', {href: href('audience')}, t('summary.change')),
      currentAudience.include !== 'reachable' && h('p', {class: 'hint'}, t('summary.unreachable')));
  };
  draw();
  return line;
}

/** A tree as nodes of one sentence. */
export function inWords(node, isInner = false) {
  switch (node.kind) {
    case 'group': return groupInWords(node, isInner);
    case 'segment': return [not(node), t('field.segment'), ' ', h('b', {}, foreign(node.name))];
    default:
      return [not(node), fieldLabel(node.field), ' ', operatorWords(node.field, node.operator), ' ', valueWords(node)];
  }
}

/** The operator as it sounds best with the field. */
export function operatorWords(field, operator) {
  const special = `operator.${operator}.${kindOf(field)}`;
  return t(specials.has(special) ? special : `operator.${operator}`);
}
const specials = new Set([
  'operator.gte.time', 'operator.gt.time', 'operator.lte.time', 'operator.lt.time', 'operator.known.user',
  'operator.unknown.user', 'operator.is.topic', 'operator.isNot.topic',
]);

function groupInWords({mode, children}, isInner) {
  const joined = children.flatMap((child, index) => [
    index > 0 ? ` ${t(mode === 'all' ? 'builder.join.all' : 'builder.join.any')} ` : '', inWords(child, true),
  ]);
  const sentence = children.length === 0 ? [t(mode === 'any' ? 'summary.nobody' : 'summary.everybody')] : joined;
  const needsFrame = mode === 'none' || (isInner && children.length > 1);
  return [mode === 'none' ? `${t('builder.not')} ` : '', needsFrame ? ['(', sentence, ')'] : sentence];
}

function valueWords({field, operator, values}) {
  if (operator === 'known' || operator === 'unknown') return '';
  if (operator === 'near') {
    const [latitude, longitude, radius] = values;
    return h('b', {}, t('summary.circle', {latitude, longitude, radius}));
  }
  if (operator === 'within') return h('b', {}, durationWords(values[0]));
  if (operator === 'between') return h('b', {}, t('summary.between', {from: values[0], to: values[1]}));
  const shown = values.slice(0, shownMax).flatMap((value, index) => [
    index > 0 ? ` ${t('builder.join.any')} ` : '', h('b', {}, valueLabel(field, value)),
  ]);
  return [...shown, values.length > shownMax ? ` ${t('summary.more', {n: values.length - shownMax})}` : ''];
}
const shownMax = 4;

function durationWords(text) {
  const [, amount, unit] = /^PT?(\d+)([HDW])$/.exec(text) ?? [];
  const name = {H: 'hours', D: 'days', W: 'weeks'}[unit];
  return name ? `${amount} ${t(`unit.${name}`, {n: Number(amount)})}` : text;
}

const not = (node) => (node.negated ? `${t('builder.not')} ` : '');
