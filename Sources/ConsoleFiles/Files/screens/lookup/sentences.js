// One plain sentence for each event of a history. No DOM: `sentence(event)` gives the name of a text and its values.
//
// The service may record kinds and reasons that are younger than this page: `isKnown` is for `hasText`.

/** @returns `{key, values: {user, previous, topics}}`; a user is null for an anonymous installation. */
export function sentence(event) {
  return {
    key: `lookup.event.${event.event}.${event.reason}`,
    values: {user: event.userId, previous: event.previousUserId, topics: event.topics ?? []},
  };
}

/**
 * Who made a change: `{key, values}` of a text, or null for a form that is unknown here. An actor is `admin`,
 * `<role>:<key id>` or `job:<name>`.
 */
export function actor(text) {
  if (text === 'admin') return {key: 'lookup.actor.admin', values: {}};
  const [role, id] = split(text);
  if (role === 'job' && id === 'cleanup') return {key: 'lookup.actor.cleanup', values: {}};
  return id ? {key: 'lookup.actor.key', values: {role, id}} : null;
}

function split(text) {
  const colon = text.indexOf(':');
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}
