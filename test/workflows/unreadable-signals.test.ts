/** Signals whose payload is not one of ours: a run that cannot decode them would hear nothing else any more. */

import { describe, expect, it } from '@jest/globals';

import { workflowTaskQueue } from '../../workflows/messages.ts';
import { found } from '../support/eventually.ts';
import { usePlayedActivities, waitForCancellation } from '../support/played-activities.ts';

const played = usePlayedActivities();

const input = { clusterUid: 'uid', searchAttributes: [] };
const bytes = (text: string) => new TextEncoder().encode(text);

/** As the menu of the Temporal UI, the `temporal` command or a client in another language may do. */
async function signal(workflowId: string, signalName: string, encoding?: string, data = ''): Promise<void> {
  const { workflowService, options } = played().client;
  await workflowService.signalWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId },
    signalName,
    ...(encoding !== undefined && {
      input: { payloads: [{ metadata: { encoding: bytes(encoding) }, data: bytes(data) }] },
    }),
  });
}

describe('a signal whose payload cannot be decoded', () => {
  it.each([
    ['json/protobuf', '{"reason":"disk alarm"}'],
    ['json/plain', 'disk alarm'],
    ['binary/encrypted', 'x'],
  ])('%s %s is one without payload: the rollout is paused, and hears a cancellation', async (...payload) => {
    const calls: unknown[] = [];
    const activities = {
      createRevision: async () =>
        await Promise.resolve({ outcome: 'ready', revision: 'web-1', created: true, desired: 3 }),
      updateBatch: waitForCancellation,
      recordWish: async (wish: object) => {
        calls.push(wish);
        return await Promise.resolve({ changed: true, message: '', rolledBack: false });
      },
      closeRun: async () => await Promise.resolve({ outcome: 'Canceled' }),
    };
    const [encoding] = payload;
    await played().play(encoding, activities, async () => {
      const workload = { kind: 'StatefulSet', group: 'apps', version: 'v1', namespace: 'shop', name: 'web' };
      const handle = await played().client.workflow.start('rollout', {
        workflowId: encoding,
        taskQueue: workflowTaskQueue(encoding),
        args: [{ ...input, cluster: encoding, workload, target: 'template', onDeadline: 'Report' }],
      });
      await signal(encoding, 'pause', ...payload);
      await found('the pause is written', async () => await Promise.resolve(calls[0]));
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow('Workflow execution cancelled');
    });

    expect(calls).toEqual([expect.objectContaining({ verb: 'pause' })]);
    expect(calls).toEqual([expect.not.objectContaining({ reason: expect.anything() })]);
  });

  it('does not keep a sync from hearing of a commit', async () => {
    const activities = { stopStrayCommits: async () => await Promise.resolve() };
    await played().play('sync', activities, async () => {
      const handle = await played().client.workflow.start('sync', {
        workflowId: 'sync',
        taskQueue: workflowTaskQueue('sync'),
        args: [{ ...input, cluster: 'sync', repository: 'infra' }],
      });
      for (const name of ['commitSeen', 'sync', 'drift', 'rolledOut', 'nothing of ours'])
        await signal('sync', name, 'json/protobuf', '{}');
      const sha = 'a'.repeat(40);
      const searchAttributes = ['GitCommit'];
      await handle.signal('commitSeen', { sha, suspended: {}, searchAttributes });

      // Those that were registered since it was begun.
      expect(await handle.query('status')).toMatchObject({ wanted: sha, searchAttributes });
      await handle.terminate();
    });
  });
});

it('a rolling update that is told of another without a payload goes on', async () => {
  const progress = { phase: 'Rolling' };
  const activities = {
    advanceRollingUpdate: async () =>
      await Promise.resolve({ outcome: 'paused', paused: {}, progress, waiting: [], written: [] }),
  };
  await played().play('update', activities, async () => {
    const handle = await played().client.workflow.start('rollingUpdate', {
      workflowId: 'update',
      taskQueue: workflowTaskQueue('update'),
      args: [{ ...input, cluster: 'update', namespace: 'shop', name: 'web' }],
    });
    await signal('update', 'updateBegun');

    expect(await handle.query('progress')).toMatchObject({ name: 'web' });
    await handle.terminate();
  });
});
