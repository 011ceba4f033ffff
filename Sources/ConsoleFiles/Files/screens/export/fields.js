// Which fields a key may export, under the headings of the form. No DOM.

import {fieldGroups} from '../../filter/fields.js';

/** Of an installation itself; only senders see them. */
const identity = [
  'installId', 'provider', 'token', 'keys', 'p256dh', 'auth', 'generation', 'userId', 'sessionId', 'sessionExpiresAt',
  'keychainId', 'vendorId', 'preferredLanguages',
];
/** A row has one value of each field. */
const notExported = new Set(['topic', 'userId', 'provider']);
const senders = ['installId', 'provider', 'token', 'keys', 'generation', 'cursor'];

/** @returns `{group: [names]}`, in the order of the columns */
export function exportFields(roles, format) {
  const isSender = roles.includes('sender') || roles.includes('admin');
  const groups = Object.fromEntries(Object.entries(fieldGroups).map(
    ([group, names]) => [group, names.filter((name) => !notExported.has(name))]));
  const own = isSender ? identity.filter((name) => format === 'ndjson' || name !== 'keys') : ['provider'];
  return {
    identity: [...(isSender && !roles.includes('admin') ? [] : ['id']), ...own, 'cursor'],
    ...groups,
  };
}

/** What is exported unless chosen otherwise. */
export function standardFields(roles, format) {
  const isSender = roles.includes('sender') || roles.includes('admin');
  return isSender ? senders.filter((name) => format === 'ndjson' || name !== 'keys') : ['id', 'cursor'];
}
