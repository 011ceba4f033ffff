// All apps, for the admin key: which there are, which have a policy that cannot be used, and a new one.

import {appPath, call} from '../../core/client.js';
import {dialog} from '../../parts/dialog.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel, failureText} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {table} from '../../parts/table.js';
import {t} from '../../core/text.js';
import {toast} from '../../parts/toast.js';
import {field, section, tag} from '../../parts/facts.js';
import {valueText} from './editors.js';

export function appsPage(screen) {
  const place = h('div');
  screen.load(place, async (signal) => (await call('GET', '/v1/apps', {signal})).data, appTable);
  return section(
    t('operations.apps'),
    h('div', {class: 'actions spaced'}, h(
      'button', {type: 'button', class: 'primary', onclick: create}, t('operations.createApp'))), place);
}

function appTable({apps, unusable}) {
  if (apps.length + unusable.length === 0) return emptyPanel(t('operations.noApps'), t('operations.noAppsText'));
  return [
    unusable.map(({app, reason}) => h('p', {class: 'note'}, h('b', {}, foreign(app)), ' ', t('operations.unusable'), ' ',
      foreign(reason))),
    table({caption: t('operations.apps'), captionHidden: true, rows: apps, columns: [
      {title: t('operations.app'), cell: ({app}) => [foreign(app), app === session.app
        ? [' ', tag('good', t('operations.shown'))] : null]},
      ...['grace', 'retention'].map((path) => ({
        title: t(`operations.member.${path}`), cell: (app) => valueText({kind: 'duration'}, app[path]),
      })),
      {title: t('operations.action'), cell: ({app}) => h(
        'button', {type: 'button', disabled: app === session.app, onclick: () => session.choose(app)}, t('operations.show'),
        h('span', {class: 'sr-only'}, ' ', app))},
    ]}),
  ];
}

/** A PUT would replace the policy of an app that exists, so the list is read first. */
async function create() {
  const id = h('input', {
    type: 'text', required: true, maxlength: 128, pattern: '[A-Za-z0-9._\\-]+', class: 'wide', placeholder: 'com.example.mail',
  });
  const answer = await dialog({
    title: t('operations.createApp'), content: field(t('operations.app'), id, t('operations.appHint')).node,
    actions: [{label: t('operations.createApp'), value: true, kind: 'primary'}],
  });
  if (!answer) return;
  const app = id.value.trim();
  try {
    const {data} = await call('GET', '/v1/apps');
    if ([...data.apps, ...data.unusable].some((other) => other.app === app)) {
      return toast(t('operations.appExists', {app}), 'error');
    }
    await call('PUT', appPath(app), {body: {}});
    toast(t('operations.appCreated', {app}));
    await session.loadApps();
    session.choose(app);
  } catch (error) {
    toast(failureText(error), 'error');
  }
}
