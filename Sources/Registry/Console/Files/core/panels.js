// The states of a screen or a part of it: empty, loading, error, forbidden, offline.
//
// `failurePanel(error, retry)` chooses by the error. Errors that are not the service's or the network's are faults of
// this page: they are thrown again, so that they reach the console.

import {Offline, Problem} from './client.js';
import {h} from './dom.js';
import {hasText, t} from './text.js';

/** @param actions buttons or links that lead on. */
export function emptyPanel(title, text, ...actions) {
  return panel('empty', title, text, actions);
}

/** Appears only if the response takes long, so that a fast one does not flicker. */
export function loadingPanel() {
  return h('div', {class: 'panel loading', role: 'status'}, h('span', {class: 'sr-only'}, t('panel.loading')));
}

export function forbiddenPanel(roles) {
  return panel('forbidden', t('panel.forbidden'), t('panel.forbiddenText', {roles: roles.map(roleName).join(', ')}));
}

export function offlinePanel(retry) {
  return panel('offline', t('panel.offline'), t('panel.offlineText'), [again(retry)], 'alert');
}

export function failurePanel(error, retry) {
  if (error instanceof Offline) return offlinePanel(retry);
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) return panel('forbidden', t('panel.signedOut'), t('panel.signedOutText'));
  if (error.status === 403) return panel('forbidden', t('panel.forbidden'), error.detail, [], 'alert');
  const wait = error.retryAfterSeconds ? t('panel.retryAfter', {n: error.retryAfterSeconds}) : '';
  return panel('error', problemTitle(error), [error.detail, wait].filter(Boolean).join(' '), [
    again(retry),
    error.requestId ? h('p', {class: 'hint'}, t('panel.requestId'), ' ', h('code', {}, error.requestId)) : null,
  ], 'alert');
}

/** One sentence for a toast or a dialog. */
export function failureText(error) {
  if (error instanceof Offline) return t('panel.offline');
  if (!(error instanceof Problem)) throw error;
  const details = error.errors.map((fault) => `${fault.pointer ?? fault.parameter}: ${faultText(fault)}`);
  return [error.detail || problemTitle(error), ...details].join(' ');
}

/** A fault or note of the service, in the language of the page if that knows its code. */
export function faultText({code, detail}) {
  const hint = /Did you mean (.+)\?$/.exec(detail)?.[1];
  if (!hasText(`fault.${code}`)) return detail;
  return t(`fault.${code}`) + (hint ? ` ${t('fault.hint', {value: hint})}` : '');
}

export function roleName(role) {
  return t(`role.${role}`);
}

function problemTitle(error) {
  return error.title || t('panel.error', {status: String(error.status)});
}

function again(retry) {
  return retry ? h('button', {type: 'button', class: 'primary', onclick: retry}, t('panel.retry')) : null;
}

function panel(kind, title, text, actions = [], role = null) {
  return h(
    'div', {class: `panel ${kind}`, role},
    h('h2', {}, title), text ? h('p', {}, text) : null, h('div', {class: 'actions'}, actions));
}
