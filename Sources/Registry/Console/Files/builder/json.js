// The tab that shows the filter as JSON and lets it be edited, and the texts that can be copied.

import {h, replace, uniqueId} from '../core/dom.js';
import {session} from '../core/session.js';
import {t} from '../core/text.js';
import {copy} from '../parts/toast.js';
import {filterOf, InvalidFilter, isComplete, treeOf} from '../filter/tree.js';

/**
 * @param builder the Builder that shares the history.
 * @param edited called with the tree of a valid text; never for an invalid one.
 */
export function jsonEditor(builder, edited) {
  const faultId = uniqueId('json-fault');
  const fault = h('p', {class: 'fault', role: 'alert', id: faultId});
  const area = h('textarea', {
    rows: '16', spellcheck: 'false', autocapitalize: 'none', 'aria-label': t('json.label'),
    'aria-describedby': faultId, oninput: read,
  });
  const filter = () => filterOf(builder.tree);
  const button = (name, text) => h('button', {type: 'button', onclick: () => copy(text())}, t(`json.copy.${name}`));
  const actions = h(
    'div', {class: 'actions'}, button('copy', () => JSON.stringify(filter())), button('curl', () => curl(filter())),
    button('command', () => command(filter())));
  write();
  return {element: h('div', {class: 'json'}, area, fault, actions), write, mark};

  function write() {
    const isWhole = isComplete(builder.tree);
    area.disabled = !isWhole;
    area.value = isWhole ? JSON.stringify(filter(), null, 2) : '';
    for (const each of actions.children) each.disabled = !isWhole;
    mark(isWhole ? '' : t('json.incomplete'));
  }

  function read() {
    let tree;
    try {
      tree = treeOf(JSON.parse(area.value));
    } catch (error) {
      if (error instanceof InvalidFilter) return mark(`${error.pointer || '/'}: ${t(`json.expected.${error.reason}`)}`);
      if (error instanceof SyntaxError) return mark(`${t('json.syntax')} ${error.message}`);
      throw error;
    }
    mark('');
    edited(tree);
  }

  function mark(text) {
    replace(fault, text);
    area.setAttribute('aria-invalid', String(text !== ''));
  }
}

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function curl(filter) {
  const address = `${location.origin}/v1/apps/${encodeURIComponent(session.app)}/audience/count`;
  return [
    `curl -sS ${quoted(address)}`, `-H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify({filter}))}`,
  ].join(' ');
}

function command(filter) {
  return `push-registry segment count --app ${quoted(session.app)} --filter ${quoted(JSON.stringify(filter))}`;
}
