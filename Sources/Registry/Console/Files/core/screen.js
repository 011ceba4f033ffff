// The base of all screens: a light-DOM custom element that lives while it is shown.
//
//     class WavesScreen extends Screen {
//       async start() {
//         this.append(this.heading(), …);
//         this.load(place, async (signal) => (await call('GET', …, {signal})).data, (data) => [nodes]);
//       }
//     }
//     customElements.define('waves-screen', WavesScreen);
//
// `this.signal` is aborted when the screen is left: give it to requests and listeners. `this.parts` are the parts of
// the fragment after the path. `this.name` is the path. The app is `session.app`; another app is a new screen.

import {h, replace} from './dom.js';
import {failurePanel, loadingPanel} from './panels.js';
import {t} from './text.js';

export class Screen extends HTMLElement {
  #controller = new AbortController();
  /** The newest request of each place. */
  #requests = new WeakMap();
  parts = [];
  name = '';

  get signal() {
    return this.#controller.signal;
  }

  connectedCallback() {
    if (!this.signal.aborted) this.start();
  }

  disconnectedCallback() {
    this.#controller.abort();
  }

  /** Builds the screen. */
  start() {}

  /** The page's only `h1`, which has the focus after navigation, and one sentence on what the screen is for. */
  heading(title = t(`nav.${this.name}`), lead = null, ...actions) {
    return h(
      'header', {class: 'heading'},
      h('div', {}, h('h1', {tabindex: '-1'}, title), lead && h('p', {class: 'lead'}, lead)),
      actions.length ? h('div', {class: 'actions'}, actions) : null);
  }

  /**
   * Shows in `place` a loading panel, then what `render` makes of the response, or the panel of the failure with a
   * button that tries again. A newer request for the place aborts the older one, whose response or failure never shows.
   *
   * @param request `(signal) => promise`
   * @param render `(response) => nodes`
   * @returns whether it shows something, and not an older or left request's response.
   */
  async load(place, request, render) {
    this.#requests.get(place)?.abort();
    const controller = new AbortController();
    this.#requests.set(place, controller);
    const signal = AbortSignal.any([this.signal, controller.signal]);
    place.setAttribute('aria-busy', 'true');
    replace(place, loadingPanel());
    let nodes;
    try {
      const response = await request(signal);
      if (!signal.aborted) nodes = render(response);
    } catch (error) {
      if (!signal.aborted) nodes = failurePanel(error, () => this.load(place, request, render));
    }
    if (signal.aborted) return false;
    place.removeAttribute('aria-busy');
    replace(place, nodes);
    return true;
  }
}
