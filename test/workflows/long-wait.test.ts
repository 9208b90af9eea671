/** A commit that waits for days for what says something else all the time: it has no next execution, so its history must not fill. */

import { expect, it } from '@jest/globals';

import type { AwaitRolloutsInput } from '../../activities/commit-types.ts';
import { workflowTaskQueue } from '../../workflows/messages.ts';
import { usePlayedActivities } from '../support/played-activities.ts';

const NONE = { total: 0, first: [], lines: [] };

const played = usePlayedActivities();

it('nothing that it waits for is news once its history is long', async () => {
  const shown: AwaitRolloutsInput['shown'][] = [];
  const activities = {
    checkCommit: async () =>
      await Promise.resolve({ problems: NONE, stages: [], deferred: 0, changes: 0, prunes: 0, unlisted: 0 }),
    async awaitRollouts(input: AwaitRolloutsInput) {
      shown.push(input.shown);
      const waiting = shown.length < 5 ? [`line ${String(shown.length)}`] : [];
      const outcome = waiting.length > 0 ? 'waiting' : 'finished';
      return await Promise.resolve({ outcome, done: 0, total: 1, waiting, unwell: [], problems: NONE });
    },
    recordCommit: async () => await Promise.resolve({ mayPassLater: false }),
  };
  await played().play('blue', activities, async () => {
    const run = { cluster: 'blue', clusterUid: 'uid', repository: 'shop', searchAttributes: [] };
    await played().client.workflow.execute('commit', {
      workflowId: 'commit',
      taskQueue: workflowTaskQueue('blue'),
      args: [{ ...run, sha: 'a'.repeat(40), historyLimit: 20 }],
    });
  });

  expect(shown).toEqual([[], ['line 1'], undefined, undefined, undefined]);
});
