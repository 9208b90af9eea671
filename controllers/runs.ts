/** What the reconciler asks of those who run rollouts: on Temporal, or in this process. */

import { LABEL } from '../planners/names.ts';
import type { Workload } from '../planners/workload.ts';
import type { RolloutRuns } from './rollout-runs.ts';

export type Runs = Pick<
  RolloutRuns,
  'blocked' | 'ensure' | 'isOpen' | 'knows' | 'refusal' | 'unreachableSince' | 'workloadGone'
>;

/** Whether a workload is rolled in process: Temporal itself needs it, so that its rollout must not need Temporal. */
export function isBootstrap({ metadata }: Pick<Workload, 'metadata'>): boolean {
  return metadata.labels?.[LABEL.bootstrap] === 'true';
}
