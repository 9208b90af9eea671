/** What operators read of executed actions: the events on the workload (S21). */

import type { Action, Purpose } from '../planners/plan.ts';
import type { Workload } from '../planners/workload.ts';
import type { EventRecorder } from './events.ts';
import type { EventReason } from './reported-reasons.ts';

/** Event reasons of S21, by what the write was for; without `done` only a refusal is told. */
export const ACTION_EVENTS: Readonly<
  Record<Purpose, { readonly done?: EventReason; readonly failed: EventReason }>
> = {
  ScaleUp: { done: 'SuccessfulCreate', failed: 'FailedCreate' },
  CreateClaim: { done: 'SuccessfulCreate', failed: 'FailedCreate' },
  ScaleDown: { done: 'SuccessfulDelete', failed: 'FailedDelete' },
  ReplaceFinished: { done: 'RecreatingFailedPod', failed: 'FailedDelete' },
  Surge: { done: 'SuccessfulCreate', failed: 'FailedCreate' },
  Recreate: { done: 'SuccessfulDelete', failed: 'FailedDelete' },
  FixIdentity: { done: 'SuccessfulUpdate', failed: 'FailedUpdate' },
  Adopt: { done: 'Adopted', failed: 'FailedAdopt' },
  Release: { done: 'Released', failed: 'FailedRelease' },
  RetainClaim: { done: 'SuccessfulUpdate', failed: 'FailedUpdate' },
  TrimHistory: { failed: 'FailedDelete' },
  OpenGate: { failed: 'FailedUpdate' },
  InPlaceBegin: { done: 'InPlaceUpdateStarted', failed: 'FailedUpdate' },
  InPlaceApply: { done: 'PodPatchedInPlace', failed: 'FailedUpdate' },
  InPlaceFinish: { failed: 'FailedUpdate' },
  Cordon: { done: 'NodeCordoned', failed: 'FailedDrain' },
  Evict: { done: 'PodEvicted', failed: 'FailedDrain' },
  Uncordon: { done: 'NodeUncordoned', failed: 'FailedDrain' },
  PrePull: { done: 'ImagePullStarted', failed: 'FailedCreate' },
  PrePullDone: { failed: 'FailedDelete' },
  InPlaceWithdraw: { done: 'InPlaceUpdateWithdrawn', failed: 'FailedUpdate' },
  ScaleReplicaSet: { done: 'ScalingReplicaSet', failed: 'FailedUpdate' },
  GrowReplicaSet: { done: 'ScalingReplicaSet', failed: 'FailedUpdate' },
  ShrinkReplicaSet: { done: 'ScalingReplicaSet', failed: 'FailedUpdate' },
  AnnotateReplicaSet: { failed: 'FailedUpdate' },
  MarkComplete: { failed: 'FailedUpdate' },
};

/** After an event, further writes of its kind are gathered for so long, milliseconds; as long as they go on, twice as long each time. */
const FIRST_WINDOW_MS = 3_000;
const LAST_WINDOW_MS = 24_000;

interface Window {
  readonly timer: NodeJS.Timeout;
  readonly workload: Workload;
  readonly gathered: Action[];
}

/**
 * One event for many writes of one purpose: an operator reads "deleted 10 pods", not ten lines, and what a rollout costs does
 * not grow with its pods. The first is told at once, those that follow within three seconds together, then six, at most 24.
 */
export class ActionEvents {
  readonly #events: EventRecorder;
  readonly #windows = new Map<string, Window>();

  constructor(events: EventRecorder) {
    this.#events = events;
  }

  /** Tells what was written. */
  done(workload: Workload, actions: readonly Action[]): void {
    const groups = new Map<string, Action[]>();
    for (const action of actions) {
      const reason = ACTION_EVENTS[action.purpose].done;
      if (reason !== undefined && action.untold !== true) {
        const key = `${workload.ref.uid} ${reason} ${action.verb} ${action.resource}`;
        const group = groups.get(key);
        if (group === undefined) groups.set(key, [action]);
        else group.push(action);
      }
    }
    for (const [key, group] of groups) {
      const window = this.#windows.get(key);
      if (window === undefined) {
        this.#tell(key, workload, group, FIRST_WINDOW_MS);
      } else {
        window.gathered.push(...group);
      }
    }
  }

  /** Tells at once what was gathered so far; of one workload, if its uid is given: before it is told that its rollout has ended. */
  flush(uid?: string): void {
    for (const [key, { timer, workload, gathered }] of this.#windows) {
      if (uid !== undefined && workload.ref.uid !== uid) continue;
      clearTimeout(timer);
      this.#windows.delete(key);
      this.#record(workload, gathered);
    }
  }

  #tell(key: string, workload: Workload, actions: readonly Action[], windowMs: number): void {
    this.#record(workload, actions);
    const gathered: Action[] = [];
    const timer = setTimeout(() => {
      this.#windows.delete(key);
      if (gathered.length > 0) {
        this.#tell(key, workload, gathered, Math.min(2 * windowMs, LAST_WINDOW_MS));
      }
    }, windowMs);
    timer.unref();
    this.#windows.set(key, { timer, workload, gathered });
  }

  #record(workload: Workload, actions: readonly Action[]): void {
    const [first] = actions;
    const reason = first && ACTION_EVENTS[first.purpose].done;
    if (first === undefined || reason === undefined) {
      return;
    }
    const message = actions.length === 1 ? first.message : describeMany(actions);
    this.#events.record(workload, 'Normal', reason, message);
  }
}

/** What was done, where the verb of the request does not tell it. */
const PHRASES: Partial<Readonly<Record<Purpose, string>>> = {
  Evict: 'evict',
  Cordon: 'cordon',
  Uncordon: 'uncordon',
  InPlaceBegin: 'take out of service for an update in place:',
  InPlaceApply: 'update in place:',
  InPlaceWithdraw: 'take back into service unchanged:',
  Adopt: 'adopt',
  Release: 'release',
};

/** `delete 3 pods: web-2, web-1, web-0`; each once, however often it was written. */
function describeMany(actions: readonly Action[]): string {
  const [first] = actions;
  if (first === undefined) return '';
  if (ACTION_EVENTS[first.purpose].done === 'ScalingReplicaSet') return lastOfEach(actions);
  const names = [...new Set(actions.map(({ name }) => name))];
  const resource = names.length === 1 ? first.resource.replace(/s$/, '') : first.resource;
  return `${PHRASES[first.purpose] ?? first.verb} ${String(names.length)} ${resource}: ${nameList(names)}`;
}

/** The last message of each object: of sizes, how many were changed says nothing. */
function lastOfEach(actions: readonly Action[]): string {
  return [...new Map(actions.map(({ name, message }) => [name, message])).values()].join('; ');
}

function nameList(names: readonly string[]): string {
  return names.length <= 12
    ? names.join(', ')
    : `${names.slice(0, 10).join(', ')} and ${String(names.length - 10)} more`;
}
