// Short messages at the lower edge: what was done, or why it was not. Screen readers read them out.
//
//     toast(t('segments.saved'))
//     toast(failureText(error), 'error')

import {h} from '../core/dom.js';
import {t} from '../core/text.js';

const shownMilliseconds = 6_000;
/** Where they show, on every screen. */
export const toasts = h('div', {class: 'toasts', role: 'status', 'aria-live': 'polite'});

/** An error stays until it is dismissed. @param text or nodes @returns the node */
export function toast(text, kind = 'done') {
  const item = h(
    'div', {class: `toast ${kind}`}, h('span', {}, text),
    h('button', {
      type: 'button', class: 'quiet', 'aria-label': t('toast.dismiss'), onclick: () => item.remove(),
    }, '×'));
  toasts.append(item);
  if (kind !== 'error') setTimeout(() => item.remove(), shownMilliseconds);
  return item;
}

/** Copies a text and says so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t('toast.copied'));
  } catch {
    toast(t('toast.notCopied'), 'error');
  }
}
