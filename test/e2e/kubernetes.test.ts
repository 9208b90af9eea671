/** The raw client, discovery and the watch cache against a real apiserver. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import {
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  toMessage,
} from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { Discovery, UnknownKind } from '../../kubernetes/discovery.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import type { Change } from '../../kubernetes/object-store.ts';
import { WatchCache } from '../../kubernetes/watch-cache.ts';
import type { ControllerRevision, KubernetesObject } from '../../planners/objects.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { patient } from '../support/patience.ts';

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

const controlPlane = useControlPlane({ nodes: 1 });
let client: KubernetesClient;
let namespace: string;

function configMaps(name?: string): ResourcePath {
  return { group: '', version: 'v1', resource: 'configmaps', namespace, name };
}

function pods(name?: string): ResourcePath {
  return { ...configMaps(name), resource: 'pods' };
}

beforeAll(async () => {
  client = new KubernetesClient(await loadConnection({}, { kubeconfig: controlPlane().kubeconfig }));
});
afterAll(() => client.close());

/** Pods are refused until the namespace has its default ServiceAccount. */
async function serviceAccountOf(inNamespace: string): Promise<void> {
  const path = { group: '', version: 'v1', resource: 'serviceaccounts', namespace: inNamespace };
  for await (const event of client.watch(path, { timeoutSeconds: patient(30_000) / 1000 })) {
    if (event.type === 'ADDED' && event.object.metadata.name === 'default') return;
  }
  throw new Error(
    `namespace ${inNamespace} has no default ServiceAccount after ${String(patient(30_000))} ms`,
  );
}

let counter = 0;
beforeEach(async () => {
  counter += 1;
  namespace = `test-${String(counter)}`;
  await client.create(
    { group: '', version: 'v1', resource: 'namespaces' },
    { metadata: { name: namespace } },
  );
});

describe('client', () => {
  it('creates, reads, replaces, patches and deletes, with preconditions', async () => {
    const created = await client.create<ConfigMap>(configMaps(), {
      metadata: { name: 'a' },
      data: { x: '1', z: '1' },
    });
    expect(await client.get(configMaps('a'))).toEqual(created);
    const replaced = await client.replace<ConfigMap>(configMaps('a'), {
      ...created,
      data: { x: '2', z: '1' },
    });
    expect(replaced.data).toEqual({ x: '2', z: '1' });
    const stale = await client.replace(configMaps('a'), created).catch((error: unknown) => error);
    expect(isConflict(stale)).toBe(true);
    const merged = await client.patch<ConfigMap>(configMaps('a'), 'merge', { data: { y: '1', z: null } });
    expect(merged.data).toEqual({ x: '2', y: '1' });
    const strategic = await client.patch<ConfigMap>(configMaps('a'), 'strategic', { data: { y: '2' } });
    expect(strategic.data).toEqual({ x: '2', y: '2' });
    const json = [{ op: 'remove', path: '/data/x' }];
    expect((await client.patch<ConfigMap>(configMaps('a'), 'json', json)).data).toEqual({ y: '2' });
    for (const metadata of [{ uid: 'other' }, { resourceVersion: created.metadata.resourceVersion }]) {
      const refused = await client
        .patch(configMaps('a'), 'merge', { metadata })
        .catch((error: unknown) => error);
      expect(isConflict(refused)).toBe(true);
    }
    for (const precondition of [{ uid: 'other' }, { resourceVersion: created.metadata.resourceVersion }]) {
      const refused = await client.delete(configMaps('a'), precondition).catch((error: unknown) => error);
      expect(isConflict(refused)).toBe(true);
    }
    await client.delete(configMaps('a'), { uid: created.metadata.uid, dryRun: true });
    await client.delete(configMaps('a'), { uid: created.metadata.uid });
    expect(isNotFound(await client.get(configMaps('a')).catch((error: unknown) => error))).toBe(true);
  });

  it('lists page by page, all of one version', async () => {
    for (let index = 0; index < 7; index += 1)
      await client.create(configMaps(), { metadata: { name: `c${String(index)}` } });
    const list = await client.list(configMaps(), {
      limit: 3,
      fieldSelector: 'metadata.name!=kube-root-ca.crt',
    });
    expect(list.items.map((item) => item.metadata.name)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
    expect(list.items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
  });

  it('int64 survives a round trip (C10)', async () => {
    const path = { ...configMaps(), group: 'apps', resource: 'controllerrevisions' };
    const manifest = { metadata: { name: 'r' }, revision: 3546343826724305833n, data: {} };
    const created = await client.create<ControllerRevision>(path, manifest);
    expect(created.revision).toBe(3546343826724305833n);
    const renumbered = await client.patch<ControllerRevision>({ ...path, name: 'r' }, 'merge', {
      metadata: { uid: created.metadata.uid },
      revision: 3546343826724305834n,
    });
    expect(renumbered.revision).toBe(3546343826724305834n);
  });

  it('server-side apply: unknown fields reach the apiserver, owners are respected, force takes over', async () => {
    const apply = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { x: '1' } };
    await client.patch(configMaps('a'), 'apply', apply, { fieldManager: 'one' });
    const other = { ...apply, data: { x: '2' } };
    const conflict = await client
      .patch(configMaps('a'), 'apply', other, { fieldManager: 'two' })
      .catch((error: unknown) => error);
    expect(isConflict(conflict)).toBe(true);
    expect(toMessage(conflict)).toContain('conflict with "one"');
    expect(
      (await client.patch<ConfigMap>(configMaps('a'), 'apply', other, { fieldManager: 'two', force: true }))
        .data,
    ).toEqual({ x: '2' });
    const pod = {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i', imagee: 'typo' }] },
    };
    const strict = await client
      .create(pods(), pod, { fieldValidation: 'Strict', dryRun: true })
      .catch((error: unknown) => error);
    expect(isInvalid(strict)).toBe(true);
    expect(toMessage(strict)).toContain('unknown field "spec.containers[0].imagee"');
    const unknown = await client
      .patch(configMaps('a'), 'apply', { ...apply, typo: 1 }, { fieldManager: 'one', force: true })
      .catch((error: unknown) => error);
    expect(isInvalid(unknown)).toBe(true);
    expect(toMessage(unknown)).toContain('.typo: field not declared in schema');
  });

  it('a kind is found as soon as its CRD is there, and fields that no schema knows are kept', async () => {
    const discovery = new Discovery(client);
    const group = `${namespace}.example.org`;
    await expect(discovery.resolve(`${group}/v1`, 'Widget')).rejects.toThrow(UnknownKind);
    await client.create(
      { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
      {
        metadata: { name: `widgets.${group}` },
        spec: {
          group,
          names: { plural: 'widgets', kind: 'Widget' },
          scope: 'Namespaced',
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              subresources: { status: {} },
              schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          ],
        },
      },
    );
    let found = await discovery.find(`${group}/v1`, 'Widget');
    for (const end = Date.now() + 20_000; found === undefined && Date.now() < end;) {
      found = await discovery.find(`${group}/v1`, 'Widget');
    }
    expect(found).toMatchObject({ resource: 'widgets', namespaced: true, subresources: ['status'] });
    const widget = {
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name: 'w' },
      spec: { deep: [{ future: 1 }] },
    };
    const path = await discovery.pathOf(widget, namespace);
    const applied = await client.patch(path, 'apply', widget, {
      fieldManager: 'one',
      fieldValidation: 'Strict',
    });
    expect(applied).toMatchObject({ spec: { deep: [{ future: 1 }] } });
    await expect(discovery.resolve('v1', 'ConfigMap')).resolves.toMatchObject({ resource: 'configmaps' });
    await expect(discovery.groupVersions()).resolves.toEqual(
      expect.arrayContaining(['v1', 'apps/v1', `${group}/v1`]),
    );
  });

  it('acts as another user', async () => {
    const nobody = client.impersonating(`system:serviceaccount:${namespace}:nobody`);
    const refused = await nobody.list(configMaps()).catch((error: unknown) => error);
    expect(isForbidden(refused)).toBe(true);
    expect(toMessage(refused)).toContain(`system:serviceaccount:${namespace}:nobody`);
  });

  it('a refused Secret is not quoted', async () => {
    const body = { metadata: { name: 's' }, stringData: { 'not a key': 'hunter2' } };
    const refused = await client
      .create({ ...configMaps(), resource: 'secrets' }, body)
      .catch((error: unknown) => error);
    expect(isInvalid(refused)).toBe(true);
    expect(toMessage(refused)).toContain('data[not a key]');
    expect(JSON.stringify(refused) + toMessage(refused)).not.toContain('hunter2');
  });

  it('a version that is too old is gone', async () => {
    await controlPlane().kill('kube-apiserver');
    await controlPlane().start('kube-apiserver');
    const watch = client.watch(configMaps(), { resourceVersion: '1', timeoutSeconds: 5 });
    const next = watch[Symbol.asyncIterator]().next();
    expect(isGone(await next.catch((error: unknown) => error))).toBe(true);
  }, 60_000);
});

describe('watch cache', () => {
  let stop: AbortController;
  let cache: WatchCache;
  let changes: Change[];
  let errors: string[];

  beforeEach(async () => {
    stop = new AbortController();
    changes = [];
    errors = [];
    cache = new WatchCache({
      client,
      sources: [
        { group: '', version: 'v1', resource: 'pods', namespaces: [namespace] },
        { group: '', version: 'v1', resource: 'configmaps', namespaces: [namespace] },
      ],
      onError: (error, where) => errors.push(`${where}: ${toMessage(error)}`),
    });
    await cache.start(stop.signal);
    cache.onChange((change) => changes.push(change));
  });
  afterEach(() => stop.abort());

  function seen(prefix: string): readonly string[] {
    return changes
      .filter((change) => change.object.metadata.name.startsWith(prefix))
      .map((change) => `${change.type} ${change.object.metadata.name}`);
  }

  it('goes on across a restart of the apiserver, without a gap and without repeats', async () => {
    await client.create(configMaps(), { metadata: { name: 'x-before' } });
    await eventually('the first is seen', () => seen('x-').length === 1);
    await controlPlane().restart('kube-apiserver');
    await client.create(configMaps(), { metadata: { name: 'x-after' } });
    await eventually('the second is seen', () => seen('x-').length === 2, 20_000);
    expect(seen('x-')).toEqual(['added x-before', 'added x-after']);
    await eventually('all watches stand', () => cache.health().every((source) => source.connected), 20_000);
  }, 90_000);

  it('own writes are there at once; what the watch says later changes nothing (C14)', async () => {
    for (let index = 0; index < 50; index += 1) {
      const name = `x-${String(index)}`;
      const created = await client.create<ConfigMap>(configMaps(), { metadata: { name } });
      cache.observeWrite('configmaps', created);
      expect(cache.get('configmaps', namespace, name)?.metadata.uid).toBe(created.metadata.uid);
      const patched = await client.patch<ConfigMap>(configMaps(name), 'merge', { data: { a: '1' } });
      cache.observeWrite('configmaps', patched);
      expect(cache.get<ConfigMap>('configmaps', namespace, name)?.data).toEqual({ a: '1' });
      const answer = await client.delete(configMaps(name), { uid: created.metadata.uid });
      cache.observeDelete('configmaps', answer, { namespace, name });
      expect(cache.get('configmaps', namespace, name)).toBeUndefined();
    }
    const last = await client.create(configMaps(), { metadata: { name: 'last' } });
    const { resourceVersion } = last.metadata;
    await cache.awaitObserved('configmaps', { namespace, name: 'last', resourceVersion });
    expect(seen('x-')).toEqual(
      Array.from({ length: 50 }, (_, index) =>
        ['added', 'modified', 'deleted'].map((type) => `${type} x-${String(index)}`),
      ).flat(),
    );
  });

  it.each([
    ['at once, not scheduled', { schedulerName: 'nobody' }, []],
    ['after its grace period', { nodeName: 'NODE' }, []],
    ['held by a finalizer', { schedulerName: 'nobody' }, ['example.org/hold']],
  ])(
    'a pod deleted %s is never seen alive again',
    async (_how, spec, finalizers) => {
      await serviceAccountOf(namespace);
      const nodes = await client.list({ group: '', version: 'v1', resource: 'nodes' });
      const node = nodes.items[0]?.metadata.name;
      const created = await client.create(pods(), {
        metadata: { name: 'p', finalizers },
        spec: {
          containers: [{ name: 'c', image: 'registry.example/app:1' }],
          ...spec,
          ...('nodeName' in spec && { nodeName: node }),
        },
      });
      cache.observeWrite('pods', created);
      const { uid } = created.metadata;
      const answer = await client.delete(pods('p'), { uid });
      cache.observeDelete('pods', answer, { namespace, name: 'p' });
      const after = cache.get('pods', namespace, 'p');
      expect(after === undefined || after.metadata.deletionTimestamp !== undefined).toBe(true);
      const from = changes.length;
      if (finalizers.length > 0) await client.patch(pods('p'), 'merge', { metadata: { finalizers: null } });
      await eventually('it is gone', () => cache.get('pods', namespace, 'p') === undefined, 40_000);
      const alive = changes.slice(from).filter(
        ({ resource, type, object: { metadata } }) =>
          // A new namespace gets its ConfigMap whenever the controller manager comes to it.
          resource === 'pods' && type !== 'deleted' && metadata.deletionTimestamp === undefined,
      );
      expect(alive).toEqual([]);
    },
    60_000,
  );
});
