// A button that opens a list of actions.
//
//     menu(t('builder.more'), [{label: t('builder.duplicate'), run: () => …}, …])
//
// Arrow keys move within the list, Escape closes it. `disabled` actions stay in the list.

import {h, replace, uniqueId} from '../core/dom.js';

export function menu(label, items, props = {}) {
  const id = uniqueId('menu');
  const list = h('div', {class: 'menu-list', role: 'menu', id, hidden: true, 'aria-label': label, onkeydown: move});
  const button = h('button', {
    type: 'button', class: 'quiet icon', 'aria-haspopup': 'menu', 'aria-expanded': 'false', 'aria-controls': id,
    'aria-label': label, title: label, onclick: () => (list.hidden ? open() : close()), ...props,
  }, '⋯');
  const element = h('div', {class: 'menu', onfocusout: (event) => {
    if (!element.contains(event.relatedTarget)) close(false);
  }}, button, list);
  return element;

  function open() {
    replace(list, items.map((item) => h('button', {
      type: 'button', role: 'menuitem', tabindex: '-1', disabled: item.disabled ?? false,
      onclick: () => (close(), item.run()),
    }, item.label)));
    list.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    list.querySelector('button:enabled')?.focus();
  }

  function close(returnsFocus = true) {
    if (list.hidden) return;
    list.hidden = true;
    button.setAttribute('aria-expanded', 'false');
    if (returnsFocus) button.focus();
  }

  function move(event) {
    const buttons = [...list.querySelectorAll('button:enabled')];
    const index = buttons.indexOf(document.activeElement);
    const next = {
      ArrowDown: (index + 1) % buttons.length, ArrowUp: (index - 1 + buttons.length) % buttons.length,
      Home: 0, End: buttons.length - 1,
    }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') close(false);
    else if (next !== undefined) buttons[next].focus();
    else return;
    if (event.key !== 'Tab') event.preventDefault();
  }
}
