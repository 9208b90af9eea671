import { describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';

import { SyncRuns } from '../../../controllers/sync-runs.ts';
import { SYSTEM_CLOCK } from '../../../worker/lease-clock.ts';
import { Fence, NotLeaderError } from '../../../worker/fence.ts';

describe('telling a sync of a commit', () => {
  it('is refused to one who lost the Lease meanwhile, before anything is sent', async () => {
    const fence = new Fence(SYSTEM_CLOCK, 4_000, SYSTEM_CLOCK.now());
    // Nobody listens there: what is sent all the same fails in another way.
    const connection = Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 100 });
    const runs = new SyncRuns({
      temporal: new Client({ connection }),
      cluster: 'default',
      clusterUid: 'uid',
      searchAttributes: async () => {
        // As if it had been frozen here, or during the look before.
        fence.close('another holds it');
        return [];
      },
      assertLeader: () => fence.assertLeader(),
    });
    try {
      await expect(runs.commitSeen('shop', { sha: 'a'.repeat(40) })).rejects.toBeInstanceOf(NotLeaderError);
    } finally {
      await connection.close();
    }
  });
});
