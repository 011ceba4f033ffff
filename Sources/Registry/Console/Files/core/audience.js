// The audience that the screens share: what is built on Audience is broken down, drawn, exported and sent by the
// others.
//
//     currentAudience.filter     the JSON filter, `{}` at the start
//     currentAudience.include    'reachable', 'active' or 'all'
//     currentAudience.body({by: ['locale']})   the body of an audience call
//
// It dispatches `change`. On Audience the filter is also in the address, so that it can be sent as a link: no filter
// names a user. While the tab is open, the audience of each app stays: over the end of the session, another app
// and another load of the page. The person's signing out forgets it.

import {isRewritten, rewrite, route} from './router.js';
import {session} from './session.js';

/** Browsers and mail programs cut longer addresses. */
const linkLengthMax = 6_000;

class CurrentAudience extends EventTarget {
  filter = {};
  include = 'reachable';
  /** The name of the segment that the filter was opened from, and its ETag; null without one. */
  segment = null;
  /** The steps of the filter on Audience, as an object or as JSON; null before there are any. */
  history = null;
  /** Whether the history has the filter: another screen may have changed it since. */
  isRecorded = false;

  set({filter = this.filter, include = this.include, segment = this.segment}) {
    if (filter !== this.filter) this.isRecorded = false;
    Object.assign(this, {filter, include, segment});
    this.dispatchEvent(new Event('change'));
  }

  /** Shows what an app's audience was. */
  restore(app) {
    const initial = {filter: {}, include: 'reachable', segment: null, history: null, isRecorded: false};
    Object.assign(this, initial, JSON.parse(sessionStorage.getItem(`audience ${app}`)));
    this.dispatchEvent(new Event('change'));
  }

  store(app) {
    const {filter, include, segment, history, isRecorded} = this;
    sessionStorage.setItem(`audience ${app}`, JSON.stringify({filter, include, segment, history, isRecorded}));
  }

  body(members = {}) {
    return {filter: this.filter, include: this.include, ...members};
  }

  get isEverybody() {
    return Object.keys(this.filter).length === 0;
  }

  /** The filter of a link; undefined if the address has none, or one of former steps. @throws if it is no JSON. */
  get linked() {
    const text = isRewritten() ? null : route().query.get('f');
    return text === null ? undefined : JSON.parse(text);
  }

  /** Puts the filter into the address. @returns whether it fits */
  link() {
    const text = JSON.stringify(this.filter);
    const fits = text.length <= linkLengthMax;
    rewrite('audience', this.isEverybody || !fits ? {} : {f: text});
    return fits;
  }

  /** Adds a condition, which must hold too. */
  add(condition) {
    const clash = Object.keys(condition).some((field) => field in this.filter);
    this.set({filter: clash ? {all: [this.filter, condition]} : {...this.filter, ...condition}});
  }
}

export const currentAudience = new CurrentAudience();

/** The app whose audience is shown; null while nobody is signed in. */
let shown = null;
session.addEventListener('change', () => {
  const isForgotten = shown && !session.isSignedIn && !session.hasEnded;
  if (isForgotten) {
    sessionStorage.clear();
    rewrite(route().path);
  } else {
    store();
  }
  shown = session.app;
  currentAudience.restore(shown);
});
// A tab that was hidden may end without a word.
for (const name of ['pagehide', 'visibilitychange']) addEventListener(name, store);

function store() {
  if (shown) currentAudience.store(shown);
}
