// The states of a screen or a part of it: empty, loading, error, forbidden, offline.
//
// `failurePanel(error, retry)` chooses by the error. An error that is not the service's or the network's is a fault of
// this page: it is shown as one, and reported to the browser's console.

import {Offline, Problem} from './client.js';
import {h} from './dom.js';
import {hasText, t} from './text.js';

/** @param actions buttons or links that lead on. */
export function emptyPanel(title, text, ...actions) {
  return panel('empty', title, text, actions);
}

/** Appears only if the response takes long, so that a fast one does not flicker. */
export function loadingPanel() {
  return h('div', {class: 'panel loading'}, h('span', {class: 'sr-only'}, t('panel.loading')));
}

export function forbiddenPanel(roles) {
  return panel('forbidden', t('panel.forbidden'), t('panel.forbiddenText', {roles: roles.map(roleName).join(', ')}));
}

export function offlinePanel(retry) {
  return panel('offline', t('panel.offline'), t('panel.offlineText'), [again(retry)], 'alert');
}

export function failurePanel(error, retry) {
  if (error instanceof Offline) return offlinePanel(retry);
  if (!(error instanceof Problem)) return faultPanel(error);
  if (error.status === 403) return panel('forbidden', t('panel.forbidden'), error.detail, [], 'alert');
  const wait = error.retryAfterSeconds ? t('panel.retryAfter', {n: error.retryAfterSeconds}) : '';
  return panel('error', t('panel.error', {status: String(error.status)}), `${problemText(error)} ${wait}`, [
    again(retry),
    error.requestId ? h('p', {class: 'hint'}, t('panel.requestId'), ' ', h('code', {}, error.requestId)) : null,
  ], 'alert');
}

function faultPanel(error) {
  reportError(error);
  const reload = h('button', {type: 'button', class: 'primary', onclick: () => location.reload()}, t('panel.reload'));
  return panel('error', t('panel.fault'), t('panel.faultText'), [reload], 'alert');
}

/** One sentence for a toast or a dialog. */
export function failureText(error) {
  if (error instanceof Offline) return t('panel.offline');
  if (!(error instanceof Problem)) {
    reportError(error);
    return t('panel.fault');
  }
  const details = error.errors.map((fault) => `${fault.pointer ?? fault.parameter}: ${faultText(fault)}`);
  return [problemText(error), ...details].join(' ');
}

/** A fault or note of the service, in the language of the page if that knows its code. */
export function faultText({code, detail}) {
  const hint = /Did you mean (.+)\?$/.exec(detail)?.[1];
  const [, from, to] = /from (-?[\d.]+) to (-?[\d.]+)/.exec(detail) ?? [];
  if (!hasText(`fault.${code}`) || (code === 'out-of-range' && !to)) return detail;
  return t(`fault.${code}`, {from: Number(from), to: Number(to)}) + (hint ? ` ${t('fault.hint', {value: hint})}` : '');
}

export function roleName(role) {
  return t(`role.${role}`);
}

/** In the language of the page if that knows the code. */
function problemText({code, status, detail, title}) {
  if (hasText(`problem.${code}`)) return t(`problem.${code}`);
  return detail || title || t('panel.error', {status: String(status)});
}

function again(retry) {
  return retry ? h('button', {type: 'button', class: 'primary', onclick: retry}, t('panel.retry')) : null;
}

function panel(kind, title, text, actions = [], role = null) {
  return h(
    'div', {class: `panel ${kind}`, role},
    h('h2', {tabindex: '-1'}, title), text ? h('p', {}, text) : null, h('div', {class: 'actions'}, actions));
}
