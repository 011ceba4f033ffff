// Makes DOM nodes. Text from data only ever becomes text nodes: nothing here parses HTML.
//
//     h('p', {class: 'note', onclick: save}, 'Saved ', h('b', {}, name), null)
//
// A property is an `on…` listener, a DOM property if the element has one of that name (`value`, `checked`, `hidden`,
// `disabled`), else an attribute; `true` sets it empty, `false`, `null` and `undefined` leave it out.
// A child is a node, a string, a number, an array of children, or null, which is left out.

const svgNamespace = 'http://www.w3.org/2000/svg';
const domProperties = new Set(['value', 'checked', 'hidden', 'disabled', 'selected', 'indeterminate', 'htmlFor']);

/** An HTML element with its children. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element with its children. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), props, children);
}

/**
 * Replaces all children of a node. If one of them has the focus, its successor gets it: the control of the same kind
 * and name, else that of the same kind in the same place, else the node itself until it has such a control.
 */
export function replace(node, ...children) {
  const focus = focusIn(node);
  node.replaceChildren(...flat(children));
  if (focus) restore(node, focus);
  return node;
}

/** What had the focus in nodes that have it now themselves. */
const lost = new WeakMap();

/** `{kind, name, index}` of the control with the focus; null if none of the node's has it. */
function focusIn(node) {
  const active = document.activeElement;
  if (active === node) return lost.get(node) ?? null;
  if (!node.contains(active)) return null;
  const kind = kindOf(active);
  return {kind, name: nameOf(active), index: controls(node, kind).indexOf(active)};
}

function restore(node, focus) {
  const candidates = controls(node, focus.kind);
  const successor = candidates.find((control) => nameOf(control) === focus.name) ??
    candidates[Math.min(focus.index, candidates.length - 1)];
  if (successor?.closest('details')) successor.closest('details').open = true;
  if (!successor) {
    lost.set(node, focus);
    if (!node.matches('[tabindex], body')) node.tabIndex = -1;
  }
  (successor ?? node).focus({preventScroll: true});
}

const kindOf = (element) => `${element.localName} ${element.className}`;
const nameOf = (element) => element.ariaLabel ?? element.textContent;
const controls = (node, kind) => [...node.querySelectorAll('a, button, input, select, textarea, summary, [tabindex]')]
  .filter((element) => kindOf(element) === kind);

/** A number that no other element of the page uses, for `id`, `for` and `aria-describedby`. */
export function uniqueId(prefix) {
  return `${prefix}-${++lastId}`;
}
let lastId = 0;

/**
 * Text from devices, users or other strangers. Bidirectional controls, zero-width and other invisible characters show
 * as marked escapes, and the text cannot change the direction of what is around it.
 */
export function foreign(text) {
  const bdi = document.createElement('bdi');
  for (const [index, part] of String(text).split(invisible).entries()) {
    if (index % 2 === 0) {
      if (part) bdi.append(part);
    } else {
      const code = part.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
      bdi.append(h('mark', {class: 'escape'}, `U+${code}`));
    }
  }
  return bdi;
}

/** The same as a plain text, for what cannot have elements: attributes, titles of pictures and options. */
export const plain = (text) => foreign(text).textContent;

/** Control and format characters (tags among them), the separators of lines, and the fillers of Hangul. */
const invisible = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034F\u115F\u1160\u17B4\u17B5\u3164\uFFA0])/u;

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (domProperties.has(name) && name in element) element[name] = value;
    else if (value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...flat(children));
  // An option must exist before its select can have its value.
  if (props?.value !== undefined && element.localName === 'select') element.value = props.value;
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
