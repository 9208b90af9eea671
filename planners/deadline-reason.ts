/** Why a deadline passed, as the object keeps it: a pause outlives what the rollout waited for, and with it who was to blame. Pure. */

import { DEADLINE_WISHER } from './names.ts';
import type { Reason, ReasonCode } from './plan.ts';
import type { Wish } from './workload.ts';

const REFUSED: ReadonlySet<ReasonCode> = new Set(['CreateRefused', 'WriteRefused']);
/** The words of these reasons, behind others. */
const WORDS = /: the apiserver refuses to (?:create|change) /;

/** The wish; of a deadline, with what the apiserver refused when it passed: the template may well work. */
export function withRefusal(wish: Wish, waiting: readonly Reason[]): Wish {
  const refusal = waiting.find(({ code }) => REFUSED.has(code));
  if (wish.by !== DEADLINE_WISHER || refusal === undefined) return wish;
  return { ...wish, reason: `${wish.reason ?? ''}: ${refusal.message}` };
}

/** Whether it is the wish of a deadline that passed while the apiserver refused something. */
export function blamesRefusal({ by, reason = '' }: Wish): boolean {
  return by === DEADLINE_WISHER && WORDS.test(reason);
}
