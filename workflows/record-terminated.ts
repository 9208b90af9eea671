/** The record of a commit whose run was terminated: it could not write its own, and would be under way for ever. */

import { proxyActivities } from '@temporalio/workflow';

import type { CommitActivities } from '../activities/commit.ts';
import { mutating } from './activity-options.ts';
import { cutOff } from './commit-end.ts';
import { leaderTaskQueue } from './messages.ts';
import { askedBy } from './start-commit.ts';
import type { SyncInput, WantedCommit } from './sync-messages.ts';
import { commitWorkflowId } from './sync-messages.ts';

/** `startedAt`: RFC 3339. What the run has done is not known here, so nothing is counted; it stays. */
export async function recordTerminated(
  { cluster, clusterUid, repository }: SyncInput,
  wanted: WantedCommit,
  run: { readonly runId: string; readonly startedAt: string },
): Promise<void> {
  const { sha, heal } = wanted;
  const { recordCommit } = proxyActivities<CommitActivities>({
    ...mutating(leaderTaskQueue(cluster)),
    startToCloseTimeout: '30 seconds',
    summary: 'record: Terminated',
  });
  await recordCommit({
    clusterUid,
    repository,
    sha,
    workflowId: commitWorkflowId(cluster, repository, sha),
    ...run,
    ...(heal !== undefined && { heal }),
    ...askedBy(wanted),
    outcome: 'Terminated',
    problems: { total: 0, first: [], lines: [] },
    notes: [cutOff(repository, 'its run was terminated')],
  });
}
