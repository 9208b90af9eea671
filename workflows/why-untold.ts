/** Why a receiver was not told, for operators. Pure. */

import { ActivityFailure, TimeoutFailure } from '@temporalio/workflow';

const LONGEST = 500;

/** In the words of the last try that had any. @param who the receiver, with its repository */
export function whyUntold(who: string, error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return untried(who, cause).slice(0, LONGEST);
  return cause instanceof Error ? cause.message.slice(0, LONGEST) : `${who} cannot be told: no answer`;
}

/** Temporal's own words name neither receiver nor reason. */
function untried(who: string, { cause }: TimeoutFailure): string {
  const isOfTry = cause instanceof Error && !(cause instanceof TimeoutFailure);
  return isOfTry
    ? `${cause.message}, and time was up in the next try`
    : `${who} cannot be told: time was up before a try had ended (is a worker there that leads, and does the receiver answer?)`;
}
