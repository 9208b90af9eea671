import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';

import { SyncRuns } from '../../../controllers/sync-runs.ts';
import { Fence, NotLeaderError } from '../../../worker/fence.ts';
import { SYSTEM_CLOCK } from '../../../worker/lease-clock.ts';
import { leadersTemporalClient } from '../../../worker/temporal-connection.ts';

describe('the client of Temporal of one who leads', () => {
  let connection: Connection;
  let fence: Fence;
  let client: Client;
  beforeEach(() => {
    // Nobody listens there: what is sent all the same fails in another way.
    connection = Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 100 });
    fence = new Fence(SYSTEM_CLOCK, 4_000, SYSTEM_CLOCK.now());
    client = leadersTemporalClient(new Client({ connection }), () => fence.assertLeader());
  });
  afterEach(async () => {
    await connection.close();
  });

  it('refuses all that would change a workflow once the Lease is lost, before anything is sent', async () => {
    fence.close('another holds it');
    const handle = client.workflow.getHandle('rollout');
    const start = { taskQueue: 'q', workflowId: 'rollout', args: [] };
    const calls = [
      client.workflow.start('rollout', start),
      client.workflow.signalWithStart('rollout', { ...start, signal: 'pause' }),
      handle.signal('pause'),
      handle.cancel(),
      handle.terminate(),
      handle.startUpdate('pause', { args: [], waitForStage: 'ACCEPTED' }),
    ];
    for (const ended of await Promise.allSettled(calls)) {
      expect(ended).toMatchObject({ status: 'rejected' });
      expect((ended as PromiseRejectedResult).reason).toBeInstanceOf(NotLeaderError);
    }
  });

  it('asks for the Lease when it is about to send: who was frozen before finds it lost', async () => {
    const runs = new SyncRuns({
      temporal: client,
      cluster: 'default',
      clusterUid: 'uid',
      searchAttributes: async () => {
        fence.close('another holds it');
        return [];
      },
    });
    await expect(runs.commitSeen('shop', { sha: 'a'.repeat(40) })).rejects.toBeInstanceOf(NotLeaderError);
  });

  it('sends what the one who leads asks for, and lets everybody read', async () => {
    const handle = client.workflow.getHandle('rollout');
    const soon = async (act: () => Promise<unknown>) =>
      await client.withDeadline(Date.now() + 200, async () => await act());
    await expect(soon(async () => await handle.signal('pause'))).rejects.not.toBeInstanceOf(NotLeaderError);
    fence.close('another holds it');
    await expect(soon(async () => await handle.describe())).rejects.not.toBeInstanceOf(NotLeaderError);
  });
});
