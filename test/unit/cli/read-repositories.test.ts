/** All repositories from what the cluster holds: what is missing or damaged there takes nothing away from the others. */

import { beforeEach, describe, expect, it } from '@jest/globals';

import {
  NotListedYet,
  listRepositories,
  readRepository,
  whyNotFollowed,
} from '../../../cli/read-repositories.ts';
import { withReasons } from '../../../cli/repository-progress.ts';
import type { Session } from '../../../cli/session.ts';
import type { FollowedRow } from '../../../git/followed-list.ts';
import { microTime } from '../../../kubernetes/lease.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const MAPS = '/api/v1/namespaces/system/configmaps';

const ground = useWatchServer();
let session: Session;
/** What is there, by path. */
let objects: Map<string, object>;

beforeEach(() => {
  const environment = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const io = { now: Date.now, interrupted: new AbortController().signal, environment };
  session = trusted<Session>({ client: ground.client, io, cluster: 'c', leaseNamespace: 'system' });
  objects = new Map();
  ground.server.intercept = ({ url }, response) => {
    const inventories = [...objects].filter(([path]) => path.startsWith(`${MAPS}/fairlead-`));
    const items = inventories.map(([, object]) => object);
    const object = url.pathname === MAPS ? { metadata: {}, items } : objects.get(url.pathname);
    if (object === undefined) answer(response, 404, { kind: 'Status', reason: 'NotFound' });
    else answer(response, 200, object);
    return true;
  };
});

function putInventory(name: string, status: string, entries = ['v1 ConfigMap a x u']): void {
  const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
  const labels = { 'fairlead.dev/inventory': name };
  const data = { objects: entries.join('\n'), status };
  objects.set(`${MAPS}/fairlead-${name}`, { metadata: { name, uid: name, annotations, labels }, data });
}

function putList(names: readonly string[], troubles: object = {}, leader = 'w-1'): void {
  const rows = names.map((name): FollowedRow => ({
    name,
    url: `https://git.example.com/${name}`,
    path: '',
    namespace: 'a',
    intervalSeconds: 30,
    webhook: false,
  }));
  const data = { repositories: JSON.stringify(rows), troubles: JSON.stringify(troubles), leader };
  objects.set(`${MAPS}/fairlead-c.repositories`, { metadata: { name: 'fairlead-c.repositories' }, data });
}

describe('an inventory that is damaged', () => {
  it('is told in its own row alone', async () => {
    putList(['q1', 'q2']);
    putInventory('q1', 'x');
    putInventory('q2', '{}');
    const { items } = await listRepositories(session);
    expect(items.map(({ name, state }) => [name, state])).toEqual([
      ['q1', 'InventoryUnreadable'],
      ['q2', 'Pending'],
    ]);
    expect(items[0]?.message).toContain('kubectl patch configmap fairlead-q1 -n system');
    const { view, damage } = await readRepository(session, 'q1');
    expect(view).toEqual(items[0]);
    expect(damage).toBe(items[0]?.message);
  });
});

describe('one that is followed no more', () => {
  const CLEAR = 'and this row goes with its inventory: kubectl delete configmap fairlead-old -n system';
  const kind = { name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: ['get'] };
  const place = '/api/v1/namespaces/a/configmaps/x';
  const messageOf = async () => {
    const { view } = await readRepository(session, 'old');
    const { items } = await listRepositories(session);
    expect(items.find(({ name }) => name === 'old')).toEqual(view);
    return view.message;
  };

  beforeEach(() => {
    putLease('w-1');
    putList(['new']);
    putInventory('old', '{}');
    objects.set('/api/v1', { kind: 'APIResourceList', groupVersion: 'v1', resources: [kind] });
  });

  it('is left where something of it is there that nobody else has', async () => {
    objects.set(place, { metadata: { name: 'x', namespace: 'a', uid: 'u' } });
    expect(await messageOf()).toBe('no worker follows it; what it applied is left as it is');
  });

  it('may go where what it applied is gone, or is another object by now', async () => {
    const gone = `no worker follows it; nothing of what it applied is there any more, ${CLEAR}`;
    expect(await messageOf()).toBe(gone);
    objects.set(place, { metadata: { name: 'x', namespace: 'a', uid: 'another' } });
    expect(await messageOf()).toBe(gone);
  });

  it('may go where the one that goes on for it has pruned some of it', async () => {
    putInventory('new', '{}', ['v1 ConfigMap a y v']);
    putInventory('old', '{}', ['v1 ConfigMap a x u', 'v1 ConfigMap a y v']);
    expect(await messageOf()).toBe(
      `no worker follows it; new has all that is left of what it applied, ${CLEAR}`,
    );
  });

  it('is left where it cannot be told: one may not be read, or there are too many', async () => {
    const all = ground.server.intercept;
    ground.server.intercept = (request, response) => {
      if (request.url.pathname !== place) return all?.(request, response) ?? false;
      answer(response, 403, { kind: 'Status', reason: 'Forbidden' });
      return true;
    };
    expect(await messageOf()).toContain('is left as it is');
    ground.server.intercept = all;
    putInventory(
      'old',
      '{}',
      Array.from({ length: 51 }, (_, at) => `v1 ConfigMap a x${String(at)} u`),
    );
    expect(await messageOf()).toContain('is left as it is');
  });
});

function putLease(holderIdentity: string, renewedAt = Date.now()): void {
  const spec = { holderIdentity, leaseDurationSeconds: 15, renewTime: microTime(renewedAt) };
  const metadata = { name: 'fairlead-c', uid: 'u', resourceVersion: '1' };
  objects.set('/apis/coordination.k8s.io/v1/namespaces/system/leases/fairlead-c', { metadata, spec });
}

describe('a list of what is followed that is missing', () => {
  const missing =
    'the list of what the worker follows, ConfigMap system/fairlead-c.repositories, is missing: the worker w-1, which leads, writes it again within 5s';

  it('makes no claim while a worker leads', async () => {
    putLease('w-1');
    putInventory('q1', '{}');
    const { items, troubles, unsure } = await listRepositories(session);
    const message = `whether a worker follows it is not known: ${missing}`;
    expect(items).toEqual([{ name: 'q1', state: 'Unknown', message }]);
    expect({ troubles, unsure }).toEqual({ troubles: [missing], unsure: missing });
    expect((await readRepository(session, 'q1')).view).toEqual(items[0]);
    const unknown = readRepository(session, 'q2');
    await expect(unknown).rejects.toBeInstanceOf(NotListedYet);
    await expect(unknown).rejects.toThrow(`whether there is a repository "q2" is not known: ${missing}`);
  });

  it.each([
    [
      'no worker has ever led',
      undefined,
      'there is no Lease system/fairlead-c: no Fairlead worker has run under this --cluster',
    ],
    ['none leads any more', '', 'no Fairlead worker holds the Lease system/fairlead-c'],
  ])('says that nobody follows anything yet where %s', async (_what, holder, why) => {
    if (holder !== undefined) putLease(holder);
    putInventory('q1', '{}');
    const { items, unsure } = await listRepositories(session);
    expect(items.find(({ name }) => name === 'q1')).toMatchObject({ state: 'NotFollowed' });
    expect(unsure).toBe(why);
    expect((await readRepository(session, 'q1')).unsure).toEqual({ why, isNobody: true });
    await expect(readRepository(session, 'q2')).rejects.toThrow(
      `whether there is a repository "q2" is not known: ${why}`,
    );
  });
});

describe('a list that does not name a repository', () => {
  it.each([
    ['w-1', undefined],
    ['w-2', 'the worker w-2, which leads, has not told yet what it follows; the one before followed q3'],
    ['', 'no Fairlead worker holds the Lease system/fairlead-c; the one before followed q3'],
  ])('is the last word of its own leader alone (the Lease is held by "%s")', async (holder, why) => {
    putLease(holder);
    putList(['q3']);
    putInventory('q1', '{}');
    expect((await listRepositories(session)).unsure).toBeUndefined();
    const unsure = why === undefined ? undefined : { why, isNobody: holder === '' };
    expect(await readRepository(session, 'q1')).toMatchObject({ unsure, view: { state: 'NotFollowed' } });
    await expect(readRepository(session, 'q2')).rejects.toThrow(
      why ?? 'there is no repository "q2": the worker follows q3',
    );
  });

  it('is of workers with another FAIRLEAD_CLUSTER where they apply the repository', async () => {
    putList([]);
    putInventory(
      'q1',
      JSON.stringify({
        commit: { workflowId: 'commit/prod/q1/a', outcome: 'Succeeded', sha: 'a', runId: 'r' },
      }),
    );
    const known = await readRepository(session, 'q1');
    expect(known).toMatchObject({ elsewhere: 'prod', unsure: undefined });
    expect(whyNotFollowed(known)).toBe(
      'no worker of this --cluster follows repository q1: it is of the workers with FAIRLEAD_CLUSTER=prod; say --cluster prod',
    );
  });
});

describe('a repository that is not there', () => {
  it('may be one that a file names which cannot be used', async () => {
    putLease('w-1');
    putList(['q1'], { file: 'repos.yaml:7: unknown field "branch"' });
    await expect(readRepository(session, 'q2')).rejects.toThrow(
      'there is no repository "q2": the worker follows q1; the repositories file cannot be used, the repositories stay as they were: repos.yaml:7: unknown field "branch"',
    );
  });
});

describe('a worker that has died', () => {
  const SHA = '1536e2db'.padEnd(40, '0');
  const NEXT =
    'so nobody looks at the repositories; start a worker: fairlead worker (with the same --cluster and --workload-api)';

  /** One repository with a commit of this outcome, as it is shown. */
  async function shown(outcome: 'Succeeded' | 'Progressing') {
    putList(['q1']);
    const commit = { sha: SHA, outcome, workflowId: 'w', runId: 'r' };
    putInventory('q1', JSON.stringify({ commit }));
    const { items, troubles } = await withReasons(session, await listRepositories(session));
    return { message: items[0]?.message, state: items[0]?.state, troubles };
  }

  it.each([
    [
      'whose Lease has run out',
      'w-1',
      'no Fairlead worker holds the Lease system/fairlead-c (last w-1, 2026-01-01T08:00:00.000000Z)',
    ],
    ['and let the Lease go', '', 'no Fairlead worker holds the Lease system/fairlead-c'],
  ])('%s is told beside a repository that is well', async (_what, holder, why) => {
    putLease(holder, Date.parse('2026-01-01T08:00:00Z'));
    expect(await shown('Succeeded')).toEqual({
      state: 'Synced',
      message: '',
      troubles: [`${why}, ${NEXT}`],
    });
  });

  it('is told in the row of what does not go on, before its Lease has run out', async () => {
    putLease('w-1');
    const why =
      /the worker w-1 holds the Lease system\/fairlead-c, but has not renewed it for at least 4s .+, so nobody looks at the repositories$/;
    const { message, troubles } = await shown('Progressing');
    expect(message).toMatch(new RegExp(`^1536e2db is under way; ${why.source}`));
    expect(troubles).toEqual([expect.stringContaining(NEXT)]);
  });

  it('is not one that renews its Lease: while Temporal is away, what a commit waits for is not known', async () => {
    putLease('w-1');
    const renewing = setInterval(() => {
      putLease('w-1');
    }, 200);
    try {
      expect(await shown('Progressing')).toEqual({
        state: 'Progressing',
        message: '1536e2db is under way',
        troubles: [],
      });
    } finally {
      clearInterval(renewing);
    }
  });
});
