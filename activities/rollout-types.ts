/** What passes between the rollout workflow and its activities: references and counters, never manifests. */

import type { Progress, Reason } from '../planners/plan.ts';
import type { OnDeadline, WorkloadRef } from '../planners/workload.ts';

/** Which run of which workload asks. */
export interface RunReference {
  readonly clusterUid: string;
  readonly workload: WorkloadRef;
  /** Hash of the template that the run brings about. */
  readonly target: string;
}

/** The workload is gone, has another uid, or another template: this run has nothing more to do. */
export interface Superseded {
  readonly outcome: 'superseded';
  readonly message: string;
}

export interface PausedBy {
  readonly by?: string;
  readonly reason?: string;
}

export type CreateRevisionResult =
  | {
      readonly outcome: 'ready';
      readonly revision: string;
      readonly created: boolean;
      readonly desired: number;
    }
  | Superseded;

export interface State {
  readonly progress: Progress;
  readonly waiting: readonly Reason[];
  /** No progress before the deadline; absent in histories of before it was told. */
  readonly timedOut?: boolean;
}

export type UpdateBatchResult =
  | ({ readonly outcome: 'written'; readonly pods: readonly string[]; readonly refused: number } & State)
  | ({ readonly outcome: 'nothing' } & State)
  | ({ readonly outcome: 'finished' } & State)
  | ({ readonly outcome: 'paused'; readonly paused: PausedBy } & State)
  | Superseded;

export type AwaitReadyResult =
  | ({ readonly outcome: 'batch' | 'finished' | 'later' | 'news' } & State)
  | ({
      readonly outcome: 'deadline';
      /** What the object says is to be done; absent in histories of before it was told. */
      readonly onDeadline?: OnDeadline;
    } & State)
  | ({ readonly outcome: 'paused'; readonly paused: PausedBy } & State)
  | Superseded;

export interface AwaitReadyInput extends RunReference {
  /** The deadline has been dealt with: do not answer `deadline` again before its clock has begun anew. */
  readonly deadlineReported: boolean;
  /** Reasons that the run shows: answer `news` when others have stood for a while, so that it tells why it is stuck. */
  readonly shown?: readonly string[];
}

export interface WishInput extends RunReference {
  readonly verb: 'pause' | 'resume' | 'abort' | 'rollback';
  readonly by?: string;
  readonly reason?: string;
}

export interface WishResult {
  readonly changed: boolean;
  /** The workload has gone back to an earlier revision: the run is over. */
  readonly rolledBack: boolean;
  readonly message: string;
}

export interface CloseInput extends RunReference {
  readonly revision: string | undefined;
  readonly workflowId: string;
  readonly runId: string;
  readonly startedAt: string;
  readonly commit?: string;
  /** Who brought the template about, if not a commit. */
  readonly cause?: PausedBy;
  /** As of {@link RolloutInput}. */
  readonly pinnedBefore?: string;
  /** What the run itself knows of its end. */
  readonly ending: 'finished' | 'aborted' | 'rolledBack' | 'superseded' | 'cancelled' | 'failed';
  readonly by?: string;
  readonly reason?: string;
}

/** How a run closes (design §2): in its result, in RolloutPhase and in the attempts of its revision. */
export type RolloutOutcome = 'Succeeded' | 'Aborted' | 'RolledBack' | 'Superseded' | 'Canceled' | 'Failed';

export interface CloseResult {
  readonly outcome: RolloutOutcome;
  readonly by?: string;
  readonly reason?: string;
}
