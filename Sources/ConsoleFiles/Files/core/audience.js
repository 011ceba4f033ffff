// The audience that the screens share: what is built on Audience is broken down, drawn, exported and sent by the
// others.
//
//     currentAudience.filter     the JSON filter, `{}` at the start
//     currentAudience.include    'reachable', 'active' or 'all'
//     currentAudience.body({by: ['locale']})   the body of an audience call
//
// It dispatches `change`. It is kept in memory only, because a filter may hold what must not stand in a URL or a store.

import {session} from './session.js';

class CurrentAudience extends EventTarget {
  filter = {};
  include = 'reachable';
  /** The name of the segment that the filter was opened from, and its ETag; null without one. */
  segment = null;

  set({filter = this.filter, include = this.include, segment = this.segment}) {
    Object.assign(this, {filter, include, segment});
    this.dispatchEvent(new Event('change'));
  }

  body(members = {}) {
    return {filter: this.filter, include: this.include, ...members};
  }

  get isEverybody() {
    return Object.keys(this.filter).length === 0;
  }

  /** Adds a condition, which must hold too. */
  add(condition) {
    const clash = Object.keys(condition).some((field) => field in this.filter);
    this.set({filter: clash ? {all: [this.filter, condition]} : {...this.filter, ...condition}});
  }
}

export const currentAudience = new CurrentAudience();

/** Another app, or another person: nothing of the filter remains. */
let owner = null;
session.addEventListener('change', () => {
  const present = session.isSignedIn ? `${session.app} ${session.name}` : null;
  if (present !== owner) currentAudience.set({filter: {}, include: 'reachable', segment: null});
  owner = present;
});
