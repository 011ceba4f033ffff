// Which screen is shown: the fragment `#/path/part/part`. Parts are percent-encoded names that may stand in a URL, such
// as a segment's; filters, users and tokens never do.
//
//     go('segments', 'beta')   changes the fragment
//     route()                  {path: 'segments', parts: ['beta']}

export function route() {
  const [path, ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  return {path, parts};
}

export function href(path, ...parts) {
  return '#/' + [path, ...parts].map(encodeURIComponent).join('/');
}

export function go(path, ...parts) {
  location.hash = href(path, ...parts);
}

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
