/** Runs command lines in this process, with everything that they print kept. */

import type { ExitCode } from '../../cli/exit-codes.ts';
import type { Io } from '../../cli/io.ts';
import { run } from '../../cli/program.ts';

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
