// Durations of a policy (ISO 8601, weeks to seconds) as a number and a unit. No DOM.

export const units = ['weeks', 'days', 'hours', 'minutes', 'seconds'];
const seconds = {weeks: 604_800, days: 86_400, hours: 3_600, minutes: 60, seconds: 1};

/** @returns seconds; null for a text that is no duration */
export function secondsOf(text) {
  const match = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  if (!match || !/\d/.test(text)) return null;
  return units.reduce((sum, unit, index) => sum + Number(match[index + 1] ?? 0) * seconds[unit], 0);
}

/**
 * The duration in the largest unit that gives a whole number. Weeks are used only where they were written: thirty-five
 * days stay days.
 *
 * @returns `{amount, unit}`
 */
export function amountOf(text) {
  const all = secondsOf(text);
  const unit = units.find((unit) => (unit !== 'weeks' || /W/.test(text)) && all > 0 && all % seconds[unit] === 0);
  return unit ? {amount: all / seconds[unit], unit} : {amount: 0, unit: 'days'};
}

export function durationOf(amount, unit) {
  switch (unit) {
    case 'weeks': return `P${amount}W`;
    case 'days': return `P${amount}D`;
    default: return `PT${amount}${unit[0].toUpperCase()}`;
  }
}
