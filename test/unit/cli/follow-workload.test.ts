import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { awaitWorkload } from '../../../cli/follow-workload.ts';
import type { Session } from '../../../cli/session.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { keepCollecting } from '../../support/collect-garbage.ts';
import { WatchServer, plainConnection } from '../../support/watch-server.ts';

describe('waiting for a workload', () => {
  let server: WatchServer;
  let client: KubernetesClient;
  let stopCollecting: () => void;
  beforeEach(async () => {
    server = await WatchServer.start();
    client = new KubernetesClient(plainConnection(server.url));
    stopCollecting = keepCollecting(250);
  });
  afterEach(async () => {
    stopCollecting();
    client.close();
    await server.stop();
  });

  it('ends when the time is up, also when garbage is collected meanwhile', async () => {
    const interrupted = new AbortController();
    const session = trusted<Session>({ client, io: { interrupted: interrupted.signal } });
    const target = {
      group: 'apps',
      version: 'v1',
      kind: 'StatefulSet',
      namespace: 'default',
      name: 'web',
    } as const;
    const result = await awaitWorkload(session, target, 4_000, () => undefined);
    expect(result).toEqual({ outcome: 'timeout' });
    expect(server.watchRequests).toHaveLength(1);
  });
});
