/** Updates in place, in both workload APIs: seed 003's example to the order and the time, and what must not change. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { Pod } from '../../planners/objects.ts';
import { ANNOTATION, IN_PLACE_GATE } from '../../planners/names.ts';
import type { PodEvent } from '../support/cluster.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];
const RESTART_DELAY = 'sim.fairlead.dev/restart-delay';

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

describe.each(APIS)('in-place update of a StatefulSet (%s)', (api) => {
  const controlPlane = controlPlaneOf(api);
  let cluster: Cluster;
  let worker: WorkerProcess;

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'in-place' });
  }, 60_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  async function deploy(change: Partial<StatefulSetDescription>): Promise<StatefulSetDescription> {
    const description: StatefulSetDescription = {
      name: 'web',
      namespace: await cluster.createNamespace('in-place'),
      replicas: 3,
      image: 'app:1',
      parallel: true,
      maxUnavailable: 3,
      podUpdatePolicy: 'InPlaceIfPossible',
      ...change,
    };
    await cluster.applySet(description);
    await cluster.untilReady(description.namespace, description.name);
    return description;
  }

  async function update(
    description: StatefulSetDescription,
    change: Partial<StatefulSetDescription>,
  ): Promise<void> {
    await cluster.applySet({ ...description, ...change });
    await cluster.untilReady(description.namespace, description.name);
  }

  it('seed 003: partition 4 updates P4; partition 0 updates P3, P2, P1 at once, and P0 within 0.2 s after the first of them', async () => {
    const description = await deploy({ replicas: 5, partition: 4 });
    const { namespace, name } = description;
    const before = await cluster.pods(namespace, name);
    await update(description, { image: 'app:2' });
    expect((await cluster.pods(namespace, name)).map(imageOf)).toEqual([
      'app:1',
      'app:1',
      'app:1',
      'app:1',
      'app:2',
    ]);

    // P1, P2 and P3 are ready again after 2, 4 and 6 s.
    for (const [pod, delay] of [
      ['web-1', '2s'],
      ['web-2', '4s'],
      ['web-3', '6s'],
    ] as const) {
      await cluster.annotate(
        { group: '', version: 'v1', resource: 'pods', namespace, name: pod },
        { [RESTART_DELAY]: delay },
      );
    }
    const recording = await cluster.recordPods(namespace);
    await update(description, { image: 'app:2', partition: 0 });
    recording.stop();

    const begun = firsts(recording.events, isGateClosed);
    const ready = firsts(
      recording.events,
      (pod) => pod.metadata.name !== 'web-4' && imageOf(pod) === 'app:2' && isReady(pod),
    );
    expect([...begun.keys()].slice(0, 3).sort()).toEqual(['web-1', 'web-2', 'web-3']);
    const starts = ['web-1', 'web-2', 'web-3'].map((pod) => at(begun, pod));
    expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(250);
    expect([...ready.keys()][0]).toBe('web-1');
    const gap = at(begun, 'web-0') - at(ready, 'web-1');
    expect(gap).toBeGreaterThanOrEqual(0);
    expect(gap).toBeLessThanOrEqual(200);
    expect(at(ready, 'web-0')).toBeLessThan(at(ready, 'web-2'));

    const after = await cluster.pods(namespace, name);
    expect(after.map(identityOf)).toEqual(before.map(identityOf));
    expect(after.map((pod) => restartsOf(pod))).toEqual([1, 1, 1, 1, 1]);
  }, 60_000);

  it('keeps uid, IP and node, restarts only the changed container, and closes the gate before the patch (in-place.md 4, 5)', async () => {
    const description = await deploy({ replicas: 2, sidecars: { proxy: 'proxy:1' } });
    const { namespace, name } = description;
    const before = await cluster.pods(namespace, name);
    const recording = await cluster.recordPods(namespace);
    await update(description, {
      sidecars: { proxy: 'proxy:2' },
      templateLabels: { tier: 'gold' },
      templateAnnotations: { note: 'new' },
    });
    recording.stop();
    const after = await cluster.pods(namespace, name);
    expect(after.map(identityOf)).toEqual(before.map(identityOf));
    for (const [index, pod] of after.entries()) {
      const was = before[index] as Pod;
      expect(statusOf(pod, 'main')).toMatchObject({
        containerID: statusOf(was, 'main')?.containerID,
        restartCount: 0,
      });
      expect(statusOf(pod, 'proxy')?.containerID).not.toBe(statusOf(was, 'proxy')?.containerID);
      expect(statusOf(pod, 'proxy')?.restartCount).toBe(1);
      expect(pod.metadata.labels?.['tier']).toBe('gold');
      expect(pod.metadata.annotations?.['note']).toBe('new');
      expect(pod.metadata.annotations?.[ANNOTATION.inPlaceUpdate]).toBeUndefined();
      const order = recording.events
        .filter((event) => event.pod.metadata.name === pod.metadata.name)
        .map(stageOf);
      expect(dedupe(order)).toEqual(['old ready', 'gate closed', 'patched', 'gate open', 'new ready']);
    }
    // Removed from the template, removed from the pod (A21); no container restarts for it.
    await update(description, { sidecars: { proxy: 'proxy:2' } });
    const last = await cluster.pods(namespace, name);
    expect(last.map((pod) => pod.metadata.labels?.['tier'])).toEqual([undefined, undefined]);
    expect(last.map(restartsOf)).toEqual([1, 1]);
    expect(last.map(identityOf)).toEqual(before.map(identityOf));
  }, 60_000);

  it('finishes when two tags share a digest, though status.image stays at the old tag (in-place.md 2)', async () => {
    const description = await deploy({ replicas: 2, image: 'app:1_digest-abc' });
    const { namespace, name } = description;
    const before = await cluster.pods(namespace, name);
    await update(description, { image: 'app:2_digest-abc' });
    const after = await cluster.pods(namespace, name);
    expect(after.map(identityOf)).toEqual(before.map(identityOf));
    expect(after.map(restartsOf)).toEqual([1, 1]);
    expect(after.map((pod) => statusOf(pod, 'main')?.image)).toEqual([
      'app:1_digest-abc',
      'app:1_digest-abc',
    ]);
  }, 60_000);

  it('falls back to a new pod for what cannot be done in place (A18), and waits for the grace period (A25)', async () => {
    const description = await deploy({ replicas: 2, gracePeriodSeconds: 2 });
    const { namespace, name } = description;
    const before = await cluster.pods(namespace, name);
    const recording = await cluster.recordPods(namespace);
    await update(description, { image: 'app:2' });
    recording.stop();
    for (const pod of before) {
      const { events } = recording;
      const closed = at(firsts(events, isGateClosed), pod.metadata.name);
      const patched = at(
        firsts(events, (one) => imageOf(one) === 'app:2'),
        pod.metadata.name,
      );
      expect(patched - closed).toBeGreaterThanOrEqual(950);
    }
    await update(description, { image: 'app:2', environment: { MODE: 'fast' } });
    const after = await cluster.pods(namespace, name);
    const uids = new Set(before.map((pod) => pod.metadata.uid));
    expect(after.some((pod) => uids.has(pod.metadata.uid))).toBe(false);
  }, 60_000);

  it('holds a bad image within the budget and leaves it by another commit, pods kept', async () => {
    const description = await deploy({ replicas: 4, maxUnavailable: 2 });
    const { namespace, name } = description;
    const before = await cluster.pods(namespace, name);
    await cluster.applySet({ ...description, image: 'app:bad' });
    await cluster.until(
      cluster.setPath(namespace, name),
      'two pods at the bad revision',
      (set: { status?: { updatedReplicas?: number } } & Pod) => set.status?.updatedReplicas === 2,
    );
    await update(description, { image: 'app:3' });
    const after = await cluster.pods(namespace, name);
    expect(after.map(identityOf)).toEqual(before.map(identityOf));
    expect(after.map(imageOf)).toEqual(['app:3', 'app:3', 'app:3', 'app:3']);
    // web-0 and web-1 never saw the bad image.
    expect(after.slice(0, 2).map(restartsOf)).toEqual([1, 1]);
  }, 60_000);
});

function imageOf(pod: Pod): string | undefined {
  return pod.spec.containers[0]?.image;
}

function identityOf(pod: Pod): unknown {
  return [pod.metadata.name, pod.metadata.uid, pod.status?.podIP, pod.spec.nodeName];
}

function statusOf(pod: Pod, container: string) {
  return pod.status?.containerStatuses?.find((status) => status.name === container);
}

function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, status) => sum + status.restartCount, 0);
}

function conditionOf(pod: Pod, type: string): string | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type)?.status;
}

function isReady(pod: Pod): boolean {
  return conditionOf(pod, 'Ready') === 'True';
}

function isGateClosed(pod: Pod): boolean {
  return conditionOf(pod, IN_PLACE_GATE) === 'False';
}

/** First time at which each pod is so, in the order of these times. */
function firsts(events: readonly PodEvent[], predicate: (pod: Pod) => boolean): Map<string, number> {
  const found = new Map<string, number>();
  for (const { pod, at: time } of events) {
    if (!found.has(pod.metadata.name) && predicate(pod)) {
      found.set(pod.metadata.name, time);
    }
  }
  return found;
}

function at(times: ReadonlyMap<string, number>, pod: string): number {
  const time = times.get(pod);
  if (time === undefined) {
    throw new Error(`${pod} never was so; seen: ${[...times.keys()].join(', ')}`);
  }
  return time;
}

/** Where a pod with a changed sidecar is in its update. */
function stageOf({ pod }: PodEvent): string {
  const isNew = pod.spec.containers[1]?.image === 'proxy:2';
  if (isGateClosed(pod)) {
    return isNew ? 'patched' : 'gate closed';
  }
  if (!isNew) {
    return 'old ready';
  }
  return isReady(pod) ? 'new ready' : 'gate open';
}

function dedupe(values: readonly string[]): string[] {
  const all = ['old ready', ...values];
  return all.filter((value, index) => value !== all[index - 1]);
}
