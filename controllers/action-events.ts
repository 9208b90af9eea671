/** What operators read of executed actions: the events on the workload (S21). */

import { trusted } from '../kubernetes/values.ts';
import type { Action, Purpose } from '../planners/plan.ts';
import type { Workload } from '../planners/workload.ts';
import type { EventRecorder } from './events.ts';

/** Event reasons of S21, by what the write was for. */
export const EVENT_REASONS: Readonly<
  Record<Purpose, { readonly done: string; readonly failed: string } | undefined>
> = {
  ScaleUp: { done: 'SuccessfulCreate', failed: 'FailedCreate' },
  CreateClaim: { done: 'SuccessfulCreate', failed: 'FailedCreate' },
  ScaleDown: { done: 'SuccessfulDelete', failed: 'FailedDelete' },
  ReplaceFinished: { done: 'RecreatingFailedPod', failed: 'FailedDelete' },
  Recreate: { done: 'SuccessfulDelete', failed: 'FailedDelete' },
  FixIdentity: { done: 'SuccessfulUpdate', failed: 'FailedUpdate' },
  Adopt: { done: 'Adopted', failed: 'FailedAdopt' },
  Release: { done: 'Released', failed: 'FailedRelease' },
  RetainClaim: undefined,
  TrimHistory: undefined,
  OpenGate: undefined,
  InPlaceBegin: { done: 'InPlaceUpdateStarted', failed: 'FailedUpdate' },
  InPlaceApply: { done: 'PodPatchedInPlace', failed: 'FailedUpdate' },
  InPlaceFinish: undefined,
  InPlaceWithdraw: { done: 'InPlaceUpdateWithdrawn', failed: 'FailedUpdate' },
};

/** One event for all writes of one purpose: an operator reads "deleted 10 pods", not ten lines. */
export function reportDone(events: EventRecorder, workload: Workload, done: readonly Action[]): void {
  const groups = new Map<string, Action[]>();
  for (const action of done) {
    const reason = EVENT_REASONS[action.purpose]?.done;
    if (reason !== undefined) {
      const key = `${reason} ${action.verb} ${action.resource}`;
      groups.set(key, [...(groups.get(key) ?? []), action]);
    }
  }
  for (const actions of groups.values()) {
    const first = trusted<Action>(actions[0]);
    const reason = EVENT_REASONS[first.purpose]?.done ?? first.purpose;
    const message =
      actions.length === 1
        ? first.message
        : `${first.verb} ${String(actions.length)} ${first.resource}: ${nameList(actions)}`;
    events.record(workload, 'Normal', reason, message);
  }
}

function nameList(actions: readonly Action[]): string {
  const names = actions.map((action) => action.name);
  return names.length <= 12
    ? names.join(', ')
    : `${names.slice(0, 10).join(', ')} and ${String(names.length - 10)} more`;
}
