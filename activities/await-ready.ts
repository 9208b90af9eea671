/** The waiting half of the loop: listens to the plans that the reconciler makes and answers when there is something to do. */

import { CancelledFailure } from '@temporalio/common';

import type { Observation, PlanFeed } from '../controllers/plan-feed.ts';
import { beat, currentAttempt } from './attempt.ts';
import { newsAgainst } from './news.ts';
import type { Action } from '../planners/plan.ts';
import type { AwaitReadyInput, AwaitReadyResult, State } from './rollout-types.ts';

/** A freed slot waits this long for others, so that many pods at 10 % cost tens of actions, not hundreds. */
const WINDOW_MS = 500;
/** Answers `later` at this share of startToClose; the workflow asks again. */
const PATIENCE_SHARE = 0.9;
const LOOK_MS = 1_000;
/**
 * Resolves as soon as the planner would give a batch: at once when it is free of charge, covers all that is left, or a tenth
 * of the budget (at least one pod) is free; else 500 ms after the first freed slot. Also when the rollout is finished,
 * superseded, paused, or past its deadline; and when what it waits for has long been another thing than the run shows. Rejects only on cancellation and shutdown.
 */
export async function awaitObservation(
  feed: PlanFeed,
  key: string,
  input: AwaitReadyInput,
): Promise<AwaitReadyResult> {
  const { cancelled, startToCloseMs } = currentAttempt();
  let windowEnds: number | undefined;
  let { deadlineReported } = input;
  return await new Promise<AwaitReadyResult>((resolve, reject) => {
    let windowTimer: NodeJS.Timeout | undefined;
    let settled = false;
    const settle = (act: () => void) => {
      if (!settled) {
        settled = true;
        unsubscribe();
        clearInterval(looking);
        clearTimeout(patience);
        clearTimeout(windowTimer);
        cancelled.removeEventListener('abort', cancel);
        act();
      }
    };
    const cancel = () => {
      const { reason } = cancelled;
      settle(() => reject(reason instanceof Error ? reason : new CancelledFailure('cancelled')));
    };
    const look = (observation: Observation | undefined) => {
      // Progress, or the end of a pause, has begun the deadline's clock anew.
      if (observation?.timedOut === false) deadlineReported = false;
      const answer = judge(observation, { ...input, deadlineReported });
      if (answer === 'batch soon') {
        windowEnds ??= Date.now() + WINDOW_MS;
        windowTimer ??= setTimeout(() => {
          windowTimer = undefined;
          look(feed.latest(key));
        }, WINDOW_MS);
        if (Date.now() >= windowEnds && observation !== undefined) {
          settle(() => resolve({ outcome: 'batch', ...stateOf(observation) }));
        }
      } else if (answer === undefined) {
        windowEnds = undefined;
        clearTimeout(windowTimer);
        windowTimer = undefined;
      } else {
        settle(() => resolve(answer));
      }
    };
    const isNews = newsAgainst(input.shown);
    const looking = setInterval(() => {
      const latest = feed.latest(key);
      beat(latest && { ...latest.plan.progress });
      if (latest !== undefined && isNews(stateOf(latest).waiting.map(({ message }) => message))) {
        settle(() => resolve({ outcome: 'news', ...stateOf(latest) }));
      }
    }, LOOK_MS);
    const patience = setTimeout(() => {
      const latest = feed.latest(key);
      settle(() => {
        if (latest === undefined) {
          reject(new Error('the workload has not been planned yet'));
        } else {
          resolve({ outcome: 'later', ...stateOf(latest) });
        }
      });
    }, startToCloseMs * PATIENCE_SHARE);
    const unsubscribe = feed.subscribe(key, look);
    cancelled.addEventListener('abort', cancel, { once: true });
    if (cancelled.aborted) {
      cancel();
      return;
    }
    // `undefined` here means that the reconciler has not come to this workload yet, not that it is gone.
    const latest = feed.latest(key);
    if (latest !== undefined) {
      look(latest);
    }
  });
}

/** What an observation means for a waiting run: an answer, `batch soon`, or undefined to go on waiting. */
export function judge(
  observation: Observation | undefined,
  input: AwaitReadyInput,
): AwaitReadyResult | 'batch soon' | undefined {
  if (observation === undefined) {
    return { outcome: 'superseded', message: `${input.workload.name} was deleted` };
  }
  const { workload, plan, target, timedOut } = observation;
  if (workload.ref.uid !== input.workload.uid || target !== input.target || workload.deleting) {
    return { outcome: 'superseded', message: `${input.workload.name} has another template or uid now` };
  }
  const state = stateOf(observation);
  if (plan.finished && !plan.needsRollout) {
    return { outcome: 'finished', ...state };
  }
  if (workload.paused !== undefined) {
    const { by, reason } = workload.paused;
    const paused = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    return { outcome: 'paused', paused, ...state };
  }
  // Somebody has deleted the revision in the middle: the next batch makes it again.
  if (plan.updateRevision === undefined) return { outcome: 'batch', ...state };
  if (plan.batch.length === 0) {
    // What can be written goes first: it may be the progress that is missed.
    const { onDeadline } = workload;
    return timedOut && !input.deadlineReported ? { outcome: 'deadline', onDeadline, ...state } : undefined;
  }
  const { maxUnavailable, target: wanted, updated } = plan.progress;
  const charged = podsOf(plan.batch.filter((action) => action.charged === true));
  const isFree = plan.batch.some((action) => action.charged !== true);
  const isLast = podsOf(plan.batch) >= wanted - updated;
  const isTenth = charged * 10 >= maxUnavailable;
  return isFree || isLast || isTenth ? { outcome: 'batch', ...state } : 'batch soon';
}

function podsOf(actions: readonly Action[]): number {
  return actions.reduce((sum, { pods = 1 }) => sum + pods, 0);
}

/** What a run is told of an observation, whatever it asked for. */
export function stateOf({ plan, timedOut }: Observation): State {
  return { progress: plan.progress, waiting: plan.waiting.slice(0, 10), timedOut };
}
