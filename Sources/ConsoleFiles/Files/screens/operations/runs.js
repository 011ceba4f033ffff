// The night job: its runs with their numbers by app, the apps that it held back, and what an undo would restore. Running
// and undoing stay with the command, which the page names.

import {call} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel} from '../../core/panels.js';
import {hasText, list, number, percent, relative, t} from '../../core/text.js';
import {exactly, facts, tag} from '../../parts/facts.js';
import {pages} from '../../parts/pages.js';
import {table} from '../../parts/table.js';
import {copy} from '../../parts/toast.js';

const steps = ['stale', 'sessionEnded', 'superseded', 'unregistered', 'purged'];
const upkeep = ['tombstones', 'partitionsMade', 'partitionsDropped', 'historyRemoved'];
const longAgoMilliseconds = 36 * 3_600_000;

export function runsPage(screen) {
  const place = h('div');
  const read = async (after, signal) => (await call(
    'GET', `/v1/cleanup/runs${after ? `?after=${encodeURIComponent(after)}` : ''}`, {signal})).data;
  screen.load(place, (signal) => read(null, signal), (first) => (first.runs.length === 0
    ? emptyPanel(t('operations.noRuns'), t('operations.noRunsText'))
    : [overdue(first.runs[0]), pages({
      first, more: t('operations.moreRuns'), list: h('ol', {class: 'plain'}), request: (after) => read(after, screen.signal),
      items: ({runs}) => runs.map(item),
    })]));
  return place;
}

function overdue(newest) {
  const isLate = Date.now() - Date.parse(newest.startedAt) > longAgoMilliseconds;
  return isLate ? h('p', {class: 'note'}, t('operations.overdue', {ago: relative(newest.startedAt)})) : null;
}

function item(run) {
  const heldBack = run.apps.filter((result) => result.refused);
  const kind = run.outcome === 'done' ? 'good' : run.outcome === 'running' ? '' : 'bad';
  const name = hasText(`operations.outcome.${run.outcome}`) ? t(`operations.outcome.${run.outcome}`) : run.outcome;
  return h(
    'li', {class: 'card'},
    h('h2', {}, t('operations.run', {run: String(run.run)}), ' ', tag(kind, name)),
    h('p', {class: 'hint'}, exactly(run.startedAt), run.finishedAt ? [' – ', exactly(run.finishedAt)] : null,
      run.scope ? ` · ${t('operations.onlyApps', {apps: list(run.scope)})}` : null),
    run.undoes === null ? null : h('p', {}, t('operations.undid', {run: String(run.undoes)})),
    heldBack.map((result) => held(run, result)),
    run.apps.length > 0 ? results(run) : h('p', {}, t('operations.noChanges')),
    run.appCount > run.apps.length ? h('p', {class: 'hint'}, t('operations.moreApps', {n: run.appCount - run.apps.length}))
      : null,
    upkeepFacts(run), undo(run));
}

/** Why an app was held back, and how to allow it once. */
function held(run, {app, active, leaving, share}) {
  return h(
    'div', {class: 'note spaced'},
    h('p', {}, h('b', {}, foreign(app)), ' ', t('operations.heldBack', {
      leaving, active, share: percent(share), limit: run.maxShare === null ? '–' : percent(run.maxShare),
    })),
    command(`push-registry cleanup --app ${app} --max-share ${Math.ceil(share * 100)}%`));
}

function results(run) {
  const columns = [
    {title: t('operations.app'), cell: (result) => [foreign(result.app), result.refused
      ? [' ', tag('bad', t('operations.held'))] : null]},
    {title: t('operations.active'), numeric: true, cell: (result) => number(result.active)},
  ];
  if (run.undoes !== null) {
    columns.push({title: t('operations.restored'), numeric: true, cell: (result) => number(result.restored)});
  } else {
    columns.push(
      ...steps.map((step) => ({
        title: t(`operations.step.${step}`), numeric: true, cell: (result) => number(result.counts[step]),
      })),
      {title: t('operations.restorable'), numeric: true, cell: (result) => number(result.restorable)});
  }
  return table({caption: t('operations.run', {run: String(run.run)}), captionHidden: true, rows: run.apps, columns});
}

function upkeepFacts(run) {
  const rows = upkeep.filter((name) => run[name] > 0).map((name) => [t(`operations.upkeep.${name}`), number(run[name])]);
  return rows.length > 0 ? h('div', {class: 'spaced'}, facts(rows)) : null;
}

function undo(run) {
  const restorable = run.apps.reduce((sum, result) => sum + result.restorable, 0);
  return restorable === 0 ? null : h(
    'details', {class: 'spaced'}, h('summary', {}, t('operations.undo', {n: restorable})),
    h('p', {}, t('operations.undoText')), command(`push-registry cleanup undo ${run.run}`));
}

function command(text) {
  return h('p', {class: 'row'}, h('code', {}, foreign(text)), h(
    'button', {type: 'button', onclick: () => copy(text)}, t('operations.copy')));
}
