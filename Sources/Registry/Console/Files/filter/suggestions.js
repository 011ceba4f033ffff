// The values of a field with their counts, from breakdowns of the installations that the number is about.

import {audiencePath, call} from '../core/client.js';
import {session} from '../core/session.js';
import {choicesOf, fieldGroups, isDiscrete, kindOf} from './fields.js';

/** The responses of the last minute, by app and request. */
const responses = new Map();
const keptMilliseconds = 60_000;
const responsesMax = 100;

/**
 * @param context the filter that holds beside the row.
 * @returns `{items: [{value, count}], more}`: the largest first; `value` is null for installations without a value, and
 *   `more` counts the values that are not listed.
 */
export async function suggestions(field, context) {
  if (!isDiscrete(field)) return {items: [], more: 0};
  // Reachable ones have no settings that forbid notifications.
  const {groups, rest: others} = await breakdown(
    field, context, fieldGroups.permission.includes(field) ? 'active' : 'reachable');
  const found = groups.map((group) => ({value: group[field], count: group.count}));
  const known = new Set(found.map((item) => item.value));
  const rest = (choicesOf(field) ?? []).filter((value) => !known.has(value)).map((value) => ({value, count: 0}));
  const items = kindOf(field) === 'locale' ? withLanguages(found) : [...found, ...rest];
  return {items, more: others.groups};
}

function breakdown(field, filter, include) {
  const request = JSON.stringify([session.app, session.name, field, filter, include]);
  const kept = responses.get(request);
  if (kept && Date.now() - kept.at < keptMilliseconds) return kept.found;
  if (responses.size >= responsesMax) responses.delete(responses.keys().next().value);
  const body = {filter, include, by: [field], limit: 1000};
  const found = call('POST', audiencePath(session.app, 'breakdown'), {body}).then(({data}) => data);
  found.catch(() => responses.delete(request));
  responses.set(request, {at: Date.now(), found});
  return found;
}

/** Adds `de` for all of `de_DE`, `de_AT`: the filter's `de` matches every region. */
function withLanguages(locales) {
  const languages = Map.groupBy(locales.filter((item) => item.value), (item) => item.value.split('_')[0]);
  const sums = [...languages].filter(([language, items]) => items.some((item) => item.value !== language))
    .map(([value, items]) => ({value, count: items.reduce((sum, item) => sum + item.count, 0)}));
  const names = new Set(sums.map((item) => item.value));
  return [...sums, ...locales.filter((item) => !names.has(item.value))].sort((a, b) => b.count - a.count);
}
