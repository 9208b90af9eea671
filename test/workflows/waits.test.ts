/** Waits take no place of what plans and writes, however many there are. */

import { it } from '@jest/globals';

import type { RolloutInput } from '../../workflows/messages.ts';
import { workflowTaskQueue } from '../../workflows/messages.ts';
import { found } from '../support/eventually.ts';
import { usePlayedActivities, waitForCancellation } from '../support/played-activities.ts';

const CLUSTER = 'waits';

const played = usePlayedActivities();

async function start(workflow: string, input: object): Promise<void> {
  await played().client.workflow.start(workflow, {
    workflowId: JSON.stringify(input),
    taskQueue: workflowTaskQueue(CLUSTER),
    args: [{ cluster: CLUSTER, clusterUid: 'uid', searchAttributes: [], ...input }],
  });
}

function rolloutOf(name: string): Pick<RolloutInput, 'workload' | 'target' | 'onDeadline'> {
  const ref = { kind: 'StatefulSet', group: 'apps', version: 'v1', namespace: 'default' } as const;
  return { workload: { ...ref, name, uid: name }, target: 'template', onDeadline: 'Report' };
}

it('with one place for all that does not wait, a rollout begins while five runs wait', async () => {
  const waiting = new Set<string>();
  const wait = (name: string) => async () => {
    waiting.add(name);
    return await waitForCancellation();
  };
  const nothing = { total: 0, first: [], lines: [] };
  const checked = { problems: nothing, stages: [], deferred: 0, changes: 0, prunes: 0, unlisted: 0 };
  const step = { wave: 0, count: 1, changes: 1 };
  const writes = { ...checked, changes: 2 };
  const checks: Readonly<Record<string, object>> = {
    foundations: { ...writes, deferred: 1, steps: [{ ...step, stage: 1 }] },
    waves: {
      ...writes,
      steps: [
        { ...step, stage: 0 },
        { ...step, stage: 0, wave: 1 },
      ],
    },
  };
  const revisions: string[] = [];
  const state = { progress: { phase: 'Rolling' }, waiting: [] };
  const activities = {
    createRevision: async ({ workload }: RolloutInput) => {
      revisions.push(workload.name);
      return await Promise.resolve({ outcome: 'ready', revision: 'web-1', created: true, desired: 3 });
    },
    updateBatch: async () => await Promise.resolve({ outcome: 'nothing', ...state }),
    awaitReady: wait('awaitReady'),
    advanceRollingUpdate: async () => await Promise.resolve({ outcome: 'waiting', written: [], ...state }),
    awaitRollingUpdate: wait('awaitRollingUpdate'),
    checkCommit: async ({ repository }: { readonly repository: string }) =>
      await Promise.resolve(checks[repository] ?? checked),
    claimInventory: async () => await Promise.resolve({ entries: 1 }),
    applyStage: async () =>
      await Promise.resolve({
        outcome: 'applied',
        created: 1,
        changed: 0,
        unchanged: 0,
        left: [],
        problems: nothing,
      }),
    awaitFoundations: wait('awaitFoundations'),
    awaitWave: wait('awaitWave'),
    awaitRollouts: wait('awaitRollouts'),
  };
  const during = async () => {
    await start('rollout', rolloutOf('web'));
    await start('rollingUpdate', { namespace: 'default', name: 'web' });
    for (const repository of ['foundations', 'waves', 'rollouts']) {
      await start('commit', { repository, sha: 'a'.repeat(40) });
    }
    await found('all wait', async () => await Promise.resolve(waiting.size === 5 || undefined));
    await start('rollout', rolloutOf('next'));
    await found(
      'the next begins',
      async () => await Promise.resolve(revisions.includes('next') || undefined),
    );
  };
  await played().play(CLUSTER, activities, during, 1);
}, 240_000);
