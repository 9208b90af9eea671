/** Starts one component, detached from the terminal, with nothing of the user's environment in it. */

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';

import { asError, errorCode, trusted } from '../kubernetes/values.ts';
import { COMPONENT_ARGUMENTS } from './components.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import type { InstanceLayout } from './layout.ts';
import { identifyProcess } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';

/** Set in every component; `<value>` is the record's id. */
export const INSTANCE_VARIABLE = 'FAIRLEAD_LOCAL_INSTANCE';

const TAIL_LINES = 20;
const TAIL_COLUMNS = 300;

/** A component ended by itself, or did not get ready. */
export class ComponentFailure extends Error {
  readonly component: ComponentName;
  readonly logTail: readonly string[];

  constructor(component: ComponentName, what: string, layout: InstanceLayout) {
    const logTail = tailOfLog(layout.log(component));
    const log =
      logTail.length === 0 ? '  (its log is empty)' : logTail.map((line) => `  | ${line}`).join('\n');
    super(`${component} ${what}\nThe end of ${layout.log(component)}:\n${log}`);
    this.name = 'ComponentFailure';
    this.component = component;
    this.logTail = logTail;
  }
}

/** Where the stack begins that a Go program prints when it panics. */
const STACK = /^goroutine \d+ \[/;

/**
 * The last lines of a log, each cut to a readable length; none if there is no log. Of one that ends with a panic, those before its stack:
 * they have the cause.
 */
export function tailOfLog(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const stack = lines.findIndex((line) => STACK.test(line));
  return (stack > 0 ? lines.slice(0, stack) : lines)
    .slice(-TAIL_LINES)
    .map((line) => (line.length > TAIL_COLUMNS ? `${line.slice(0, TAIL_COLUMNS)}…` : line));
}

/** How a process ended, in words. */
function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

export interface StartedProcess {
  readonly identity: ProcessIdentity;
  /** Resolves when the process ends, as long as this process lives. */
  readonly ended: Promise<string>;
}

/** Spawns the component; its output is appended to its log. Rejects if the program cannot be run at all. */
export async function spawnComponent(
  component: ComponentName,
  record: InstanceRecord,
  layout: InstanceLayout,
): Promise<StartedProcess> {
  const log = openSync(layout.log(component), 'a', 0o600);
  const program = record.binaries[component];
  const child = spawn(program, COMPONENT_ARGUMENTS[component](record, layout), {
    cwd: layout.home,
    // Its own session: Ctrl-C in the terminal ends whoever started it, who then ends the components in order.
    detached: true,
    stdio: ['ignore', log, log],
    env: {
      PATH: '/usr/bin:/bin',
      HOME: layout.home,
      TMPDIR: layout.home,
      // Small heaps on a small machine: collecting less often is a fifth of the apiserver's work.
      GOGC: '300',
      [INSTANCE_VARIABLE]: record.id,
    },
  });
  child.unref();
  const ended = once(child, 'exit').then(([code, signal]) =>
    describeEnd(trusted<number | null>(code), trusted<NodeJS.Signals | null>(signal)),
  );
  // Whoever awaits `ended` sees the error too; without this an early one would count as unhandled.
  ended.catch(() => undefined);
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(`cannot run ${component} at ${program}: ${asError(error).message}`, { cause: error });
  } finally {
    closeSync(log);
  }
  const pid = child.pid ?? 0;
  const identity = identifyProcess(pid);
  if (identity === undefined) throw new ComponentFailure(component, `${await ended} while starting`, layout);
  return { identity, ended };
}
