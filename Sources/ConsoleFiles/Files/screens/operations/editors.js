// A control for each kind of a policy's members.
//
// `editor(member, value)` returns `{node, read}`. `read()` returns the JSON value, or throws `Unreadable` with the text
// of the fault.

import {h} from '../../core/dom.js';
import {number, t} from '../../core/text.js';
import {choice} from '../../parts/facts.js';
import {amountOf, durationOf, units} from '../../parts/durations.js';

export class Unreadable extends Error {}

export function editor(member, value) {
  return editors[member.kind](value, member);
}

const editors = {
  duration(value) {
    const {amount, unit} = value ? amountOf(value) : {amount: '', unit: 'days'};
    const input = h('input', {type: 'number', min: 0, max: 999_999, step: 1, value: amount, required: true, class: 'short'});
    const unitChoice = choice(units.map((name) => [name, t(`operations.unit.${name}`)]), unit);
    unitChoice.setAttribute('aria-label', t('operations.unit'));
    return {node: h('div', {class: 'row'}, input, unitChoice), read: () => durationOf(whole(input), unitChoice.value)};
  },
  flag(value) {
    const input = h('input', {type: 'checkbox', checked: value === true});
    return {node: input, read: () => input.checked};
  },
  count(value, {max}) {
    const input = h('input', {type: 'number', min: 1, max, step: 1, value, required: true, class: 'short'});
    return {node: input, read: () => whole(input)};
  },
  text(value, {max}) {
    const input = h('input', {type: 'text', maxlength: max, value: value ?? '', spellcheck: 'false', class: 'wide'});
    return {node: input, read: () => input.value.trim() || null};
  },
  lines(value) {
    const input = h('textarea', {rows: 3, value: (value ?? []).join('\n'), spellcheck: 'false'});
    return {node: input, read: () => input.value.split('\n').map((line) => line.trim()).filter(Boolean)};
  },
  json(value) {
    const input = h('textarea', {rows: 5, value: value ? JSON.stringify(value, null, 2) : '', spellcheck: 'false'});
    return {
      node: input,
      read: () => {
        try {
          return input.value.trim() ? JSON.parse(input.value) : null;
        } catch (error) {
          throw new Unreadable(t('operations.notJSON', {reason: error.message}));
        }
      },
    };
  },
  limit(value) {
    const input = (limit) => h('input', {type: 'number', min: 0, max: 1_000_000, value: limit ?? '', class: 'short', step: 'any'});
    const [rate, burst] = [input(value?.rate), input(value?.burst)];
    burst.setAttribute('aria-label', t('operations.burst'));
    return {
      node: h('div', {class: 'row'}, rate, t('operations.perSecond'), burst, t('operations.burst')),
      read: () => {
        if (!rate.value && !burst.value) return null;
        if (!rate.value || !burst.value) throw new Unreadable(t('operations.bothOrNone'));
        return {rate: Number(rate.value), burst: whole(burst)};
      },
    };
  },
};

/** What a member's value says, in the difference before saving. */
export function valueText({kind}, value) {
  if (value === null || (kind === 'lines' && value.length === 0)) return t('operations.none');
  switch (kind) {
    case 'duration': {
      const {amount, unit} = amountOf(value);
      return t(`operations.amount.${unit}`, {n: amount});
    }
    case 'flag': return t(value ? 'operations.yes' : 'operations.no');
    case 'count': return number(value);
    case 'lines': return value.join(', ');
    case 'limit': return t('operations.limit', {rate: value.rate, burst: value.burst});
    case 'json': return JSON.stringify(value);
    default: return value;
  }
}

function whole(input) {
  if (!/^\d+$/.test(input.value)) throw new Unreadable(t('operations.notWhole'));
  return Number(input.value);
}
