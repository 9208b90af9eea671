/** A ReplicationController that a commit changes, or that left it, under a rolling update: whose that is decides what becomes of it. Over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { rollController } from '../../../git/apply-controller.ts';
import type { CommittedUpdate } from '../../../git/commit.ts';
import { entryKey } from '../../../git/inventory-content.ts';
import type { InventoryEntry } from '../../../git/inventory-content.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { pruneObjects } from '../../../git/prune.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { ANNOTATION, ROLLING_UPDATE } from '../../../planners/names.ts';
import type { ReplicationController } from '../../../planners/replication-controller.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const ENTRY: InventoryEntry = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  namespace: 'ns',
  name: 'foo',
  uid: 'u-foo',
};

let server: WatchServer;
let client: KubernetesClient;
let controllers: readonly ReturnType<typeof controller>[];

function controller(
  name: string,
  repository: string | undefined,
  partner?: string,
  desired = name === 'foo' ? '0' : '1',
) {
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid: `u-${name}`,
      resourceVersion: '7',
      annotations: {
        ...(repository !== undefined && { [ANNOTATION.repository]: repository }),
        ...(partner !== undefined && {
          [ROLLING_UPDATE.partner]: partner,
          [ROLLING_UPDATE.desiredReplicas]: desired,
        }),
      },
    },
    spec: { replicas: 1, selector: { app: name }, template: { metadata: { labels: { app: name } } } },
  };
}

beforeEach(async () => {
  server = await WatchServer.start();
  const all = '/api/v1/namespaces/ns/replicationcontrollers';
  server.intercept = ({ method, url: { pathname } }, response) => {
    const one = controllers.find(({ metadata }) => pathname === `${all}/${metadata.name}`);
    if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (pathname === '/apis') answer(response, 200, { groups: [] });
    else if (pathname === '/api/v1') {
      const kind = { name: 'replicationcontrollers', kind: 'ReplicationController', namespaced: true };
      answer(response, 200, { resources: [{ ...kind, verbs: [] }] });
    } else if (pathname === all) answer(response, 200, { metadata: {}, items: controllers });
    else if (pathname.endsWith('/controllerrevisions') || pathname.endsWith('/pods'))
      answer(response, 200, { metadata: {}, items: [] });
    else if (one === undefined) {
      const details = { name: pathname.split('/').at(-1) };
      answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', details });
    } else if (method === 'PATCH')
      answer(response, 200, { ...one, metadata: { ...one.metadata, resourceVersion: 'another' } });
    else answer(response, 200, method === 'DELETE' ? { kind: 'Status', metadata: {} } : one);
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

/** A commit, and whose run it makes sure of. */
function record() {
  const started: string[] = [];
  const context = {
    ...commitContext(client),
    startRollingUpdate: async ({ name, isTurned }: CommittedUpdate) => {
      started.push(isTurned === true ? `${name}, turned round` : name);
      await Promise.resolve();
    },
  };
  return { context, started };
}

/** What is written, and whose run is made sure of. */
async function prune() {
  const { context, started } = record();
  const result = await pruneObjects(context, [ENTRY], { wanted: new Set() }).catch((error: unknown) => error);
  const writes = server.requests.flatMap(({ method, url }) =>
    method === 'GET' ? [] : [`${method} ${url.pathname.split('/').at(-1)}`],
  );
  return { result, started, writes };
}

const GONE_FROM_US = { deleted: [], kept: [], problems: [], forgotten: new Set([entryKey(ENTRY)]) };

describe('a ReplicationController that the commit changes', () => {
  it('has its run made sure of where a try before has turned the update round, and not woken: it has no period', async () => {
    controllers = [controller('foo', 'shop', 'foo-2', '1'), controller('foo-2', 'shop', 'foo')];
    const { context, started } = record();
    const manifest = { name: 'foo', hash: 'h', body: {} };
    const object = trusted<PreparedObject>({
      label: 'ReplicationController ns/foo',
      namespace: 'ns',
      manifest,
    });
    const rolled = rollController(context, object, trusted<ReplicationController>(controllers[0]));
    await expect(rolled).rejects.toThrow('another update of it has to end first');
    expect(started).toEqual(['foo']);
  });
});

describe('a ReplicationController that left the commit', () => {
  it.each([
    [
      'has been taken by another repository, which rolls it out',
      [controller('foo', 'other', 'foo-2'), controller('foo-2', 'other', 'foo')],
    ],
    [
      'is being taken by another repository: the old controller still names this one',
      [controller('foo', 'shop', 'foo-2'), controller('foo-2', 'other', 'foo')],
    ],
    [
      'is gone for a moment: another repository\u2019s update renames it',
      [controller('foo-2', 'other', 'foo')],
    ],
  ])('and %s, is let go, and its update goes on', async (_what, present) => {
    controllers = present;
    expect(await prune()).toEqual({
      result: expect.objectContaining(GONE_FROM_US),
      started: [],
      writes: [],
    });
  });

  it('in an update of this repository waits until that was turned round', async () => {
    controllers = [controller('foo', 'shop', 'foo-2'), controller('foo-2', 'shop', 'foo')];
    const { result, started, writes } = await prune();
    expect(String(result)).toMatch(/its rolling update has to end first \(the update of foo is being rolled/);
    // Its run may wait for the update period.
    expect(started).toEqual(['foo, turned round']);
    expect(writes.length).toBeGreaterThan(0);
    expect(writes).not.toContain('DELETE foo');
  });

  it('makes sure of the run where a try before has turned it round, and does not wake it: it has no period', async () => {
    controllers = [controller('foo', 'shop', 'foo-2', '1'), controller('foo-2', 'shop', 'foo')];
    const { result, started, writes } = await prune();
    expect(String(result)).toMatch(/the update of foo is being rolled back already/);
    expect({ started, writes }).toEqual({ started: ['foo'], writes: [] });
  });

  it('is not forgotten while an update of this repository brings it back', async () => {
    controllers = [controller('foo-2', 'shop', 'foo')];
    const { result, started } = await prune();
    expect(String(result)).toMatch(/its rolling update has to end first/);
    expect(started).toEqual(['foo']);
  });

  it('is deleted where it is under no update', async () => {
    controllers = [controller('foo', 'shop')];
    const { result, writes } = await prune();
    expect(result).toMatchObject({ deleted: ['ReplicationController ns/foo'], kept: [] });
    expect(writes).toEqual(['DELETE foo']);
  });
});
