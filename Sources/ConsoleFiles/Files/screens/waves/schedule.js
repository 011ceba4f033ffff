// What to know about a wave before sending: whether its instant is past, and which of its zones skip or repeat the
// local time on that day. No DOM.
//
//     schedule(answer, {date: '2027-03-28', time: '02:30', now: Date.now()})
//
// returns `{waves: [{at, count, share, isPast, zones: [{name, shift}]}], past: {waves, count}, shifted, repeated}`, the
// zones with a shift first.
// `shift` is null, `{skipped: '03:30'}` if clocks jump over the time (the wave is at the time given here), or
// `{repeated: true}` if the time occurs twice (the wave is the first one). A zone's name is null if only its offset is known.

export function schedule(answer, {date, time, now}) {
  const planned = answer.total - answer.withoutTimeZone;
  const waves = answer.waves.map((wave) => ({
    at: wave.at,
    count: wave.count,
    share: planned > 0 ? wave.count / planned : 0,
    isPast: Date.parse(wave.at) <= now,
    zones: wave.timeZones
      .map((name) => ({name, shift: shift(name, Date.parse(wave.at), `${date} ${time.slice(0, 5)}`)}))
      .sort((one, other) => Boolean(other.shift) - Boolean(one.shift)),
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

const hour = 3_600_000;
/** Clocks go back by an hour, or by half an hour on Lord Howe. */
const repetitions = [hour, hour / 2];

/**
 * The service decides when a wave is. The browser's own data of time zones only explains it, and may be older or newer:
 * where they disagree without a change of clocks, nothing is flagged.
 */
function shift(zone, instant, wanted) {
  const clock = clockOf(zone);
  if (!clock) return null;
  const local = clock(instant);
  const jump = offset(clock, instant) - offset(clock, instant - 3 * hour);
  if (local !== wanted) return jump > 0 && clock(instant - jump) < wanted ? {skipped: local.slice(11)} : null;
  return repetitions.some((later) => clock(instant + later) === wanted) ? {repeated: true} : null;
}

/** Milliseconds east of UTC. */
function offset(clock, instant) {
  return Date.parse(`${clock(instant).replace(' ', 'T')}Z`) - instant;
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
