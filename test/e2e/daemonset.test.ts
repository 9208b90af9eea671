/** The DaemonSet as its users see it, by rule, from one table; in both workload APIs in the full suite. */

import { describe, expect, it } from '@jest/globals';

import { isReady } from '../../planners/availability.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { PODS, allAt, imageOf, nodesOf, uidOf, useDaemonGround } from '../support/daemonset-ground.ts';
import { apisOf } from '../support/full-suite.ts';

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 5 });

describe.each(apisOf('apps/v1'))('DaemonSet (%s)', (api) => {
  const ground = useDaemonGround(api, controlPlaneOf(api));
  const { apply, deploy, untilPods, untilReady, patchNode } = ground;

  const imagesOf = (pods: readonly Pod[]) => [...new Set(pods.map(imageOf))];
  const labelNode = (name: string, labels: Readonly<Record<string, string | null>>) =>
    patchNode(name, { metadata: { labels } });
  const taintNode = (name: string, taints: readonly object[] | null) => patchNode(name, { spec: { taints } });

  it('D1, D3, D6, D23: one pod on each node, bound by the scheduler, and a true status', async () => {
    const description = await deploy();
    const pods = await untilPods(description, 'five', allAt('agent:1', 5));
    expect(nodesOf(pods)).toEqual(['node-0', 'node-1', 'node-2', 'node-3', 'node-4']);
    expect((await untilReady(description)).status).toMatchObject({
      desiredNumberScheduled: 5,
      currentNumberScheduled: 5,
      numberReady: 5,
      numberAvailable: 5,
      updatedNumberScheduled: 5,
      numberMisscheduled: 0,
    });
  }, 60_000);

  it('D1, D9, D25: pods follow labels and taints of nodes', async () => {
    const description = await deploy({ nodeSelector: { disk: 'ssd' } });
    expect(await untilPods(description, 'none', (pods) => pods.length === 0)).toEqual([]);
    await labelNode('node-1', { disk: 'ssd' });
    await labelNode('node-3', { disk: 'ssd' });
    expect(nodesOf(await untilPods(description, 'two', allAt('agent:1', 2)))).toEqual(['node-1', 'node-3']);
    await taintNode('node-3', [{ key: 'broken', effect: 'NoExecute' }]);
    expect(nodesOf(await untilPods(description, 'one', allAt('agent:1', 1)))).toEqual(['node-1']);
    await taintNode('node-3', null);
    await untilPods(description, 'two again', allAt('agent:1', 2));
    await labelNode('node-1', { disk: null });
    expect(nodesOf(await untilPods(description, 'one left', allAt('agent:1', 1)))).toEqual(['node-3']);
    await labelNode('node-3', { disk: null });
    await untilPods(description, 'none left', (pods) => pods.length === 0);
  }, 90_000);

  it('D6, D7: a pod that was killed or has failed is replaced', async () => {
    const description = await deploy();
    const [first, second] = await untilPods(description, 'five', allAt('agent:1', 5));
    const { namespace } = description;
    await ground.cluster().client.delete({ ...PODS, namespace, name: first?.metadata.name });
    await ground
      .cluster()
      .client.patch({ ...PODS, namespace, name: second?.metadata.name, subresource: 'status' }, 'strategic', {
        status: { phase: 'Failed', reason: 'Evicted' },
      });
    const gone = new Set([first?.metadata.uid, second?.metadata.uid]);
    await untilPods(
      description,
      'two new ones',
      (pods) => allAt('agent:1', 5)(pods) && pods.every(({ metadata }) => !gone.has(metadata.uid)),
    );
  }, 60_000);

  it('D12, D13: a rolling update takes so many nodes at a time, and ends in one revision', async () => {
    const description = await deploy({ maxUnavailable: 2 });
    const record = await ground.cluster().recordPods(description.namespace);
    await apply({ ...description, image: 'agent:2' });
    await untilPods(description, 'all new', allAt('agent:2', 5));
    await untilReady(description);
    record.stop();
    const up = new Set(['node-0', 'node-1', 'node-2', 'node-3', 'node-4']);
    let fewest = up.size;
    for (const { type, pod } of record.events) {
      const node = pod.spec.nodeName ?? '';
      if (type === 'DELETED' || pod.metadata.deletionTimestamp !== undefined || !isReady(pod))
        up.delete(node);
      else up.add(node);
      fewest = Math.min(fewest, up.size);
    }
    expect(fewest).toBeGreaterThanOrEqual(3);
  }, 60_000);

  it('D16: with a surge every node keeps a ready pod', async () => {
    const description = await deploy({ maxSurge: 2, maxUnavailable: 0 });
    const record = await ground.cluster().recordPods(description.namespace);
    await apply({ ...description, image: 'agent:2' });
    await untilPods(description, 'all new', allAt('agent:2', 5));
    record.stop();
    const ready = new Map<string, Set<string>>();
    const without: string[] = [];
    for (const pod of await untilPods(description, 'settled', allAt('agent:2', 5))) {
      expect(pod.spec.nodeName).toBeDefined();
    }
    for (const { type, pod } of record.events) {
      const node = pod.spec.nodeName ?? '';
      const here = ready.get(node) ?? new Set<string>();
      ready.set(node, here);
      const isUp = type !== 'DELETED' && pod.metadata.deletionTimestamp === undefined && isReady(pod);
      if (isUp) here.add(pod.metadata.uid);
      else if (here.delete(pod.metadata.uid) && here.size === 0) without.push(node);
    }
    expect(without).toEqual([]);
  }, 60_000);

  it('D18: OnDelete replaces nothing until somebody deletes it', async () => {
    const description = await deploy({ onDelete: true });
    await apply({ ...description, image: 'agent:2' });
    await untilReady(description);
    const before = await untilPods(description, 'five', (pods) => pods.length === 5);
    expect(imagesOf(before)).toEqual(['agent:1']);
    const [victim] = before;
    await ground
      .cluster()
      .client.delete({ ...PODS, namespace: description.namespace, name: victim?.metadata.name });
    await untilPods(
      description,
      'one new',
      (pods) => pods.filter(({ spec }) => spec.containers[0]?.image === 'agent:2').length === 1,
    );
  }, 60_000);

  it('seed 000: a broken update stops within its budget, is fixed by the next, and going back restarts nothing', async () => {
    const description = await deploy();
    const before = new Set((await untilPods(description, 'five', allAt('agent:1', 5))).map(uidOf));
    await apply({ ...description, image: 'registry.invalid/missing:1' });
    await untilPods(description, 'one is broken', (pods) =>
      pods.some((pod) => pod.spec.containers[0]?.image !== 'agent:1' && pod.status?.phase !== undefined),
    );
    await apply(description);
    const after = await untilPods(description, 'all well', allAt('agent:1', 5));
    expect(after.filter((pod) => before.has(uidOf(pod)))).toHaveLength(4);
    const { items } = await ground.cluster().client.list<KubernetesObject & { revision: number }>({
      group: 'apps',
      version: 'v1',
      resource: 'controllerrevisions',
      namespace: description.namespace,
    });
    expect(items.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual([2, 3]);
  }, 60_000);

  it('partition: so many nodes keep the revision that they have, also for a pod that is made anew', async () => {
    const description = await deploy({ maxUnavailable: 5, partition: 3 });
    await apply({ ...description, image: 'agent:2' });
    const pods = await untilPods(
      description,
      'two new',
      (all) =>
        all.length === 5 &&
        all.every(isReady) &&
        all.filter((pod) => imageOf(pod) === 'agent:2').length === 2,
    );
    expect(nodesOf(pods.filter((pod) => imageOf(pod) === 'agent:2'))).toEqual(['node-3', 'node-4']);
    const kept = pods.find(({ spec }) => spec.nodeName === 'node-0');
    await ground
      .cluster()
      .client.delete({ ...PODS, namespace: description.namespace, name: kept?.metadata.name });
    await untilPods(description, 'made anew at the old one', (all) =>
      all.some(
        (pod) =>
          pod.spec.nodeName === 'node-0' &&
          uidOf(pod) !== kept?.metadata.uid &&
          isReady(pod) &&
          imageOf(pod) === 'agent:1',
      ),
    );
  }, 60_000);

  it('S6, C8: a StatefulSet with its name and template gets a revision of another name, and has its pods', async () => {
    const description = await deploy();
    const { namespace, name } = description;
    const pods = (await untilPods(description, 'five', allAt('agent:1', 5))).map(uidOf).sort();
    const { spec } = await untilReady(description);
    const cluster = ground.cluster();
    await cluster.client.create(cluster.path('StatefulSet', namespace), {
      apiVersion: api,
      kind: 'StatefulSet',
      metadata: { name },
      spec: { replicas: 1, serviceName: name, selector: spec.selector, template: spec.template },
    });
    const set = await cluster.untilReadyOf('StatefulSet', namespace, name);
    expect(set.status?.collisionCount).toBe(1);
    const all = await untilPods(description, 'six', allAt('agent:1', 6));
    expect(all.map(({ metadata }) => metadata.name)).toContain('agent-0');
    expect(all.map(uidOf)).toEqual(expect.arrayContaining(pods));
    const revisions = await cluster.client.list({
      group: 'apps',
      version: 'v1',
      resource: 'controllerrevisions',
      namespace,
    });
    const owners = revisions.items.map(({ metadata }) => metadata.ownerReferences?.[0]?.kind);
    expect(owners.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      'DaemonSet',
      'StatefulSet',
    ]);
    expect(set.status?.updateRevision).not.toBe(
      revisions.items.find(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'DaemonSet')?.metadata
        .name,
    );
  }, 60_000);

  it('in place: pods keep uid and node', async () => {
    const description = await deploy({ podUpdatePolicy: 'InPlaceIfPossible', maxUnavailable: 2 });
    const before = (await untilPods(description, 'five', allAt('agent:1', 5))).map(uidOf).sort();
    await apply({ ...description, image: 'agent:2' });
    const after = await untilPods(description, 'all new', allAt('agent:2', 5));
    expect(after.map(uidOf).sort()).toEqual(before);
  }, 60_000);
});
