/** Runs command lines in this process, with everything that they print kept. */

import { afterAll } from '@jest/globals';

import type { ExitCode } from '../../cli/exit-codes.ts';
import type { Io } from '../../cli/io.ts';
import { run } from '../../cli/program.ts';
import { pause } from '../../kubernetes/backoff.ts';
// The verbs load what they need when they are called. Jest cannot load one while it links another that shares a module with it
// ("request for … is not in cache"), and cases beside each other call them at the same time: here they are all loaded before.
import '../../cli/check.ts';
import '../../cli/completion.ts';
import '../../cli/controller-history.ts';
import '../../cli/controller-list.ts';
import '../../cli/controller-views.ts';
import '../../cli/controller-wishes.ts';
import '../../cli/explain.ts';
import '../../cli/failures.ts';
import '../../cli/get.ts';
import '../../cli/get-repositories.ts';
import '../../cli/plan.ts';
import '../../cli/repository-history.ts';
import '../../cli/rolling-update.ts';
import '../../cli/rollout-history.ts';
import '../../cli/rollout-status.ts';
import '../../cli/rollout-wishes.ts';
import '../../cli/set-image.ts';
import '../../cli/suspend-repository.ts';
import '../../cli/sync-repository.ts';
import '../../cli/temporal-sync.ts';
import '../../cli/watch.ts';
import '../../workflows/sync-messages.ts';

export interface CliRun {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

export interface CapturedIo extends Io {
  readonly printed: { out: string; err: string };
}

/** A process that writes into strings; plain, 120 columns, unless said otherwise. */
export function captureIo(overrides: Partial<Io> = {}): CapturedIo {
  const printed = { out: '', err: '' };
  return {
    printed,
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
    environment: {},
    live: false,
    color: false,
    size: () => ({ columns: 120, rows: 40 }),
    now: () => Date.now(),
    interrupted: new AbortController().signal,
    ...overrides,
  };
}

/** Of a test that has failed a command may still wait: it would end in the middle of the next file of this process, and fail that. */
const fileEnd = new AbortController();
const running = new Set<Promise<unknown>>();
const END_MS = 5_000;

afterAll(async () => {
  fileEnd.abort();
  const over = new AbortController();
  await Promise.race([Promise.allSettled(running), pause(END_MS, over.signal)]);
  over.abort();
});

/** One command line, as typed after `fairlead`; with the last test of its file it is interrupted. */
export async function runCli(words: readonly string[], overrides: Partial<Io> = {}): Promise<CliRun> {
  const io = captureIo(overrides);
  const interrupted = AbortSignal.any([io.interrupted, fileEnd.signal]);
  const ended = run(words, { ...io, interrupted });
  running.add(ended);
  try {
    return { code: await ended, ...io.printed };
  } finally {
    running.delete(ended);
  }
}
