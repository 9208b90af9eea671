/** The real worker of this build as a process of its own, under the ServiceAccount of `manifests/install`. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { INSTANCE_VARIABLE } from '../local/component-process.ts';
import type { Arena } from './arena.ts';

/** `fairlead`, beside the bench in the same build. */
export const CLI = fileURLToPath(new URL('../cli/main.js', import.meta.url));

const START_MS = 60_000;
const STOP_MS = 20_000;
const POLL_MS = 5;
const TAIL = 30;

export interface WorkerOptions {
  /** FAIRLEAD_CLUSTER */
  readonly cluster: string;
  /** @default 'fairlead.dev/v1beta1' */
  readonly workloadApi?: WorkloadApi;
  /** The only one that it looks at; absent: all. */
  readonly namespace?: string;
  /** FAIRLEAD_REPOSITORIES. @default none */
  readonly repositories?: string | undefined;
  /** FAIRLEAD_METRICS_ADDRESS, where it also hears of webhooks. @default none */
  readonly metricsAddress?: string | undefined;
}

export class WorkerProcess {
  readonly startedAt = Date.now();
  readonly #child: ChildProcess;
  readonly #tail: string[] = [];
  #leads = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.#read(line));
    }
  }

  /** Starts a worker; it is not ready yet. */
  static spawn(
    { controlPlane, instanceId, profiles }: Pick<Arena, 'controlPlane' | 'instanceId' | 'profiles'>,
    kubeconfig: string,
    options: WorkerOptions,
  ): WorkerProcess {
    const { PATH, HOME, TMPDIR } = process.env;
    const profiling = profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profiles];
    const child = spawn(process.execPath, [...profiling, CLI, 'worker'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH,
        HOME,
        TMPDIR,
        KUBECONFIG: kubeconfig,
        // Whatever becomes of this process: what ends the servers ends the worker too.
        [INSTANCE_VARIABLE]: instanceId,
        TEMPORAL_ADDRESS: controlPlane.temporalAddress,
        FAIRLEAD_CLUSTER: options.cluster,
        FAIRLEAD_WORKLOAD_API: options.workloadApi ?? 'fairlead.dev/v1beta1',
        ...(options.namespace !== undefined && { FAIRLEAD_NAMESPACES: options.namespace }),
        ...(options.repositories !== undefined && { FAIRLEAD_REPOSITORIES: options.repositories }),
        ...(options.metricsAddress !== undefined && { FAIRLEAD_METRICS_ADDRESS: options.metricsAddress }),
      },
    });
    return new WorkerProcess(child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when its activities poll. Rejects with the end of its log if it ends before, or takes a minute. */
  async untilLeading(): Promise<void> {
    const deadline = Date.now() + START_MS;
    while (!this.#leads) {
      if (this.#ended || Date.now() > deadline) {
        throw new Error(`the worker does not lead:\n${this.#tail.join('\n')}`);
      }
      await delay(POLL_MS);
    }
  }

  /** SIGTERM. Rejects if it takes longer than it may. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** SIGKILL, as a crash. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#ended) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(late);
    if (signal === 'SIGTERM' && this.#child.signalCode === 'SIGKILL') {
      throw new Error(`the worker did not end within ${String(STOP_MS / 1000)} s:\n${this.#tail.join('\n')}`);
    }
  }

  #read(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > TAIL) this.#tail.shift();
    if (line.includes('"Temporal worker started"') && line.includes('"leader activities"'))
      this.#leads = true;
  }
}
