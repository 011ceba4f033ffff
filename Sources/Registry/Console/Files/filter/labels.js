// Names that people know for the values of fields. The API's own value stands beside a name that is not the same.

import {foreign, h, plain} from '../core/dom.js';
import {hasText, languageName, regionName, t} from '../core/text.js';
import {kindOf} from './fields.js';

export const fieldLabel = (field) => t(`field.${field}`);

/** A name in words, or null if the value speaks for itself. */
export function wordsFor(field, value) {
  switch (field) {
    case 'locale': case 'language': return languageName(String(value));
    case 'region': return regionName(String(value));
    case 'utcOffset': return offsetText(value);
    case 'timeZone': return cityOf(value);
  }
  switch (kindOf(field)) {
    case 'flag': return t(String(value) === 'true' ? 'value.true' : 'value.false');
    case 'choice': return hasText(`value.${value}`) ? t(`value.${value}`) : null;
    default: return null;
  }
}

/** The value as a node: its name, and in small type what the API calls it. Null is "not known". */
export function valueLabel(field, value) {
  if (value === null || value === undefined) return h('em', {class: 'unknown-value'}, t('value.missing'));
  const words = wordsFor(field, value);
  const showsBoth = words && ['locale', 'language', 'region', 'timeZone'].includes(field);
  return [foreign(words ?? value), showsBoth ? [' ', h('small', {}, foreign(value))] : null];
}

/** The value as a plain text, for pictures and titles. */
export function valueText(field, value) {
  return value === null || value === undefined ? t('value.missing') : plain(wordsFor(field, value) ?? value);
}

/** `19800` is "UTC+05:30". */
export function offsetText(seconds) {
  const minutes = Math.round(Math.abs(seconds) / 60);
  const two = (number) => String(number).padStart(2, '0');
  return `UTC${seconds < 0 ? '−' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function cityOf(zone) {
  const city = String(zone).split('/').at(-1).replaceAll('_', ' ');
  return zone.includes('/') ? city : null;
}
