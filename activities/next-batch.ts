/** Whether a batch that has just been written goes on: slots that come free one after the other are used at once. */

import type { Observation, PlanFeed } from '../controllers/plan-feed.ts';
import { attemptTimeLeft, currentAttempt } from './attempt.ts';
import { judge } from './await-ready.ts';
import type { RunReference } from './rollout-types.ts';

/** A batch is over when no slot has come free for so long: pods that were made together get ready within it, in groups (docs/decisions/pace.md). */
const LULL_MS = 1_000;
/** No further write begins after this share of startToClose; 70 % is where the attempt may not write any more. */
const SHARE = 0.4;

/** What the last write of the batch has left. */
export interface WrittenBefore {
  /** The newest observation; it has been dealt with. */
  readonly seen: Observation | undefined;
  /** It holds writes that are legal by now. */
  readonly more: boolean;
}

/**
 * Resolves with true as soon as the planner would give a batch again, with false when there will be none: nothing is left to
 * update, no slot came free for a while, the attempt grows old, or the run is finished, paused, superseded or cancelled.
 */
export async function awaitNextBatch(
  feed: PlanFeed,
  key: string,
  input: RunReference,
  { seen, more }: WrittenBefore,
): Promise<boolean> {
  const patience = Math.min(LULL_MS, attemptTimeLeft(SHARE));
  const { cancelled } = currentAttempt();
  if (patience <= 0 || cancelled.aborted) {
    return false;
  }
  if (more) {
    return true;
  }
  return await new Promise<boolean>((resolve) => {
    const end = (answer: boolean) => {
      unsubscribe();
      clearTimeout(timer);
      cancelled.removeEventListener('abort', stop);
      resolve(answer);
    };
    const stop = () => end(false);
    const look = (observation: Observation | undefined) => {
      const next = whatNext(observation, input);
      if (next !== undefined) {
        end(next);
      }
    };
    const timer = setTimeout(stop, patience);
    cancelled.addEventListener('abort', stop, { once: true });
    const unsubscribe = feed.subscribe(key, look);
    const latest = feed.latest(key);
    if (latest !== seen) {
      look(latest);
    } else if (latest !== undefined && isAllWritten(latest)) {
      end(false);
    }
  });
}

/** Undefined: go on waiting. */
function whatNext(observation: Observation | undefined, input: RunReference): boolean | undefined {
  const answer = judge(observation, { ...input, deadlineReported: true });
  if (answer === undefined) {
    return observation !== undefined && isAllWritten(observation) ? false : undefined;
  }
  return answer === 'batch soon' || answer.outcome === 'batch';
}

function isAllWritten({ plan }: Observation): boolean {
  return plan.progress.updated >= plan.progress.target;
}
