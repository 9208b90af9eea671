/** What a planner is given of the cluster, and what that costs. */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { ClusterView } from '../../../controllers/cluster-view.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { WatchCache } from '../../../kubernetes/watch-cache.ts';
import { daemonSetOf } from '../../support/daemonset-fixtures.ts';
import { plainConnection } from '../../support/watch-server.ts';

describe('neighbours of a DaemonSet that drains', () => {
  const set = daemonSetOf({ drain: { timeoutSeconds: 60 } });
  const mark = JSON.stringify({ ...set.ref, at: '2026-01-01T00:00:00Z', cordoned: true, gaveUp: false });
  let client: KubernetesClient;
  let cache: WatchCache;
  let version = 100;

  beforeEach(() => {
    client = new KubernetesClient(plainConnection('http://127.0.0.1:1'));
    cache = new WatchCache({
      client,
      sources: ['pods', 'nodes', 'controllerrevisions'].map((resource) => ({
        group: '',
        version: 'v1',
        resource,
      })),
      onError: () => undefined,
    });
    put('nodes', 'drained', { metadata: { annotations: { 'fairlead.dev/drain': mark } } });
    put('nodes', 'other', {});
    for (const node of ['drained', 'other', undefined])
      put('pods', `on-${node ?? 'none'}`, { spec: node === undefined ? {} : { nodeName: node } });
  });

  afterEach(() => {
    client.close();
  });

  function put(
    resource: string,
    name: string,
    fields: { readonly metadata?: object; readonly spec?: object },
  ) {
    version += 1;
    const namespace = resource === 'nodes' ? {} : { namespace: 'shop' };
    cache.observeWrite(resource, {
      ...fields,
      metadata: {
        ...fields.metadata,
        ...namespace,
        name,
        uid: `uid-${name}`,
        resourceVersion: String(version),
      },
    });
  }

  function neighbours(): Readonly<Record<string, readonly string[]>> {
    const view = new ClusterView(cache, 'fairlead.dev/v1beta1', true);
    const snapshot = view.snapshot('DaemonSet/default/agent', set, { refusals: new Map() });
    const found = [...(snapshot.neighbours ?? [])];
    return Object.fromEntries(found.map(([node, pods]) => [node, pods.map(({ metadata }) => metadata.name)]));
  }

  it('are the pods of its drained nodes alone, found without a look at all pods', () => {
    const list = jest.spyOn(cache, 'list');

    expect(neighbours()).toEqual({ drained: ['on-drained'] });
    expect(list.mock.calls.map(([resource]) => resource)).not.toContain('pods');
  });

  it('follow a pod that goes, and one that is bound', () => {
    put('pods', 'on-none', { spec: { nodeName: 'drained' } });
    cache.observeGone('pods', { namespace: 'shop', name: 'on-drained', uid: 'uid-on-drained' });

    expect(neighbours()).toEqual({ drained: ['on-none'] });
  });
});
