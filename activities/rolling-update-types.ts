/** What goes in and out of the activities of a rolling update: names and counts, never a manifest. */

import type { AttemptOutcome } from '../kubernetes/attempts.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import type { UpdatePeriod } from '../planners/rolling-update-period.ts';
import type { UpdateEnding, UpdateProgress, UpdateReason } from '../planners/rolling-update-steps.ts';

/** Which run: identified by name and partner, not by a uid, which a rename changes. */
export interface UpdateRunReference {
  /** uid of the kube-system namespace; another cluster's worker refuses. */
  readonly clusterUid: string;
  readonly update: UpdateReference;
}

export interface AdvanceInput extends UpdateRunReference {
  /** The one that runs since the last growth: what it holds is not written before its end. */
  readonly period?: UpdatePeriod;
  /** `false`: the run knows of no growth yet. One of a run before it may be recent all the same. */
  readonly hasGrown?: false;
}

interface UpdateState {
  readonly progress: UpdateProgress;
  readonly waiting: readonly UpdateReason[];
  /** Name of the record; absent before there is one. */
  readonly record?: string;
}

interface UpdateEnd extends UpdateState {
  readonly outcome: 'done';
  readonly ending: UpdateEnding;
}

interface UpdateRefused extends UpdateState {
  readonly outcome: 'refused';
  readonly code: string;
  readonly message: string;
}

interface UpdatePaused extends UpdateState {
  readonly outcome: 'paused';
  readonly paused: { readonly by?: string; readonly reason?: string };
}

export type AdvanceResult = (
  | UpdateEnd
  | UpdateRefused
  | UpdatePaused
  /** More can be written now: the time of the activity was up, */
  | (UpdateState & { readonly outcome: 'more' })
  /** or one has grown, and the update period has to pass before the other shrinks. */
  | (UpdateState & {
      readonly outcome: 'grown';
      /** What is left of it, milliseconds. */
      readonly updatePeriodMs: number;
      readonly period: UpdatePeriod;
    })
  | (UpdateState & { readonly outcome: 'waiting' })
) & {
  /** What was written, in sentences. */
  readonly written: readonly string[];
};

export interface AwaitUpdateInput extends UpdateRunReference {
  /** What the run shows that it waits for: answer when that has been something else for a while. */
  readonly shown: readonly string[];
  /** The pause that the run shows: answer when it is over. */
  readonly paused: boolean;
}

export interface AwaitUpdateResult extends UpdateState {
  /** `step`: there is something to do. `news`: what it waits for has changed. `later`: ask again. */
  readonly outcome: 'step' | 'news' | 'later';
}

export interface UpdateWishInput extends UpdateRunReference {
  readonly verb: 'pause' | 'resume' | 'abort';
  readonly by?: string;
  readonly reason?: string;
}

export interface CloseUpdateInput extends UpdateRunReference {
  readonly outcome: Extract<AttemptOutcome, UpdateEnding | 'Failed' | 'Canceled'>;
  readonly record?: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly startedAt: string;
  readonly by?: string;
  readonly reason?: string;
  readonly commit?: string;
}
