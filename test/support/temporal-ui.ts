/** What the Temporal UI shows of a run beside its history: summary, current details, search attributes, summaries of activities. */

import { defaultPayloadConverter } from '@temporalio/common';
import type { Client } from '@temporalio/client';

export interface ShownRun {
  /** The line of the run in lists. */
  readonly summary: string;
  /** Markdown, as the run has it now or had it at its end. */
  readonly details: string;
  readonly searchAttributes: Readonly<Record<string, unknown>>;
  /** Type and summary of each activity, in their order. */
  readonly activities: readonly (readonly [type: string, summary: string])[];
}

/** Reads it from the server, as the UI does. */
export async function readShown(client: Client, workflowId: string, runId: string): Promise<ShownRun> {
  const handle = client.workflow.getHandle(workflowId, runId);
  const description = await handle.describe();
  const { currentDetails } = await handle.query<{ readonly currentDetails?: string }>(
    '__temporal_workflow_metadata',
  );
  const { events } = await handle.fetchHistory();
  const activities = (events ?? []).flatMap((event) => {
    const type = event.activityTaskScheduledEventAttributes?.activityType?.name;
    const summary = event.userMetadata?.summary;
    if (type === undefined || type === null) return [];
    return [[type, summary ? defaultPayloadConverter.fromPayload<string>(summary) : ''] as const];
  });
  return {
    summary: (await description.staticSummary()) ?? '',
    details: currentDetails ?? '',
    searchAttributes: description.searchAttributes,
    activities,
  };
}
