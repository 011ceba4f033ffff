// Rates from counts that only grow. No DOM.

/**
 * The change per second between two answers of `/console/v1/rates`.
 *
 * @returns `{at, requests: {class: rate}, registrations: {result: rate}}`; null if the answers are of two processes,
 *   behind a load balancer, or if no time has passed.
 */
export function ratesBetween(before, after) {
  const seconds = (Date.parse(after.at) - Date.parse(before.at)) / 1000;
  if (before.process !== after.process || before.startedAt !== after.startedAt || seconds <= 0) return null;
  const change = (old, fresh) => Object.fromEntries(Object.entries(fresh).map(
    ([name, count]) => [name, Math.max(0, count - (old[name] ?? 0)) / seconds]));
  return {
    at: after.at,
    requests: change(before.requests, after.requests),
    registrations: change(before.registrations, after.registrations),
  };
}

/** A series for each name that occurs: `[[name, [rates]]]`, the newest last. */
export function series(samples, group) {
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample[group])))].sort();
  return names.map((name) => [name, samples.map((sample) => sample[group][name] ?? 0)]);
}
