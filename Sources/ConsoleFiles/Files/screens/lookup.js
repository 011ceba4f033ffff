// Look-up: one box for an installation, a user or a token.

import {Problem, appPath, call} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {emptyPanel, failurePanel, loadingPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {list, parts, t} from '../core/text.js';
import {choice} from '../parts/facts.js';
import {installationView} from './lookup/installation.js';
import {digestOf, kindsOf, providersOf} from './lookup/subject.js';
import {holderEvents, tokenView} from './lookup/token.js';
import {userView} from './lookup/user.js';

const kinds = ['any', 'installation', 'user', 'token'];

export default class LookupScreen extends Screen {
  #input = h('input', {
    type: 'search', 'aria-label': t('lookup.box'), placeholder: t('lookup.box'), autocomplete: 'off', spellcheck: 'false',
    required: true, maxlength: '4096',
  });
  #kind = choice(kinds.map((kind) => [kind, t(`lookup.kind.${kind}`)]), 'any');
  #result = h('div', {'aria-live': 'polite'});
  /** What was looked up before, for the way back. */
  #trail = [];
  #controller = null;

  start() {
    this.#kind.setAttribute('aria-label', t('lookup.kind'));
    this.append(
      this.heading(t('nav.lookup'), t('lookup.lead')),
      h('form', {class: 'row lookup', role: 'search', onsubmit: (event) => {
        event.preventDefault();
        this.look(this.#kind.value, this.#input.value.trim());
      }}, this.#input, this.#kind, h('button', {class: 'primary'}, t('lookup.find'))),
      this.#result);
    replace(this.#result, emptyPanel(t('lookup.empty'), t('lookup.emptyText')));
  }

  /** Looks a text up and shows what it is. Older look-ups that are still under way show nothing any more. */
  async look(kind, text, {isReturn = false} = {}) {
    if (!text) return;
    this.#controller?.abort();
    const controller = (this.#controller = new AbortController());
    const signal = AbortSignal.any([this.signal, controller.signal]);
    if (!isReturn) this.#trail.push([kind, text]);
    replace(this.#result, loadingPanel());
    // A token does not stay on the screen.
    if (kindsOf(text, kind).includes('token')) this.#input.value = '';
    try {
      const nodes = await this.#find(kind, text, signal);
      if (signal.aborted) return;
      replace(this.#result, this.#wayBack(), nodes ?? await notFound(kind, text));
      this.#result.querySelector('h2')?.focus();
    } catch (error) {
      if (!signal.aborted) replace(this.#result, failurePanel(error, () => this.look(kind, text, {isReturn: true})));
    }
  }

  /** Nodes, or null if nothing was found. A token is asked for first, and alone. */
  async #find(kind, text, signal) {
    const wanted = kindsOf(text, kind);
    if (wanted.includes('token')) {
      const found = await token(this, text, signal);
      if (found) return found;
    }
    const finders = {installation, user};
    const found = await Promise.all(
      wanted.filter((kind) => kind !== 'token').map((kind) => finders[kind](this, text, signal)));
    const nodes = found.filter(Boolean);
    return nodes.length > 0 ? nodes : null;
  }

  #wayBack() {
    if (this.#trail.length < 2) return null;
    return h('p', {}, h('button', {type: 'button', class: 'quiet', onclick: () => {
      this.#trail.pop();
      this.look(...this.#trail.at(-1), {isReturn: true});
    }}, `← ${t('lookup.back')}`));
  }
}

async function installation(screen, id, signal) {
  const record = await orNull(call('GET', appPath(session.app, 'installations', id), {signal}));
  if (record) return installationView(screen, id, record.data, null);
  const history = await orNull(call('GET', appPath(session.app, 'installations', id, 'history'), {signal}));
  return history && installationView(screen, id, null, history.data);
}

async function user(screen, id, signal) {
  const {data} = await call('GET', appPath(session.app, 'users', id, 'installations'), {signal});
  return data.installations.length > 0 ? userView(screen, id, data) : null;
}

/** The token goes in the body, never in the URL, once for each provider that could have issued it. */
async function token(screen, token, signal) {
  const answers = await Promise.all(providersOf(token).map(async (provider) => {
    try {
      const {data} = await call('POST', appPath(session.app, 'tokens', 'history'), {body: {token, provider}, signal});
      return {provider, ...data};
    } catch (error) {
      // The provider has no tokens of this form.
      if (error instanceof Problem && error.status === 400) return {provider, events: []};
      throw error;
    }
  }));
  const found = answers.filter(({events}) => events.length > 0);
  if (found.length === 0) return null;
  return Promise.all(found.map(async ({provider, events, next}) => tokenView(
    screen, {provider, events, others: await holderEvents(events, signal), isPartial: next !== null})));
}

async function orNull(response) {
  try {
    return await response;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

/** Says what was looked for. Of a token only the digest is shown. */
async function notFound(kind, text) {
  const wanted = kindsOf(text, kind);
  if (wanted.length === 0) return emptyPanel(t('lookup.impossible'), t('lookup.impossibleText'));
  const [what, hint] = wanted.includes('token')
    ? [await digestNode(text), t(kind === 'any' ? 'lookup.notFoundTokenHint' : 'lookup.notFoundHint')]
    : [h('code', {}, foreign(text)), t('lookup.notFoundHint')];
  const panel = emptyPanel(t('lookup.notFound'), hint);
  panel.querySelector('h2').after(h('p', {}, parts('lookup.notFoundText', {
    kinds: list(wanted.map((kind) => t(`lookup.kind.${kind}`))), text: what, app: h('code', {}, session.app),
  })));
  return panel;
}

async function digestNode(token) {
  const digest = await digestOf(token, providersOf(token)[0]);
  return digest ? h('span', {}, t('lookup.digest'), ' ', h('code', {class: 'digest'}, digest)) : t('lookup.hidden');
}

customElements.define('lookup-screen', LookupScreen);
