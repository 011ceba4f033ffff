// Small pieces that several screens show.

import {h, uniqueId} from '../core/dom.js';
import {date, dateTime, timeOfDay} from '../core/text.js';

/** A time in the viewer's zone; the exact one is its title. */
export function when(time) {
  return time ? h('time', {datetime: time, title: time}, dateTime(time)) : '–';
}

/** As `when`, with seconds. */
export function exactly(time) {
  return h('time', {datetime: time, title: time}, `${date(time)}, ${timeOfDay(time)}`);
}

/** Names and values. @param rows `[[name, value node]]`; a row without a value is left out. */
export function facts(rows) {
  return h('dl', {class: 'facts'}, rows.filter(([, value]) => value !== null && value !== undefined).map(
    ([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

/** A part of a screen with a heading, and a place below it to load something into. */
export function section(title, ...children) {
  return h('section', {class: 'card'}, h('h2', {}, title), children);
}

/** A word with a colour; the word alone says it all. @param kind `good`, `bad` or '' */
export function tag(kind, text) {
  return h('span', {class: `tag ${kind}`}, text);
}

/**
 * A labelled control with its hint and its fault.
 *
 * @param control the node of the control, or of a group that begins with one
 * @returns the node; `fault(text or null)` shows a fault beside the control.
 */
export function field(label, control, hint = null) {
  const id = uniqueId('field');
  const input = control.matches('input, select, textarea') ? control : control.querySelector('input, select, textarea');
  input.id = id;
  const fault = h('p', {class: 'fault', id: `${id}-fault`, hidden: true});
  const notes = hint ? `${id}-fault ${id}-hint` : `${id}-fault`;
  input.setAttribute('aria-describedby', notes);
  const node = h(
    'div', {class: 'field'}, h('label', {for: id}, label), control,
    hint ? h('p', {class: 'hint', id: `${id}-hint`}, hint) : null, fault);
  return {
    node,
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
