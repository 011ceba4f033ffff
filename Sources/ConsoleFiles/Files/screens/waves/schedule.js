// What to know about a wave before sending: whether its instant is past, and which of its zones skip or repeat the
// local time on that day. No DOM.
//
//     schedule(answer, {date: '2027-03-28', time: '02:30', now: Date.now()})
//
// returns `{waves: [{at, count, share, isPast, zones: [{name, shift}]}], past: {waves, count}, shifted, repeated}`.
// `shift` is null, `{skipped: '03:30'}` if clocks jump over the time (the wave is at the time given here), or
// `{repeated: true}` if the time occurs twice (the wave is the first one). A zone's name is null if only its offset is known.

export function schedule(answer, {date, time, now}) {
  const planned = answer.total - answer.withoutTimeZone;
  const waves = answer.waves.map((wave) => ({
    at: wave.at,
    count: wave.count,
    share: planned > 0 ? wave.count / planned : 0,
    isPast: Date.parse(wave.at) <= now,
    zones: wave.timeZones.map((name) => ({name, shift: shift(name, Date.parse(wave.at), `${date} ${time.slice(0, 5)}`)})),
  }));
  const past = waves.filter((wave) => wave.isPast);
  const zones = waves.flatMap((wave) => wave.zones);
  return {
    waves,
    past: {waves: past.length, count: past.reduce((sum, wave) => sum + wave.count, 0)},
    shifted: zones.filter((zone) => zone.shift?.skipped),
    repeated: zones.filter((zone) => zone.shift?.repeated),
  };
}

/** Clocks go back by an hour, or by half an hour on Lord Howe. */
const repetitionsMilliseconds = [3_600_000, 1_800_000];

function shift(zone, instant, wanted) {
  const clock = clockOf(zone);
  if (!clock) return null;
  const local = clock(instant);
  if (local !== wanted) return {skipped: local.slice(11)};
  return repetitionsMilliseconds.some((later) => clock(instant + later) === wanted) ? {repeated: true} : null;
}

const clocks = new Map();

/** `(instant) => '2027-03-28 02:30'` in the zone; null for a zone that the browser does not know. */
function clockOf(zone) {
  if (zone === null) return null;
  if (!clocks.has(zone)) clocks.set(zone, makeClock(zone));
  return clocks.get(zone);
}

function makeClock(timeZone) {
  try {
    // Swedish writes dates as ISO 8601 does.
    const format = new Intl.DateTimeFormat('sv', {
      timeZone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23',
    });
    return (instant) => format.format(instant);
  } catch {
    return null;
  }
}
