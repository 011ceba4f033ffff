// Dialogs.
//
//     const choice = await dialog({title, content: [nodes], actions: [{label, value: 'save', kind: 'primary'}]})
//
// A dialog resolves to the chosen value, or to null if it is dismissed. The focus returns to where it was. The content
// is in a form that the first action submits: an invalid form stays open. What cannot be undone does not have the first
// focus, and a dialog without actions cannot be closed by Escape.

import {h, replace, uniqueId} from '../core/dom.js';
import {failureText} from '../core/panels.js';
import {t} from '../core/text.js';

/**
 * @param run `async (value) => value`: does what was chosen while the dialog stays open. It resolves to the dialog's
 *   result, or to null to go on asking; what it throws is shown in the dialog, where nothing that was typed is lost.
 */
export function dialog({title, content, actions, dismiss = t('dialog.cancel'), run = (value) => value}) {
  return new Promise((resolve) => {
    let result = null, isRunning = false;
    const id = uniqueId('dialog');
    const fault = h('p', {class: 'fault', role: 'alert'});
    const choose = async (action) => {
      if (isRunning || !form.reportValidity()) return;
      isRunning = true;
      replace(fault);
      try {
        result = await run(action.value);
        if (result !== null) element.close();
      } catch (error) {
        replace(fault, failureText(error));
      }
      isRunning = false;
    };
    const form = h(
      'form', {oninput: () => (form.isChanged = true), onsubmit: (event) => {
        event.preventDefault();
        if (actions[0]) choose(actions[0]);
      }},
      h('h2', {id}, title),
      h('div', {class: 'dialog-content'}, content), fault,
      h(
        'div', {class: 'actions'},
        actions.map((action, index) => h('button', {
          type: index === 0 ? 'submit' : 'button', class: action.kind,
          onclick: index === 0 ? null : () => choose(action),
        }, action.label)),
        h('button', {
          type: 'button', autofocus: actions[0]?.kind === 'danger', onclick: () => element.close(),
        }, dismiss)));
    const element = h('dialog', {
      'aria-labelledby': id,
      onkeydown: (event) => {
        if (event.key === 'Escape' && actions.length === 0) event.preventDefault();
      },
      onclose: () => {
        element.remove();
        resolve(result);
      },
    }, form);
    document.body.append(element);
    element.showModal();
  });
}

/** Asks before something that cannot be undone. Resolves to whether to go on. */
export async function confirmed({title, text, action}) {
  return (await dialog({title, content: h('p', {}, text), actions: [{label: action, value: true, kind: 'danger'}]})) ??
    false;
}
