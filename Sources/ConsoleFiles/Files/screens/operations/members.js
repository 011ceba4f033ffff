// The members of a policy, and what differs between two policies. No DOM.
//
// A member is named by its path (`staleAfter.apns`). `kind` decides how it is edited and compared: `duration`, `flag`,
// `count`, `text`, `lines`, `json` or `limit`.

import {secondsOf} from '../../parts/durations.js';

const providers = ['apns', 'apnsSandbox', 'fcm', 'huawei', 'webPush'];

export const memberGroups = {
  silence: [
    ...providers.map((provider) => ({path: `staleAfter.${provider}`, kind: 'duration'})),
    {path: 'touchInterval', kind: 'duration'}, {path: 'grace', kind: 'duration'},
  ],
  retention: [
    {path: 'retention', kind: 'duration'}, {path: 'receiptRetention', kind: 'duration'},
    {path: 'sessionTombstones', kind: 'duration'},
  ],
  privacy: [{path: 'storeAdvertisingId', kind: 'flag'}, {path: 'smallestGroup', kind: 'count', max: 1_000_000}],
  delivery: [{path: 'notificationsMax', kind: 'count', max: 1_000}],
  signIn: [
    {path: 'jwksURL', kind: 'text', max: 2_048}, {path: 'jwks', kind: 'json'}, {path: 'jwtIssuer', kind: 'text', max: 256},
    {path: 'jwtAudience', kind: 'text', max: 256}, {path: 'sessionExpiryClaim', kind: 'text', max: 256},
    {path: 'allowIncompleteTokens', kind: 'flag'},
  ],
  access: [
    {path: 'allowedOrigins', kind: 'lines'}, {path: 'rateLimits.perKey', kind: 'limit'},
    {path: 'rateLimits.perAddress', kind: 'limit'},
  ],
};

export const members = Object.values(memberGroups).flat();

/** The value of a member; null if it has none. */
export function valueAt(policy, path) {
  return path.split('.').reduce((value, name) => value?.[name] ?? null, policy);
}

/** @returns `[{member, before, after}]` of the members that differ */
export function differing(before, after) {
  return members
    .map((member) => ({member, before: valueAt(before, member.path), after: valueAt(after, member.path)}))
    .filter(({member, before, after}) => !isEqual(member, before, after));
}

/** A JSON Merge Patch (RFC 7396) with the new values. */
export function patchOf(changes) {
  const patch = {};
  for (const {member, after} of changes) setAt(patch, member.path, after);
  return patch;
}

/** A policy with some members changed. */
export function applied(policy, changes) {
  const copy = structuredClone(policy);
  for (const {member, after} of changes) setAt(copy, member.path, after);
  return copy;
}

/** The member that a fault's pointer is about; undefined if it is about none. */
export function memberAt(pointer) {
  const path = pointer.slice(1).replaceAll('/', '.');
  return members.find((member) => path === member.path || path.startsWith(`${member.path}.`)) ??
    members.find((member) => member.path.startsWith(`${path}.`));
}

function setAt(object, path, value) {
  const [name, ...rest] = path.split('.');
  if (rest.length > 0) setAt((object[name] ??= {}), rest.join('.'), value);
  else object[name] = value;
}

function isEqual({kind}, one, other) {
  if (kind === 'duration' && one && other) return secondsOf(one) === secondsOf(other);
  return canonical(one) === canonical(other);
}

/** JSON with sorted names: the order of members says nothing. */
function canonical(value) {
  return JSON.stringify(value, (_, part) => (part && typeof part === 'object' && !Array.isArray(part)
    ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1))) : part));
}
