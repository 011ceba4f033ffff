// Controls of forms: labelled fields with their faults, selects and buttons.

import {h, uniqueId} from '../core/dom.js';

/**
 * A labelled control with its hint and its fault.
 *
 * @param control the node of the control, or of a group that begins with one
 * @returns `{node, fault}`: `fault(text or null)` shows a fault beside the control.
 */
export function field(label, control, hint = null) {
  const id = uniqueId('field');
  const input = control.matches('input, select, textarea') ? control : control.querySelector('input, select, textarea');
  const fault = h('p', {class: 'fault', id: `${id}-fault`, hidden: true});
  input.id = id;
  input.setAttribute('aria-describedby', hint ? `${id}-fault ${id}-hint` : `${id}-fault`);
  return {
    node: h(
      'div', {class: 'field'}, h('label', {for: id}, label), control,
      hint && h('p', {class: 'hint', id: `${id}-hint`}, hint), fault),
    fault: (text) => {
      fault.textContent = text ?? '';
      fault.hidden = !text;
      if (text) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    },
  };
}

/** A select. @param options `[[value, name]]` */
export function choice(options, value, onchange = null) {
  return h('select', {value, onchange: onchange && ((event) => onchange(event.target.value))},
    options.map(([value, name]) => h('option', {value}, name)));
}

/** A button that is no submission. @param about for screen readers: what the button concerns */
export function button(text, onclick, kind = null, about = null) {
  return h('button', {type: 'button', class: kind, onclick}, text, about && h('span', {class: 'sr-only'}, ' ', about));
}
