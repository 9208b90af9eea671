/** The StatefulSet as its users see it, by rule, in both workload APIs from one table. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readAttempts } from '../../kubernetes/attempts.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import type {
  ControllerRevision,
  KubernetesObject,
  PersistentVolumeClaim,
  Pod,
} from '../../planners/objects.ts';
import { LABEL } from '../../planners/names.ts';
import type { PodEvent } from '../support/cluster.ts';
import { Cluster, isReady } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { found } from '../support/eventually.ts';
import { useLanes } from '../support/lanes.ts';
import { patient } from '../support/patience.ts';
import { refuseDeletion, refuseNewPod } from '../support/refusing-policy.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];
const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const CLAIMS = { group: '', version: 'v1', resource: 'persistentvolumeclaims' } as const;

/** Several plays go on at a time. */
const PATIENCE_MS = 150_000;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

/** Declares a worker. What it returns is for tests. */
function useGround(api: WorkloadApi) {
  const controlPlane = controlPlaneOf(api);
  // Two workers on one control plane: each with ids and a Lease of its own.
  const owner = `rules-${groupVersion(api).group.replace('.', '-')}`;
  let cluster: Cluster;
  let worker: WorkerProcess;

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    worker = await startWorker({ controlPlane: controlPlane(), cluster: owner });
  }, 60_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  async function describeSet(change: Partial<StatefulSetDescription>): Promise<StatefulSetDescription> {
    const namespace = await cluster.createNamespace('rules');
    return { name: 'web', namespace, replicas: 3, image: 'app:1', ...change };
  }

  async function deploy(change: Partial<StatefulSetDescription>): Promise<StatefulSetDescription> {
    const description = await describeSet(change);
    await update(description, {});
    return description;
  }

  /** Applies and waits until the controller calls it done at its newest generation. */
  async function update(
    description: StatefulSetDescription,
    change: Partial<StatefulSetDescription>,
  ): Promise<StatefulSetObject> {
    await cluster.applySet({ ...description, ...change });
    return await cluster.untilReady(description.namespace, description.name);
  }

  async function untilSet(
    description: StatefulSetDescription,
    what: string,
    predicate: (set: StatefulSetObject) => boolean,
  ) {
    return await cluster.until(cluster.setPath(description.namespace, description.name), what, predicate);
  }

  /** The set's revisions, as soon as they are so. */
  async function untilRevisions(
    { namespace, name }: StatefulSetDescription,
    predicate: (revisions: readonly ControllerRevision[]) => boolean,
  ): Promise<readonly ControllerRevision[]> {
    const collection = { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespace };
    for await (const event of cluster.client.watch(collection, {
      signal: AbortSignal.timeout(patient(20_000)),
    })) {
      const revisions = await cluster.revisions(namespace, name);
      if (predicate(revisions)) {
        return revisions;
      }
      void event;
    }
    return await cluster.revisions(namespace, name);
  }

  return { cluster: () => cluster, describeSet, deploy, update, untilSet, untilRevisions };
}

const GROUNDS = APIS.map((api) => ({ api, ground: useGround(api) }));
const inLane = useLanes(4);

describe.each(GROUNDS)('StatefulSet ($api)', ({ api, ground }) => {
  const { describeSet, deploy, update, untilSet, untilRevisions } = ground;

  it(
    'S1, S2, S11: creates pods in order, each with its identity, from ordinals.start on',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await describeSet({ start: 5 });
      const recording = await cluster.recordPods(description.namespace);
      await update(description, {});
      await recording.caughtUp();
      recording.stop();
      const pods = await cluster.pods(description.namespace, 'web');
      expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web-5', 'web-6', 'web-7']);
      const set = await cluster.set(description.namespace, 'web');
      for (const [index, pod] of pods.entries()) {
        expect(pod.metadata.labels).toMatchObject({
          [LABEL.podName]: pod.metadata.name,
          [LABEL.podIndex]: String(5 + index),
          [LABEL.revisionHash]: set.status?.updateRevision,
        });
        expect(pod.spec.hostname).toBe(pod.metadata.name);
        expect(pod.spec.subdomain).toBe('web');
        expect(pod.metadata.ownerReferences).toEqual([
          expect.objectContaining({
            kind: 'StatefulSet',
            name: 'web',
            uid: set.metadata.uid,
            controller: true,
          }),
        ]);
      }
      // OrderedReady: the next is created only when the one before is ready.
      for (const [before, next] of [
        ['web-5', 'web-6'],
        ['web-6', 'web-7'],
      ] as const) {
        const ready = recording.events.findIndex(
          (event) => event.pod.metadata.name === before && isPodReady(event.pod),
        );
        const created = recording.events.findIndex((event) => event.pod.metadata.name === next);
        expect(ready).toBeGreaterThanOrEqual(0);
        expect(created).toBeGreaterThan(ready);
      }
    }),
    PATIENCE_MS,
  );

  it(
    'S13, S19: replaces one pod at a time from the highest ordinal down, then currentRevision follows',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({});
      // A run records its attempt when it closes, a moment after the last pod: a change before that supersedes it.
      await untilRevisions(description, ([only]) => only !== undefined && readAttempts(only).length > 0);
      const recording = await cluster.recordPods(description.namespace);
      const set = await update(description, { image: 'app:2' });
      await recording.caughtUp();
      recording.stop();
      expect(deletions(recording.events)).toEqual(['web-2', 'web-1', 'web-0']);
      expect(mostUnavailable(recording.events, 3)).toBe(1);
      expect(set.status).toMatchObject({
        replicas: 3,
        readyReplicas: 3,
        availableReplicas: 3,
        updatedReplicas: 3,
        currentReplicas: 3,
        currentRevision: set.status?.updateRevision,
      });
      const [first, second] = await untilRevisions(
        description,
        ([, newer]) => newer !== undefined && readAttempts(newer).length > 0,
      );
      expect([first?.revision, second?.revision]).toEqual([1, 2]);
      expect([first, second].map((revision) => outcomes(revision))).toEqual([['Succeeded'], ['Succeeded']]);
    }),
    PATIENCE_MS,
  );

  it(
    'S6: going back re-uses the revision of that template under its name and raises its number',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ parallel: true, maxUnavailable: '100%' });
      const first = await cluster.set(description.namespace, 'web');
      await update(description, { image: 'app:2' });
      const back = await update(description, { image: 'app:1' });
      expect(back.status?.updateRevision).toBe(first.status?.updateRevision);
      const revisions = await cluster.revisions(description.namespace, 'web');
      expect(revisions.map(({ revision }) => revision)).toEqual([2, 3]);
    }),
    PATIENCE_MS,
  );

  it(
    'S10: partition is an offset from the start; pods below it keep their revision, also when they are made anew',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({
        replicas: 4,
        start: 10,
        partition: 2,
        parallel: true,
        maxUnavailable: 2,
      });
      await update(description, { image: 'app:2' });
      const images = async () => (await cluster.pods(description.namespace, 'web')).map(imageOf);
      const complete = async (within: string) =>
        (await cluster.revisions(within, 'web')).map(
          ({ metadata }) => metadata.annotations?.['fairlead.dev/complete'] === 'true',
        );
      expect(await images()).toEqual(['app:1', 'app:1', 'app:2', 'app:2']);
      // The run has ended; what an abort goes back to is what all pods were at.
      expect(await complete(description.namespace)).toEqual([true, false]);
      const [first] = await cluster.pods(description.namespace, 'web');
      await cluster.client.delete({ ...PODS, namespace: description.namespace, name: 'web-10' });
      await cluster.until<Pod>(
        { ...PODS, namespace: description.namespace, name: 'web-10' },
        'made anew and ready',
        (pod) => pod.metadata.uid !== first?.metadata.uid && isPodReady(pod),
      );
      expect(await images()).toEqual(['app:1', 'app:1', 'app:2', 'app:2']);
      const set = await update(description, { image: 'app:2', partition: 0 });
      expect(await images()).toEqual(['app:2', 'app:2', 'app:2', 'app:2']);
      expect(set.status?.currentRevision).toBe(set.status?.updateRevision);
      const [, newest] = await cluster.revisions(description.namespace, 'web');
      await cluster.until(
        {
          group: 'apps',
          version: 'v1',
          resource: 'controllerrevisions',
          namespace: description.namespace,
          name: newest?.metadata.name,
        },
        'marked complete',
        ({ metadata }) => metadata.annotations?.['fairlead.dev/complete'] === 'true',
      );
    }),
    PATIENCE_MS,
  );

  it(
    'no pod goes for one that the apiserver would refuse: it is told, and goes on when it may',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 3, parallel: true, maxUnavailable: 2 });
      const { namespace } = description;
      const before = (await cluster.pods(namespace, 'web')).map(({ metadata }) => metadata.uid);
      const allow = await refuseNewPod(cluster.client, namespace, 'app:2');
      await cluster.applySet({ ...description, image: 'app:2' });
      const refused = await untilSet(
        description,
        'held',
        ({ status }) =>
          status?.conditions?.some(({ message = '' }) => message.includes('no new app:2 for now')) === true,
      );
      expect(refused.status?.conditions?.find(({ type }) => type === 'Reconciling')?.message).toMatch(
        /refuses to change web-2.*: delete of pods\/web-2: .*the pod that is to come in its place would be refused/,
      );
      expect((await cluster.pods(namespace, 'web')).map(({ metadata }) => metadata.uid)).toEqual(before);
      expect(refused.status?.availableReplicas).toBe(3);
      await allow();
      await cluster.untilReady(namespace, 'web');
      expect((await cluster.pods(namespace, 'web')).map(imageOf)).toEqual(['app:2', 'app:2', 'app:2']);
    }),
    PATIENCE_MS,
  );

  it(
    'S10, S15: without the struct rollingUpdate a pod that is not ready comes back once, at the new revision',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({});
      const { namespace, name } = description;
      const path = cluster.setPath(namespace, name);
      await cluster.client.patch(path, 'merge', {
        spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: null } },
      });
      const broken = { ...PODS, namespace, name: 'web-1' };
      await cluster.client.patch(broken, 'merge', {
        metadata: { annotations: { 'sim.fairlead.dev/readiness-probe': 'failing' } },
      });
      await cluster.until<Pod>(broken, 'not ready', (pod) => !isPodReady(pod));
      const recording = await cluster.recordPods(namespace);
      const { spec } = await cluster.set(namespace, name);
      const containers = spec.template.spec.containers.map((one) => ({ ...one, image: 'app:2' }));
      await cluster.client.patch(path, 'merge', { spec: { template: { spec: { containers } } } });
      await cluster.untilReady(namespace, name);
      await recording.caughtUp();
      recording.stop();
      const made = recording.events.filter(({ type }) => type === 'ADDED').map(({ pod }) => imageOf(pod));
      expect(made).toEqual(['app:2', 'app:2', 'app:2']);
    }),
    PATIENCE_MS,
  );

  it(
    'OnDelete: nothing is replaced until somebody deletes it, then it comes at the new revision',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ onDelete: true, parallel: true });
      const before = await cluster.pods(description.namespace, 'web');
      await cluster.applySet({ ...description, image: 'app:2' });
      const revision = await untilSet(description, 'at a new update revision', (set) => {
        const { status } = set;
        return status?.updateRevision !== undefined && status.updateRevision !== status.currentRevision;
      });
      expect((await cluster.pods(description.namespace, 'web')).map(uidOf)).toEqual(before.map(uidOf));
      await cluster.client.delete({ ...PODS, namespace: description.namespace, name: 'web-1' });
      const made = await cluster.until<Pod>(
        { ...PODS, namespace: description.namespace, name: 'web-1' },
        'made anew',
        (pod) => pod.metadata.uid !== before[1]?.metadata.uid && isPodReady(pod),
      );
      expect(imageOf(made)).toBe('app:2');
      expect(made.metadata.labels?.[LABEL.revisionHash]).toBe(revision.status?.updateRevision);
    }),
    PATIENCE_MS,
  );

  it(
    'minReadySeconds paces the rollout and status tells ready from available (S16)',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, parallel: true, minReadySeconds: 2 });
      const recording = await cluster.recordPods(description.namespace);
      await update(description, { image: 'app:2' });
      await recording.caughtUp();
      recording.stop();
      const ready = recording.events.find(
        ({ pod }) => pod.metadata.name === 'web-1' && imageOf(pod) === 'app:2' && isPodReady(pod),
      );
      const next = recording.events.find(
        ({ pod }) => pod.metadata.name === 'web-0' && pod.metadata.deletionTimestamp !== undefined,
      );
      // By the time that the pod says itself, in whole seconds: this process may hear of it late.
      const since = ready?.pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
      expect((next?.at ?? 0) - Date.parse(since ?? '')).toBeGreaterThanOrEqual(2_000);
    }),
    PATIENCE_MS,
  );

  it(
    'S8: keeps revisionHistoryLimit old revisions beside those in use',
    inLane(async () => {
      const description = await deploy({ replicas: 1, revisionHistoryLimit: 1 });
      for (const image of ['app:2', 'app:3', 'app:4']) {
        await update(description, { image });
      }
      const kept = await untilRevisions(description, (revisions) => revisions.length <= 2);
      expect(kept.map(({ revision }) => revision)).toEqual([3, 4]);
    }),
    PATIENCE_MS,
  );

  it(
    'S3, S5, S9: claims come before pods, survive scaling down, are used again; scaling waits for nobody',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, claim: 'data', parallel: true });
      const { namespace } = description;
      const claims = async () =>
        (await cluster.client.list<PersistentVolumeClaim>({ ...CLAIMS, namespace })).items.map(uidOf).sort();
      const both = await claims();
      expect(both).toHaveLength(2);
      await cluster.applySet({ ...description, replicas: 1 });
      await untilSet(description, 'scaled down', (set) => set.status?.replicas === 1 && isReady(set));
      expect(await claims()).toEqual(both);
      await cluster.applySet({ ...description, replicas: 2 });
      await untilSet(description, 'scaled up', (set) => set.status?.readyReplicas === 2 && isReady(set));
      expect(await claims()).toEqual(both);
      const runs = (await cluster.events(namespace)).filter(({ reason }) => reason === 'RolloutStarted');
      expect(runs).toHaveLength(1);
    }),
    PATIENCE_MS,
  );

  it(
    'S12: a pod that the apiserver lets nobody delete is told, and the set is not Ready until it is gone',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, parallel: true });
      const allow = await refuseDeletion(cluster.client, description.namespace, 'web-0');
      await cluster.applySet({ ...description, replicas: 1 });
      const refused = await untilSet(description, 'scaled down', ({ metadata, status }) =>
        Boolean(
          status?.observedGeneration === metadata.generation &&
          status?.conditions?.some(({ reason }) => reason === 'WriteRefused'),
        ),
      );
      expect([refused.status?.replicas, isReady(refused)]).toEqual([2, false]);
      const reconciling = refused.status?.conditions?.find(({ type }) => type === 'Reconciling');
      expect(reconciling?.message).toMatch(
        /refuses to change web-1: delete of pods\/web-1: .*no deletion for now/,
      );
      await allow();
      const done = await cluster.untilReady(description.namespace, description.name);
      expect(done.status?.replicas).toBe(1);
    }),
    PATIENCE_MS,
  );

  it(
    'S4, S5: with whenScaled Delete a claim goes with its pod; the next pod waits for that and gets its own',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 3, claim: 'data', whenScaled: 'Delete', parallel: true });
      const { namespace } = description;
      const path = { ...CLAIMS, namespace, name: 'data-web-2' };
      const before = await cluster.client.get(path);
      await cluster.applySet({ ...description, replicas: 2 });
      await untilSet(description, 'scaled down', (set) => set.status?.replicas === 2);
      await cluster.applySet({ ...description, replicas: 3 });
      await untilSet(description, 'scaled up', (set) => set.status?.readyReplicas === 3 && isReady(set));
      expect((await cluster.client.get(path)).metadata.uid).not.toBe(before.metadata.uid);
    }),
    PATIENCE_MS,
  );

  it(
    'S4: with whenDeleted Delete the claims go with the set, but for one that another controller manages, which is told',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, claim: 'data', whenDeleted: 'Delete', parallel: true });
      const { namespace } = description;
      const claim = (ordinal: number) => ({ ...CLAIMS, namespace, name: `data-web-${String(ordinal)}` });
      const set = await cluster.client.get(cluster.setPath(namespace, 'web'));
      const isOurs = ({ metadata }: KubernetesObject) =>
        (metadata.ownerReferences ?? []).some(
          ({ uid, controller }) => uid === set.metadata.uid && controller,
        );
      for (const ordinal of [0, 1]) await cluster.until(claim(ordinal), 'owned by the set', isOurs);
      const backups = { group: '', version: 'v1', resource: 'configmaps', namespace };
      const keeper = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'backup', namespace } };
      const { uid } = (await cluster.client.create(backups, keeper)).metadata;
      const backup = { apiVersion: 'v1', kind: 'ConfigMap', name: 'backup', uid, controller: true };
      await cluster.client.patch(claim(1), 'merge', { metadata: { ownerReferences: [backup] } });
      const conflict = await found('the conflict is told', async () =>
        (await cluster.events(namespace)).find(({ reason }) => reason === 'ConflictingController'),
      );
      expect(conflict.message).toContain('data-web-1 is managed by another controller');
      await cluster.client.delete(cluster.setPath(namespace, 'web'));
      await cluster.untilGone(claim(0));
      expect((await cluster.client.get(claim(1))).metadata.ownerReferences).toEqual([backup]);
    }),
    PATIENCE_MS,
  );

  // The built-in API has no such field.
  if (api !== 'apps/v1')
    it(
      'is held by spec.paused, while it scales, and goes on when that is taken back',
      inLane(async () => {
        const cluster = ground.cluster();
        const description = await deploy({ parallel: true });
        const { namespace } = description;
        const images = async () =>
          (await cluster.pods(namespace, 'web')).map(({ spec }) => spec.containers[0]?.image);
        const pause = async (paused: boolean) =>
          await cluster.client.patch(cluster.setPath(namespace, 'web'), 'merge', { spec: { paused } });
        await pause(true);
        await cluster.applySet({ ...description, image: 'app:2', replicas: 4 });
        const held = await untilSet(
          description,
          'scaled and held',
          ({ metadata, status }) =>
            status?.observedGeneration === metadata.generation &&
            status?.readyReplicas === 4 &&
            (status.conditions ?? []).some(
              ({ type, reason }) => type === 'Reconciling' && reason === 'Paused',
            ),
        );
        expect(held.spec).toMatchObject({ paused: true });
        expect((await images()).slice(0, 3)).toEqual(['app:1', 'app:1', 'app:1']);
        await pause(false);
        await untilSet(description, 'rolled out', (set) => set.status?.updatedReplicas === 4 && isReady(set));
        expect(await images()).toEqual(['app:2', 'app:2', 'app:2', 'app:2']);
      }),
      PATIENCE_MS,
    );

  it(
    'heals: a deleted pod, a failed pod, a pod that lost its identity label',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ parallel: true });
      const { namespace } = description;
      const before = await cluster.pods(namespace, 'web');
      await cluster.client.delete({ ...PODS, namespace, name: 'web-0' });
      await cluster.client.patch({ ...PODS, namespace, name: 'web-1', subresource: 'status' }, 'strategic', {
        status: { phase: 'Failed', reason: 'Evicted' },
      });
      await cluster.client.patch({ ...PODS, namespace, name: 'web-2' }, 'merge', {
        metadata: { labels: { [LABEL.podName]: null } },
      });
      for (const [index, name] of ['web-0', 'web-1'].entries()) {
        await cluster.until<Pod>(
          { ...PODS, namespace, name },
          'replaced',
          (pod) => pod.metadata.uid !== before[index]?.metadata.uid && isPodReady(pod),
        );
      }
      await cluster.until<Pod>(
        { ...PODS, namespace, name: 'web-2' },
        'labelled again',
        (pod) => pod.metadata.labels?.[LABEL.podName] === 'web-2',
      );
      // Status that somebody else wrote is put right (C11).
      await cluster.client.patch({ ...cluster.setPath(namespace, 'web'), subresource: 'status' }, 'merge', {
        status: { readyReplicas: 0, availableReplicas: 0 },
      });
      await untilSet(description, 'with its true status', (set) => set.status?.readyReplicas === 3);
    }),
    PATIENCE_MS,
  );

  it(
    'C4: releases a pod that does not match any more, and adopts an orphan that does',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, parallel: true });
      const { namespace } = description;
      const path = { ...PODS, namespace, name: 'web-1' };
      const [, second] = await cluster.pods(namespace, 'web');
      await cluster.client.patch(path, 'merge', { metadata: { labels: { app: 'other' } } });
      const released = await cluster.until<Pod>(
        path,
        'released',
        (pod) => (pod.metadata.ownerReferences ?? []).length === 0,
      );
      expect(released.metadata.uid).toBe(second?.metadata.uid);
      await cluster.client.patch(path, 'merge', { metadata: { labels: { app: 'web' } } });
      const adopted = await cluster.until<Pod>(
        path,
        'adopted',
        (pod) => pod.metadata.ownerReferences?.[0]?.name === 'web',
      );
      expect(adopted.metadata.uid).toBe(second?.metadata.uid);
      await cluster.untilReady(namespace, 'web');
    }),
    PATIENCE_MS,
  );

  it(
    'C4: a pod that was released stands in the way of the next one only until it is gone',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, parallel: true });
      const { namespace } = description;
      const path = { ...PODS, namespace, name: 'web-1' };
      await cluster.client.patch(path, 'merge', { metadata: { labels: { app: 'quarantined' } } });
      const released = await cluster.until<Pod>(
        path,
        'released',
        (pod) => (pod.metadata.ownerReferences ?? []).length === 0,
      );
      await untilSet(description, 'one pod is left', (set) => set.status?.replicas === 1);
      await cluster.client.delete(path);
      const next = await cluster.until<Pod>(
        path,
        'replaced',
        (pod) => pod.metadata.uid !== released.metadata.uid && isPodReady(pod),
      );
      expect(next.metadata.labels?.['app']).toBe('web');
    }),
    PATIENCE_MS,
  );

  it(
    'keeps the conditions of others, and says Ready, Reconciling, Stalled as kstatus reads them',
    inLane(async () => {
      const cluster = ground.cluster();
      const description = await deploy({ replicas: 2, parallel: true, maxUnavailable: 1 });
      const conditions = async () => {
        const { status } = await cluster.set(description.namespace, 'web');
        return Object.fromEntries((status?.conditions ?? []).map(({ type, status: value }) => [type, value]));
      };
      expect(await conditions()).toEqual({
        Ready: 'True',
        Reconciling: 'False',
        Stalled: 'False',
        Progressing: 'True',
      });
      await cluster.applySet({ ...description, image: 'app:bad' });
      await untilSet(description, 'stuck at a bad image', (set) => {
        const ready = set.status?.conditions?.find(({ type }) => type === 'Ready');
        return set.status?.updatedReplicas === 1 && ready?.reason === 'PodNotReady';
      });
      expect(await conditions()).toMatchObject({ Ready: 'False', Reconciling: 'True', Stalled: 'False' });
    }),
    PATIENCE_MS,
  );
});

function outcomes(revision: ControllerRevision | undefined): readonly string[] {
  return revision === undefined ? [] : readAttempts(revision).map(({ outcome }) => outcome);
}

function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

function imageOf(pod: Pod): string | undefined {
  return pod.spec.containers[0]?.image;
}

function uidOf(object: { readonly metadata: { readonly uid: string } }): string {
  return object.metadata.uid;
}

/** Names in the order in which their pods were told to go. */
function deletions(events: readonly PodEvent[]): readonly string[] {
  const gone = events.filter(({ pod }) => pod.metadata.deletionTimestamp !== undefined);
  return [...new Set(gone.map(({ pod }) => pod.metadata.name))];
}

/** The most pods that were not ready at once. */
function mostUnavailable(events: readonly PodEvent[], replicas: number): number {
  const ready = new Map<string, boolean>();
  let most = 0;
  for (const { type, pod } of events) {
    if (!ready.has(pod.metadata.name)) {
      ready.set(pod.metadata.name, true);
    }
    ready.set(
      pod.metadata.name,
      type !== 'DELETED' && pod.metadata.deletionTimestamp === undefined && isPodReady(pod),
    );
    most = Math.max(most, [...ready.values()].filter((value) => !value).length);
  }
  return Math.min(most, replicas);
}
