/** Whether a workload's rollout is over, from the object alone. Pure. */

import { readPaused, readPinned } from '../kubernetes/wish-annotations.ts';
import { isBadEnding } from '../kubernetes/wish-edits.ts';
import { withoutStop } from '../kubernetes/safe-text.ts';
import { asRecord } from '../kubernetes/values.ts';
import { onDeadlineOf } from '../kubernetes/workload-fields.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { Condition, JsonObject, KubernetesObject } from '../planners/objects.ts';
import type { Pin } from '../planners/workload.ts';

export interface LiveWorkload extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject & { readonly conditions?: readonly Condition[] };
}

export type RolloutState =
  | { readonly state: 'Done' }
  | { readonly state: 'InProgress'; readonly message: string; readonly paused: boolean }
  /** Ends the wait: another commit, `retry` or a person has to do something. */
  | {
      readonly state: 'Failed';
      readonly message: string;
      readonly rolledBack: boolean;
      /** What to do, where it is not what mostly helps. */
      readonly next?: string;
      /** There is no such object any more. */
      readonly isGone?: true;
    };

/**
 * Our controllers' conditions (kstatus: Ready, Reconciling, Stalled) decide; where they are absent (native controllers) the
 * rules of `kubectl rollout status` do. `hash` is that of the manifest whose rollout is awaited.
 */
export function rolloutState(live: LiveWorkload | undefined, hash: string): RolloutState {
  if (live === undefined) {
    return {
      ...failed('the object was deleted while its rollout was awaited'),
      next: '`fairlead sync` makes it again, as does the next change of its manifest.',
      isGone: true,
    };
  }
  const { annotations, generation } = live.metadata;
  const pin = readPinned(annotations);
  if (pin?.rejected === hash) {
    return { state: 'Failed', rolledBack: true, message: describeRolledBack(pin) };
  }
  const applied = annotations?.[ANNOTATION.manifestHash];
  if (applied === undefined) {
    return {
      ...failed('somebody has applied it by hand: nothing on it says any more what git has applied'),
      next: '`fairlead sync` applies it again.',
    };
  }
  if (applied !== hash) return failed('another manifest was applied meanwhile');
  const status = live.status ?? {};
  const observed = status['observedGeneration'];
  if (typeof observed !== 'number' || observed < (generation ?? 0))
    return inProgress('the controller has not seen it yet');
  const conditions = new Map((live.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  const stalled = conditions.get('Stalled');
  if (stalled?.status === 'True') {
    return {
      ...failed(`${stalled.reason ?? 'Stalled'}: ${stalled.message ?? 'no message'}`),
      // Where no run is over there is nothing to start again.
      ...(!isBadEnding(stalled.reason) && {
        next: `${nextOfStalled(live, stalled.reason)}; ${WHAT_IT_WAITS_FOR}`,
      }),
    };
  }
  const paused = readPaused(annotations, live.spec?.['paused'] === true);
  const ready = conditions.get('Ready');
  if (ready !== undefined) {
    if (ready.status === 'True') return { state: 'Done' };
    return paused === undefined ? inProgress(ready.message ?? ready.reason ?? 'not ready') : held(paused);
  }
  if (paused !== undefined) return held(paused);
  return nativeState(live, conditions);
}

const WHAT_IT_WAITS_FOR = '`fairlead explain` says what it waits for.';

/** A deadline may go back by itself. */
function nextOfStalled(live: LiveWorkload, reason: string | undefined): string {
  return reason === 'ProgressDeadlineExceeded' && onDeadlineOf(live) === 'Rollback'
    ? 'Correct the manifest; the rollout goes back by itself (onDeadline: Rollback)'
    : 'Correct the manifest, or go back with `fairlead rollout abort`';
}

/** Who has rejected a manifest, and why. */
export function describeRolledBack({ by, reason }: Pin): string {
  return `rolled back${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}

/** `kubectl rollout status` of the native kinds. */
function nativeState(live: LiveWorkload, conditions: ReadonlyMap<string, Condition>): RolloutState {
  const count = (field: string): number => Number(live.status?.[field] ?? 0);
  const progressing = conditions.get('Progressing');
  const failure = conditions.get('ReplicaFailure');
  const why = failure?.status === 'True' ? `: ${failure.message ?? failure.reason ?? 'no cause given'}` : '';
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    const message = withoutStop(progressing.message ?? 'no message');
    return { ...failed(`ProgressDeadlineExceeded: ${message}${why}`), next: nativeNext(live) };
  }
  switch (live.kind ?? '') {
    case 'DaemonSet': {
      const desired = count('desiredNumberScheduled');
      if (count('updatedNumberScheduled') < desired)
        return inProgress(`${count('updatedNumberScheduled')} of ${desired} pods updated`);
      if (count('numberAvailable') < desired)
        return inProgress(`${count('numberAvailable')} of ${desired} updated pods available`);
      return { state: 'Done' };
    }
    case 'StatefulSet': {
      const desired = Number(live.spec?.['replicas'] ?? 1);
      const strategy = asRecord(live.spec?.['updateStrategy']);
      const partition = Number(asRecord(strategy['rollingUpdate'])['partition'] ?? 0);
      const wanted = strategy['type'] === 'OnDelete' ? 0 : Math.max(0, desired - partition);
      if (count('updatedReplicas') < wanted)
        return inProgress(`${count('updatedReplicas')} of ${wanted} pods updated`);
      if (count('readyReplicas') < desired)
        return inProgress(`${count('readyReplicas')} of ${desired} pods ready`);
      return { state: 'Done' };
    }
    default: {
      const desired = Number(live.spec?.['replicas'] ?? 1);
      if (count('updatedReplicas') < desired)
        return inProgress(`${count('updatedReplicas')} of ${desired} replicas updated${why}`);
      if (count('replicas') > count('updatedReplicas'))
        return inProgress(`${count('replicas') - count('updatedReplicas')} old replicas still there`);
      if (count('availableReplicas') < count('updatedReplicas'))
        return inProgress(`${count('availableReplicas')} of ${desired} updated replicas available`);
      return { state: 'Done' };
    }
  }
}

/** Deployments alone have a deadline among the native kinds; our verbs do nothing about one that we do not keep. */
function nativeNext({ metadata: { name, namespace = 'default' } }: LiveWorkload): string {
  return (
    `\`fairlead explain deployment.apps/${name} -n ${namespace}\` says what its pods wait for: mended in the cluster, it goes on by ` +
    `itself; else correct the manifest and commit. \`kubectl rollout undo deployment.apps/${name} -n ${namespace}\` goes back until then.`
  );
}

function held(wish: { readonly by?: string; readonly reason?: string }): RolloutState {
  const by = wish.by === undefined ? '' : ` by ${wish.by}`;
  const message = `paused${by}${wish.reason === undefined ? '' : `: ${wish.reason}`}`;
  return { state: 'InProgress', message, paused: true };
}

function inProgress(message: string): RolloutState {
  return { state: 'InProgress', message, paused: false };
}

function failed(message: string): RolloutState & { readonly state: 'Failed' } {
  return { state: 'Failed', message, rolledBack: false };
}
