// The questions behind the numbers on Audience, one after the other: one request is in flight at most.

import {audiencePath, call} from '../core/client.js';
import {session} from '../core/session.js';
import {isRolledUp} from './fields.js';
import {filterOf, group, hasSegment, fieldsOf} from './tree.js';

/** Sentences below this many are counted one by one. */
const sentencesMax = 24;
const restMilliseconds = 700;

/**
 * Counts a complete tree: reachable first, then active and all, then what each sentence keeps.
 *
 * @param report `{counted(include, response), kept(id, count)}`; `response` is `{count, asOf, notes}`.
 */
export async function countTree(tree, signal, report) {
  const filter = filterOf(tree);
  // Without `include` the service also notes what reachable installations cannot have.
  const reachable = await count(filter, undefined, signal);
  report.counted('reachable', reachable);
  const isFast = !hasSegment(tree) && [...fieldsOf(tree)].every(isRolledUp);
  // Counts that read every installation wait until somebody reads the first.
  if (!isFast) await new Promise((resolve) => setTimeout(resolve, restMilliseconds));
  for (const include of ['active', 'all']) report.counted(include, await count(filter, include, signal));
  if (!isFast && reachable.count > 0) return;
  const steps = stepsOf(tree);
  if (steps.length === 0 || steps.length > sentencesMax) return;
  // Where nothing is left, only the steps up to the first empty one are worth a slower question.
  for (const {id, part, isTop} of steps) {
    const {count: kept} = await count(filterOf(part), undefined, signal);
    report.kept(id, kept, isTop);
    if (kept === 0 && isTop && !isFast) return;
  }
}

/** All installations of the app: what a share is of. */
export async function countEverything(signal) {
  return count({}, 'all', signal);
}

async function count(filter, include, signal) {
  signal.throwIfAborted();
  const {data} = await call('POST', audiencePath(session.app, 'count'), {body: {filter, include}, signal});
  // A response that has arrived already cannot be aborted, and must not be reported either.
  signal.throwIfAborted();
  return data;
}

/**
 * The sentences in their order, each with the tree that is counted for it: all sentences of the first level up to this
 * one; of a group's sentences, each one with what stands before the group.
 */
function stepsOf(tree) {
  const before = [];
  const steps = [];
  for (const child of tree.children) {
    if (child.kind === 'group') {
      const parts = [];
      for (const inner of child.children) {
        parts.push(inner);
        const alone = child.mode === 'all' ? parts : [inner];
        steps.push({id: inner.id, part: group('all', [...before, ...alone]), isTop: false});
      }
    }
    before.push(child);
    steps.push({id: child.id, part: group('all', [...before]), isTop: true});
  }
  return steps;
}
