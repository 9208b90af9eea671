/** The update period (`--update-period`, K5): a wait after one has grown, before the other shrinks. Pure. */

import type { ObjectMeta } from './objects.ts';
import { podsOf } from './replication-controller.ts';
import type { RollingUpdatePlan } from './rolling-update.ts';
import type { UpdateReason } from './rolling-update-steps.ts';

/** One that runs. */
export interface UpdatePeriod {
  /** Its end, milliseconds since the epoch, by the clock of the worker. */
  readonly until: number;
  /** It began on the way back: whoever turns the update round ends the one before. */
  readonly isRollback: boolean;
}

/** The period that begins with the step of this plan, when it is written. */
export function periodAfter({ step, view }: RollingUpdatePlan, now: number): UpdatePeriod | undefined {
  const { updatePeriodMs } = view.state;
  if (updatePeriodMs === 0 || step.do !== 'write' || step.write.purpose !== 'ScaleUp') return undefined;
  return { until: now + updatePeriodMs, isRollback: view.isRollback };
}

/**
 * The one that runs when a run begins in the middle of an update, whose last growth another has written (it was terminated, or its history
 * is gone): the pods of the next controller tell when that was. None on the way back, which pods that do not work may be waiting for.
 */
export function periodFromPods({ view }: Pick<RollingUpdatePlan, 'view'>): UpdatePeriod | undefined {
  const { nextController, isRollback, state } = view;
  if (isRollback || state.updatePeriodMs === 0 || nextController === undefined) return undefined;
  const created = podsOf(nextController, view.pods).map(({ metadata }) => createdAt(metadata));
  return created.length === 0
    ? undefined
    : { until: Math.max(...created) + state.updatePeriodMs, isRollback: false };
}

function createdAt({ creationTimestamp }: ObjectMeta): number {
  return Date.parse(creationTimestamp ?? '') || 0;
}

/** Milliseconds for which the next step has to wait still; 0 where it need not. */
export function restOfPeriod(plan: RollingUpdatePlan, period: UpdatePeriod | undefined, now: number): number {
  if (period === undefined || !isHeldByPeriod(plan) || period.isRollback !== plan.view.isRollback) return 0;
  return Math.min(Math.max(period.until - now, 0), plan.view.state.updatePeriodMs);
}

/** Whether the next step is one that a period holds; only the run knows whether one runs. */
export function isHeldByPeriod({ step, view }: RollingUpdatePlan): boolean {
  return view.state.updatePeriodMs > 0 && step.do === 'write' && step.write.purpose === 'ScaleDown';
}

/** What it waits for then. */
export function periodReason({ view }: Pick<RollingUpdatePlan, 'view'>): UpdateReason {
  const seconds = `${String(view.state.updatePeriodMs / 1_000)}s`;
  return { code: 'UpdatePeriod', message: `waits for --update-period (${seconds} after each growth)` };
}
