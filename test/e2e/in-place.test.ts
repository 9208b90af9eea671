/** Updates in place, in both workload APIs: what must not change. */

import { describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import type { PodEvent } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { useLanes } from '../support/lanes.ts';
import { refuseImage, refuseResize } from '../support/refusing-policy.ts';
import {
  at,
  firsts,
  identityOf,
  imageOf,
  isGateClosed,
  isReady,
  restartsOf,
  statusOf,
  useInPlaceGround,
} from '../support/in-place-ground.ts';

type ConditionedSet = Pod & {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
};

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];

/** Several plays go on at a time. */
const PATIENCE_MS = 150_000;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

// Two workers on one control plane: each with ids and a Lease of its own.
const GROUNDS = APIS.map((api) => ({
  api,
  ground: useInPlaceGround(`in-place-${groupVersion(api).group.replace('.', '-')}`, controlPlaneOf(api)),
}));
const inLane = useLanes(4);

describe.each(GROUNDS)('in-place update of a StatefulSet ($api)', ({ ground }) => {
  const { cluster, deploy, update } = ground;

  it(
    'keeps uid, IP and node, restarts only the changed container, and closes the gate before the patch (in-place.md 4, 5)',
    inLane(async () => {
      const description = await deploy({ replicas: 2, sidecars: { proxy: 'proxy:1' } });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      const recording = await cluster().recordPods(namespace);
      await update(description, {
        sidecars: { proxy: 'proxy:2' },
        templateLabels: { tier: 'gold' },
        templateAnnotations: { note: 'new' },
      });
      await recording.caughtUp();
      recording.stop();
      const after = await cluster().pods(namespace, name);
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
      const last = await cluster().pods(namespace, name);
      expect(last.map((pod) => pod.metadata.labels?.['tier'])).toEqual([undefined, undefined]);
      expect(last.map(restartsOf)).toEqual([1, 1]);
      expect(last.map(identityOf)).toEqual(before.map(identityOf));
    }),
    PATIENCE_MS,
  );

  it(
    'a native sidecar restarts alone; another image of an init container makes pods anew (in-place.md 3, 10)',
    inLane(async () => {
      const withInit = (proxy: string, init: string) => ({
        podSpec: {
          initContainers: [
            { name: 'init', image: init },
            { name: 'proxy', image: proxy, restartPolicy: 'Always' },
          ],
        },
      });
      const description = await deploy({ replicas: 2, ...withInit('proxy:1', 'init:1') });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      await update(description, withInit('proxy:2', 'init:1'));
      const after = await cluster().pods(namespace, name);
      expect(after.map(identityOf)).toEqual(before.map(identityOf));
      expect(after.map(restartsOf)).toEqual([0, 0]);
      for (const [index, pod] of after.entries()) {
        const [init, proxy] = pod.status?.initContainerStatuses ?? [];
        const [wasInit, wasProxy] = before[index]?.status?.initContainerStatuses ?? [];
        expect(pod.spec.initContainers?.map(({ image }) => image)).toEqual(['init:1', 'proxy:2']);
        expect(proxy).toMatchObject({ name: 'proxy', restartCount: 1, image: 'proxy:2' });
        expect(proxy?.containerID).not.toBe(wasProxy?.containerID);
        expect(init).toEqual(wasInit);
      }
      await update(description, withInit('proxy:2', 'init:2'));
      const anew = await cluster().pods(namespace, name);
      expect(anew.map(({ metadata }) => before.some((pod) => pod.metadata.uid === metadata.uid))).toEqual([
        false,
        false,
      ]);
    }),
    PATIENCE_MS,
  );

  it(
    'finishes when two tags share a digest, though status.image stays at the old tag (in-place.md 2)',
    inLane(async () => {
      const description = await deploy({ replicas: 2, image: 'app:1_digest-abc' });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      await update(description, { image: 'app:2_digest-abc' });
      const after = await cluster().pods(namespace, name);
      expect(after.map(identityOf)).toEqual(before.map(identityOf));
      expect(after.map(restartsOf)).toEqual([1, 1]);
      expect(after.map((pod) => statusOf(pod, 'main')?.image)).toEqual([
        'app:1_digest-abc',
        'app:1_digest-abc',
      ]);
    }),
    PATIENCE_MS,
  );

  it(
    'falls back to a new pod for what cannot be done in place (A18), and waits for the grace period (A25)',
    inLane(async () => {
      const description = await deploy({ replicas: 2, gracePeriodSeconds: 2 });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      const recording = await cluster().recordPods(namespace);
      await update(description, { image: 'app:2' });
      await recording.caughtUp();
      recording.stop();
      for (const pod of before) {
        const { events } = recording;
        const isIts = ({ metadata }: Pod) => metadata.uid === pod.metadata.uid;
        const closed = events.find((event) => isIts(event.pod) && isGateClosed(event.pod));
        const patched = at(
          firsts(events, (one) => imageOf(one) === 'app:2'),
          pod.metadata.name,
        );
        const begun = JSON.parse(closed?.pod.metadata.annotations?.[ANNOTATION.inPlaceUpdate] ?? '{}') as {
          readonly at?: string;
        };
        expect(patched - Date.parse(begun.at ?? '')).toBeGreaterThanOrEqual(2_000);
      }
      await update(description, { image: 'app:2', environment: { MODE: 'fast' } });
      const after = await cluster().pods(namespace, name);
      const uids = new Set(before.map((pod) => pod.metadata.uid));
      expect(after.some((pod) => uids.has(pod.metadata.uid))).toBe(false);
    }),
    PATIENCE_MS,
  );

  it(
    'holds a bad image within the budget and leaves it by another commit, pods kept',
    inLane(async () => {
      const description = await deploy({ replicas: 4, maxUnavailable: 2 });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      await cluster().applySet({ ...description, image: 'app:bad' });
      await cluster().until(
        cluster().setPath(namespace, name),
        'two pods at the bad revision',
        (set: { status?: { updatedReplicas?: number } } & Pod) => set.status?.updatedReplicas === 2,
      );
      await update(description, { image: 'app:3' });
      const after = await cluster().pods(namespace, name);
      expect(after.map(identityOf)).toEqual(before.map(identityOf));
      expect(after.map(imageOf)).toEqual(['app:3', 'app:3', 'app:3', 'app:3']);
      // web-0 and web-1 never saw the bad image.
      expect(after.slice(0, 2).map(restartsOf)).toEqual([1, 1]);
    }),
    PATIENCE_MS,
  );

  const resized = {
    image: 'app:2',
    sidecars: { proxy: 'proxy:2' },
    cpu: { proxy: '20m' },
  };
  const small = { sidecars: { proxy: 'proxy:1' }, cpu: { proxy: '10m' } };

  it(
    'resizes a container beside one without resources together with new images, pods kept (A30)',
    inLane(async () => {
      const description = await deploy({ replicas: 2, ...small });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      await update(description, resized);
      const after = await cluster().pods(namespace, name);
      expect(after.map(identityOf)).toEqual(before.map(identityOf));
      expect(after.map((pod) => statusOf(pod, 'proxy')?.resources)).toEqual([
        { requests: { cpu: '20m' } },
        { requests: { cpu: '20m' } },
      ]);
      // What was not there is added; the apiserver takes nothing away.
      await update(description, { ...resized, limits: { proxy: { cpu: '1', memory: '64Mi' } } });
      const limited = await cluster().pods(namespace, name);
      expect(limited.map(identityOf)).toEqual(before.map(identityOf));
      expect(limited.map((pod) => statusOf(pod, 'proxy')?.resources)).toEqual(
        limited.map(() => ({
          requests: { cpu: '20m', memory: '64Mi' },
          limits: { cpu: '1', memory: '64Mi' },
        })),
      );
      await update(description, resized);
      const last = await cluster().pods(namespace, name);
      expect(last.filter(({ metadata }) => before.some((pod) => pod.metadata.uid === metadata.uid))).toEqual(
        [],
      );
    }),
    PATIENCE_MS,
  );

  it(
    'makes new pods, there and back, where the apiserver refuses to resize, one at a time and never out of service for nothing',
    inLane(async () => {
      const description = await deploy({ replicas: 3, maxUnavailable: 1, ...small });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      const allow = await refuseResize(cluster().client, namespace, 'web-0');
      const recording = await cluster().recordPods(namespace);
      await update(description, resized);
      const middle = await cluster().pods(namespace, name);
      await update(description, {});
      await recording.caughtUp();
      recording.stop();
      const after = await cluster().pods(namespace, name);
      const uids = [before, middle, after].flat().map(({ metadata }) => metadata.uid);
      expect(new Set(uids).size).toBe(9);
      expect(after.map(imageOf)).toEqual(['app:1', 'app:1', 'app:1']);
      expect(recording.events.filter(({ pod }) => isGateClosed(pod))).toEqual([]);
      const told = await cluster().events(namespace);
      expect(told.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^delete Pod web-2 .* cannot be resized in place: .*no resize for now/),
      );
      await allow();
    }),
    PATIENCE_MS,
  );

  it(
    'InPlaceOnly: more than the node has costs no pod, and another commit goes on',
    inLane(async () => {
      const description = await deploy({ replicas: 2, podUpdatePolicy: 'InPlaceOnly', ...small });
      const { namespace, name } = description;
      const recording = await cluster().recordPods(namespace);
      await cluster().applySet({ ...description, ...resized, cpu: { proxy: '9999999' } });
      await cluster().until(cluster().setPath(namespace, name), 'told why', isToldOf('web-1, web-0'));
      await update(description, {});
      await recording.caughtUp();
      recording.stop();
      expect(recording.events.filter(({ pod }) => isGateClosed(pod) || !isReady(pod))).toEqual([]);
    }),
    PATIENCE_MS,
  );

  it(
    'an image that a policy refuses costs no pod, is told, and is taken when it is allowed',
    inLane(async () => {
      const description = await deploy({ replicas: 3 });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      const allow = await refuseImage(cluster().client, namespace, 'web-0', 'app:2');
      const recording = await cluster().recordPods(namespace);
      await cluster().applySet({ ...description, image: 'app:2' });
      await cluster().until<ConditionedSet>(
        cluster().setPath(namespace, name),
        'told that it is refused',
        ({ status }) =>
          status?.conditions?.some(
            ({ type, message }) => type === 'Reconciling' && message?.includes('no app:2 for now') === true,
          ) === true,
      );
      expect(recording.events.filter(({ pod }) => isGateClosed(pod) || !isReady(pod))).toEqual([]);
      await allow();
      await cluster().untilReady(namespace, name);
      await recording.caughtUp();
      recording.stop();
      const after = await cluster().pods(namespace, name);
      expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
      expect(after.map(imageOf)).toEqual(['app:2', 'app:2', 'app:2']);
    }),
    PATIENCE_MS,
  );

  it(
    'InPlaceOnly: a refused resize costs no pod, is told with what helps, and goes on in place when it is allowed',
    inLane(async () => {
      const description = await deploy({ replicas: 3, podUpdatePolicy: 'InPlaceOnly', ...small });
      const { namespace, name } = description;
      const before = await cluster().pods(namespace, name);
      const allow = await refuseResize(cluster().client, namespace, 'web-0');
      const recording = await cluster().recordPods(namespace);
      await cluster().applySet({ ...description, ...resized });
      await cluster().until(
        cluster().setPath(namespace, name),
        'told that no pod can be resized',
        isToldOf('web-2, web-1, web-0'),
      );
      expect(recording.events.filter(({ pod }) => isGateClosed(pod) || !isReady(pod))).toEqual([]);
      await allow();
      await cluster().untilReady(namespace, name);
      await recording.caughtUp();
      recording.stop();
      const after = await cluster().pods(namespace, name);
      expect(after.map(identityOf)).toEqual(before.map(identityOf));
      expect(after.map(imageOf)).toEqual(['app:2', 'app:2', 'app:2']);
    }),
    PATIENCE_MS,
  );
});

/** The set says that the apiserver does not resize these pods. */
function isToldOf(pods: string): (set: ConditionedSet) => boolean {
  return ({ status }) =>
    status?.conditions?.some(
      ({ type, reason, message }) =>
        type === 'Reconciling' && reason === 'ResizeRefused' && message?.includes(pods) === true,
    ) === true;
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
