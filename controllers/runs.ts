/** What the reconciler asks of those who run rollouts: on Temporal, or in this process. */

import type { RolloutRuns } from './rollout-runs.ts';

export type Runs = Pick<
  RolloutRuns,
  'blocked' | 'ensure' | 'isOpen' | 'knows' | 'refusal' | 'unreachableSince' | 'workloadGone'
>;
