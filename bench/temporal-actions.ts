/** What a run costs in Temporal: actions as Temporal Cloud bills them, counted from histories. */

import { setTimeout as delay } from 'node:timers/promises';

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export interface RunHistory {
  readonly runId: string;
  /** `COMPLETED`, `CANCELLED`, … */
  readonly status: string;
  readonly events: readonly HistoryEvent[];
}

const POLL_MS = 50;

/** The newest execution of a workflow id that started after `since`, once it is closed. Rejects after `timeoutMs`. */
export async function untilClosed(
  client: Client,
  workflowId: string,
  since: number,
  timeoutMs: number,
): Promise<RunHistory> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await describeNewest(client, workflowId);
    if (found !== undefined && found.startTime.getTime() >= since && found.closeTime !== undefined) {
      const { runId, status } = found;
      return { runId, status: status.name, events: await historyOf(client, workflowId, runId) };
    }
    if (Date.now() > deadline) {
      const present = found === undefined ? 'none' : `${found.runId} is ${found.status.name}`;
      throw new Error(`no new run of ${workflowId} closed within ${String(timeoutMs / 1000)} s: ${present}`);
    }
    await delay(POLL_MS);
  }
}

/** With those of the executions that it was continued from. */
async function historyOf(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<readonly HistoryEvent[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const before = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  return [...(before === '' ? [] : await historyOf(client, workflowId, before)), ...(events ?? [])];
}

async function describeNewest(client: Client, workflowId: string) {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Billable actions in a history: start or continue-as-new, activities and their retries, timers, signals, upserts of search
 * attributes, updates, child workflows (two each), markers of side effects. Heartbeats leave no trace in histories; see
 * {@link heartbeatsSoFar}.
 */
export function countActions(events: readonly HistoryEvent[]): number {
  return events.reduce((sum, event) => sum + actionsOf(event), 0);
}

function actionsOf(event: HistoryEvent): number {
  const retries = (event.activityTaskStartedEventAttributes?.attempt ?? 1) - 1;
  if (retries > 0) return retries;
  if (event.startChildWorkflowExecutionInitiatedEventAttributes != null) return 2;
  const billed = [
    event.workflowExecutionStartedEventAttributes,
    event.activityTaskScheduledEventAttributes,
    event.timerStartedEventAttributes,
    event.workflowExecutionSignaledEventAttributes,
    event.signalExternalWorkflowExecutionInitiatedEventAttributes,
    event.upsertWorkflowSearchAttributesEventAttributes,
    event.workflowExecutionUpdateAcceptedEventAttributes,
    event.markerRecordedEventAttributes,
  ];
  return billed.some((attributes) => attributes != null) ? 1 : 0;
}

/** Heartbeats of activities that have reached the server since it started, from its metrics. */
export async function heartbeatsSoFar(metricsAddress: string): Promise<number> {
  const response = await fetch(`http://${metricsAddress}/metrics`);
  if (!response.ok) throw new Error(`metrics of Temporal: HTTP ${String(response.status)}`);
  let sum = 0;
  for (const line of (await response.text()).split('\n')) {
    const isHeartbeat =
      line.startsWith('service_requests{') && line.includes('operation="RecordActivityTaskHeartbeat"');
    // The frontend hands each on to the history service, which counts it again.
    if (isHeartbeat && line.includes('service_name="frontend"')) sum += Number(line.split(' ').at(-1));
  }
  return sum;
}
