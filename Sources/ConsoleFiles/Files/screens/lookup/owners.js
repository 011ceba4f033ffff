// Who had a token, and when: bands of equal holders, from its history. No DOM.
//
// A token's history has the events at which an installation held it. That an installation went on to another token is
// an event of the installation alone, so the histories of the holders belong to the input.

/**
 * @param tokenEvents the history of the token, in any order
 * @param holderEvents the histories of the installations that held it, in any order; may contain the same events
 * @returns `[{installId, userId, state, from, to, because, end}]`, oldest first. `to` is null while it lasts;
 *   `because` is the event that began it, and `end` the one that ended it, if that was not the beginning of the next.
 */
export function bands(tokenEvents, holderEvents = []) {
  const digest = tokenEvents[0]?.tokenSha256;
  const events = new Map([...holderEvents, ...tokenEvents].map((event) => [event.cursor, event]));
  const bands = [];
  let band = null;
  const close = (event, isEnd) => {
    if (!band) return;
    band.to = event.at;
    if (isEnd) band.end = event;
    band = null;
  };
  for (const event of [...events.values()].sort(inOrder)) {
    const isHolder = band !== null && band.installId === event.installId;
    if (event.tokenSha256 !== digest || releases(event)) {
      if (isHolder && movesToken(event)) close(event, true);
    } else if (!isHolder || band.userId !== event.userId || band.state !== event.state) {
      close(event, false);
      band = {
        installId: event.installId, userId: event.userId, state: event.state, from: event.at, to: null, because: event,
        end: null,
      };
      bands.push(band);
    }
  }
  return bands;
}

/** The installations of a token's history, the latest first. */
export function holders(tokenEvents) {
  return [...new Set([...tokenEvents].sort(inOrder).reverse().map((event) => event.installId))].filter(Boolean);
}

/** After these events the installation has no token, or does not exist. */
function releases(event) {
  return event.state === 'superseded' || event.event === 'deleted' || event.event === 'erased';
}

/** Whether the event is about the token that the installation has after it. */
function movesToken(event) {
  return event.event !== 'topicsChanged' && event.event !== 'logoutIgnored';
}

function inOrder(one, other) {
  return number(one) - number(other);
}

/** The number of an event, the last part of its cursor. */
function number(event) {
  return Number(event.cursor.slice(event.cursor.lastIndexOf('.') + 1));
}
