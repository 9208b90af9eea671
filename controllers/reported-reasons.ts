/**
 * The reasons that operators read in events of workloads and in the condition Stalled. Scripts and alerts match them:
 * docs/operating.md has all of them, and a test holds the two together.
 */

/** Ends of a run after which none is started by itself. */
export const BAD_ENDINGS = ['RunFailed', 'RunTerminated', 'RunTimedOut', 'RunOfAnotherCluster'] as const;
export type BadEndingReason = (typeof BAD_ENDINGS)[number];

/** Faults that only a change of the object can mend; also codes of the planner. */
export const FAULTS = ['InPlaceImpossible', 'SelectorEmpty'] as const;

/** Reasons of `Stalled` when it is true. */
export const STALLED_REASONS = [...BAD_ENDINGS, 'ProgressDeadlineExceeded', ...FAULTS] as const;

/** Reasons of events on a workload. */
export const EVENT_REASONS = [
  ...BAD_ENDINGS,
  ...FAULTS,
  'RolloutStarted',
  'RolloutCompleted',
  'RolloutSuperseded',
  'RolloutAborted',
  'RolloutRolledBack',
  'RolloutCanceled',
  'RolloutFailed',
  'RolloutPaused',
  'RolloutResumed',
  'RolloutUndone',
  'RolledBack',
  'ProgressDeadlineExceeded',
  'RevisionCreated',
  'RevisionReused',
  'FailedCreateRevision',
  'SuccessfulCreate',
  'SuccessfulDelete',
  'SuccessfulUpdate',
  'RecreatingFailedPod',
  'NodeCordoned',
  'NodeUncordoned',
  'PodEvicted',
  'ImagePullStarted',
  'FailedDrain',
  'InPlaceUpdateStarted',
  'PodPatchedInPlace',
  'InPlaceUpdateWithdrawn',
  'ScalingReplicaSet',
  'DeploymentRollback',
  'DeploymentRollbackRevisionNotFound',
  'DeploymentRollbackTemplateUnchanged',
  'Adopted',
  'Released',
  'FailedCreate',
  'FailedDelete',
  'FailedUpdate',
  'FailedAdopt',
  'FailedRelease',
  'ConflictingController',
  'ClaimMissing',
  'TemporalUnreachable',
  'RolloutRefused',
  'RollingUpdate',
] as const;
export type EventReason = (typeof EVENT_REASONS)[number];
