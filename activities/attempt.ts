/** One attempt of an activity: what it may still write, and its sign of life. */

import { AsyncLocalStorage } from 'node:async_hooks';

import { Context } from '@temporalio/activity';

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { ElapsedClock } from '../kubernetes/write-guard.ts';
import { startStopwatch, startToCloseGuard } from '../kubernetes/write-guard.ts';
import { toActivityFailure } from './failures.ts';
import { trusted } from '../kubernetes/values.ts';

const begun = new AsyncLocalStorage<ElapsedClock>();

const HEARTBEAT_MS = 1_000;

/**
 * Makes activities of functions: each attempt gets a stopwatch, and only errors of the one table leave it
 * ({@link toActivityFailure}).
 */
export function asActivities<T extends Record<string, (...args: never[]) => Promise<unknown>>>(
  functions: T,
): T {
  const activities = Object.entries(functions).map(([name, run]) => [
    name,
    async (...args: never[]) => {
      try {
        return await begun.run(startStopwatch(), async () => await run(...args));
      } catch (error) {
        throw toActivityFailure(error, Context.current().info.attempt);
      }
    },
  ]);
  return trusted<T>(Object.fromEntries(activities));
}

/**
 * The client of this attempt. It starts no write after 70 % of startToClose, when another attempt may be about to begin, and
 * none after a cancellation or the shutdown of this worker: what is in flight is the last (design "Rollover").
 */
export function attemptClient(client: KubernetesClient): KubernetesClient {
  const { info, cancellationSignal } = Context.current();
  const guard = startToCloseGuard(info.startToCloseTimeoutMs, begun.getStore() ?? startStopwatch());
  return client.withWriteGuard(() => {
    guard();
    cancellationSignal.throwIfAborted();
  });
}

/** What is left of this attempt until that share of startToClose, milliseconds; not above 0 when it is past. */
export function attemptTimeLeft(share: number): number {
  const { startToCloseTimeoutMs } = Context.current().info;
  return startToCloseTimeoutMs * share - (begun.getStore()?.() ?? 0);
}

/** Heartbeats once a second while `work` runs, with the newest details, so that a killed worker is noticed soon. */
export async function heartbeating<T>(work: (beat: (details: unknown) => void) => Promise<T>): Promise<T> {
  const context = Context.current();
  let details: unknown;
  const timer = setInterval(() => context.heartbeat(details), HEARTBEAT_MS);
  try {
    return await work((present) => {
      details = present;
    });
  } finally {
    clearInterval(timer);
  }
}
