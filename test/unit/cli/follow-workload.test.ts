import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { awaitWorkload } from '../../../cli/follow-workload.ts';
import type { Session } from '../../../cli/session.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { keepCollecting } from '../../support/collect-garbage.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const WEB = { group: 'apps', version: 'v1', kind: 'StatefulSet', namespace: 'default', name: 'web' } as const;

describe('waiting for a workload', () => {
  const ground = useWatchServer();
  let stopCollecting: () => void;
  beforeEach(() => {
    stopCollecting = keepCollecting(1_000);
  });
  afterEach(() => {
    stopCollecting();
  });

  it('ends when the time is up, also when garbage is collected meanwhile', async () => {
    const interrupted = new AbortController();
    const session = trusted<Session>({ client: ground.client, io: { interrupted: interrupted.signal } });
    const result = await awaitWorkload(session, WEB, 4_000, () => undefined);
    expect(result).toEqual({ outcome: 'timeout' });
    expect(ground.server.watchRequests).toHaveLength(1);
  });

  it('goes on where the apiserver is away at its first read: the workload has been read before', async () => {
    ground.server.put('web', {});
    let asked = 0;
    ground.server.intercept = (_, response) => {
      asked += 1;
      if (asked > 1) return false;
      answer(response, 503, { kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: 'away' });
      return true;
    };
    const { signal } = new AbortController();
    const session = trusted<Session>({ client: ground.client, io: { interrupted: signal } });
    const seen = await awaitWorkload(session, WEB, 60_000, (object) => object?.metadata.name);
    expect(seen).toEqual({ outcome: 'seen', value: 'web' });
  });
});
