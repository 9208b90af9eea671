/** The real worker as a child process: built code, under the ServiceAccount of `manifests/install`, never as administrator. */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync } from 'node:fs';

import type { ControlPlane } from '../../local/control-plane.ts';
import { builtWorker } from './built-worker.ts';
import { patient } from './patience.ts';

export interface WorkerOptions {
  readonly controlPlane: Pick<ControlPlane, 'workerKubeconfig' | 'temporalAddress' | 'workloadApi'>;
  /** FAIRLEAD_CLUSTER */
  readonly cluster: string;
  /** FAIRLEAD_NAMESPACES; absent: all. */
  readonly namespaces?: readonly string[];
  /** @default the ServiceAccount's of `manifests/install` */
  readonly kubeconfig?: string;
  /** @default the control plane's */
  readonly temporalAddress?: string;
  /** Folder with the built code. @default a build of the present sources */
  readonly dist?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Resolve when it leads, or only when it has started. @default 'leading' */
  readonly waitFor?: 'leading' | 'started';
  /** Called as soon as the process exists: for those who may have to kill it before it is ready. */
  readonly onSpawn?: (worker: WorkerProcess) => void;
}

export interface LogLine {
  readonly msg: string;
  readonly level: number;
  readonly [field: string]: unknown;
}

const START_TIMEOUT_MS = 60_000;
const TAIL = 40;
/** Lines of a worker that ended by itself. */
const TOLD = 12;

/** Starts a worker and waits until it leads (its activities poll), or until it has started. */
export async function startWorker(options: WorkerOptions): Promise<WorkerProcess> {
  const { controlPlane } = options;
  const kubeconfig = options.kubeconfig ?? (await controlPlane.workerKubeconfig());
  const dist = options.dist ?? (await builtWorker());
  // It lives for seconds, beside others: what V8's best compiler and threads that collect garbage cost does not come back.
  const flags = ['--max-opt=1', '--single-threaded-gc'];
  const child = spawn(process.execPath, [...flags, `${dist}/cli/main.js`, 'worker'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      KUBECONFIG: kubeconfig,
      TEMPORAL_ADDRESS: options.temporalAddress ?? controlPlane.temporalAddress,
      FAIRLEAD_CLUSTER: options.cluster,
      FAIRLEAD_WORKLOAD_API: controlPlane.workloadApi,
      FAIRLEAD_LOG_LEVEL: 'debug',
      ...(options.namespaces && { FAIRLEAD_NAMESPACES: options.namespaces.join(',') }),
      ...options.environment,
    },
  });
  const worker = new WorkerProcess(child);
  endWithParent(child);
  options.onSpawn?.(worker);
  const leading = (line: LogLine) =>
    line.msg === 'Temporal worker started' && line['worker'] === 'leader activities';
  const started = (line: LogLine) => line.msg === 'Temporal worker started';
  try {
    await worker.untilLine(options.waitFor === 'started' ? started : leading, START_TIMEOUT_MS);
    worker.tellUnlessEnded();
    return worker;
  } catch (error) {
    await worker.kill();
    throw error;
  }
}

export class WorkerProcess {
  readonly lines: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #tail: string[] = [];
  readonly #listeners = new Set<() => void>();
  #rest = '';
  #isEndedByTest = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    child.once('exit', () => this.#notify());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** From now on an end that no test has brought about is told: what waits for its work would only say that nothing came. */
  tellUnlessEnded(): void {
    this.#child.once('exit', (code, signal) => {
      if (this.#isEndedByTest) return;
      const how = signal ?? `exit code ${String(code)}`;
      const tail = this.#tail.slice(-TOLD).map((line) => line.slice(0, 500));
      // Where the reporter of the run looks, which closes it with these.
      mkdirSync('.fairlead', { recursive: true });
      appendFileSync(
        '.fairlead/test-troubles',
        `worker ${String(this.pid)} ended by itself, with ${how}:\n${tail.join('\n')}\n`,
      );
    });
  }

  /** The last lines that it printed, for error messages. */
  get tail(): string {
    return this.#tail.join('\n');
  }

  /** The first line, printed already or to come, that matches. Fails when the process ends or the time is over. */
  async untilLine(predicate: (line: LogLine) => boolean, timeoutMs: number): Promise<LogLine> {
    return await new Promise<LogLine>((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#listeners.delete(look);
        act();
      };
      const look = () => {
        const found = this.lines.find(predicate);
        if (found !== undefined) {
          end(() => resolve(found));
        } else if (!this.running) {
          end(() => reject(new Error(`the worker ended:\n${this.tail}`)));
        }
      };
      const timer = setTimeout(
        () =>
          end(() => reject(new Error(`no such line within ${String(patient(timeoutMs))} ms:\n${this.tail}`))),
        patient(timeoutMs),
      );
      this.#listeners.add(look);
      look();
    });
  }

  /** SIGTERM; resolves when it has ended. Fails if it does not within 20 s. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM', 20_000);
  }

  /** SIGKILL, as a crash. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL', 5_000);
  }

  /** SIGKILL, sent before this returns; the process is reaped a moment later. */
  killNow(): void {
    this.#isEndedByTest = true;
    this.#child.kill('SIGKILL');
  }

  /** SIGSTOP: it keeps its connections and its memory, and does not run. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  wake(): void {
    this.#child.kill('SIGCONT');
  }

  async #end(signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
    if (!this.running) {
      return;
    }
    this.#isEndedByTest = true;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#child.kill('SIGKILL');
        reject(
          new Error(
            `the worker did not end within ${String(patient(timeoutMs))} ms of ${signal}:\n${this.tail}`,
          ),
        );
      }, patient(timeoutMs));
    });
    try {
      await Promise.race([ended, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      this.#tail.push(line);
      if (this.#tail.length > TAIL) {
        this.#tail.shift();
      }
      this.lines.push(parse(line));
    }
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) {
      listener();
    }
  }
}

/** A test that is killed leaves no worker behind: a shell waits on a pipe that only the test holds open. */
function endWithParent(child: ChildProcess): void {
  const script = `read -r _ || kill -9 ${String(child.pid)} 2>/dev/null`;
  const guard = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.unref();
  // It ends first when the worker ends, so that it never hits another process of the same number.
  child.once('exit', () => guard.stdin.end('\n'));
  guard.stdin.on('error', () => undefined);
}

/** A line of the log, or a line of something else. */
function parse(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { msg: line, level: 0 };
  }
}
