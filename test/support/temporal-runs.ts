/** The rollout runs of one workload as an operator sees them in the Temporal UI, and the buttons that are there. */

import { randomUUID } from 'node:crypto';

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';

import type { RolloutResult, RolloutView } from '../../workflows/messages.ts';
import { progressQuery } from '../../workflows/messages.ts';
import { found } from './eventually.ts';

export interface RunRecord {
  readonly workflowId: string;
  readonly runId: string;
  /** `RUNNING`, `COMPLETED`, `CANCELLED`, `TERMINATED`, `FAILED`, … */
  readonly status: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly closedAt: number | undefined;
}

export class TemporalRuns {
  readonly workflowId: string;
  readonly #client: Client;

  constructor(client: Client, workflowId: string) {
    this.#client = client;
    this.workflowId = workflowId;
  }

  /** Every run, oldest first, each as the history service describes it: the visibility store only names them. */
  async all(): Promise<readonly RunRecord[]> {
    const runs = await listedRuns(this.#client, `WorkflowId = "${this.workflowId}"`);
    const newest = await this.newest();
    const others = runs.filter(({ runId }) => runId !== newest?.runId);
    return newest === undefined ? others : [...others, newest];
  }

  /** The newest run; undefined if there never was one. */
  async newest(): Promise<RunRecord | undefined> {
    try {
      return await describeRun(this.#client, this.workflowId);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) {
        return undefined;
      }
      throw error;
    }
  }

  /** Asks until the runs are as wanted. Fails with what they were at the end. */
  async until(
    what: string,
    predicate: (runs: readonly RunRecord[]) => boolean,
    timeoutMs = 60_000,
  ): Promise<readonly RunRecord[]> {
    let runs: readonly RunRecord[] = [];
    return await found(
      `of the runs of ${this.workflowId} ${what}`,
      async () => {
        runs = await this.all();
        return predicate(runs) ? runs : undefined;
      },
      timeoutMs,
      () => JSON.stringify(runs, null, 1),
    );
  }

  /** The newest run as soon as it is open; fails if none is within 15 s. */
  async untilOpen(): Promise<RunRecord> {
    const runs = await this.until('one is open', (all) => all.at(-1)?.status === 'RUNNING', 15_000);
    return runs.at(-1) as RunRecord;
  }

  /** The result of a run that completed. */
  async result(runId: string): Promise<RolloutResult> {
    return (await this.#handle(runId).result()) as RolloutResult;
  }

  /** The answer of the newest run to its query, as soon as it is in this phase. */
  async untilPhase(phase: RolloutView['phase'], timeoutMs?: number): Promise<RolloutView> {
    return await this.#untilView(phase, (view) => view.phase === phase, timeoutMs);
  }

  /** The newest run has its revision: from then on its end is recorded there. */
  async untilBegun(): Promise<RolloutView> {
    return await this.#untilView('begun', ({ revision }) => revision !== undefined);
  }

  async #untilView(
    what: string,
    is: (view: RolloutView) => boolean,
    timeoutMs = 15_000,
  ): Promise<RolloutView> {
    let view: RolloutView | undefined;
    return await found(
      `${this.workflowId} is ${what}`,
      async () => {
        view = await this.#handle().query(progressQuery);
        return is(view) ? view : undefined;
      },
      timeoutMs,
      () => JSON.stringify(view, null, 1),
    );
  }

  /** Whether anybody has asked the newest run to cancel. */
  async cancelRequested(): Promise<boolean> {
    const { events } = await this.#handle().fetchHistory();
    return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes != null) === true;
  }

  /** The button "Request Cancellation". */
  async cancel(): Promise<void> {
    await this.#handle().cancel();
  }

  /** The button "Terminate". */
  async terminate(): Promise<void> {
    await this.#handle().terminate('clicked by a test');
  }

  /** The button "Send a Signal", without a payload. */
  async signal(name: 'pause' | 'resume' | 'abort'): Promise<void> {
    await this.#handle().signal(name);
  }

  /** The button "Reset": the newest run goes back to its first or last completed workflow task. Resolves with the new run's id. */
  async reset(to: 'first' | 'last' = 'last'): Promise<string> {
    const { runId } = (await this.newest()) as RunRecord;
    const { events = [] } = await this.#handle(runId).fetchHistory();
    const points = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes != null);
    const point = points.at(to === 'first' ? 0 : -1);
    if (point?.eventId == null) {
      throw new Error(`run ${runId} has no completed workflow task to go back to`);
    }
    const answer = await this.#client.workflowService.resetWorkflowExecution({
      namespace: this.#client.options.namespace,
      workflowExecution: { workflowId: this.workflowId, runId },
      reason: 'clicked by a test',
      requestId: randomUUID(),
      workflowTaskFinishEventId: point.eventId,
    });
    return answer.runId;
  }

  #handle(runId?: string) {
    return this.#client.workflow.getHandle(this.workflowId, runId);
  }
}

/** The runs that a query finds, oldest first, each as the history service describes it: the list learns of an end later. */
export async function listedRuns(client: Client, query: string): Promise<readonly RunRecord[]> {
  const runs: Promise<RunRecord>[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query }))
    runs.push(describeRun(client, workflowId, runId));
  return (await Promise.all(runs)).sort((a, b) => a.startedAt - b.startedAt);
}

/** @throws WorkflowNotFoundError */
async function describeRun(client: Client, workflowId: string, runId?: string): Promise<RunRecord> {
  const description = await client.workflow.getHandle(workflowId, runId).describe();
  return {
    workflowId,
    runId: description.runId,
    status: description.status.name,
    startedAt: description.startTime.getTime(),
    closedAt: description.closeTime?.getTime(),
  };
}
