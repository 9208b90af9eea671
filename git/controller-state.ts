/** Whether a ReplicationController of a commit is rolled out: from it, its record, and the update that is under way. Pure. */

import { readPinned } from '../kubernetes/wish-annotations.ts';
import { ANNOTATION } from '../planners/names.ts';
import { sizeOf } from '../planners/replication-controller.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { isNothingLeft } from '../planners/rolling-update-abandoned.ts';
import type { RolloutState } from './rollout-state.ts';
import { describeRolledBack } from './rollout-state.ts';

/** The state, and whether the commit is the one that brought the manifest which is (being) rolled out. */
export interface ControllerState {
  readonly state: RolloutState;
  readonly commit: string | undefined;
}

/**
 * `hash` is that of the manifest whose rollout is awaited; `noRun` says that no run carries the update out, and none is about to.
 */
export function controllerState(
  { view, step }: RollingUpdatePlan,
  hash: string,
  noRun?: string,
): ControllerState {
  const { old, record, last, paused, name } = view;
  const underWay = record?.controller.metadata.annotations;
  const present = old?.metadata.annotations;
  const pin = readPinned(present);
  if (pin?.rejected === hash) {
    const message = describeRolledBack(pin);
    return { state: { state: 'Failed', rolledBack: true, message }, commit: present?.[ANNOTATION.commit] };
  }
  if (record !== undefined) {
    const commit = underWay?.[ANNOTATION.commit];
    if (underWay?.[ANNOTATION.manifestHash] !== hash) {
      return { state: inProgress('another update of it has to end first'), commit };
    }
    if (paused !== undefined) {
      const by = paused.by === undefined ? '' : ` by ${paused.by}`;
      const message = `paused${by}${paused.reason === undefined ? '' : `: ${paused.reason}`}`;
      return { state: { state: 'InProgress', paused: true, message }, commit };
    }
    // Its run ends with that, and another would end so too.
    if (step.do === 'refuse') return { state: failed(step.message, wayOn(view)), commit };
    if (noRun !== undefined) {
      return { state: failed(`its rolling update does not go on: ${noRun}`), commit };
    }
    const why = step.do === 'await' ? step.waiting[0]?.message : undefined;
    return { state: inProgress(why ?? 'its rolling update goes on'), commit };
  }
  if (old === undefined) {
    const message = 'the object was deleted while its rollout was awaited';
    return { state: { ...failed(message, AGAIN), isGone: true }, commit: undefined };
  }
  const commit = present?.[ANNOTATION.commit];
  if (present?.[ANNOTATION.manifestHash] !== hash) {
    const isRejected =
      last?.state.phase === 'Aborted' &&
      last.controller.metadata.annotations?.[ANNOTATION.manifestHash] === hash;
    return {
      state: isRejected
        ? { state: 'Failed', rolledBack: true, message: `the rolling update of ${name} was turned round` }
        : failed('another manifest was applied meanwhile'),
      commit,
    };
  }
  const { generation = 0 } = old.metadata;
  if ((old.status?.observedGeneration ?? 0) < generation) {
    return { state: inProgress('the controller has not seen it yet'), commit };
  }
  const desired = sizeOf(old);
  const available = old.status?.availableReplicas ?? 0;
  return available < desired
    ? { state: inProgress(`${available} of ${desired} replicas available`), commit }
    : { state: { state: 'Done' }, commit };
}

/** Whether the rollout goes on only as long as a run carries it out. */
export function needsRun({ view }: RollingUpdatePlan, { state }: ControllerState): boolean {
  return state.state === 'InProgress' && !state.paused && view.record !== undefined;
}

function inProgress(message: string): RolloutState {
  return { state: 'InProgress', message, paused: false };
}

function failed(message: string, next?: string): RolloutState & { readonly state: 'Failed' } {
  return { state: 'Failed', message, rolledBack: false, ...(next !== undefined && { next }) };
}

const AGAIN = '`fairlead sync` makes it anew.';

/** A retry would end as the run did. */
function wayOn(view: RollingUpdatePlan['view']): string {
  const abort = `fairlead rollout abort rc/${view.name} -n ${view.namespace}`;
  return isNothingLeft(view)
    ? `${AGAIN} \`${abort}\` only gives the update up.`
    : `Give the update up: \`${abort}\`; then \`fairlead sync\` tries the commit again.`;
}
