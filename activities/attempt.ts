/** One attempt of an activity, or of the same step in process: what it may still write, how it is ended, and its sign of life. */

import { AsyncLocalStorage } from 'node:async_hooks';

import { Context } from '@temporalio/activity';

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { ElapsedClock } from '../kubernetes/write-guard.ts';
import { startStopwatch, startToCloseGuard } from '../kubernetes/write-guard.ts';
import { toActivityFailure } from './failures.ts';
import { trusted } from '../kubernetes/values.ts';

/** What a step may know of whoever runs it. */
export interface Attempt {
  readonly elapsed: ElapsedClock;
  /** Milliseconds; another attempt may begin afterwards. */
  readonly startToCloseMs: number;
  /** Aborts with the reason when the attempt is to end. */
  readonly cancelled: AbortSignal;
  /** What the next heartbeat carries. */
  details: unknown;
  /** What the last heartbeat of an earlier attempt carried. */
  readonly detailsBefore: unknown;
  readonly heartbeat: (details: unknown) => void;
}

const attempts = new AsyncLocalStorage<Attempt>();

const HEARTBEAT_MS = 1_000;
/** Of activities whose run waits for their end when it is cancelled: they hear of that with their next heartbeat. */
const WRITING_HEARTBEAT_MS = 400;
/** For the worker: holds none of these back, for jitter less than the shortest. */
export const HEARTBEAT_THROTTLE_MS = 300;

type Functions = Record<string, (...args: never[]) => Promise<unknown>>;

/** As {@link asActivities}, of those that write, and that a newer commit ends within a second. */
export function asWritingActivities<T extends Functions>(functions: T): T {
  return asActivities(functions, WRITING_HEARTBEAT_MS);
}

/**
 * Makes activities of functions: each attempt gets a stopwatch, shows once a second (`heartbeatMs`) that it lives, so that a killed worker is
 * noticed soon and a cancellation arrives, and only errors of the one table leave it ({@link toActivityFailure}).
 */
export function asActivities<T extends Functions>(functions: T, heartbeatMs = HEARTBEAT_MS): T {
  const activities = Object.entries(functions).map(([name, run]) => [
    name,
    async (...args: never[]) => {
      const context = Context.current();
      const attempt = attemptOf(context);
      const timer = setInterval(() => context.heartbeat(attempt.details), heartbeatMs);
      try {
        return await attempts.run(attempt, async () => await run(...args));
      } catch (error) {
        throw toActivityFailure(error, context.info.attempt);
      } finally {
        clearInterval(timer);
      }
    },
  ]);
  return trusted<T>(Object.fromEntries(activities));
}

/**
 * A step in process, without Temporal: as one attempt of an activity. `startToCloseMs` in milliseconds; `signal` ends it.
 * @throws what the step throws
 */
export async function runInProcess<T>(
  startToCloseMs: number,
  signal: AbortSignal,
  step: () => Promise<T>,
): Promise<T> {
  const attempt: Attempt = {
    elapsed: startStopwatch(),
    startToCloseMs,
    cancelled: signal,
    details: undefined,
    detailsBefore: undefined,
    heartbeat: () => undefined,
  };
  return await attempts.run(attempt, step);
}

/** The attempt that runs now. @throws Error outside of one */
export function currentAttempt(): Attempt {
  return attempts.getStore() ?? attemptOf(Context.current());
}

function attemptOf({ info, cancellationSignal, heartbeat }: Context): Attempt {
  return {
    elapsed: startStopwatch(),
    startToCloseMs: info.startToCloseTimeoutMs,
    cancelled: cancellationSignal,
    // What was told stays told until this attempt says something else: it may fail before it comes that far.
    details: info.heartbeatDetails,
    detailsBefore: info.heartbeatDetails,
    heartbeat,
  };
}

/**
 * The client of this attempt. It starts no write after 70 % of startToClose, when another attempt may be about to begin, and
 * none after a cancellation or the shutdown of this worker: what is in flight is the last (design "Rollover").
 */
export function attemptClient(client: KubernetesClient): KubernetesClient {
  const { startToCloseMs, elapsed, cancelled } = currentAttempt();
  const guard = startToCloseGuard(startToCloseMs, elapsed);
  return client.withWriteGuard(() => {
    guard();
    cancelled.throwIfAborted();
  });
}

/** What is left of this attempt until that share of startToClose, milliseconds; not above 0 when it is past. */
export function attemptTimeLeft(share: number): number {
  const { startToCloseMs, elapsed } = currentAttempt();
  return startToCloseMs * share - elapsed();
}

/** What the heartbeats of this attempt carry from now on: how far it is. */
export function beat(details: unknown): void {
  const attempt = attempts.getStore();
  if (attempt !== undefined) {
    attempt.details = details;
  }
}

/**
 * What must happen once, however often the activity is tried: the attempts after the one that did it know of it by its heartbeat.
 * @throws what it throws; then it has not happened
 */
export async function onceInAllAttempts(name: string, act: () => Promise<unknown>): Promise<void> {
  if (currentAttempt().detailsBefore !== name) await act();
  tellAttempts(name);
}

/** Sent at once, so that the attempts to come know of it ({@link Attempt.detailsBefore}) if this one fails now. */
export function tellAttempts(details: unknown): void {
  beat(details);
  currentAttempt().heartbeat(details);
}
