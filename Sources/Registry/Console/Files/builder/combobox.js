// An input with suggestions and their counts (the ARIA pattern "combobox with listbox"). With `multiple`, chosen values
// are chips before the input.

import {h, replace, uniqueId} from '../core/dom.js';
import {number, t} from '../core/text.js';

/** So many suggestions show at once; typing narrows them. */
const shownMax = 60;

/**
 * @param options
 *   `values`: a list or null. `multiple`: more than one may be chosen. `parse(text)`: the value of a free text, or
 *   undefined. `show(value)`: nodes. `words(value)`: what typing is compared with. `text(value)`: what is typed for it.
 *   `suggest()`: a promise of `{items: [{value, count}], more}`. `change(values, isTyping)`: called with a list, or null without any.
 *   `chooseMissing`: called for "not known"; absent if that cannot be chosen. `label`, `placeholder`.
 */
export function combobox({
  values, multiple, parse, show, words, text: written, suggest, change, chooseMissing, label, placeholder,
}) {
  let chosen = multiple ? values ?? [] : [];
  let items = null;
  let more = 0;
  let shown = [];
  let active = -1;
  const id = uniqueId('list');
  const chips = h('span', {class: 'chips'});
  const input = h('input', {
    type: 'text', role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': id,
    'aria-label': label, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', size: '12', placeholder,
    value: multiple || !values?.length ? '' : written(values[0]),
    oninput: () => {
      report(true);
      active = -1;
      open();
    },
    onclick: open, onkeydown: key, onblur: () => {
      commit();
      close();
    },
  });
  const list = h('ul', {class: 'options', role: 'listbox', id, hidden: true, 'aria-label': label});
  drawChips();
  return h('div', {class: 'combobox'}, h('div', {class: 'combobox-field', onclick: (event) => {
    if (event.target === event.currentTarget) input.focus();
  }}, multiple ? chips : null, input), list);

  /** The values with what is being typed, so that the number follows. */
  function report(isTyping) {
    const text = input.value.trim();
    const typed = text === '' ? undefined : parse(text);
    const all = multiple ? [...chosen, ...(typed === undefined || chosen.includes(typed) ? [] : [typed])]
      : typed === undefined ? [] : [typed];
    change(all.length > 0 ? all : null, isTyping);
  }

  /** A typed text becomes a chip: that of the suggestion which it names, if it names one. */
  function commit() {
    const text = input.value.trim();
    if (!multiple || text === '') return;
    const value = named()?.value ?? parse(text);
    if (value !== undefined) choose(value, false);
  }

  function choose(value, staysOpen = true) {
    if (value === null) {
      close();
      return chooseMissing();
    }
    if (multiple) {
      chosen = chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
      input.value = '';
      drawChips();
    } else {
      input.value = written(value);
    }
    report(false);
    active = -1;
    if (multiple && staysOpen) draw();
    else close();
  }

  function drawChips() {
    replace(chips, chosen.map((value) => h(
      'span', {class: 'chip'}, h('span', {}, show(value)),
      h('button', {
        type: 'button', class: 'quiet', 'aria-label': t('builder.removeValue', {value: words(value)}),
        onclick: () => {
          chosen = chosen.filter((other) => other !== value);
          drawChips();
          report(false);
          input.focus();
        },
      }, '×'))));
    input.size = chosen.length > 0 ? 1 : 12;
    input.placeholder = chosen.length > 0 ? '' : placeholder;
  }

  async function open() {
    if (list.hidden) {
      list.hidden = false;
      input.setAttribute('aria-expanded', 'true');
    }
    draw();
    if (items) return;
    try {
      ({items, more} = await suggest());
    } catch {
      items = []; // Suggestions are a help only: without them, free text remains.
    }
    if (!list.hidden) draw();
  }

  function close() {
    if (list.hidden) return;
    list.hidden = true;
    active = -1;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    list.dispatchEvent(new Event('listclose', {bubbles: true}));
  }

  function draw() {
    const text = multiple || !shown.length || document.activeElement === input ? input.value.trim().toLowerCase() : '';
    const fits = (item) => item.value === null
      ? chooseMissing !== undefined && text === ''
      : text === '' || `${words(item.value)} ${item.value}`.toLowerCase().includes(text);
    // What is typed as a whole comes before what only contains it.
    const rank = (item) => (isNamed(item, text) ? 0 : words(item.value).toLowerCase().startsWith(text) ? 1 : 2);
    const found = (items ?? []).filter(fits);
    shown = (text === '' ? found : found.toSorted((one, other) => rank(one) - rank(other))).slice(0, shownMax);
    if (active >= shown.length) active = -1;
    replace(list, items === null
      ? h('li', {class: 'hint', role: 'option', 'aria-disabled': 'true'}, t('panel.loading'))
      : shown.length === 0
        ? h('li', {class: 'hint', role: 'option', 'aria-disabled': 'true'}, t('builder.noSuggestion'))
        : [...shown.map((item, index) => h('li', {
          role: 'option', id: `${id}-${index}`, class: index === active ? 'active' : null,
          'aria-selected': String(chosen.includes(item.value)),
          onmousedown: (event) => event.preventDefault(),
          onclick: () => choose(item.value),
        }, h('span', {}, item.value === null ? t('value.missing') : show(item.value)),
        h('span', {class: 'count'}, number(item.count)))),
        more + found.length > shown.length && h(
          'li', {class: 'hint', role: 'option', 'aria-disabled': 'true'},
          t('builder.moreValues', {n: more + found.length - shown.length}))]);
    if (active < 0) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', `${id}-${active}`);
      list.children[active].scrollIntoView({block: 'nearest'});
    }
  }

  function key(event) {
    switch (event.key) {
      case 'ArrowDown': case 'ArrowUp': {
        event.preventDefault();
        if (list.hidden) return open();
        const step = event.key === 'ArrowDown' ? 1 : -1;
        if (shown.length > 0) active = (active + step + shown.length + (active < 0 && step < 0 ? 1 : 0)) % shown.length;
        return draw();
      }
      case 'Enter':
        event.preventDefault();
        if (active >= 0) return choose(shown[active].value);
        commit();
        return close();
      case 'Escape':
        if (!list.hidden) event.preventDefault();
        return close();
      case 'Backspace':
        if (multiple && input.value === '' && chosen.length > 0) {
          chosen = chosen.slice(0, -1);
          drawChips();
          report(false);
        }
    }
  }

  /** The suggestion whose name or value is the text. */
  function named() {
    const text = input.value.trim().toLowerCase();
    return text === '' ? undefined : shown.find((item) => item.value !== null && isNamed(item, text));
  }

  function isNamed({value}, text) {
    return [String(value), words(value)].some((name) => name.toLowerCase() === text);
  }
}
