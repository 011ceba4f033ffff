// The editor of a row's values, by the kind of its field and its operator. Every editor calls
// `change(values, isTyping)` with a list, or with null while something is missing.

import {h} from '../core/dom.js';
import {t} from '../core/text.js';
import {combobox} from './combobox.js';
import {choicesOf, kindOf} from '../filter/fields.js';
import {fieldLabel, valueLabel, valueText, wordsFor} from '../filter/labels.js';

/** @param help `{suggest, chooseMissing}` for fields with suggestions. */
export function valueEditor(row, change, help) {
  switch (row.operator) {
    case 'known': case 'unknown': return null;
    case 'within': return durationEditor(row, change);
    case 'between': return rangeEditor(row, change);
    case 'near': return circleEditor(row, change);
  }
  if (kindOf(row.field) === 'time') return timeEditor(row, change);
  return combobox({
    values: row.values, multiple: row.operator === 'is' || row.operator === 'isNot',
    parse: parserOf(row.field), show: (value) => valueLabel(row.field, value),
    words: (value) => wordsFor(row.field, value) ?? String(value),
    text: (value) => (kindOf(row.field) === 'offset' ? valueText(row.field, value) : String(value)),
    label: t('builder.valueOf', {field: fieldLabel(row.field)}), placeholder: placeholderOf(row.field),
    change, ...help,
  });
}

/** Free text to a value of the JSON type that the field has; undefined if it is none. */
function parserOf(field) {
  const choices = choicesOf(field);
  if (choices) return (text) => choices.find((name) => name === text || t(`value.${name}`) === text);
  switch (kindOf(field)) {
    case 'flag': return (text) => ({
      true: true, false: false, [t('value.true').toLowerCase()]: true, [t('value.false').toLowerCase()]: false,
    })[text.toLowerCase()];
    case 'offset': return offsetOf;
    default: return (text) => text;
  }
}

/** "+5:30", "UTC−3" or seconds. */
function offsetOf(text) {
  const [, sign, hours, minutes] = /^(?:UTC\s*)?([+−-])(\d{1,2})(?::(\d{2}))?$/i.exec(text) ?? [];
  if (sign) return (sign === '+' ? 1 : -1) * (Number(hours) * 3600 + Number(minutes ?? 0) * 60);
  return /^-?\d+$/.test(text) ? Number(text) : undefined;
}

function placeholderOf(field) {
  const kind = kindOf(field);
  return {version: '17.2', locale: 'de', timeZone: 'Europe/Berlin', offset: '+05:30'}[kind] ?? t('builder.anyValue');
}

// MARK: Times

function timeEditor(row, change) {
  const input = h('input', {
    type: 'datetime-local', 'aria-label': t('builder.valueOf', {field: fieldLabel(row.field)}),
    value: row.values?.[0] ? localTime(row.values[0]) : '',
    oninput: () => change(input.value ? [new Date(input.value).toISOString().replace('.000Z', 'Z')] : null, true),
  });
  const several = (row.values?.length ?? 0) > 1;
  return several ? h('code', {}, row.values.join(', ')) : input;
}

/** An RFC 3339 time as the input shows it: in the viewer's zone, without the zone. */
function localTime(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const durationUnits = {hours: ['PT', 'H'], days: ['P', 'D'], weeks: ['P', 'W']};

function durationEditor(row, change) {
  const text = row.values?.[0] ?? '';
  const [, amountText, unitText] = /^PT?(\d+)([HDW])$/.exec(text) ?? [];
  const isSimple = text === '' || (amountText && /^(PT\d+H|P\d+[DW])$/.test(text));
  const label = t('builder.valueOf', {field: fieldLabel(row.field)});
  if (!isSimple) {
    const input = h('input', {type: 'text', value: text, 'aria-label': label, oninput: () =>
      change(input.value ? [input.value] : null, true)});
    return input;
  }
  const report = (isTyping) => {
    const [start, end] = durationUnits[unit.value];
    change(amount.value > 0 ? [`${start}${Number(amount.value)}${end}`] : null, isTyping);
  };
  const amount = h('input', {
    type: 'number', min: '1', max: '9999', step: '1', value: amountText ?? '', 'aria-label': label,
    oninput: () => report(true),
  });
  const unit = h('select', {
    'aria-label': t('builder.unit'), value: {H: 'hours', W: 'weeks'}[unitText] ?? 'days',
    onchange: () => report(false),
  }, Object.keys(durationUnits).map((name) => h('option', {value: name}, t(`unit.${name}`, {n: 0}))));
  return h('span', {class: 'row'}, amount, unit);
}

function rangeEditor(row, change) {
  const report = () => change(from.value && to.value ? [from.value, to.value] : null, true);
  // A time input cannot show 24:00, which is a valid end.
  const input = (index, name) => h('input', {
    type: /^([01]\d|2[0-3]):\d\d$|^$/.test(row.values?.[index] ?? '') ? 'time' : 'text', size: '6',
    value: row.values?.[index] ?? '', 'aria-label': t(name), oninput: report,
  });
  const from = input(0, 'builder.from'), to = input(1, 'builder.to');
  return h('span', {class: 'row'}, from, t('builder.join.all'), to);
}

// MARK: Places

function circleEditor(row, change) {
  const inputs = ['radiusKm', 'latitude', 'longitude'].map((name) => h('input', {
    type: 'number', step: 'any', 'aria-label': t(`builder.near.${name}`), placeholder: t(`builder.near.${name}`),
    value: row.values?.[['latitude', 'longitude', 'radiusKm'].indexOf(name)] ?? '',
    oninput: () => {
      const [radius, latitude, longitude] = inputs.map((input) => (input.value === '' ? null : Number(input.value)));
      const values = [latitude, longitude, radius];
      change(values.includes(null) ? null : values, true);
    },
  }));
  const [radius, latitude, longitude] = inputs;
  return h('span', {class: 'row near'}, radius, t('builder.kmAround'), latitude, longitude);
}
