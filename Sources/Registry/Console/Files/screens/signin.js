// The sign-in, at the identity provider, or with a key of an app or the admin key. The key goes to the service once and
// is not kept.

import {h, replace} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {hasText, t} from '../core/text.js';
import {field} from '../parts/form.js';

class SignInScreen extends Screen {
  #key = h('input', {type: 'password', name: 'key', autocomplete: 'current-password', required: true});
  #field = field(t('signin.key'), this.#key, t('signin.keyHint'));
  #button = h('button', {class: 'primary'}, t('nav.signin'));

  start() {
    this.append(h(
      'form', {class: 'signin card', onsubmit: (event) => {
        event.preventDefault();
        this.#submit();
      }},
      h('p', {class: 'brand'}, t('app.title')),
      h('h1', {tabindex: '-1'}, t('nav.signin')),
      session.hasEnded && h('p', {class: 'note', role: 'alert'}, t('session.ended')),
      session.notice && h('p', {class: 'note', role: 'alert'}, noticeText(session.notice)),
      session.provider && h('div', {class: 'actions'}, this.#link()),
      h('p', {class: 'lead'}, t('signin.lead')),
      this.#field.node,
      h('div', {class: 'actions'}, this.#button),
      h('p', {class: 'hint'}, t('signin.whence'))));
    addEventListener('focus', () => session.follow().catch(() => {}), {signal: this.signal});
    if (session.linkFault) this.#field.fault(t('signin.link'));
    session.linkFault = session.notice = null;
  }

  /** In front of a form that is not saved, another tab goes to the provider. */
  #link() {
    const isInFront = this.closest('dialog') !== null;
    return h('a', {
      class: 'button primary', href: 'v1/sign-in', target: isInFront ? '_blank' : null,
      onclick: () => isInFront || sessionStorage.setItem('fragment', location.hash),
    }, t('signin.provider', {host: new URL(session.provider.issuer).host}));
  }

  async #submit() {
    this.#button.disabled = true;
    this.#field.fault(null);
    try {
      await session.signIn({key: this.#key.value.trim()});
    } catch (error) {
      this.#field.fault(failureText(error));
      this.#key.focus();
      await this.#wait(error.retryAfterSeconds);
      this.#button.disabled = false;
      replace(this.#button, t('nav.signin'));
    }
  }

  /** Counts down until the service admits another try. */
  async #wait(seconds) {
    for (let rest = seconds ?? 0; rest > 0 && this.isConnected; rest--) {
      replace(this.#button, t('panel.retryAfter', {n: rest}));
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

function noticeText(notice) {
  const key = `signin.notice.${notice}`;
  return t(hasText(key) ? key : 'signin.notice.failed', {claim: session.provider?.groupsClaim ?? ''});
}

customElements.define('signin-screen', SignInScreen);
