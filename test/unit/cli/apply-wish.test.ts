import { beforeEach, describe, expect, it } from '@jest/globals';

import { applyWish } from '../../../cli/apply-wish.ts';
import type { Session } from '../../../cli/session.ts';
import { isSpecObserved } from '../../../cli/rollout-wishes.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';
import { eventually } from '../../support/eventually.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

/** The change is of generation 2, which no status has observed. */
function set(reason: string, observedGeneration = 1): object {
  const conditions = [{ type: 'Reconciling', status: 'True', reason }];
  return { generation: 2, status: { replicas: 3, observedGeneration, conditions } };
}

describe('waiting for the effect of a wish', () => {
  const ground = useWatchServer();
  let stored: KubernetesObject;
  beforeEach(() => {
    ground.server.intercept = ({ url }, response) => {
      if (url.pathname.includes('/leases/')) {
        const spec = { holderIdentity: 'w', leaseDurationSeconds: 60, renewTime: new Date().toISOString() };
        answer(response, 200, { metadata: { name: 'fairlead-default', resourceVersion: '1' }, spec });
        return true;
      }
      if (!url.pathname.endsWith('/web')) return false;
      answer(response, 200, { ...stored, metadata: { ...stored.metadata, generation: 2 } });
      return true;
    };
  });

  async function setImage(needsRun: boolean, timeout: number) {
    const told = { out: '', err: '' };
    const io = {
      out: (text: string) => (told.out += text),
      err: (text: string) => (told.err += text),
      now: Date.now,
      interrupted: new AbortController().signal,
    };
    const session = trusted<Session>({
      client: ground.client,
      io,
      options: { output: 'table', timeout },
      namespace: 'default',
      cluster: 'default',
      leaseNamespace: 'fairlead-system',
    });
    const target = { group: 'apps', version: 'v1', kind: 'StatefulSet', namespace: 'default', name: 'web' };
    const code = await applyWish(
      session,
      trusted({
        verb: 'set image',
        argument: { kind: 'StatefulSet', api: 'apps/v1', name: 'web' },
        target,
        write: async () => ({ changed: true, message: 'statefulset/web: main=web:2' }),
        seen: isSpecObserved,
        needsRun,
      }),
      true,
    );
    return { code, ...told };
  }

  const AWAY = expect.stringContaining(
    'the worker does not reach Temporal, so the rollout begins when it does',
  );

  it('ends when a controller says that it waits for Temporal', async () => {
    stored = ground.server.put('web', { fields: set('Progressing') });
    const ended = setImage(true, 4_000);
    await eventually('the workload is watched', () => ground.server.openWatches > 0);
    ground.server.put('web', { fields: set('TemporalUnreachable') });
    expect(await ended).toMatchObject({ code: 0, err: AWAY });
  });

  it('ends as well when the status has said so before', async () => {
    stored = ground.server.put('web', { fields: set('TemporalUnreachable') });
    expect(await setImage(true, 4_000)).toMatchObject({ code: 0, err: AWAY });
  });

  it('says so as well of a revision that is there already, which needs no run to be seen', async () => {
    stored = ground.server.put('web', { fields: set('TemporalUnreachable', 2) });
    expect(await setImage(true, 4_000)).toMatchObject({ code: 0, err: AWAY });
    stored = ground.server.put('web', { fields: set('Progressing', 2) });
    expect(await setImage(true, 4_000)).toMatchObject({ code: 0, err: '' });
  });

  it('ends with what is written where the apiserver goes away before the effect is seen', async () => {
    ground.server.intercept = ({ url }, response) => {
      const isLease = url.pathname.includes('/leases/');
      const metadata = { name: 'fairlead-default', resourceVersion: '1' };
      if (isLease) answer(response, 200, { metadata, spec: { holderIdentity: 'w' } });
      else
        answer(response, 503, { kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: 'away' });
      return true;
    };
    expect(await setImage(true, 4_000)).toEqual({
      code: 0,
      out: 'statefulset/web: main=web:2\n',
      err: expect.stringMatching(
        /^note: written on the object; whether it takes effect was not looked at: .*away\n$/,
      ),
    });
  });

  it('awaits a controller where the wish needs no run, or nobody says anything of Temporal', async () => {
    stored = ground.server.put('web', { fields: set('TemporalUnreachable') });
    const silent = { code: 3, err: expect.stringContaining('no controller has acted on it') };
    expect(await setImage(false, 300)).toMatchObject(silent);
    ground.server.put('web', { fields: set('Progressing') });
    expect(await setImage(true, 300)).toMatchObject(silent);
  });
});
