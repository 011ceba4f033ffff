// Dialogs, and the difference between two documents.
//
//     const choice = await dialog({title, content: [nodes], actions: [{label, value: 'save', kind: 'primary'}]})
//
// A dialog resolves to the chosen value, or to null if it is dismissed. The focus returns to where it was. The content
// is in a form that the first action submits: an invalid form stays open.

import {h} from '../core/dom.js';
import {t} from '../core/text.js';

export function dialog({title, content, actions, dismiss = t('dialog.cancel')}) {
  return new Promise((resolve) => {
    let choice = null;
    const choose = (action) => {
      if (action.validates !== false && !form.reportValidity()) return;
      choice = action.value;
      element.close();
    };
    const form = h(
      'form', {onsubmit: (event) => {
        event.preventDefault();
        if (actions[0]) choose(actions[0]);
      }},
      h('h2', {id: 'dialog-title'}, title),
      h('div', {class: 'dialog-content'}, content),
      h(
        'div', {class: 'actions'},
        actions.map((action, index) => h('button', {
          type: index === 0 ? 'submit' : 'button', class: action.kind,
          onclick: index === 0 ? null : () => choose(action),
        }, action.label)),
        dismiss ? h('button', {type: 'button', onclick: () => element.close()}, dismiss) : null));
    const element = h('dialog', {'aria-labelledby': 'dialog-title', onclose: () => {
      element.remove();
      resolve(choice);
    }}, form);
    document.body.append(element);
    element.showModal();
  });
}

/** Asks before something that cannot be undone. Resolves to whether to go on. */
export async function confirmed({title, text, action}) {
  return (await dialog({title, content: h('p', {}, text), actions: [{label: action, value: true, kind: 'danger'}]})) ??
    false;
}

/** The lines that differ between two JSON values, as nodes: what goes is struck out, what comes is marked. */
export function difference(before, after) {
  const lines = differentLines(pretty(before), pretty(after));
  if (lines.every(([kind]) => kind === ' ')) return h('p', {class: 'hint'}, t('dialog.noDifference'));
  const names = {'-': t('dialog.removed'), '+': t('dialog.added')};
  return h('pre', {class: 'difference', tabindex: '0'}, lines.map(([kind, line]) => {
    const mark = `${kind} ${line}\n`;
    if (kind === ' ') return mark;
    return h(kind === '-' ? 'del' : 'ins', {}, h('span', {class: 'sr-only'}, names[kind], ' '), mark);
  }));
}

function pretty(value) {
  return value === undefined || value === null ? [] : JSON.stringify(value, null, 2).split('\n');
}

/** The longest common subsequence, after equal ends are cut off. `[[' ' | '-' | '+', line]]` */
export function differentLines(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const old = before.slice(start, before.length - end), fresh = after.slice(start, after.length - end);
  const lines = before.slice(0, start).map((line) => [' ', line]);
  if (old.length * fresh.length > cellsMax) {
    lines.push(...old.map((line) => ['-', line]), ...fresh.map((line) => ['+', line]));
  } else {
    lines.push(...common(old, fresh));
  }
  return [...lines, ...before.slice(before.length - end).map((line) => [' ', line])];
}
/** Larger tables would stop the page; such documents show as one replaced block. */
const cellsMax = 1_000_000;

function common(old, fresh) {
  const length = Array.from({length: old.length + 1}, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      length[i][j] = old[i] === fresh[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) lines.push([' ', old[i]]), i++, j++;
    else if (j >= fresh.length || (i < old.length && length[i + 1][j] >= length[i][j + 1])) lines.push(['-', old[i++]]);
    else lines.push(['+', fresh[j++]]);
  }
  return lines;
}
