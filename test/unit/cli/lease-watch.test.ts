import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { LeaseWatch } from '../../../cli/lease-watch.ts';
import type { Session } from '../../../cli/session.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { microTime } from '../../../kubernetes/lease.ts';
import { LeaseServer } from '../../support/lease-server.ts';
import { plainConnection } from '../../support/watch-server.ts';

const HERE = Date.parse('2026-01-01T08:00:00Z');
/** The clock of the holder is wrong by an hour. */
const RENEWED = Date.parse('2026-01-01T06:50:00Z');
const SILENT = 'the worker w-1 holds the Lease system/fairlead-c, but has not renewed it for';

describe('how long a leader has been silent', () => {
  let server: LeaseServer;
  let client: KubernetesClient;
  let now = HERE;
  let watch: LeaseWatch;

  beforeEach(async () => {
    server = await LeaseServer.start();
    client = new KubernetesClient(plainConnection(server.url));
    server.lease = {
      metadata: { name: 'fairlead-c', namespace: 'system', uid: 'u', resourceVersion: '1' },
      spec: { holderIdentity: 'w-1', leaseDurationSeconds: 15, renewTime: microTime(RENEWED) },
    };
    now = HERE;
    const io = { now: () => now };
    const names = { namespace: 'default', cluster: 'c', leaseNamespace: 'system' };
    watch = new LeaseWatch(trusted<Session>({ client, io, ...names }));
  });
  afterEach(async () => {
    client.close();
    await server.stop();
  });

  async function lookAt(seconds: number): Promise<string | undefined> {
    now = HERE + seconds * 1_000;
    return await watch.look();
  }

  it('who has seen no renewal says since when by the clock of the holder, and that it may be longer', async () => {
    expect(await lookAt(0)).toBeUndefined();
    expect(await lookAt(3)).toBeUndefined();
    expect(await lookAt(4)).toBe(`${SILENT} at least 4s (last at 2026-01-01T06:50:00Z, by its own clock)`);
  });

  it('who has seen one knows it', async () => {
    expect(await lookAt(0)).toBeUndefined();
    server.change({ renewTime: microTime(RENEWED + 1_000) });
    expect(await lookAt(1)).toBeUndefined();
    expect(await lookAt(6)).toBe(`${SILENT} 5s`);
  });

  it('a Lease without a time tells none', async () => {
    server.change({ renewTime: null });
    await lookAt(0);
    expect(await lookAt(5)).toBe(`${SILENT} at least 5s`);
  });
});
