/** The worker's log: JSON lines, or on a terminal (`fairlead up`) lines for people. */

import pc from 'picocolors';
import { DefaultLogger } from '@temporalio/worker';
import type { LogEntry } from '@temporalio/worker';
import type { Logger } from 'pino';
import { pino } from 'pino';

import { toMessage } from '../kubernetes/api-error.ts';
import { escapeUnsafe, oneLine } from '../kubernetes/safe-text.ts';
import { asRecord } from '../kubernetes/values.ts';
import type { WorkerConfig } from './config.ts';

/** Logs to standard output. */
export function createLog({ logLevel, cluster }: Pick<WorkerConfig, 'logLevel' | 'cluster'>): Logger {
  const options = { level: logLevel, base: { cluster } };
  const { stdout } = process;
  if (!stdout.isTTY) return pino(options);
  return pino(options, {
    write: (line: string) => {
      stdout.write(readableLine(line));
    },
  });
}

/**
 * What each of our Temporal workers is (one has no activities, the other no workflows), and what we tell ourselves: how a commit
 * or a rollout ended.
 */
const BY_DESIGN = /^(No (workflows|activities) registered|Workflow failed)/;

/** Takes what Temporal's SDK says from WARN on. */
export function sdkLogger(log: Logger): DefaultLogger {
  return new DefaultLogger('WARN', ({ message, meta }: LogEntry) => {
    if (BY_DESIGN.test(message)) return;
    // A cancelled activity that answers after its run has closed; a server that is away is reported by the worker.
    if (CORE_NOISE.test(message)) return;
    const { error, taskToken: _, ...rest } = asRecord(meta ?? {});
    log.warn({ meta: rest, ...(error !== undefined && { error: toMessage(error) }) }, message);
  });
}

const CORE_NOISE = /^(Activity not found on completion|gRPC call \w+ retried)/;

const WARN = 40;
const ERROR = 50;
/** Known to whoever sits at the terminal. */
const LEFT_OUT = new Set(['level', 'time', 'cluster', 'msg', 'pid', 'hostname']);

/**
 * One JSON line of pino → `11:28:12 rollout started  workload=web runId=…`, with a line feed. Reasons and names in it were written by
 * others, on annotations, in git or in the Temporal UI: none of it is obeyed by the terminal, and it stays one line.
 */
export function readableLine(json: string, colors: Pick<typeof pc, 'dim' | 'red' | 'yellow'> = pc): string {
  const entry = asRecord(JSON.parse(json));
  const level = Number(entry['level']);
  const time = new Date(Number(entry['time'])).toTimeString().slice(0, 8);
  const paint = level >= ERROR ? colors.red : level >= WARN ? colors.yellow : (text: string) => text;
  const fields = Object.entries(entry)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => `${oneLine(name)}=${printable(value)}`);
  const message = typeof entry['msg'] === 'string' ? oneLine(entry['msg']) : '';
  return `${colors.dim(time)} ${[paint(message), ...fields.map(colors.dim)].join('  ')}\n`;
}

function printable(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : escapeUnsafe(JSON.stringify(value));
}
