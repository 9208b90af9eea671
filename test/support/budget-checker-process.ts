/** Starts the budget checker as a process of its own and asks it for its verdicts. */

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import type { BudgetReport } from './budget-checker.ts';
import { patient } from './patience.ts';

export interface BudgetCheckerSettings {
  readonly kubeconfig: string;
  readonly workloadApi: WorkloadApi;
  readonly auditLog: string;
  /** Names of the users whose writes are judged. */
  readonly workerUsers: readonly string[];
}

export interface CheckerRequest {
  readonly id: string;
  readonly namespace: string;
  readonly planAgeMs?: number;
}

export type CheckerAnswer =
  | { readonly id: 'ready' }
  | { readonly id: string; readonly report: BudgetReport }
  | { readonly id: string; readonly error: string };

/** The ServiceAccount of `manifests/install`. */
const WORKER = 'system:serviceaccount:fairlead-system:fairlead-worker';
const START_TIMEOUT_MS = 30_000;
const ANSWER_TIMEOUT_MS = 60_000;

export class BudgetChecker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<string, (answer: CheckerAnswer) => void>();
  #requests = 0;
  #ended: string | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message) => {
      const answer = message as CheckerAnswer;
      this.#waiting.get(answer.id)?.(answer);
    });
    child.once('exit', (code, signal) => {
      this.#ended = `the budget checker ended with ${String(code ?? signal)}`;
      for (const [id, settle] of this.#waiting) {
        settle({ id, error: this.#ended });
      }
    });
  }

  /** Resolves when it watches: start it before the rollout that it is to judge. */
  static async start(
    controlPlane: Pick<ControlPlane, 'kubeconfig' | 'workloadApi' | 'auditLog'>,
    workerUsers: readonly string[] = [WORKER],
  ): Promise<BudgetChecker> {
    const { kubeconfig, workloadApi, auditLog } = controlPlane;
    const settings: BudgetCheckerSettings = { kubeconfig, workloadApi, auditLog, workerUsers };
    const main = fileURLToPath(new URL('budget-checker-main.ts', import.meta.url));
    const child = fork(main, [JSON.stringify(settings)], {
      execArgv: ['--import', 'tsx'],
      // The test runner's own options are not for it.
      env: { ...process.env, NODE_OPTIONS: '' },
      serialization: 'advanced',
    });
    const checker = new BudgetChecker(child);
    await checker.#answer('ready', START_TIMEOUT_MS);
    return checker;
  }

  /**
   * The verdict on everything that happened in a namespace since the start.
   * @throws Error if it could not see everything
   */
  async report(namespace: string, options: { readonly planAgeMs?: number } = {}): Promise<BudgetReport> {
    this.#requests += 1;
    const id = String(this.#requests);
    const request: CheckerRequest = { id, namespace, ...options };
    const answered = this.#answer(id, ANSWER_TIMEOUT_MS);
    this.#child.send(request);
    const answer = await answered;
    if (!('report' in answer)) {
      throw new Error(`no verdict on ${namespace}`);
    }
    return answer.report;
  }

  async stop(): Promise<void> {
    if (this.#ended !== undefined) {
      return;
    }
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }

  async #answer(id: string, timeoutMs: number): Promise<CheckerAnswer> {
    if (this.#ended !== undefined) {
      throw new Error(this.#ended);
    }
    const answer = await new Promise<CheckerAnswer>((resolve) => {
      const timer = setTimeout(
        () =>
          resolve({ id, error: `the budget checker did not answer within ${String(patient(timeoutMs))} ms` }),
        patient(timeoutMs),
      );
      this.#waiting.set(id, (message) => {
        clearTimeout(timer);
        resolve(message);
      });
    });
    this.#waiting.delete(id);
    if ('error' in answer) {
      throw new Error(answer.error);
    }
    return answer;
  }
}
