/** All repositories from what the cluster holds: what is missing or damaged there takes nothing away from the others. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { NotListedYet, listRepositories, readRepository } from '../../../cli/repository-views.ts';
import type { Session } from '../../../cli/session.ts';
import type { FollowedRow } from '../../../git/followed-list.ts';
import { microTime } from '../../../worker/lease.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const MAPS = '/api/v1/namespaces/system/configmaps';

let server: WatchServer;
let client: KubernetesClient;
let session: Session;
/** What is there, by path. */
let objects: Map<string, object>;

beforeEach(async () => {
  server = await WatchServer.start();
  client = new KubernetesClient(plainConnection(server.url));
  const io = { now: Date.now, interrupted: new AbortController().signal };
  session = trusted<Session>({ client, io, cluster: 'c', leaseNamespace: 'system' });
  objects = new Map();
  server.intercept = ({ url }, response) => {
    const inventories = [...objects].filter(([path]) => path.startsWith(`${MAPS}/fairlead-`));
    const items = inventories.map(([, object]) => object);
    const object = url.pathname === MAPS ? { metadata: {}, items } : objects.get(url.pathname);
    if (object === undefined) answer(response, 404, { kind: 'Status', reason: 'NotFound' });
    else answer(response, 200, object);
    return true;
  };
});

afterEach(async () => {
  client.close();
  await server.stop();
});

function putInventory(name: string, status: string): void {
  const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
  const labels = { 'fairlead.dev/inventory': name };
  const data = { objects: 'v1 ConfigMap a x u', status };
  objects.set(`${MAPS}/fairlead-${name}`, { metadata: { name, uid: name, annotations, labels }, data });
}

function putList(names: readonly string[], troubles: object = {}): void {
  const rows = names.map((name): FollowedRow => ({
    name,
    url: `https://git.example.com/${name}`,
    path: '',
    namespace: 'a',
    intervalSeconds: 30,
    webhook: false,
  }));
  const data = { repositories: JSON.stringify(rows), troubles: JSON.stringify(troubles) };
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

describe('a list of what is followed that is missing', () => {
  const missing =
    'the list of what the worker follows, ConfigMap system/fairlead-c.repositories, is missing: the worker w-1, which leads, writes it again within 5s';

  function putLease(holderIdentity: string): void {
    const spec = { holderIdentity, leaseDurationSeconds: 15, renewTime: microTime(Date.now()) };
    const metadata = { name: 'fairlead-c', uid: 'u', resourceVersion: '1' };
    objects.set('/apis/coordination.k8s.io/v1/namespaces/system/leases/fairlead-c', { metadata, spec });
  }

  it('makes no claim while a worker leads', async () => {
    putLease('w-1');
    putInventory('q1', '{}');
    const { items, troubles, isComplete } = await listRepositories(session);
    const message = `whether a worker follows it is not known: ${missing}`;
    expect(items).toEqual([{ name: 'q1', state: 'Unknown', message }]);
    expect({ troubles, isComplete }).toEqual({ troubles: [missing], isComplete: false });
    expect((await readRepository(session, 'q1')).view).toEqual(items[0]);
    const unknown = readRepository(session, 'q2');
    await expect(unknown).rejects.toBeInstanceOf(NotListedYet);
    await expect(unknown).rejects.toThrow(`whether there is a repository "q2" is not known: ${missing}`);
  });

  it.each([
    ['nobody leads', '', 'the worker follows none'],
    ['there is one that does not name it', 'w-1', 'the worker follows q3'],
  ])('is no reason to wait where %s', async (_what, holder, told) => {
    putLease(holder);
    if (holder !== '') putList(['q3']);
    putInventory('q1', '{}');
    const { items, isComplete } = await listRepositories(session);
    expect(items.find(({ name }) => name === 'q1')).toMatchObject({ state: 'NotFollowed' });
    expect(isComplete).toBe(true);
    await expect(readRepository(session, 'q2')).rejects.toThrow(told);
  });
});

describe('a repository that is not there', () => {
  it('may be one that a file names which cannot be used', async () => {
    putList(['q1'], { file: 'repos.yaml:7: unknown field "branch"' });
    await expect(readRepository(session, 'q2')).rejects.toThrow(
      'there is no repository "q2": the worker follows q1; the repositories file cannot be used, the repositories stay as they were: repos.yaml:7: unknown field "branch"',
    );
  });
});
