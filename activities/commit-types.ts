/** What goes in and out of the activities of sync and commit: references and counts, never a manifest. */

import type { CommitNews } from '../git/notifications.ts';
import type { ApplyStep } from '../git/order.ts';
import type { ProblemList } from '../git/problems.ts';
import type { ReceiverReport } from '../git/receiver-report.ts';

/** Which repository of which cluster. */
export interface RepositoryReference {
  /** uid of the kube-system namespace; another cluster's worker refuses. */
  readonly clusterUid: string;
  /** Name in the repositories file. */
  readonly repository: string;
}

/** One run of the commit workflow. */
export interface CommitReference extends RepositoryReference {
  readonly sha: string;
  readonly workflowId: string;
  readonly runId: string;
  /** RFC 3339, when the run began. Absent in activities of before it was told. */
  readonly startedAt?: string;
  /** Keys of the inventory: only these objects are put back. Absent: the whole commit. */
  readonly heal?: readonly string[];
  /** The run was reset in Temporal: it begins again, beside the sync that started it once, and perhaps after commits that came since. */
  readonly isReset?: true;
}

/** One of which it is told when it began. */
export interface BegunCommit extends CommitReference {
  readonly startedAt: string;
}

export interface CheckCommitInput extends CommitReference {
  /** Only what an earlier check could not try: its kind or namespace was not there yet. */
  readonly onlyDeferred: boolean;
}

export interface CheckCommitResult {
  readonly problems: ProblemList;
  /** Of a run that was reset: the commit that was tried since. Nothing was checked, and nothing is to be written. */
  readonly supersededBy?: string;
  /** Objects of each stage. */
  readonly stages: readonly number[];
  /** What is applied together, in order. Absent in results of before there were waves: a stage was one step. */
  readonly steps?: readonly ApplyStep[];
  readonly deferred: number;
  readonly changes: number;
  readonly prunes: number;
  /** Objects of the commit that the inventory does not hold yet. */
  readonly unlisted: number;
  /** Of `heal`, those that cannot be put back, where the others can: they are in no count but that of the problems. */
  readonly refused?: readonly string[];
  /** What is worth knowing and no failure. Absent: nothing. */
  readonly notes?: readonly string[];
}

export interface ClaimResult {
  /** As of {@link CheckCommitResult}: the inventory stays that one's. */
  readonly supersededBy?: string;
  /** Objects in the inventory now. */
  readonly entries: number;
}

export interface ApplyStageInput extends CommitReference {
  readonly stage: number;
  /** Absent: all waves of the stage. */
  readonly wave?: number;
  /** Absent: all ranks of the wave. */
  readonly rank?: number;
  /** How many of the step's objects the check found to be changed; absent in runs of before that was told. */
  readonly changes?: number;
  /** Index of the first object of the step to apply. */
  readonly from: number;
}

export interface ApplyStageResult {
  readonly outcome: 'applied' | 'superseded';
  /** Index to go on from; absent when the step is done. */
  readonly next?: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Left alone: an operator rejected their manifest. */
  readonly left: readonly string[];
  /** What somebody had changed in the cluster, and git has now again; absent: nothing. */
  readonly takenBack?: readonly string[];
  readonly problems: ProblemList;
}

export interface PruneInput extends CommitReference {
  /** Index of the first candidate: those before it stay. */
  readonly from: number;
  /** How many the run knows to have been deleted; absent in runs of before that was asked. */
  readonly known?: number;
  /** The rollouts are done: only what they may have needed is looked at again. */
  readonly isAfterRollouts?: true;
}

export interface PruneResult {
  readonly outcome: 'pruned' | 'superseded';
  /** At most 50 labels. */
  readonly deleted: readonly string[];
  /** Of this run, beside those that it knows of: an earlier attempt may have been killed before it could answer. */
  readonly deletedTotal: number;
  /** What is still there, and why; at most 20. */
  readonly kept: readonly string[];
  /** The same of what workloads of the commit need still, and that is to be asked for again when they are rolled out; at most 20. */
  readonly inUse?: readonly string[];
  /** Index to go on from; absent when all was looked at. */
  readonly next?: number;
  readonly problems: ProblemList;
}

export interface AwaitRolloutsInput extends CommitReference {
  /** What the run shows that it waits for: answer when that has been something else for a while. */
  readonly shown?: readonly string[];
  /** Milliseconds since the epoch when the wait began. Absent in runs that wait for rollouts alone. */
  readonly since?: number;
}

export interface AwaitWaveInput extends AwaitRolloutsInput {
  readonly stage: number;
  /** What is to be applied next: everything of earlier waves of the stage is awaited, */
  readonly wave: number;
  /** and what the objects of this rank depend on. @default 0 */
  readonly rank?: number;
  /** Earlier stages of which everything is awaited as well: their waves hold what comes after them. @default none */
  readonly stages?: readonly number[];
  readonly since: number;
  /** Something of an earlier wave could not even be applied: there is nothing to wait for. */
  readonly refused: boolean;
}

export interface AwaitRolloutsResult {
  /** `waiting`: the wait was long; ask again. */
  readonly outcome: 'finished' | 'waiting';
  readonly done: number;
  readonly total: number;
  /** What is still in progress, in words, bounded. */
  readonly waiting: readonly string[];
  /** Workloads that this commit did not change and that are not well; bounded. */
  readonly unwell: readonly string[];
  readonly problems: ProblemList;
}

export type CommitOutcome = 'Succeeded' | 'Refused' | 'Failed' | 'Superseded' | 'Canceled';

/** Between the tries of a commit that the cluster did not take, milliseconds: doubled from the first to the longest. */
export interface RetryDelays {
  readonly firstMs: number;
  readonly longestMs: number;
}

export interface RecordCommitInput extends BegunCommit {
  /** One that was terminated is recorded by its sync: it could not do so itself. */
  readonly outcome: CommitOutcome | 'Terminated';
  /** Absent, like the other counts: it is not known what the run has done. */
  readonly applied?: number;
  readonly unchanged?: number;
  readonly pruned?: number;
  readonly problems: ProblemList;
  /** What is worth knowing and no failure; at most 20. */
  readonly notes: readonly string[];
  /** The newer commit. */
  readonly supersededBy?: string;
  /** For the note that it is tried again. */
  readonly retry?: RetryDelays;
  /** Who asked for it, if somebody did. */
  readonly asked?: { readonly by?: string; readonly reason?: string };
}

export interface RecordCommitResult {
  /** It did not go through, and what stood in its way is not in the commit. */
  readonly mayPassLater: boolean;
}

export interface StopStrayInput extends RepositoryReference {
  readonly cluster: string;
  /** Of a commit that is known to run: visibility may tell of it later. */
  readonly sha?: string;
}

/** What one receiver is to be told. */
export interface NotifyInput extends RepositoryReference {
  /** `id` of the receiver in the repository's entry. */
  readonly receiver: string;
  readonly news: CommitNews;
  /** The repository has left its file: where its entry is not known, it will not be known later either. */
  readonly isLast?: boolean;
}

/** A receiver was given up, or was told again. */
export interface ReceiverReportInput extends RepositoryReference, ReceiverReport {}

/** What a look at a repository found: its commit, or in a sentence why there is none. */
export type LookResult = { readonly sha: string } | { readonly problem: string };
