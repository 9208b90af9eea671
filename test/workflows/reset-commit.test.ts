/** A sync that is to try a commit whose earlier run somebody has reset: two of one id cannot run. */

import { expect, it } from '@jest/globals';

import { createSyncActivities } from '../../activities/sync.ts';
import { trusted } from '../../kubernetes/values.ts';
import { workflowTaskQueue } from '../../workflows/messages.ts';
import type { SyncView } from '../../workflows/sync-messages.ts';
import { commitSeenSignal, commitWorkflowId, syncStatusQuery } from '../../workflows/sync-messages.ts';
import { found } from '../support/eventually.ts';
import { usePlayedActivities, waitForCancellation } from '../support/played-activities.ts';

const SHA = 'a'.repeat(40);
const NONE = { total: 0, first: [], lines: [] };

const played = usePlayedActivities();

it('ends that run, and applies the commit', async () => {
  const recorded: unknown[] = [];
  let checks = 0;
  type Dependencies = Parameters<typeof createSyncActivities>[0];
  const real = createSyncActivities(trusted<Dependencies>({ temporal: played().client, clusterUid: 'uid' }));
  const activities = {
    stopStrayCommits: real.stopStrayCommits,
    async checkCommit() {
      checks += 1;
      if (checks === 1) return await waitForCancellation();
      return { problems: NONE, stages: [], deferred: 0, changes: 0, prunes: 0, unlisted: 0 };
    },
    awaitRollouts: async () =>
      await Promise.resolve({
        outcome: 'finished',
        done: 0,
        total: 0,
        waiting: [],
        unwell: [],
        problems: NONE,
      }),
    async recordCommit({ outcome }: { readonly outcome: string }) {
      recorded.push(outcome);
      return await Promise.resolve({ mayPassLater: false });
    },
  };
  let last: SyncView['last'];
  await played().play('blue', activities, async () => {
    const { workflow } = played().client;
    const run = { cluster: 'blue', clusterUid: 'uid', repository: 'shop', searchAttributes: [] };
    const taskQueue = workflowTaskQueue('blue');
    const sync = await workflow.start('sync', { workflowId: 'sync', taskQueue, args: [run] });
    // Its first step is to stop what it finds.
    await sync.query(syncStatusQuery);
    const history = async () => (await sync.fetchHistory()).events ?? [];
    await found('nothing was to be stopped', async () =>
      (await history()).some((event) => event.activityTaskCompletedEventAttributes) ? true : undefined,
    );
    await workflow.start('commit', {
      workflowId: commitWorkflowId('blue', 'shop', SHA),
      taskQueue,
      args: [{ ...run, sha: SHA }],
    });
    await found('the reset run is under way', async () => await Promise.resolve(checks > 0 || undefined));
    await sync.signal(commitSeenSignal, { sha: SHA });
    last = await found('the commit has ended', async () => (await sync.query(syncStatusQuery)).last);
    await sync.terminate();
  });

  expect(last).toMatchObject({ sha: SHA, outcome: 'Succeeded' });
  expect(recorded).toEqual(['Canceled', 'Succeeded']);
});
