// Names of fields for people: of filters and exports, and of the members of a record.

import {hasText, t} from '../core/text.js';

/** Members of a record that have another name in filters. */
const sameAs = {systemVersion: 'osVersion', timeZoneId: 'timeZone', timeZoneOffset: 'utcOffset', languages: 'preferredLanguages'};

/** The field's name in the language of the page; its own name if it has none. */
export function fieldName(name) {
  const key = `field.${sameAs[name] ?? name}`;
  return hasText(key) ? t(key) : name;
}
