// Who is signed in, and which app is shown.
//
// `session.roles`, `session.app`, `session.name`, `session.expiresAt`, `session.idleUntil`. The admin key belongs to no
// app, and a person may have several: `session.app` is then the app that was chosen in the header, or null before one
// is, and the roles are those of this app. `session.provider` is the identity provider, if people may sign in by one.
// Keys are never stored here: the service keeps the session in a cookie that scripts cannot read.

import {call, now, sessionEvents} from './client.js';

/** So long before the session ends, the page says so. */
const noticeMilliseconds = 120_000;
/** So many apps are offered; the id of another one is typed. */
export const firstApps = '/v1/apps?limit=100';
/** The service's time is known to the second. */
const secondMilliseconds = 1_000;

class Session extends EventTarget {
  roles = [];
  app = null;
  name = '';
  expiresAt = null;
  idleUntil = null;
  /** Whether the session may show any app. */
  choosesApp = false;
  /** The ids of the first apps, if the session may choose. */
  apps = [];
  /** Whether there are more. */
  hasMoreApps = false;
  /** `[{app, roles}]` of a person with several apps. */
  grants = null;
  /** `{issuer, groupsClaim}` */
  provider = null;
  /** Whether the last session was ended by the service, not by the person. */
  hasEnded = false;
  #timer = null;

  get isSignedIn() {
    return this.roles.length > 0;
  }

  /** Whether a screen that needs one of `roles` may be shown. An admin may do everything. */
  may(roles) {
    return this.roles.includes('admin') || roles.some((role) => this.roles.includes(role));
  }

  /** Asks the service for the session of the cookie. */
  async restore() {
    await this.#enter(await call('GET', '/v1/session'));
  }

  /** Continues with the session that another tab has begun. */
  async follow() {
    const response = await call('GET', '/v1/session');
    if (response.data.roles.length > 0 && !this.isSignedIn) await this.#enter(response);
  }

  /** @param credential `{app, key}`, `{key}` for the admin key, or `{code}` of a link. */
  async signIn(credential) {
    await this.#enter(await call('POST', '/v1/session', {body: credential}));
  }

  async signOut() {
    await call('DELETE', '/v1/session');
    this.end(false);
  }

  /** Forgets the session. */
  end(hasEnded) {
    if (!this.isSignedIn) return;
    clearTimeout(this.#timer);
    this.#set({roles: []});
    this.hasEnded = hasEnded;
    this.#changed();
  }

  choose(app) {
    this.#show(app);
    sessionStorage.setItem('app', app);
    this.#changed();
  }

  async loadApps() {
    const {apps, next} = this.grants ? {apps: this.grants, next: null} : (await call('GET', firstApps)).data;
    this.apps = apps.map((app) => app.app);
    this.hasMoreApps = next !== null;
    const last = sessionStorage.getItem('app');
    this.#show(this.apps.includes(last) || (last && this.hasMoreApps) ? last : this.apps[0] ?? null);
  }

  #show(app) {
    this.app = app;
    if (this.grants) this.roles = this.grants.find((grant) => grant.app === app).roles;
  }

  async #enter({data}) {
    this.#set(data);
    this.hasEnded = false;
    if (this.choosesApp) await this.loadApps();
    if (this.isSignedIn) this.#wait();
    this.#changed();
  }

  get #end() {
    return Math.min(Date.parse(this.idleUntil), Date.parse(this.expiresAt));
  }

  /** Asks again when the end is near, and then when it is due: calls of any tab may have moved it meanwhile. */
  #wait(isNear = false) {
    clearTimeout(this.#timer);
    const rest = this.#end - now() + (isNear ? secondMilliseconds : -noticeMilliseconds);
    this.#timer = setTimeout(() => this.#check(), Math.max(0, rest));
  }

  /** Reading the session does not prolong it. */
  async #check() {
    try {
      const {data} = await call('GET', '/v1/session');
      if (data.roles.length === 0) return this.end(true);
      Object.assign(this, {expiresAt: data.expiresAt, idleUntil: data.idleUntil});
      const isNear = this.#end - now() <= noticeMilliseconds;
      this.dispatchEvent(new CustomEvent('ending', {detail: isNear ? this.#end : null}));
      this.#wait(isNear);
    } catch {
      // The service cannot be reached: the next call of a screen learns of the end.
    }
  }

  #set(body) {
    this.roles = body.roles;
    this.choosesApp = body.roles.length > 0 && !body.app;
    this.grants = body.apps ?? null;
    this.provider = body.provider ?? this.provider;
    this.app = body.app ?? null;
    this.name = body.name ?? '';
    this.expiresAt = body.expiresAt ?? null;
    this.idleUntil = body.idleUntil ?? null;
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}

/**
 * Dispatches `change` after a sign-in, a sign-out, the session's end, and the choice of another app; `ending` before
 * the session ends, with the time as its `detail`: null if the end has moved.
 */
export const session = new Session();
sessionEvents.addEventListener('signedout', () => session.end(true));

