/** Runs command lines in this process, with everything that they print kept. */

import type { ExitCode } from '../../cli/exit-codes.ts';
import type { Io } from '../../cli/io.ts';
import { run } from '../../cli/program.ts';
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

/** One command line, as typed after `fairlead`. */
export async function runCli(words: readonly string[], overrides: Partial<Io> = {}): Promise<CliRun> {
  const io = captureIo(overrides);
  const code = await run(words, io);
  return { code, ...io.printed };
}
