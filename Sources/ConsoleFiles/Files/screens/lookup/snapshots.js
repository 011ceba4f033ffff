// What changed between the snapshots of an installation. No DOM.

/**
 * @param snapshots newest first, as the API lists them
 * @returns `[{at, changes: [{group, name, before, after}]}]`, newest first; the oldest snapshot is left out. Values are
 *   texts, or null for no value.
 */
export function differences(snapshots) {
  return snapshots.slice(0, -1).map((snapshot, index) => ({
    at: snapshot.at,
    changes: changes(snapshots[index + 1], snapshot),
  }));
}

function changes(before, after) {
  return ['settings', 'device'].flatMap((group) => {
    const [old, fresh] = [before[group] ?? {}, after[group] ?? {}];
    const names = [...new Set([...Object.keys(fresh), ...Object.keys(old)])];
    return names
      .map((name) => ({group, name, before: text(old[name]), after: text(fresh[name])}))
      .filter((change) => change.before !== change.after);
  });
}

/** A value of a snapshot as a text; null for none. */
export function text(value) {
  if (value === null || value === undefined || value === '') return null;
  if (Array.isArray(value)) return value.length ? value.join(', ') : null;
  if (typeof value === 'object') return `${value.latitude} ${value.longitude}`;
  return String(value);
}
