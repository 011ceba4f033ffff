// Look-up: one box for an installation, a user or a token.

import {Problem, appPath, call} from '../core/client.js';
import {foreign, h, replace} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {anyOf, parts, t} from '../core/text.js';
import {button, choice} from '../parts/form.js';
import {digestOf, kindsOf, providersOf} from './lookup/rules.js';
import {installationView, tokenView, userView} from './lookup/views.js';

const path = (...parts) => appPath(session.app, ...parts);

class LookupScreen extends Screen {
  #input = h('input', {
    type: 'search', 'aria-label': t('lookup.box'), placeholder: t('lookup.box'), autocomplete: 'off',
    spellcheck: 'false', required: true, maxlength: '4096',
  });
  #kind = choice(['any', 'installation', 'user', 'token'].map((kind) => [kind, kindName(kind)]), 'any');
  #result = h('div');
  /** What was looked up before, for the way back. */
  #trail = [];

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

  /** Looks a text up and shows what it is. The heading gets the focus, so that a screen reader says what was found. */
  async look(kind, text, isReturn = false) {
    if (!text) return;
    if (!isReturn) this.#trail.push([kind, text]);
    // A token does not stay on the screen.
    if (kindsOf(text, kind).includes('token')) this.#input.value = '';
    const find = async (signal) => {
      const nodes = await this.#find(kind, text, signal);
      return nodes.length > 0 ? nodes : notFound(kind, text);
    };
    const isShown = await this.load(this.#result, find, (nodes) => [this.#wayBack(), nodes]);
    if (isShown) this.#result.querySelector('h2')?.focus();
  }

  /** The nodes of all that was found. A token is asked for first, and if it is known, alone. */
  async #find(kind, text, signal) {
    const wanted = kindsOf(text, kind);
    const found = wanted.includes('token') ? await token(this, text, signal) : [];
    if (found.length > 0) return found;
    const finders = {installation, user};
    const views = wanted.filter((kind) => finders[kind]).map((kind) => finders[kind](this, text, signal));
    return (await Promise.all(views)).flat();
  }

  #wayBack() {
    return this.#trail.length > 1 && h('p', {}, button(`← ${t('lookup.back')}`, () => {
      this.#trail.pop();
      this.look(...this.#trail.at(-1), true);
    }, 'quiet'));
  }
}

function kindName(kind) {
  return t(kind === 'installation' ? 'views.installation' : `lookup.kind.${kind}`);
}

async function installation(screen, id, signal) {
  const record = await known(call('GET', path('installations', id), {signal}));
  const history = record ? null : await known(call('GET', path('installations', id, 'history'), {signal}));
  return record || history ? installationView(screen, id, record, history) : [];
}

async function user(screen, id, signal) {
  const {data} = await call('GET', path('users', id, 'installations'), {signal});
  return data.installations.length > 0 ? userView(screen, id, data) : [];
}

/** The token goes in the body, never in the URL, once for each provider that could have issued it. */
async function token(screen, token, signal) {
  const responses = await Promise.all(providersOf(token).map(async (provider) => ({
    provider, ...await known(call('POST', path('tokens', 'history'), {body: {token, provider}, signal}), 400),
  })));
  const found = responses.filter(({events}) => events?.length > 0);
  return Promise.all(found.map(async (history) => tokenView(screen, history, await digestOf(token, history.provider))));
}

/** The data of a response, or null if it has the status of what does not exist: 400 is a token of another form. */
async function known(response, unknown = 404) {
  try {
    return (await response).data;
  } catch (error) {
    if (error instanceof Problem && error.status === unknown) return null;
    throw error;
  }
}

/** Says what was looked for. Of a token only the digest is shown. */
async function notFound(kind, text) {
  const wanted = kindsOf(text, kind);
  if (wanted.length === 0) return emptyPanel(t('lookup.impossible'), t('lookup.impossibleText'));
  const isToken = wanted.includes('token');
  const panel = emptyPanel(t('lookup.notFound'), isToken && kind === 'any' ? t('lookup.notFoundToken') : null);
  const digest = isToken && await digestOf(text, providersOf(text)[0]);
  panel.querySelector('h2').after(h('p', {}, parts('lookup.notFoundText', {
    kinds: anyOf(wanted.map(kindName)), app: h('code', {}, session.app),
    text: isToken ? digest && ['SHA-256 ', h('code', {}, digest)] : h('code', {}, foreign(text)),
  })));
  return panel;
}

customElements.define('lookup-screen', LookupScreen);
