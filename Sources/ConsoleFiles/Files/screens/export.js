// Export: the audience as a file. The browser itself downloads it, so that a file of any size needs no memory here.

import {currentAudience} from '../core/audience.js';
import {audiencePath, call} from '../core/client.js';
import {h, replace} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {number, t} from '../core/text.js';
import {toast} from '../parts/toast.js';
import {chosenAudience} from '../filter/chosen.js';
import {fieldName} from '../parts/names.js';
import {section} from '../parts/facts.js';
import {exportFields, standardFields} from './export/fields.js';

const formats = ['csv', 'ndjson'];

export default class ExportScreen extends Screen {
  #format = 'csv';
  #safe = h('input', {type: 'checkbox', checked: true});
  #fields = h('div');
  #button = h('button', {class: 'primary', disabled: true}, t('export.download'));
  #rows = null;

  start() {
    this.append(
      this.heading(t('nav.export'), t('export.lead')),
      chosenAudience(this, (count) => this.#expect(count)),
      h('form', {onsubmit: (event) => {
        event.preventDefault();
        this.#export();
      }},
      section(t('export.format'), h('div', {class: 'row', role: 'radiogroup', 'aria-label': t('export.format')},
        formats.map((format) => h('label', {}, h('input', {
          type: 'radio', name: 'format', checked: format === this.#format, onchange: () => this.#choose(format),
        }), t(`export.format.${format}`)))), this.#safeChoice()),
      section(t('export.fields'), this.#fields),
      h('p', {class: 'actions'}, this.#button)));
    this.#showFields(standardFields(session.roles, this.#format));
  }

  #safeChoice() {
    return h('div', {class: 'safe'}, h('label', {}, this.#safe, t('export.safe')), h('p', {class: 'hint'},
      t('export.safeHint')));
  }

  #choose(format) {
    const chosen = this.#chosen();
    this.#format = format;
    this.querySelector('.safe').hidden = format !== 'csv';
    this.#showFields(chosen);
  }

  #showFields(chosen) {
    const groups = Object.entries(exportFields(session.roles, this.#format));
    replace(this.#fields, groups.map(([group, names]) => h(
      'fieldset', {}, h('legend', {}, t(`export.group.${group}`)),
      names.map((name) => h('label', {}, h('input', {
        type: 'checkbox', name: 'field', value: name, checked: chosen.includes(name), onchange: () => this.#update(),
      }), fieldName(name))))));
    this.#update();
  }

  #chosen() {
    return Array.from(this.#fields.querySelectorAll('input:checked'), (input) => input.value);
  }

  #expect(count) {
    this.#rows = count;
    this.#update();
  }

  #update() {
    this.#button.disabled = !this.#rows || this.#chosen().length === 0;
    this.#button.textContent = this.#rows === null ? t('export.download')
      : t('export.downloadRows', {n: this.#rows});
  }

  /** Asks for the count once more, so that a fault is shown here and not as the answer to the download. */
  async #export() {
    const body = currentAudience.body({
      format: this.#format, fields: this.#chosen(),
      ...(this.#format === 'csv' ? {spreadsheetSafe: this.#safe.checked} : {}),
    });
    try {
      await call('POST', audiencePath(session.app, 'count'), {body: currentAudience.body(), signal: this.signal});
    } catch (error) {
      if (!this.signal.aborted) toast(failureText(error), 'error');
      return;
    }
    post(`/console${audiencePath(session.app, 'export')}`, body);
    toast(t('export.started', {rows: number(this.#rows)}));
  }
}

/** A native form, because only it lets the browser save a stream, with the session's cookie. */
function post(action, body) {
  const form = h('form', {method: 'post', action, hidden: true}, h(
    'input', {type: 'hidden', name: 'body', value: JSON.stringify(body)}));
  document.body.append(form);
  form.submit();
  form.remove();
}

customElements.define('export-screen', ExportScreen);
