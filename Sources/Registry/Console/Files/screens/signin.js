// The sign-in: an app with one of its keys, or the admin key. The key goes to the service once and is not kept.

import {h, replace} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {t} from '../core/text.js';

class SignInScreen extends Screen {
  start() {
    const fault = h('p', {class: 'fault', role: 'alert', id: 'signin-fault'}, this.#linkFault());
    const app = h('input', {
      id: 'signin-app', name: 'app', autocomplete: 'username', spellcheck: 'false', autocapitalize: 'none',
      placeholder: 'com.example.app', 'aria-describedby': 'signin-app-hint',
    });
    const key = h('input', {
      id: 'signin-key', name: 'key', type: 'password', autocomplete: 'current-password', required: true,
      'aria-describedby': 'signin-fault',
    });
    const button = h('button', {class: 'primary'}, t('nav.signin'));
    const submit = async (event) => {
      event.preventDefault();
      button.disabled = true;
      replace(fault);
      try {
        const credential = {key: key.value.trim()};
        if (app.value.trim()) credential.app = app.value.trim();
        await session.signIn(credential);
      } catch (error) {
        button.disabled = false;
        replace(fault, failureText(error));
        key.focus();
      }
    };
    this.append(h(
      'form', {class: 'signin card', onsubmit: submit},
      h('p', {class: 'brand'}, t('app.title')),
      h('h1', {tabindex: '-1'}, t('nav.signin')),
      session.hasEnded && h('p', {class: 'note', role: 'status'}, t('session.ended')),
      h('p', {class: 'lead'}, t('signin.lead')),
      h('div', {class: 'field'},
        h('label', {for: 'signin-app'}, t('signin.app')), app,
        h('p', {class: 'hint', id: 'signin-app-hint'}, t('signin.appHint'))),
      h('div', {class: 'field'}, h('label', {for: 'signin-key'}, t('signin.key')), key),
      fault,
      h('div', {class: 'actions'}, button),
      h('p', {class: 'hint'}, t('signin.keyHint'))));
  }

  #linkFault() {
    const fault = session.linkFault;
    session.linkFault = null;
    return fault ? t('signin.link') : '';
  }
}

customElements.define('signin-screen', SignInScreen);
