import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { WorkloadWatch } from '../../../controllers/workload-watch.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { WatchCache } from '../../../kubernetes/watch-cache.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';
import { plainConnection } from '../../support/watch-server.ts';

const SET_UID = 'uid-web';

/** Which workloads a change of an object wakes (C11). The cache is fed as by the answers to writes; nothing is asked of a server. */
describe('what wakes a workload', () => {
  let client: KubernetesClient;
  let cache: WatchCache;
  let woken: string[];
  let version = 100;

  beforeEach(() => {
    client = new KubernetesClient(plainConnection('http://127.0.0.1:1'));
    cache = new WatchCache({
      client,
      sources: [
        { group: '', version: 'v1', resource: 'pods' },
        { group: '', version: 'v1', resource: 'nodes' },
        { group: '', version: 'v1', resource: 'persistentvolumeclaims' },
        { group: 'apps', version: 'v1', resource: 'controllerrevisions' },
        { group: 'apps', version: 'v1', resource: 'statefulsets' },
        { group: 'apps', version: 'v1', resource: 'daemonsets' },
        { group: 'apps', version: 'v1', resource: 'deployments' },
        { group: 'apps', version: 'v1', resource: 'replicasets' },
      ],
      onError: () => undefined,
    });
    woken = [];
    put('statefulsets', 'web', {}, SET_UID);
    put('statefulsets', 'other', {}, 'uid-other');
    put('nodes', 'node-1', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    put('pods', 'web-0', { ...owned('StatefulSet', 'web', SET_UID), spec: { nodeName: 'node-1' } });
    put('pods', 'other-0', { ...owned('StatefulSet', 'other', 'uid-other'), spec: { nodeName: 'node-2' } });
    new WorkloadWatch(cache, 'apps/v1', (key) => woken.push(key.split('/').at(-1) ?? '')).start();
    woken = [];
  });

  afterEach(() => {
    client.close();
  });

  function put(resource: string, name: string, fields: object, uid = `uid-${name}`): void {
    version += 1;
    const { metadata, ...rest } = fields as { readonly metadata?: object };
    const namespace = resource === 'nodes' ? {} : { namespace: 'shop' };
    const spec = { selector: { matchLabels: { app: name } } };
    cache.observeWrite(resource, {
      spec,
      ...rest,
      metadata: { ...metadata, ...namespace, name, uid, resourceVersion: String(version) },
    } as KubernetesObject);
  }

  function remove(resource: string, name: string): void {
    cache.observeGone(resource, { namespace: 'shop', name, uid: `uid-${name}` });
  }

  function owned(kind: string, name: string, uid: string): object {
    return { metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true }] } };
  }

  it('C11: itself, a pod of its own, an orphan that matches', () => {
    put('statefulsets', 'web', {}, SET_UID);
    put('pods', 'web-1', { ...owned('StatefulSet', 'web', SET_UID), spec: {} });
    put('pods', 'stray', { metadata: { labels: { app: 'web' } }, spec: {} });
    expect(woken).toEqual(['web', 'web', 'web']);
  });

  it('C11: not a pod of a namesake that was deleted, nor of another kind', () => {
    put('pods', 'web-1', { ...owned('StatefulSet', 'web', 'uid-before'), spec: {} });
    put('pods', 'web-2', { ...owned('Job', 'web', SET_UID), spec: {} });
    expect(woken).toEqual([]);
  });

  it('P12: a Deployment by its ReplicaSets, and by their pods, also when one goes', () => {
    put('deployments', 'api', {});
    put('replicasets', 'api-1', owned('Deployment', 'api', 'uid-api'));
    put('replicasets', 'alone', {});
    woken = [];
    put('pods', 'api-1-x', { ...owned('ReplicaSet', 'api-1', 'uid-api-1'), spec: {} });
    remove('pods', 'api-1-x');
    remove('replicasets', 'api-1');
    expect(woken).toEqual(['api', 'api', 'api']);
    put('pods', 'api-1-y', { ...owned('ReplicaSet', 'api-1', 'uid-before'), spec: {} });
    put('pods', 'alone-x', { ...owned('ReplicaSet', 'alone', 'uid-alone'), spec: {} });
    expect(woken).toHaveLength(3);
  });

  it('C4: a pod that stood in the place of one of its own is gone', () => {
    put('pods', 'web-1', { metadata: { labels: { app: 'debug' } }, spec: {} });
    put('pods', 'web-2', { ...owned('Job', 'copy', 'uid-copy'), spec: {} });
    expect(woken).toEqual([]);
    remove('pods', 'web-1');
    remove('pods', 'web-2');
    expect(woken).toEqual(['web', 'web']);
  });

  it('D25: a node that came, went, or has other labels or taints, or is drained no more: what is placed by node', () => {
    put('daemonsets', 'agent', {});
    woken = [];
    put('nodes', 'node-2', {});
    put('nodes', 'node-2', { metadata: { labels: { disk: 'ssd' } } });
    put('nodes', 'node-2', {
      metadata: { labels: { disk: 'ssd' } },
      spec: { taints: [{ key: 'full', effect: 'NoSchedule' }] },
    });
    expect(woken.filter((name) => name === 'agent')).toHaveLength(3);
    woken = [];
    const spec = { taints: [{ key: 'full', effect: 'NoSchedule' }] };
    const mark =
      '{"kind":"DaemonSet","namespace":"shop","name":"other","uid":"u","at":"2026-01-01T00:00:00Z"}';
    put('nodes', 'node-2', {
      metadata: { labels: { disk: 'ssd' }, annotations: { 'fairlead.dev/drain': mark } },
      spec,
    });
    put('nodes', 'node-2', { metadata: { labels: { disk: 'ssd' } }, spec });
    // Another workload has let it go: whoever waits for it may go on.
    expect(woken.filter((name) => name === 'agent')).toHaveLength(2);
    woken = [];
    put('nodes', 'node-2', {
      metadata: { labels: { disk: 'ssd' }, annotations: { heartbeat: 'now' } },
      spec: { taints: [{ key: 'full', effect: 'NoSchedule' }] },
    });
    expect(woken).toEqual([]);
  });

  it.each([
    ['that nobody owns', {}],
    ['that its pod owns (whenScaled: Delete)', owned('Pod', 'web-1', 'uid-web-1')],
  ])('S3, S4: a claim %s', (_, fields) => {
    put('persistentvolumeclaims', 'data-web-1', fields);
    remove('persistentvolumeclaims', 'data-web-1');
    expect(woken).toEqual(['web', 'web']);
  });

  it('a node whose kubelet went silent or came back: the owners of its pods; not for its other changes', () => {
    const ready = (status: string) => ({ status: { conditions: [{ type: 'Ready', status }] } });
    put('nodes', 'node-1', ready('True'));
    expect(woken).toEqual([]);
    put('nodes', 'node-1', ready('Unknown'));
    expect(woken).toEqual(['web']);
    put('nodes', 'node-1', ready('True'));
    expect(woken).toEqual(['web', 'web']);
  });
});
