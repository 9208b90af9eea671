/** A run that begins in the middle of a rolling update has not seen the last growth: the activity looks at the pods for it. */

import { expect, it } from '@jest/globals';

import type { AdvanceInput } from '../../activities/rolling-update-types.ts';
import { workflowTaskQueue } from '../../workflows/messages.ts';
import { usePlayedActivities } from '../support/played-activities.ts';

const CLUSTER = 'update-period';

const played = usePlayedActivities();

it('a run says that it knows of no growth, until it does', async () => {
  const state = { progress: { phase: 'Rolling' }, waiting: [], written: [] };
  const period = { until: 1, isRollback: false };
  const results: readonly object[] = [
    { outcome: 'more' },
    { outcome: 'grown', updatePeriodMs: 1, period },
    { outcome: 'more' },
    { outcome: 'done', ending: 'Succeeded' },
  ];
  const told: (false | undefined)[] = [];
  const activities = {
    advanceRollingUpdate: async ({ hasGrown }: AdvanceInput) => {
      told.push(hasGrown);
      return await Promise.resolve({ ...state, ...results[told.length - 1] });
    },
    closeRollingUpdate: async () => await Promise.resolve(),
  };
  const input = {
    cluster: CLUSTER,
    clusterUid: 'uid',
    searchAttributes: [],
    namespace: 'default',
    name: 'web',
  };
  await played().play(CLUSTER, activities, async () => {
    await played().client.workflow.execute('rollingUpdate', {
      workflowId: 'web',
      taskQueue: workflowTaskQueue(CLUSTER),
      args: [input],
    });
  });

  expect(told).toEqual([false, false, undefined, undefined]);
}, 240_000);
