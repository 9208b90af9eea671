/** The rollout runs of the demo as Temporal knows them, with the addresses at which its UI shows them. */

import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';

import { connectTemporal } from '../controllers/temporal-client.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import { trusted } from '../kubernetes/values.ts';
import type { RolloutView } from '../workflows/messages.ts';
import {
  ROLLOUT_WORKFLOW,
  progressQuery,
  readRolloutWorkflowId,
  rolloutWorkflowId,
  rolloutWorkflowPrefix,
} from '../workflows/messages.ts';
import { ROLLING_UPDATE_WORKFLOW } from '../workflows/rolling-update-messages.ts';
import { WEB } from './observer.ts';

/** One run. */
export interface RolloutRun {
  readonly runId: string;
  /** Kind and name, `StatefulSet web`. */
  readonly workload: string;
  /** Temporal's own word: RUNNING, COMPLETED, CANCELLED, … */
  readonly status: string;
  /** Name of the revision, from search attribute WorkloadRevision. */
  readonly revision: string;
  /** Search attribute RolloutPhase: how it ended. */
  readonly outcome: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly closedAt: number | undefined;
  readonly url: string;
}

const REVISION = defineSearchAttributeKey('WorkloadRevision', SearchAttributeType.KEYWORD);
const PHASE = defineSearchAttributeKey('RolloutPhase', SearchAttributeType.KEYWORD);
const CLUSTER = 'default';
const POLL_MS = 300;

export class RolloutRuns {
  readonly #client: Client;
  readonly #ui: string;
  readonly #workflowId = rolloutWorkflowId(CLUSTER, WEB);

  private constructor(client: Client, ui: string) {
    this.#client = client;
    this.#ui = ui;
  }

  /** `ui` is the address of the web UI. Rejects when Temporal does not answer. */
  static async connect(address: string, ui: string): Promise<RolloutRuns> {
    return new RolloutRuns(await connectTemporal(address), ui);
  }

  async close(): Promise<void> {
    await this.#client.connection.close();
  }

  /** Where the UI shows a workflow; the newest run without `runId`. */
  url(workflowId: string, runId?: string): string {
    const { namespace } = this.#client.options;
    const run = runId === undefined ? '' : `/${runId}/history`;
    return `${this.#ui}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}${run}`;
  }

  /** Calls back once for each run as it appears, until the signal aborts. */
  async announce(
    onRun: (run: RolloutRun) => void,
    onError: (message: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let last: string | undefined;
    while (!signal.aborted) {
      try {
        const info = await this.#client.workflow.getHandle(this.#workflowId).describe();
        if (info.runId !== last) {
          last = info.runId;
          onRun(this.#runOf(info));
        }
      } catch (error) {
        if (!signal.aborted && !(error instanceof WorkflowNotFoundError)) onError(toMessage(error));
      }
      await pause(POLL_MS, signal);
    }
  }

  /** What the newest run says of itself: the query `progress`. */
  async progress(): Promise<RolloutView> {
    return await this.#client.workflow.getHandle(this.#workflowId).query(progressQuery);
  }

  /** All runs of all workloads, oldest first, out of Temporal's visibility store. */
  async list(): Promise<readonly RolloutRun[]> {
    const found: RolloutRun[] = [];
    const types = `"${ROLLOUT_WORKFLOW}", "${ROLLING_UPDATE_WORKFLOW}"`;
    const query = `WorkflowType IN (${types}) AND WorkflowId STARTS_WITH "${rolloutWorkflowPrefix(CLUSTER)}"`;
    for await (const info of this.#client.workflow.list({ query })) found.push(this.#runOf(info));
    return found.sort((a, b) => a.startedAt - b.startedAt);
  }

  /** Lists until the runs are as wanted: the store is told of a run's end a moment after it. Resolves with the last list. */
  async listUntil(
    wanted: (runs: readonly RolloutRun[]) => boolean,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly RolloutRun[]> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const runs = await this.list();
      if (signal.aborted) throw trusted<Error>(signal.reason);
      if (wanted(runs) || Date.now() > deadline) return runs;
      await pause(POLL_MS, signal);
    }
  }

  #runOf(
    info: Pick<
      WorkflowExecutionInfo,
      'workflowId' | 'runId' | 'status' | 'startTime' | 'typedSearchAttributes'
    > & {
      readonly closeTime?: Date | undefined;
    },
  ): RolloutRun {
    const { workflowId, runId, status, startTime, closeTime, typedSearchAttributes } = info;
    const { kind, name } = readRolloutWorkflowId(CLUSTER, workflowId) ?? {
      kind: 'unknown',
      name: workflowId,
    };
    return {
      runId,
      workload: `${kind} ${name}`,
      status: status.name,
      revision: typedSearchAttributes.get(REVISION) ?? '',
      outcome: typedSearchAttributes.get(PHASE) ?? '',
      startedAt: startTime.getTime(),
      closedAt: closeTime?.getTime(),
      url: this.url(workflowId, runId),
    };
  }
}
