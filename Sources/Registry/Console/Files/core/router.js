// Which screen is shown: the fragment `#/path/part/part?name=value`, percent-encoded, which browsers never send. Parts
// are names that may stand in an address, such as a segment's; `f` is the filter of Audience. Users and tokens are never
// in it.
//
//     go('segments', 'beta')   changes the fragment
//     route()                  {path: 'segments', parts: ['beta'], query: URLSearchParams}

export function route() {
  const [way, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [path, ...parts] = way.split('/').map(decoded);
  return {path, parts, query: new URLSearchParams(query)};
}

export function href(path, ...parts) {
  return '#/' + [path, ...parts].map(encodeURIComponent).join('/');
}

export function go(path, ...parts) {
  location.hash = href(path, ...parts);
}

/** Changes the fragment without showing a screen and without a step back. The step remembers whose fragment it is. */
export function rewrite(path, query = {}) {
  const text = new URLSearchParams(query).toString();
  history.replaceState(rewritten, '', href(path) + (text ? `?${text}` : ''));
}

/** Whether the fragment is the page's own, and not that of a link. */
export const isRewritten = () => history.state === rewritten;
const rewritten = 'rewritten';

/** Calls `show` now and whenever the fragment changes. */
export function follow(show) {
  addEventListener('hashchange', show);
  show();
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
