// Operations: health and rates, the night job, and the pages of operations/, each under `#/operations/<page>`.

import {call, now} from '../core/client.js';
import {foreign, h, replace, svg} from '../core/dom.js';
import {emptyPanel, failurePanel} from '../core/panels.js';
import {href} from '../core/router.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {decimal, hasText, list, number, percent, relative, t} from '../core/text.js';
import {asOf, exactly, facts, section, tag} from '../parts/facts.js';
import {button} from '../parts/form.js';
import {loaded, pages} from '../parts/pages.js';
import {table} from '../parts/table.js';
import {copy} from '../parts/toast.js';
import {changesPage} from './operations/changes.js';
import {heldNotes} from './operations/held.js';
import {appsPage, keysPage} from './operations/keys.js';
import {policyPage} from './operations/policy.js';

/**
 * Pages that need an app are `isOfApp`; those that need the rights of the admin key `isOfAll`; `isOfOne` are those that
 * a person with several apps cannot have.
 */
const screenPages = {
  health: {build: healthPage},
  runs: {build: runsPage, isOfOne: true},
  apps: {build: appsPage, isOfAll: true},
  keys: {build: keysPage, isOfApp: true},
  policy: {build: policyPage, isOfApp: true},
  changes: {build: changesPage},
};

class OperationsScreen extends Screen {
  start() {
    const isAllowed = ({isOfAll, isOfOne}) =>
      session.grants ? !isOfAll && !isOfOne : !isOfAll || session.choosesApp;
    const allowed = Object.keys(screenPages).filter((name) => isAllowed(screenPages[name]));
    const name = allowed.includes(this.parts[0]) ? this.parts[0] : allowed[0];
    const link = (page, props) => h('a', {href: href('operations', page), ...props}, t(`ops.page.${page}`));
    this.append(
      this.heading(),
      h('ul', {class: 'tabs'}, allowed.map((page) => h(
        'li', {}, link(page, {'aria-current': page === name ? 'page' : null})))),
      screenPages[name].isOfApp && !session.app
        ? emptyPanel(t('app.none'), t('app.noneText'), link('apps', {class: 'button primary'}))
        : screenPages[name].build(this));
  }
}

// MARK: Health

function healthPage(screen) {
  return h(
    'div', {}, session.app && heldNotes(screen),
    section(t('ops.readiness'), loaded(screen, '/v1/health', findings)), rates(screen));
}

function findings({obstacles, degraded}, reload) {
  const reasons = (title, texts) => texts.length > 0 && [
    h('p', {}, h('b', {}, title)), h('ul', {}, texts.map((text) => h('li', {}, foreign(text))))];
  return [
    h('p', {}, obstacles.length === 0 ? tag('good', t('ops.ready')) : tag('bad', t('ops.notReady')), ' ',
      obstacles.length + degraded.length === 0 && t('ops.allWell')),
    reasons(t('ops.obstacles'), obstacles), reasons(t('ops.degraded'), degraded), button(t('ops.refresh'), reload),
  ];
}

const intervalMilliseconds = 3_000;
/** Then the page waits for a click: reading prolongs the session, which should end without a person. */
const readsMax = 200;
/** The width of a line of rates. */
const samplesShown = 60;

/** Reads the counts again and again while the page is visible, and shows their growth. */
function rates(screen) {
  const place = h('div');
  let last, samples, reads, timer;
  const start = () => {
    [last, samples, reads] = [null, [], 0];
    replace(place, h('p', {class: 'hint'}, t('ops.measuring')));
    step();
  };
  const step = async () => {
    if (reads++ >= readsMax) return place.append(button(t('ops.goOn'), start));
    try {
      if (!document.hidden) take((await call('GET', '/v1/rates', {signal: screen.signal})).data);
      timer = setTimeout(step, samples.length < 2 ? 1_000 : intervalMilliseconds);
    } catch (error) {
      if (!screen.signal.aborted) replace(place, failurePanel(error, start));
    }
  };
  const take = (counts) => {
    const sample = last && ratesBetween(last, counts);
    // Behind a load balancer, another process may respond.
    samples = sample ? [...samples, sample].slice(-samplesShown) : [];
    last = counts;
    if (sample) {
      replace(place, rateTable(samples), h('p', {class: 'hint spaced'}, asOf(counts.at), ' · ', foreign(counts.process),
        ' · ', t('ops.since'), ' ', exactly(counts.startedAt)));
    }
  };
  screen.signal.addEventListener('abort', () => clearTimeout(timer));
  start();
  return section(t('ops.rates'), place);
}

/**
 * The change per second between two responses of `/console/v1/rates`.
 *
 * @returns `{'requests.2xx': rate}`; null if the responses are of two processes, or if no time has passed.
 */
export function ratesBetween(before, after) {
  const seconds = (Date.parse(after.at) - Date.parse(before.at)) / 1000;
  if (before.process !== after.process || before.startedAt !== after.startedAt || seconds <= 0) return null;
  return Object.fromEntries(['requests', 'registrations'].flatMap((group) => Object.entries(after[group]).map(
    ([name, count]) => [`${group}.${name}`, Math.max(0, count - (before[group][name] ?? 0)) / seconds])));
}

function rateTable(samples) {
  const rows = Object.keys(samples.at(-1)).map((name) => ({name, values: samples.map((sample) => sample[name] ?? 0)}));
  const label = (name) => (hasText(`ops.rate.${name}`) ? t(`ops.rate.${name}`)
    : `${t(`ops.rate.${name.split('.')[0]}`)} ${name.split('.')[1]}`);
  return table({caption: t('ops.rates'), captionHidden: true, rows, columns: [
    {title: t('views.what'), cell: ({name}) => label(name)},
    {title: t('ops.perSecondNow'), numeric: true, cell: ({values}) => decimal(values.at(-1))},
    {title: t('ops.lately'), cell: ({values}) => line(values)},
  ]});
}

function line(values) {
  const largest = Math.max(1, ...values);
  const x = (index) => samplesShown - values.length + index;
  const points = values.map((value, index) => `${x(index)},${19 - (value / largest) * 18}`).join(' ');
  return svg('svg', {
    class: 'spark', viewBox: `0 0 ${samplesShown} 20`, preserveAspectRatio: 'none', 'aria-hidden': 'true',
  }, svg('polyline', {points}));
}

// MARK: The night job

const steps = ['stale', 'sessionEnded', 'superseded', 'unregistered', 'purged'];
const upkeep = ['tombstones', 'partitionsMade', 'partitionsDropped', 'historyRemoved'];
const longAgoMilliseconds = 36 * 3_600_000;

/** Running and undoing stay with the command, which the page names. */
function runsPage(screen) {
  const path = '/v1/cleanup/runs';
  return loaded(screen, path, (first) => {
    if (first.runs.length === 0) return emptyPanel(t('ops.noRuns'), t('ops.noRunsText'));
    const [{startedAt}] = first.runs;
    return [
      now() - Date.parse(startedAt) > longAgoMilliseconds
        && h('p', {class: 'note'}, t('ops.overdue', {ago: relative(startedAt)})),
      pages(screen, path, first, ({runs}) => runs.map(item), h('ol', {class: 'plain'})),
    ];
  });
}

function item(run) {
  const kind = {done: 'good', running: ''}[run.outcome] ?? 'bad';
  const restorable = run.apps.reduce((sum, result) => sum + result.restorable, 0);
  return h(
    'li', {class: 'card'},
    h('h2', {}, t('ops.run', {run: run.run}), ' ', tag(kind, t(`ops.outcome.${run.outcome}`))),
    h('p', {class: 'hint'}, exactly(run.startedAt), run.finishedAt && [' – ', exactly(run.finishedAt)],
      run.scope && ` · ${list(run.scope)}`),
    run.undoes !== null && h('p', {}, t('ops.undid', {run: run.undoes})),
    // Why an app was held back, and how to allow it once.
    run.apps.filter((result) => result.refused).map(({app, active, leaving, share}) => h(
      'div', {class: 'note spaced'},
      h('p', {}, h('b', {}, foreign(app)), ' ', t('ops.heldBack', {
        leaving, active, share: percent(share), limit: percent(run.maxShare ?? 0),
      })),
      command(`push-registry cleanup --app ${app} --max-share ${Math.ceil(share * 100)}%`))),
    run.apps.length > 0 ? results(run) : h('p', {}, t('ops.noChanges')),
    run.appCount > run.apps.length && h('p', {class: 'hint'}, t('ops.moreApps', {n: run.appCount - run.apps.length})),
    facts(upkeep.map((name) => [t(`ops.upkeep.${name}`), run[name] > 0 ? number(run[name]) : null])),
    restorable > 0 && h(
      'details', {}, h('summary', {}, t('ops.undo', {n: restorable})),
      h('p', {}, t('ops.undoText')), command(`push-registry cleanup undo ${run.run}`)));
}

function results(run) {
  const column = (title, value) => ({title: t(title), numeric: true, cell: (result) => number(value(result))});
  return table({caption: t('ops.run', {run: run.run}), captionHidden: true, rows: run.apps, columns: [
    {title: t('app.choose'), cell: (result) => foreign(result.app)},
    column('ops.active', (result) => result.active),
    ...(run.undoes === null ? [
      ...steps.map((step) => column(`ops.step.${step}`, (result) => result.counts[step])),
      column('ops.restorable', (result) => result.restorable),
    ] : [column('ops.restored', (result) => result.restored)]),
  ]});
}

function command(text) {
  return h('p', {class: 'row'}, h('code', {}, foreign(text)), button(t('ops.copy'), () => copy(text)));
}

customElements.define('operations-screen', OperationsScreen);
