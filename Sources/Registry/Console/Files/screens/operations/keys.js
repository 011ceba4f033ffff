// The keys of the app, and for the admin key all apps. A new key's secret is shown once, in the dialog that follows.

import {appPath, call} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel, failureText, roleName} from '../../core/panels.js';
import {firstApps, session} from '../../core/session.js';
import {list, parts, relative, t} from '../../core/text.js';
import {confirmed, dialog} from '../../parts/dialog.js';
import {section, tag, when} from '../../parts/facts.js';
import {button, field} from '../../parts/form.js';
import {loaded, pages} from '../../parts/pages.js';
import {table} from '../../parts/table.js';
import {copy, toast} from '../../parts/toast.js';

const roles = ['client', 'service', 'sender', 'marketing', 'support', 'admin'];
const text = (props) => h('input', {type: 'text', required: true, class: 'wide', ...props});

export function keysPage(screen) {
  return section(t('ops.page.keys'), loaded(screen, appPath(session.app, 'keys'), ({keys}, reload) => {
    const valid = keys.filter((key) => !key.revokedAt), revoked = keys.filter((key) => key.revokedAt);
    const summary = t('ops.revokedKeys', {n: revoked.length});
    return [
      h('p', {class: 'actions spaced'}, button(t('ops.createKey'), () => createKey(reload), 'primary')),
      valid.length === 0 ? emptyPanel(t('ops.noKeys')) : keyTable(valid, t('ops.page.keys'), [{
        title: t('views.action'),
        cell: (key) => button(t('ops.revoke'), () => revoke(key, reload), 'danger', foreign(key.name)),
      }]),
      revoked.length > 0 && h('details', {class: 'spaced'}, h('summary', {}, summary), keyTable(revoked, summary, [
        {title: t('ops.revokedAt'), cell: (key) => when(key.revokedAt)}])),
    ];
  }));
}

function keyTable(rows, caption, more) {
  return table({caption, captionHidden: true, rows, columns: [
    {title: t('views.name'), cell: (key) => [foreign(key.name), ' ', h('code', {class: 'hint'}, key.id)]},
    {title: t('ops.roles'), cell: (key) => list(key.roles.map(roleName))},
    {title: t('views.created'), cell: (key) => when(key.createdAt)},
    {title: t('ops.lastUsed'), cell: (key) => lastUse(key)},
    ...more,
  ]});
}

function lastUse({lastUsedAt}) {
  return lastUsedAt ? relative(lastUsedAt) : t('value.never');
}

async function createKey(reload) {
  const name = text({maxlength: 256});
  const boxes = roles.map((role) => h('input', {type: 'checkbox', value: role, onchange: () => check()}));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const check = () => boxes[0].setCustomValidity(chosen().length > 0 ? '' : t('ops.chooseRole'));
  check();
  const created = await dialog({
    title: t('ops.createKey'),
    content: [
      field(t('views.name'), name, t('ops.keyNameHint')).node,
      h('fieldset', {class: 'roles'}, h('legend', {}, t('ops.roles')), boxes.map((box) => h(
        'label', {}, box, h('span', {}, roleName(box.value), h('small', {}, t(`ops.role.${box.value}`)))))),
    ],
    actions: [{label: t('views.create'), value: true, kind: 'primary'}],
    run: () => call('POST', appPath(session.app, 'keys'), {body: {name: name.value.trim(), roles: chosen()}}),
  });
  if (!created) return;
  reload();
  await showSecret(created.data.key);
}

async function showSecret(secret) {
  const input = text({readonly: true, value: secret, class: 'secret', onfocus: () => input.select()});
  await dialog({
    title: t('ops.newKey'), actions: [], dismiss: t('ops.stored'),
    content: [h('p', {class: 'note'}, t('ops.onceOnly')), field(
      t('signin.key'), h('div', {class: 'row'}, input, button(t('ops.copy'), () => copy(secret)))).node],
  });
  input.value = '';
}

async function revoke(key, reload) {
  const question = parts('ops.revokeText', {name: foreign(key.name), used: lastUse(key)});
  if (!await confirmed({title: t('ops.revoke'), text: question, action: t('ops.revoke')})) return;
  try {
    await call('DELETE', appPath(session.app, 'keys', key.id));
    reload();
  } catch (error) {
    toast(failureText(error), 'error');
  }
}

// MARK: Apps

export function appsPage(screen) {
  const columns = [
    {title: t('app.choose'), cell: ({app}) => app},
    {title: t('views.action'), cell: ({app}) => (app === session.app ? tag('good', t('ops.shown'))
      : button(t('ops.show'), () => session.choose(app), null, app))},
  ];
  const page = ({apps, unusable}) => [
    ...unusable.map(({app, reason}) => h(
      'p', {class: 'note'}, h('b', {}, app), ' ', t('ops.unusable'), ' ', foreign(reason))),
    apps.length === 0 ? emptyPanel(t('app.none'))
      : table({caption: t('ops.page.apps'), captionHidden: true, rows: apps, columns}),
  ];
  return section(t('ops.page.apps'), loaded(screen, firstApps, (first) => [
    h('p', {class: 'actions spaced'}, button(t('ops.createApp'), createApp, 'primary')),
    pages(screen, firstApps, first, page, h('div')),
  ]));
}

/** A PUT would replace the policy of an app that exists, so the list is read first. */
async function createApp() {
  const id = text({maxlength: 128, pattern: '[A-Za-z0-9._\\-]+', placeholder: 'com.example.mail'});
  const {node, fault} = field(t('app.choose'), id);
  const actions = [{label: t('views.create'), value: true, kind: 'primary'}];
  const created = await dialog({title: t('ops.createApp'), content: node, actions, run: async () => {
    const app = id.value.trim();
    const {data} = await call('GET', '/v1/apps');
    const exists = [...data.apps, ...data.unusable].some((other) => other.app === app);
    fault(exists ? t('ops.appExists', {app}) : null);
    if (exists) return null;
    await call('PUT', appPath(app), {body: {}});
    await session.loadApps();
    return app;
  }});
  if (created) session.choose(created);
}
