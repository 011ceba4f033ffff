// Who is signed in, and which app is shown.
//
// `session.roles`, `session.app`, `session.name`, `session.expiresAt`, `session.idleUntil`. The admin key belongs to no
// app: `session.app` is then the app that was chosen in the header, or null before one is. Keys are never stored here:
// the service keeps the session in a cookie that scripts cannot read.

import {call, sessionEvents} from './client.js';

class Session extends EventTarget {
  roles = [];
  app = null;
  name = '';
  expiresAt = null;
  idleUntil = null;
  /** Whether the session may show any app. */
  choosesApp = false;
  /** The ids of the apps, if the session may choose. */
  apps = [];

  get isSignedIn() {
    return this.roles.length > 0;
  }

  /** Whether a screen that needs one of `roles` may be shown. An admin may do everything. */
  may(roles) {
    return this.roles.includes('admin') || roles.some((role) => this.roles.includes(role));
  }

  /** Asks the service for the session of the cookie. */
  async restore() {
    this.#set((await call('GET', '/v1/session')).data);
    if (this.choosesApp) await this.loadApps();
  }

  /** @param credential `{app, key}`, `{key}` for the admin key, or `{code}` of a link. */
  async signIn(credential) {
    this.#set((await call('POST', '/v1/session', {body: credential})).data);
    if (this.choosesApp) await this.loadApps();
    this.#changed();
  }

  async signOut() {
    await call('DELETE', '/v1/session');
    this.end();
  }

  /** Forgets the session, because the service ended it. */
  end() {
    if (!this.isSignedIn) return;
    this.#set({roles: []});
    this.#changed();
  }

  choose(app) {
    this.app = app;
    sessionStorage.setItem('app', app);
    this.#changed();
  }

  async loadApps() {
    const {data} = await call('GET', '/v1/apps');
    this.apps = data.apps.map((app) => app.app);
    const last = sessionStorage.getItem('app');
    this.app = this.apps.includes(last) ? last : this.apps[0] ?? null;
  }

  #set(body) {
    this.roles = body.roles;
    this.choosesApp = body.roles.length > 0 && !body.app;
    this.app = body.app ?? null;
    this.name = body.name ?? '';
    this.expiresAt = body.expiresAt ?? null;
    this.idleUntil = body.idleUntil ?? null;
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}

/** Dispatches `change` after a sign-in, a sign-out, the session's end, and the choice of another app. */
export const session = new Session();
sessionEvents.addEventListener('signedout', () => session.end());

