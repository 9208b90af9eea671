import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { awaitWorkload } from '../../../cli/follow-workload.ts';
import type { Session } from '../../../cli/session.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { keepCollecting } from '../../support/collect-garbage.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

describe('waiting for a workload', () => {
  const ground = useWatchServer();
  let stopCollecting: () => void;
  beforeEach(() => {
    stopCollecting = keepCollecting(250);
  });
  afterEach(() => {
    stopCollecting();
  });

  it('ends when the time is up, also when garbage is collected meanwhile', async () => {
    const interrupted = new AbortController();
    const session = trusted<Session>({ client: ground.client, io: { interrupted: interrupted.signal } });
    const target = {
      group: 'apps',
      version: 'v1',
      kind: 'StatefulSet',
      namespace: 'default',
      name: 'web',
    } as const;
    const result = await awaitWorkload(session, target, 4_000, () => undefined);
    expect(result).toEqual({ outcome: 'timeout' });
    expect(ground.server.watchRequests).toHaveLength(1);
  });
});
