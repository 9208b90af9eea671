/** An update that is under way without a run: nothing on its controllers says that. Pure. */

/** State of an activity that somebody, or a rule, has paused: temporal.api.enums.v1.PENDING_ACTIVITY_STATE_PAUSED. */
export const PAUSED_ACTIVITY = 4;

/** Of a run whose present step is tried again and again: how often so far, and what the last try was answered. */
export interface FailingStep {
  readonly attempts: number;
  readonly message: string;
}

/** The last run of an update; `status` in Temporal's words. */
export type UpdateRun =
  | { readonly state: 'none' }
  | {
      readonly state: 'running' | 'closed';
      readonly status: string;
      readonly workflowId: string;
      /** Of the chain, as attempts have it. */
      readonly runId?: string;
      /** Of the last execution, each time that it continues as new another: Temporal may have forgotten the first. */
      readonly executionId?: string;
      /** RFC 3339. */
      readonly startedAt?: string;
      readonly endedAt?: string;
      readonly failing?: FailingStep;
    };

/** An update is written down before its run is started, and another may begin while a run closes: that takes a moment, milliseconds. */
export const RUN_GRACE_MS = 3_000;

/**
 * Whether a run is that of an update before the one that was recorded at that time (RFC 3339): all of a controller have one workflow id,
 * and while an update is under way its own is not completed.
 */
export function isOfOtherUpdate(run: UpdateRun, recordedAt: string | undefined): boolean {
  if (run.state !== 'closed') return false;
  return run.status === 'COMPLETED' || Date.parse(run.endedAt ?? '') < Date.parse(recordedAt ?? '');
}

/** The run of an update: one without a record, which kubectl began, has none, and one that is completed was of another before it. */
export function ownRun(run: UpdateRun, isRecorded: boolean): UpdateRun {
  return !isRecorded && isOfOtherUpdate(run, undefined) ? { state: 'none' } : run;
}

/** `no run is open (the last one is terminated)`; @param why What is recorded of its end */
export function describeNoRun(run: UpdateRun, why?: string): string {
  if (run.state !== 'closed') return 'no run is open';
  const because = run.status === 'FAILED' && why !== undefined ? `: ${why}` : '';
  return `no run is open (the last one is ${run.status.toLowerCase()}${because})`;
}
