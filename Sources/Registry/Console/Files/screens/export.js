// Export: the audience as a file. The browser itself downloads it, so that a file of any size needs no memory here.

import {currentAudience} from '../core/audience.js';
import {appPath, audiencePath, call, now, Problem} from '../core/client.js';
import {h, replace} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {cellSeparator, number, t} from '../core/text.js';
import {fieldGroups} from '../filter/fields.js';
import {audienceLine} from '../filter/summary.js';
import {asOf, fieldName, section} from '../parts/facts.js';
import {field} from '../parts/form.js';
import {toast} from '../parts/toast.js';

class ExportScreen extends Screen {
  #format = 'csv';
  #rows = 0;
  #safe = h('input', {type: 'checkbox', checked: true});
  #safeChoice = h('label', {}, this.#safe, h('span', {}, t('export.safe'), h('small', {}, ' ', t('export.safeHint'))));
  #fields = h('div');
  #message = h('input', {list: 'messages', maxlength: 128, autocomplete: 'off', spellcheck: 'false'});
  #messageField = field(t('export.message'), this.#message, t('export.messageHint'));
  #button = h('button', {class: 'primary', disabled: true}, t('export.download', {n: 0}));

  start() {
    const rows = h('div');
    const ask = () => this.#showCount(rows);
    this.append(
      this.heading(t('nav.export'), t('export.lead')), audienceLine(ask), rows,
      h('form', {onsubmit: (event) => {
        event.preventDefault();
        this.#export();
      }},
      section(t('export.format'), h('p', {class: 'row', role: 'radiogroup', 'aria-label': t('export.format')},
        ['csv', 'ndjson'].map((format) => h('label', {}, h('input', {
          type: 'radio', name: 'format', checked: format === this.#format, onchange: () => this.#choose(format),
        }), format.toUpperCase()))), this.#safeChoice),
      section(t('export.fields'), this.#fields),
      isSender(session.roles) && section(t('nav.messages'), this.#messageField.node, this.#suggestions()),
      h('p', {class: 'actions'}, this.#button)));
    this.#showFields(standardFields(session.roles, this.#format));
    ask();
  }

  #showCount(rows) {
    this.load(rows, (signal) => this.#count(signal), ({count, asOf: time}) => {
      this.#rows = count;
      this.#update();
      const figure = h('span', {class: 'number small'}, number(count));
      return h('p', {}, figure, ' ', t('export.rows', {n: count}), ' ', asOf(time));
    });
  }

  /** The newest messages. Others can be typed. */
  #suggestions() {
    const list = h('datalist', {id: 'messages'});
    call('GET', appPath(session.app, 'messages'), {signal: this.signal}).then(
      ({data}) => replace(list, data.messages.map(({message, title}) => h('option', {value: message}, title))),
      () => {});
    return list;
  }

  /** Whether the export can have receipts of the message that is named, if one is. */
  async #hasValidMessage() {
    const name = this.#message.value.trim();
    this.#messageField.fault(null);
    if (!name) return true;
    try {
      const {data} = await call('GET', appPath(session.app, 'messages', name), {signal: this.signal});
      if (Date.parse(data.expiresAt) > now()) return true;
      this.#messageField.fault(t('export.expired'));
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
      this.#messageField.fault(t('export.noMessage'));
    }
    this.#message.focus();
    return false;
  }

  async #count(signal) {
    return (await call('POST', audiencePath(session.app, 'count'), {body: currentAudience.body(), signal})).data;
  }

  #choose(format) {
    const chosen = this.#chosen();
    this.#format = format;
    this.#safeChoice.hidden = format !== 'csv';
    this.#showFields(chosen);
  }

  #showFields(chosen) {
    replace(this.#fields, Object.entries(exportFields(session.roles, this.#format)).map(([group, names]) => h(
      'fieldset', {}, h('legend', {}, t(group === 'identity' ? 'views.installation' : `fields.${group}`)),
      names.map((name) => h('label', {}, h('input', {
        type: 'checkbox', value: name, checked: chosen.includes(name), onchange: () => this.#update(),
      }), fieldName(name))))));
    this.#update();
  }

  #chosen() {
    return Array.from(this.#fields.querySelectorAll('input:checked'), (input) => input.value);
  }

  #update() {
    this.#button.disabled = this.#rows === 0 || this.#chosen().length === 0;
    this.#button.textContent = t('export.download', {n: this.#rows});
  }

  /** Asks for the message and the count first, so that a fault is shown here and not instead of the download. */
  async #export() {
    const body = currentAudience.body({format: this.#format, fields: this.#chosen()});
    if (this.#format === 'csv') {
      body.spreadsheetSafe = this.#safe.checked;
      if (this.#safe.checked) body.spreadsheetSeparator = cellSeparator;
    }
    if (this.#message.value.trim()) body.message = this.#message.value.trim();
    try {
      if (!(await this.#hasValidMessage())) return;
      await this.#count(this.signal);
    } catch (error) {
      if (!this.signal.aborted) toast(failureText(error), 'error');
      return;
    }
    // Only a native form lets the browser save a stream with the session's cookie.
    // A refusal shows in a tab of its own; without a fresh click the browser would forbid that tab.
    const target = navigator.userActivation?.isActive ? '_blank' : null;
    const action = `/console${audiencePath(session.app, 'export')}`;
    const form = h('form', {method: 'post', action, target, hidden: true},
      h('input', {type: 'hidden', name: 'body', value: JSON.stringify(body)}));
    document.body.append(form);
    form.submit();
    form.remove();
    toast(t('export.started'));
  }
}

/** Of an installation itself; only senders see them. */
const identity = [
  'installId', 'provider', 'token', 'keys', 'p256dh', 'auth', 'generation', 'userId', 'sessionId', 'sessionExpiresAt',
  'keychainId', 'vendorId', 'preferredLanguages',
];
const notExported = ['topic', 'userId', 'provider'];
const isSender = (roles) => roles.includes('sender') || roles.includes('admin');

/** Which fields a key may export: `{group: [names]}`, in the order of the columns. CSV has no lists. */
export function exportFields(roles, format) {
  const own = isSender(roles) ? identity.filter((name) => format === 'ndjson' || name !== 'keys') : ['provider'];
  const id = isSender(roles) && !roles.includes('admin') ? [] : ['id'];
  return {
    identity: [...id, ...own, 'cursor'],
    ...Object.fromEntries(Object.entries(fieldGroups).map(
      ([group, names]) => [group, names.filter((name) => !notExported.includes(name))])),
  };
}

/** What is exported unless chosen otherwise. */
function standardFields(roles, format) {
  if (!isSender(roles)) return ['id', 'systemName', 'appVersion', 'locale', 'timeZone', 'lastSeenAt'];
  return ['installId', 'provider', 'token', 'keys', 'generation', 'cursor'].filter(
    (name) => format === 'ndjson' || name !== 'keys');
}

customElements.define('export-screen', ExportScreen);
