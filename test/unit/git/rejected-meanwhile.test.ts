/** A commit that waits for an update which an operator gives up: whether that was about its own manifest too. Over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { applyObject } from '../../../git/apply.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { ANNOTATION, ROLLING_UPDATE } from '../../../planners/names.ts';
import type { JsonObject } from '../../../planners/objects.ts';
import { recordManifest } from '../../../planners/rolling-update-record.ts';
import { commitContext, preparedObjects } from '../../support/commit-context.ts';
import { STATE } from '../../support/simulated-update.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const ALL = '/api/v1/namespaces/ns/replicationcontrollers';
const KEY = ROLLING_UPDATE.deployment;

function foo(image: string, replicas: number, also: Record<string, string> = {}) {
  const labels = { app: 'foo', ...also };
  return {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'foo', namespace: 'ns' },
    spec: {
      replicas,
      selector: labels,
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
    },
  } as const;
}

/** The update to `foo:bad` that was given up. */
const RECORD = recordManifest(
  {
    from: 'foo',
    next: 'foo-1',
    to: 'foo',
    key: KEY,
    hash: 'h',
    controller: foo('foo:bad', 3, { [KEY]: 'h' }),
  },
  { ...STATE, phase: 'Aborted' },
  [],
);

let server: WatchServer;
let client: KubernetesClient;
let pin: JsonObject;

beforeEach(async () => {
  pin = { verb: 'abort', by: 'ann', reason: 'bad image', at: '2026-01-01T00:01:00Z', rejected: 'first' };
  server = await WatchServer.start();
  server.intercept = ({ method, url: { pathname }, body }, response) => {
    const annotations = {
      [ANNOTATION.repository]: 'shop',
      [ANNOTATION.manifestHash]: 'before',
      [ANNOTATION.pinned]: JSON.stringify({ revision: 'foo-1', ...pin }),
    };
    const { spec, ...rest } = foo('foo:1', 3);
    const metadata = { ...rest.metadata, uid: 'u', resourceVersion: '7', annotations };
    if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (pathname === '/apis') answer(response, 200, { groups: [] });
    else if (pathname === '/api/v1') {
      const kind = { name: 'replicationcontrollers', kind: 'ReplicationController', namespaced: true };
      answer(response, 200, { resources: [{ ...kind, verbs: [] }] });
    } else if (pathname === ALL) answer(response, 200, { metadata: {}, items: [{ metadata, spec }] });
    else if (pathname.endsWith('/controllerrevisions'))
      answer(response, 200, { metadata: {}, items: [RECORD] });
    else if (pathname.endsWith('/pods')) answer(response, 200, { metadata: {}, items: [] });
    else if (pathname !== `${ALL}/foo`)
      answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
    else if (method === 'GET') answer(response, 200, { metadata, spec });
    else
      answer(response, 200, { metadata, spec: { ...spec, ...(JSON.parse(body) as { spec?: object }).spec } });
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

async function waiting(image: string) {
  const context = { ...commitContext(client), begunAt: '2026-01-01T00:00:00Z' };
  const [object] = await preparedObjects(
    { path: 'foo.json', text: JSON.stringify(foo(image, 4)) },
    async (version, wanted) => await context.discovery.find(version, wanted),
  );
  if (object === undefined) throw new Error('nothing was prepared');
  return { context, object };
}

/** What becomes of the commit, and what is written that is no dry run. */
async function apply(image = 'foo:bad', before?: object) {
  const { context, object } = await waiting(image);
  const result = await applyObject({ ...context, ...before }, object).catch((error: unknown) => error);
  const writes = server.requests.flatMap(({ method, url, body }) =>
    method === 'GET' || url.searchParams.has('dryRun') ? [] : [{ method, body }],
  );
  return { result, writes, hash: object.manifest.hash };
}

const ROLLED_BACK = { outcome: 'refused', code: 'RolledBack', message: 'rolled back by ann: bad image.' };

describe('a commit that waited for an update to the very same pods, which an operator gave up', () => {
  it('is rejected with it, in the object that was read', async () => {
    const { result, writes, hash } = await apply();
    expect(result).toMatchObject(ROLLED_BACK);
    const annotations = {
      [ANNOTATION.pinned]: JSON.stringify({ revision: 'foo-1', ...pin, rejected: hash }),
    };
    expect(writes.map(({ method, body }) => [method, JSON.parse(body) as unknown])).toEqual([
      ['PATCH', { metadata: { uid: 'u', resourceVersion: '7', annotations } }],
    ]);
  });

  it('is so too when an attempt has written that before', async () => {
    const { object } = await waiting('foo:bad');
    pin = { ...pin, rejected: object.manifest.hash };
    expect(await apply()).toMatchObject({ result: ROLLED_BACK, writes: [] });
  });

  it.each([
    ['it came after that', 'foo:bad', { begunAt: '2026-01-01T00:02:00Z' }],
    ['it is not known when it came', 'foo:bad', { begunAt: undefined }],
    ['it makes other pods', 'foo:good', undefined],
  ])('is not where %s', async (_why, image, before) => {
    const { result, writes } = await apply(image, before);
    expect(result).not.toMatchObject(ROLLED_BACK);
    // It begins its own update, whose record this server does not know.
    expect(writes.map(({ method }) => method)).toEqual(['POST']);
  });

  it('is left as it is where it came after its own manifest was rejected', async () => {
    const { object } = await waiting('foo:bad');
    pin = { ...pin, rejected: object.manifest.hash };
    const later = { begunAt: '2026-01-01T00:02:00Z' };
    expect(await apply('foo:bad', later)).toMatchObject({ result: { outcome: 'left' }, writes: [] });
  });
});
