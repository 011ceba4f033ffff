// The keys of the app. A new key's secret is shown once, in the dialog that follows its creation.

import {appPath, call} from '../../core/client.js';
import {confirmed, dialog} from '../../parts/dialog.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel, failureText, roleName} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {table} from '../../parts/table.js';
import {list, relative, t} from '../../core/text.js';
import {copy, toast} from '../../parts/toast.js';
import {field, section, when} from '../../parts/facts.js';

const roles = ['client', 'service', 'sender', 'marketing', 'support', 'admin'];

export function keysPage(screen) {
  const place = h('div');
  const reload = () => screen.load(
    place, async (signal) => (await call('GET', appPath(session.app, 'keys'), {signal})).data,
    ({keys}) => keyTables(keys, reload));
  reload();
  return section(
    t('operations.keys'),
    h('div', {class: 'actions spaced'}, h(
      'button', {type: 'button', class: 'primary', onclick: () => create(reload)}, t('operations.createKey'))), place);
}

function keyTables(keys, reload) {
  const valid = keys.filter((key) => !key.revokedAt), revoked = keys.filter((key) => key.revokedAt);
  return [
    valid.length > 0 ? keyTable(valid, t('operations.validKeys'), [{title: t('operations.action'), cell: (key) => h(
      'button', {type: 'button', class: 'danger', onclick: () => revoke(key, reload)}, t('operations.revoke'),
      h('span', {class: 'sr-only'}, ' ', foreign(key.name)))}])
      : emptyPanel(t('operations.noKeys'), t('operations.noKeysText')),
    revoked.length > 0 ? h('details', {class: 'spaced'}, h('summary', {}, t('operations.revokedKeys', {n: revoked.length})),
      keyTable(revoked, t('operations.revokedKeys', {n: revoked.length}), [
        {title: t('operations.revokedAt'), cell: (key) => when(key.revokedAt)}])) : null,
  ];
}

function keyTable(keys, caption, more) {
  return table({caption, captionHidden: true, rows: keys, columns: [
    {title: t('operations.keyName'), cell: (key) => [foreign(key.name), ' ', h('code', {class: 'hint'}, key.id)]},
    {title: t('operations.roles'), cell: (key) => list(key.roles.map(roleName))},
    {title: t('operations.created'), cell: (key) => when(key.createdAt)},
    {title: t('operations.lastUsed'), cell: (key) => (key.lastUsedAt ? relative(key.lastUsedAt) : t('operations.never'))},
    ...more,
  ]});
}

async function create(reload) {
  const name = h('input', {type: 'text', maxlength: 256, required: true, class: 'wide'});
  const boxes = roles.map((role) => h('input', {type: 'checkbox', value: role}));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const check = () => boxes[0].setCustomValidity(chosen().length > 0 ? '' : t('operations.chooseRole'));
  boxes.forEach((box) => box.addEventListener('change', check));
  check();
  const answer = await dialog({
    title: t('operations.createKey'),
    content: [
      field(t('operations.keyName'), name, t('operations.keyNameHint')).node,
      h('fieldset', {class: 'roles'}, h('legend', {}, t('operations.roles')), boxes.map((box) => h(
        'label', {}, box, h('span', {}, roleName(box.value), h('small', {}, t(`operations.role.${box.value}`)))))),
    ],
    actions: [{label: t('operations.createKey'), value: true, kind: 'primary'}],
  });
  if (!answer) return;
  try {
    const {data} = await call('POST', appPath(session.app, 'keys'), {body: {name: name.value.trim(), roles: chosen()}});
    reload();
    await showSecret(data.key);
  } catch (error) {
    toast(failureText(error), 'error');
  }
}

async function showSecret(secret) {
  const input = h('input', {type: 'text', readonly: true, value: secret, class: 'wide secret', onfocus: () => input.select()});
  await dialog({
    title: t('operations.newKey'),
    content: [
      h('p', {class: 'note'}, t('operations.onceOnly')),
      field(t('operations.secret'), h('div', {class: 'row'}, input, h(
        'button', {type: 'button', onclick: () => copy(secret)}, t('operations.copy')))).node,
    ],
    actions: [], dismiss: t('operations.stored'),
  });
  input.value = '';
}

async function revoke(key, reload) {
  const isSure = await confirmed({
    title: t('operations.revoke'),
    text: t('operations.revokeText', {
      name: key.name, used: key.lastUsedAt ? relative(key.lastUsedAt) : t('operations.never'),
    }),
    action: t('operations.revoke'),
  });
  if (!isSure) return;
  try {
    await call('DELETE', appPath(session.app, 'keys', key.id));
    toast(t('operations.revoked'));
    reload();
  } catch (error) {
    toast(failureText(error), 'error');
  }
}
