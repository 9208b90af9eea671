/** Inputs, results, signals and queries of sync and commit; imported by clients without pulling in workflow code. */

import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';

import type { CommitNews } from '../git/notifications.ts';
import type { CommitOutcome, LookResult, RetryDelays } from '../activities/commit-types.ts';
import type { OperatorMessage } from './messages.ts';
import { readOperatorMessage } from './messages.ts';
import type { SearchAttributeName } from './search-attributes.ts';
import { SEARCH_ATTRIBUTES } from './search-attributes.ts';

export const SYNC_WORKFLOW = 'sync';

/** What both workflows of a repository know. */
export interface RepositoryRun {
  readonly cluster: string;
  /** uid of the kube-system namespace: activities of another cluster refuse (design "Two clusters, one Temporal"). */
  readonly clusterUid: string;
  /** Name in the repositories file. */
  readonly repository: string;
  /** Which search attributes the namespace knows; an unknown one would wedge the workflow task. */
  readonly searchAttributes: readonly SearchAttributeName[];
}

export interface SyncInput extends RepositoryRun {
  /** Continue-as-new after this many events. @default the server's suggestion */
  readonly historyLimit?: number;
  /** What an earlier execution had reached; set by continue-as-new only. */
  readonly carried?: SyncState;
}

export interface SyncState {
  readonly version: 1;
  /** To be applied next; absent when there is nothing to do. */
  readonly wanted?: WantedCommit;
  readonly last?: LastCommit;
  readonly suspended?: Suspension;
  readonly notify?: readonly string[];
  /** Receivers of which it is known that they were told the last time. */
  readonly heard?: readonly string[];
  /** By receiver, what it has not been told. */
  readonly untold?: Readonly<Record<string, UntoldNews>>;
}

/** News that a receiver has not been told yet. */
export interface QueuedNews extends CommitNews {
  /** Milliseconds since the epoch when it was tried first. */
  readonly since?: number;
}

export interface UntoldNews {
  /** In order. */
  readonly news: readonly QueuedNews[];
  /** How many after the last of them were given up. */
  readonly missed: number;
}

/** Who suspended the repository, why and since when (RFC 3339). */
export interface Suspension {
  readonly by?: string;
  readonly reason?: string;
  readonly at?: string;
}

/** The ref of the repository names this commit now. */
export interface SeenCommit {
  readonly sha: string;
  /** In a few characters, how it is applied: a commit that was tried with other settings is tried again. */
  readonly settings?: string;
  /** Nothing is begun while the repository is suspended; absent: it is not. */
  readonly suspended?: Suspension;
  /** Receivers that are told of what becomes of commits. */
  readonly notify?: readonly string[];
  /** The inventory knows of no commit, be this one tried or not: somebody has deleted it. Absent: nobody has looked, or it does. */
  readonly unrecorded?: boolean;
  /** As of {@link RepositoryRun}, now. Absent: as they were. */
  readonly searchAttributes?: readonly SearchAttributeName[];
}

/** A commit of which it is not known how it was applied, by an earlier version, counts as applied in the present way. */
export function isSameCommit(
  one: Pick<SeenCommit, 'sha' | 'settings'>,
  other: Pick<SeenCommit, 'sha' | 'settings'>,
): boolean {
  const isUnknown = one.settings === undefined || other.settings === undefined;
  return one.sha === other.sha && (isUnknown || one.settings === other.settings);
}

export interface WantedCommit extends OperatorMessage {
  readonly sha: string;
  /** Also when it was tried already. */
  readonly again: boolean;
  /** As in {@link SeenCommit}. */
  readonly settings?: string;
  /** As in {@link CommitInput}. */
  readonly heal?: readonly string[];
}

/** Objects of the commit were changed in the cluster, and are to be put back. */
export interface DriftFound {
  readonly sha: string;
  /** Keys of the inventory; at most {@link MOST_HEALED}. */
  readonly objects: readonly string[];
  /** What was changed, by whom. No values. */
  readonly reason: string;
  /**
   * Settings of the present entry, where the inventory proves that nobody has written since the commit was applied as a whole: a run that
   * was superseded before its first write is told from one that was not by that alone.
   */
  readonly wholeWith?: string;
}

/** What the last commit failed for has ended well since. */
export interface RolledOut {
  readonly sha: string;
  /** Which rollouts. */
  readonly reason: string;
}

export interface LastCommit {
  readonly sha: string;
  /** As in {@link SeenCommit}. */
  readonly settings?: string;
  readonly outcome: CommitOutcome | 'Terminated';
  /** RFC 3339, by the clock of the sync. */
  readonly finishedAt: string;
  /** As in {@link CommitResult}; absent where the run could not tell it. */
  readonly endedAt?: number;
  readonly message?: string;
  /** How often it was tried in a row. */
  readonly tries?: number;
  /** Milliseconds since the epoch at which it is tried again by itself: what stood in its way was not in the commit. */
  readonly retryAt?: number;
  /** Why it is tried again, where that is more than that its time has come. */
  readonly retryFor?: string;
  /** Of one that was refused before its first write: the commit that it has left as it was applied. */
  readonly applied?: Pick<SeenCommit, 'sha' | 'settings'>;
}

export interface CommitInput extends RepositoryRun {
  readonly sha: string;
  /** Keys of the inventory: only these objects are put back. Absent: the whole commit. */
  readonly heal?: readonly string[];
  /** When sync tries it again if it may pass later; absent in runs of before this was told. */
  readonly retry?: RetryDelays;
  /** Who asked for it, and why. */
  readonly asked?: OperatorMessage;
  /** For tests: after this many events what it waits for is no news any more. @default the server's suggestion */
  readonly historyLimit?: number;
}

export interface CommitResult {
  readonly outcome: CommitOutcome;
  readonly applied: number;
  readonly unchanged: number;
  readonly pruned: number;
  /** Workloads whose rollout was awaited. */
  readonly rollouts: number;
  /** Milliseconds since the epoch, by the clock of this run: what the history holds. Absent in runs of before this was told. */
  readonly endedAt?: number;
}

/** From the leader: the ref names this commit now. Equal ones are ignored, of many only the last is applied. */
export const commitSeenSignal = defineSignal<[SeenCommit]>('commitSeen');
/** Try the newest commit again, whatever became of it. */
export const syncSignal = defineSignal<[OperatorMessage?]>('sync');

/** From the leader: objects of the commit that was applied last are to be put back. Ignored while anything else is to be done. */
export const driftSignal = defineSignal<[DriftFound]>('drift');

/** From the leader: the rollouts that the last commit failed for have ended well. Ignored while anything else is to be done. */
export const rolledOutSignal = defineSignal<[RolledOut]>('rolledOut');

/** From the leader: no worker follows the repository any more, which is why it cancels the run afterwards. */
export const unfollowedSignal = defineSignal<[{ readonly reason: string }]>('unfollowed');

/** Somebody knows of a push: look at the repository now instead of at the next interval. */
export const lookSignal = defineSignal('look');
/** Who asked for a sync, and for how many milliseconds that was on its way. */
export interface SyncRequest extends OperatorMessage {
  readonly wayMs?: number;
}

/** Look now, and try what is found even if it was tried before: `fairlead sync`. Answers what was found. */
export const syncUpdate = defineUpdate<LookResult, [SyncRequest]>('sync');

/** From sync to a commit that it is about to cancel: a newer one takes its place. */
export const supersededSignal = defineSignal<[{ readonly sha: string }]>('superseded');

export interface SyncView {
  readonly repository: string;
  /** As in {@link RepositoryRun}. */
  readonly clusterUid: string;
  readonly running?: string;
  readonly wanted?: string;
  readonly last?: LastCommit;
  readonly suspended?: Suspension;
  /** Receivers that it tells. */
  readonly notify?: readonly string[];
  /** What its commits are begun with; absent in runs of earlier workers. */
  readonly searchAttributes?: readonly SearchAttributeName[];
}

export const syncStatusQuery = defineQuery<SyncView>('status');

export type CommitPhase = 'Checking' | 'Applying' | 'AwaitingWave' | 'Pruning' | 'AwaitingRollouts';

/** A wave that waits for what is before it. */
export interface HeldWave {
  /** Its stage, in words. */
  readonly stage: string;
  readonly wave: number;
  /** `before wave 1 of workloads` */
  readonly text: string;
}

export interface CommitView {
  readonly repository: string;
  /** As in {@link RepositoryRun}. */
  readonly clusterUid: string;
  readonly sha: string;
  readonly phase: CommitPhase | CommitOutcome;
  readonly applied: number;
  readonly unchanged: number;
  readonly pruned: number;
  /** What is not begun yet, where the wait is between two waves; absent in runs of earlier workers, too. */
  readonly held?: HeldWave;
  /** Why nothing moves. */
  readonly waiting: readonly string[];
  /** What is worth knowing and no failure: pinned workloads, objects that were not pruned. */
  readonly notes: readonly string[];
  readonly problems: readonly string[];
}

export const commitProgressQuery = defineQuery<CommitView>('progress');

/** `sync/<cluster>/<repository>` */
export function syncWorkflowId(cluster: string, repository: string): string {
  return `sync/${cluster}/${repository}`;
}

/** `commit/<cluster>/<repository>/<sha>` */
export function commitWorkflowId(cluster: string, repository: string, sha: string): string {
  return `${commitWorkflowPrefix(cluster, repository)}${sha}`;
}

export function commitWorkflowPrefix(cluster: string, repository: string): string {
  return `commit/${cluster}/${repository}/`;
}

const SHA = /^[0-9a-f]{40,64}$/;

/** The sha in the payload of a signal: anybody may send one, with anything in it. Undefined: there is none. */
export function readSha(payload: unknown): string | undefined {
  const sha = typeof payload === 'object' && payload !== null && 'sha' in payload ? payload.sha : undefined;
  return typeof sha === 'string' && SHA.test(sha) ? sha : undefined;
}

/** The reason in the payload of {@link unfollowedSignal}, whatever else it holds. */
export function readReason(payload: unknown): string {
  const reason =
    typeof payload === 'object' && payload !== null && 'reason' in payload ? payload.reason : undefined;
  return typeof reason === 'string' ? reason.slice(0, 500) : 'no worker follows the repository any more';
}

/** The payload of {@link commitSeenSignal}, as far as it is one. Undefined: there is no sha in it. */
export function readSeenCommit(payload: unknown): SeenCommit | undefined {
  const sha = readSha(payload);
  if (sha === undefined || typeof payload !== 'object' || payload === null) return undefined;
  const {
    settings,
    suspended,
    notify,
    unrecorded,
    searchAttributes,
  }: {
    settings?: unknown;
    suspended?: unknown;
    notify?: unknown;
    unrecorded?: unknown;
    searchAttributes?: unknown;
  } = payload;
  return {
    sha,
    ...(typeof settings === 'string' && { settings: settings.slice(0, 64) }),
    ...(typeof suspended === 'object' && suspended !== null && { suspended: readSuspension(suspended) }),
    ...(Array.isArray(notify) && {
      notify: notify.filter((id) => typeof id === 'string').slice(0, MOST_RECEIVERS),
    }),
    ...(unrecorded === true && { unrecorded }),
    ...(Array.isArray(searchAttributes) && {
      searchAttributes: SEARCH_ATTRIBUTES.filter((name) => searchAttributes.includes(name)),
    }),
  };
}

/** The payload of {@link rolledOutSignal}, as far as it is one. Undefined: there is no sha in it. */
export function readRolledOut(payload: unknown): RolledOut | undefined {
  const sha = readSha(payload);
  if (sha === undefined || typeof payload !== 'object' || payload === null) return undefined;
  const { reason }: { reason?: unknown } = payload;
  return { sha, reason: typeof reason === 'string' ? reason.slice(0, 500) : 'its rollouts have ended well' };
}

const MOST_RECEIVERS = 10;

/** Objects that one run puts back; what is left comes with the next. */
export const MOST_HEALED = 100;
const LONGEST_KEY = 600;

/** The payload of {@link driftSignal}, as far as it is one. Undefined: there is nothing to be put back in it. */
export function readDriftFound(payload: unknown): DriftFound | undefined {
  const sha = readSha(payload);
  if (sha === undefined || typeof payload !== 'object' || payload === null) return undefined;
  const { objects, reason, wholeWith }: { objects?: unknown; reason?: unknown; wholeWith?: unknown } =
    payload;
  if (!Array.isArray(objects)) return undefined;
  const keys = objects.filter((key) => typeof key === 'string' && key.length <= LONGEST_KEY);
  if (keys.length === 0) return undefined;
  return {
    sha,
    objects: keys.slice(0, MOST_HEALED),
    reason: typeof reason === 'string' ? reason.slice(0, 500) : 'drift',
    ...(typeof wholeWith === 'string' && { wholeWith: wholeWith.slice(0, 64) }),
  };
}

function readSuspension(payload: object): Suspension {
  const { at }: { at?: unknown } = payload;
  const { by, reason } = readOperatorMessage(payload);
  return {
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    ...(typeof at === 'string' && { at: at.slice(0, 40) }),
  };
}
