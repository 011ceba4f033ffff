// The way of a message from the rows that were handed out to the pushes that were opened. No DOM.

/** In the order of the way. */
export const steps = ['targeted', 'accepted', 'delivered', 'opened'];
/** What ends the way. */
export const ends = ['failed', 'dismissed'];

/**
 * @param counts `{targeted, accepted, delivered, opened, failed, dismissed}`
 * @returns `[{step, count, ofTargeted, ofPrevious}]`: shares are 0 to 1, or null if there is nothing to compare with. A
 *   sender that does not report what the provider accepted has no such step.
 */
export function funnel(counts) {
  const reported = steps.filter((step) => step !== 'accepted' || counts.accepted > 0);
  return reported.map((step, index) => ({
    step,
    count: counts[step],
    ofTargeted: share(counts[step], counts.targeted),
    ofPrevious: index === 0 ? null : share(counts[step], counts[reported[index - 1]]),
  }));
}

/** Of `part` in `whole`, at most 1: a message that is not recorded may be handed out to one installation twice. */
export function share(part, whole) {
  return whole > 0 ? Math.min(1, part / whole) : null;
}

const intervals = ['PT1M', 'PT5M', 'PT15M', 'PT1H', 'PT3H', 'PT6H', 'P1D'];
const minutes = {PT1M: 1, PT5M: 5, PT15M: 15, PT1H: 60, PT3H: 180, PT6H: 360, P1D: 1_440};

/** The shortest interval of a time line that has at most 120 buckets; days beyond. */
export function intervalOf({createdAt, expiresAt}, now) {
  const span = (Math.min(now, Date.parse(expiresAt)) - Date.parse(createdAt)) / 60_000;
  return intervals.find((interval) => span / minutes[interval] <= bucketsMax) ?? intervals.at(-1);
}
const bucketsMax = 120;
