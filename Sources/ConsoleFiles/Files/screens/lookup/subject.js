// What a text that somebody looks up may be. No DOM.
//
// A token is a secret and never stands in a URL. So a text that may be a token is only ever sent in a body: the API's
// paths of installations and users are for texts that cannot be tokens.

/** Providers' tokens are longer than this; `installId`s are UUIDs. */
const shortestToken = 64;
/** The longest `installId` and `userId`. */
const longestId = 128;

/**
 * @param kind `any`, `installation`, `user` or `token`
 * @returns the kinds to ask for. `token` comes first: only a text that is no known token may be asked for as another
 *   kind. Empty if the text can be nothing of `kind`.
 */
export function kindsOf(text, kind) {
  if (kind === 'token' || isAddress(text)) return kind === 'token' || kind === 'any' ? ['token'] : [];
  const isLong = text.length >= shortestToken;
  if (kind === 'any') return isLong ? ['token'] : isId(text) ? ['installation', 'user'] : [];
  if (!isId(text)) return [];
  return isLong ? ['token', kind] : [kind];
}

/** An address of Web Push. */
function isAddress(text) {
  return /^https?:/i.test(text);
}

/** The providers that could have issued a token of this form. */
export function providersOf(token) {
  if (isAddress(token)) return ['webPush'];
  const providers = ['fcm', 'huawei'];
  return /^[0-9a-f]{16,400}$/i.test(token) && token.length % 2 === 0
    ? ['apns', 'apnsSandbox', ...providers] : providers;
}

/** The hex SHA-256 of a token; null where the browser has no cryptography (plain HTTP beyond this machine). */
export async function digestOf(token, provider) {
  if (!globalThis.crypto?.subtle) return null;
  const canonical = provider.startsWith('apns') ? token.toLowerCase() : token;
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** 1 to 128 visible ASCII characters. */
function isId(text) {
  return text.length <= longestId && /^[\x21-\x7E]+$/.test(text);
}
