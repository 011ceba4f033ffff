// What the screen Look-up knows about ids, tokens, records and events. No DOM.

// MARK: What a text may be

/** Providers' tokens are longer than this; an `installId` is usually a UUID. */
const shortestToken = 64;

/**
 * A token is a secret and never stands in a URL. So a text that may be a token is sent in a body first: the API's paths
 * of installations and users are for texts that are no known token.
 *
 * @param kind `any`, `installation`, `user` or `token`
 * @returns the kinds to ask for, `token` first; empty if the text can be nothing of `kind`.
 */
export function kindsOf(text, kind) {
  if (kind === 'token' || isAddress(text)) return kind === 'token' || kind === 'any' ? ['token'] : [];
  const isId = text.length <= 128 && /^[\x21-\x7E]+$/.test(text);
  const mayBeToken = text.length >= shortestToken || firebaseIdOf(text) !== undefined;
  if (kind === 'any') return mayBeToken ? ['token'] : isId ? ['installation', 'user'] : [];
  return isId ? [...(mayBeToken ? ['token'] : []), kind] : [];
}

/** An address of Web Push. */
function isAddress(text) {
  return /^https?:/i.test(text);
}

/** The providers that could have issued a token of this form. */
export function providersOf(token) {
  if (isAddress(token)) return ['webPush'];
  return [.../^([0-9a-f]{2}){8,200}$/i.test(token) ? ['apns', 'apnsSandbox'] : [], 'fcm', 'huawei'];
}

/** The Firebase installation id that a token is or begins with, as `Token.address` of the service has it. */
function firebaseIdOf(token) {
  return token.match(/^[c-f][A-Za-z0-9_-]{21}(?=:|$)/)?.[0];
}

/** The hex SHA-256 of a token's address; null where the browser has no cryptography (plain HTTP, another machine). */
export async function digestOf(token, provider) {
  if (!globalThis.crypto?.subtle) return null;
  const canonical = provider.startsWith('apns') ? token.toLowerCase() : token;
  const address = provider === 'fcm' ? firebaseIdOf(token) ?? token : canonical;
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(address)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// MARK: Records

const conditions = ['state', 'session', 'authorization'];

/**
 * "Reachable? Why not?" as a list of conditions. The service decides; this puts its codes beside their conditions.
 *
 * @returns `[{condition, code}]`: `code` is the reason if the condition is not met; null if the record has no reasons.
 */
export function checklist({unreachableBecause: codes}) {
  const belongs = (code, condition) => code.startsWith(`${condition}-`);
  return codes ? [
    ...conditions.map((condition) => ({condition, code: codes.find((code) => belongs(code, condition)) ?? null})),
    ...codes.filter((code) => !conditions.some((condition) => belongs(code, condition))).map((code) => ({code})),
  ] : null;
}

/**
 * What changed between snapshots.
 *
 * @param snapshots newest first, as the API lists them
 * @returns `[{at, changes: [{name, before, after}]}]`, newest first, without the oldest. Values are texts or null.
 */
export function differences(snapshots) {
  return snapshots.slice(0, -1).map(({at, settings, device}, index) => {
    const [old, fresh] = [{...snapshots[index + 1].settings, ...snapshots[index + 1].device}, {...settings, ...device}];
    const changes = [...new Set([...Object.keys(fresh), ...Object.keys(old)])]
      .map((name) => ({name, before: textOf(old[name]), after: textOf(fresh[name])}));
    return {at, changes: changes.filter(({before, after}) => before !== after)};
  });
}

/** A value of a record as a text; null for none. */
export function textOf(value) {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.join(', ') || null;
  return typeof value === 'object' ? `${value.latitude} ${value.longitude}` : String(value) || null;
}

// MARK: Owners of a token

/**
 * Who had a token, and when: bands of equal holders.
 *
 * @param events the history of the token, newest first. It has the events that name the token, and those by which its
 *   holder changed to another one.
 * @param digest of the token
 * @returns `[{installId, userId, state, from, to, because, end}]`, oldest first. `to` is null while it lasts; `because`
 *   is the event that began it, and `end` the one that ended it, if that was not the beginning of the next.
 */
export function bands(events, digest) {
  const found = [];
  let band = null;
  for (const event of events.toReversed()) {
    const {installId, userId, state, at} = event;
    const isHolder = band?.installId === installId;
    if (event.tokenSha256 !== digest || ['superseded', 'deleted', 'erased', 'tokenMoved'].includes(event.event)) {
      if (!isHolder) continue;
      Object.assign(band, {to: at, end: event});
      band = null;
    } else if (!isHolder || band.userId !== userId || band.state !== state) {
      if (band) band.to = at;
      found.push((band = {installId, userId, state, from: at, to: null, because: event, end: null}));
    }
  }
  return found;
}
