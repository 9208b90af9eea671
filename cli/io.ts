/** What a command sees of its process, so that tests run the same code. */

import { EXIT } from './exit-codes.ts';
import { describeSystemError } from './system-error.ts';

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Redrawing in place is possible and wanted. */
  readonly live: boolean;
  readonly color: boolean;
  /** Columns and rows of the terminal; asked again at each redraw. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborts on Ctrl-C. */
  readonly interrupted: AbortSignal;
}

/** One call of a verb: operands as typed, options of the verb and of the program. */
export interface Call<O = object> {
  readonly io: Io;
  readonly operands: readonly string[];
  readonly options: O & GlobalOptions;
}

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Options that every verb has. */
export interface GlobalOptions {
  readonly namespace?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly output: OutputFormat;
  /** Milliseconds; 0 = no limit; absent = the verb's own default. */
  readonly timeout?: number;
  readonly workloadApi?: string;
  readonly cluster?: string;
  readonly leaseNamespace?: string;
}

/** The real process. */
export function processIo(): Io {
  const { stdout, stderr, env } = process;
  const live = isLiveTerminal(stdout, env);
  const controller = new AbortController();
  process.once('SIGINT', () => {
    controller.abort();
  });
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The terminal was closed; SIGHUP ends the verb, a worker in order.
    if (error.code === 'EIO') return;
    endIfUnread(error);
    stderr.write(`error: cannot write to stdout: ${describeSystemError(error)}\n`);
    process.exit(EXIT.failed);
  });
  // What is said beside the result may be lost, as on a full disk.
  stderr.on('error', endIfUnread);
  return {
    out: (text) => stdout.write(text),
    err: (text) => stderr.write(text),
    environment: env,
    live,
    color: live,
    size: () => terminalSize(stdout),
    now: () => Date.now(),
    interrupted: controller.signal,
  };
}

/** `rollout status sts/web | head -1`: whoever reads has gone. Node ignores SIGPIPE, which would end the process so: silently, and not well. */
function endIfUnread({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(EXIT.unread);
}

/** Columns and rows; what is no terminal has none, and one that nobody has told its size says 0: they count as 80 and 24. */
export function terminalSize({
  columns = 0,
  rows = 0,
}: {
  readonly columns?: number;
  readonly rows?: number;
}): ReturnType<Io['size']> {
  return { columns: columns === 0 ? 80 : columns, rows: rows === 0 ? 24 : rows };
}

/**
 * Redrawing and colours are for a terminal; one that says it is dumb, a CI and NO_COLOR (no-color.org) get plain lines. `isTTY` is
 * absent, not false, on a pipe, and whoever is handed `undefined` decides for himself: a real boolean it has to be.
 */
export function isLiveTerminal({ isTTY }: { readonly isTTY?: boolean }, env: Io['environment']): boolean {
  return isTTY === true && env['TERM'] !== 'dumb' && !isSet(env['CI']) && !isSet(env['NO_COLOR']);
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}
