/** What operators read on a StatefulSet of everything that happens to it (S21): the events, with the reasons of docs/operating.md. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { EventReason } from '../../controllers/reported-reasons.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import { LABEL } from '../../planners/names.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import { findFreePorts } from '../../local/ports.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { apisOf } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { untilObjects } from '../support/until-objects.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const EVENTS = { group: '', version: 'v1', resource: 'events' } as const;
const QUOTAS = { group: '', version: 'v1', resource: 'resourcequotas' } as const;
const PATIENCE_MS = 120_000;

type Event = KubernetesObject & {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
};

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 2 });
const GROUNDS = apisOf('fairlead.dev/v1beta1').map((api) => ({ api, ground: useGround(api) }));
const inLane = useLanes(4);

/** Declares a worker. What it returns is for tests. */
function useGround(api: WorkloadApi) {
  const controlPlane = controlPlaneOf(api);
  // Two workers on one control plane: each with ids and a Lease of its own.
  const owner = `events-${groupVersion(api).group.replace('.', '-')}`;
  let cluster: Cluster;
  let worker: WorkerProcess;
  let metricsAddress: string;

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    metricsAddress = `127.0.0.1:${String((await findFreePorts(1))[0])}`;
    worker = await startWorker({
      controlPlane: controlPlane(),
      cluster: owner,
      environment: { FAIRLEAD_METRICS_ADDRESS: metricsAddress },
    });
  }, 60_000);

  afterAll(async () => {
    await worker?.stop();
    cluster?.close();
  }, 30_000);

  async function describeSet(change: Partial<StatefulSetDescription> = {}): Promise<StatefulSetDescription> {
    const namespace = await cluster.createNamespace('events');
    return { name: 'web', namespace, replicas: 2, image: 'app:1', parallel: true, ...change };
  }

  /** Applies it and waits until all is done. */
  async function roll(description: StatefulSetDescription): Promise<void> {
    await cluster.applySet(description);
    await cluster.untilReady(description.namespace, description.name);
  }

  async function deploy(change: Partial<StatefulSetDescription> = {}): Promise<StatefulSetDescription> {
    const description = await describeSet(change);
    await roll(description);
    return description;
  }

  /** Events on the set with these reasons, the first of each, as soon as there is one of each. */
  async function told(
    { namespace, name }: StatefulSetDescription,
    ...reasons: readonly EventReason[]
  ): Promise<readonly Pick<Event, 'reason' | 'type' | 'message'>[]> {
    const isAbout = ({ involvedObject }: Event) =>
      involvedObject.kind === 'StatefulSet' && involvedObject.name === name;
    const firsts = (events: readonly Event[]) =>
      reasons.flatMap((wanted) => events.filter(isAbout).find(({ reason }) => reason === wanted) ?? []);
    const what = reasons.join(', ');
    const isThere = (events: readonly Event[]) => firsts(events).length === reasons.length;
    const events = await untilObjects<Event>(cluster.client, { ...EVENTS, namespace }, what, isThere, 30_000);
    return firsts(events).map(({ reason, type, message }) => ({ reason, type, message }));
  }

  const patchPod = async (namespace: string, name: string, metadata: object) =>
    await cluster.client.patch({ ...PODS, namespace, name }, 'merge', { metadata });

  /** What the worker counts, by metric and labels as Prometheus writes them. */
  async function metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`http://${metricsAddress}/metrics`)).text();
    const samples = [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)];
    return new Map(samples.map(([, name = '', value = '']) => [name, Number(value)]));
  }

  return { cluster: () => cluster, describeSet, deploy, roll, told, patchPod, metrics };
}

describe.each(GROUNDS)('events ($api)', ({ ground }) => {
  const { describeSet, deploy, roll, told, patchPod, metrics } = ground;
  const normal = (reason: EventReason, message: string | RegExp) => ({
    reason,
    type: 'Normal',
    message: expect.stringMatching(message),
  });
  const warning = (reason: EventReason, message: string | RegExp) => ({
    ...normal(reason, message),
    type: 'Warning',
  });

  it(
    'of a rollout in place, of one that goes back to a revision, and of one that makes pods anew; and what /metrics counts',
    inLane(async () => {
      const description = await deploy({ podUpdatePolicy: 'InPlaceIfPossible' });
      expect(await told(description, 'RevisionCreated', 'SuccessfulCreate', 'RolloutCompleted')).toEqual([
        normal('RevisionCreated', /^revision web-\w+ \(number 1\) created$/),
        normal('SuccessfulCreate', /web-0/),
        normal('RolloutCompleted', /./),
      ]);
      await roll({ ...description, image: 'app:2' });
      expect(await told(description, 'RolloutStarted', 'InPlaceUpdateStarted', 'PodPatchedInPlace')).toEqual([
        normal('RolloutStarted', /./),
        normal('InPlaceUpdateStarted', /web-\d/),
        normal('PodPatchedInPlace', /web-\d/),
      ]);
      await roll(description);
      expect(await told(description, 'RevisionReused')).toEqual([
        normal('RevisionReused', /^revision web-\w+ \(number 3\) renumbered$/),
      ]);
      await roll({ ...description, environment: { MODE: 'new' } });
      expect(await told(description, 'SuccessfulDelete')).toEqual([normal('SuccessfulDelete', /web-\d/)]);

      const counted = await metrics();
      const actions = (purpose: string) =>
        counted.get(`fairlead_actions_total{kind="StatefulSet",purpose="${purpose}",outcome="done"}`);
      expect(counted.get('fairlead_leader')).toBe(1);
      expect(counted.get('fairlead_temporal_reachable')).toBe(1);
      expect(counted.get('fairlead_events_lost_total')).toBe(0);
      expect(counted.get('fairlead_rollouts_started_total{kind="StatefulSet"}')).toBeGreaterThanOrEqual(4);
      // Two pods, there and back.
      expect(actions('InPlaceApply')).toBeGreaterThanOrEqual(4);
      expect(actions('Recreate')).toBeGreaterThanOrEqual(2);
      expect(counted.get('fairlead_reconciles_total{kind="StatefulSet",result="ok"}')).toBeGreaterThan(4);
      expect(counted.get('fairlead_plan_duration_seconds_count{kind="StatefulSet"}')).toBeGreaterThan(4);
      const creates =
        'fairlead_kubernetes_request_duration_seconds_count{method="POST",resource="pods",status="201"}';
      expect(counted.get(creates)).toBeGreaterThanOrEqual(4);
    }),
    PATIENCE_MS,
  );

  it(
    'of a rollout that a newer one takes the place of, and of a pod that comes back into service unchanged',
    inLane(async () => {
      const description = await deploy({ podUpdatePolicy: 'InPlaceIfPossible', gracePeriodSeconds: 60 });
      await ground.cluster().applySet({ ...description, image: 'app:2' });
      await told(description, 'InPlaceUpdateStarted');
      await roll(description);
      expect(await told(description, 'InPlaceUpdateWithdrawn', 'RolloutSuperseded')).toEqual([
        normal('InPlaceUpdateWithdrawn', /web-\d/),
        expect.objectContaining({ reason: 'RolloutSuperseded' }),
      ]);
    }),
    PATIENCE_MS,
  );

  it(
    'of pods that fail, leave and come back, and get their identity back',
    inLane(async () => {
      const description = await deploy();
      const { namespace } = description;
      const { client } = ground.cluster();
      await client.patch({ ...PODS, namespace, name: 'web-0', subresource: 'status' }, 'strategic', {
        status: { phase: 'Failed', reason: 'Evicted' },
      });
      expect(await told(description, 'RecreatingFailedPod')).toEqual([
        expect.objectContaining({ message: expect.stringContaining('web-0') }),
      ]);
      const isWell = (pods: readonly Pod[]) =>
        pods.length === 2 && pods.every(({ status }) => status?.phase === 'Running');
      await untilObjects<Pod>(client, { ...PODS, namespace }, 'both well', isWell, 60_000);
      await patchPod(namespace, 'web-0', { labels: { [LABEL.podName]: null } });
      expect(await told(description, 'SuccessfulUpdate')).toEqual([normal('SuccessfulUpdate', /web-0/)]);
      await patchPod(namespace, 'web-1', { labels: { app: 'other' } });
      expect(await told(description, 'Released')).toEqual([normal('Released', /web-1/)]);
      await patchPod(namespace, 'web-1', { labels: { app: 'web' } });
      expect(await told(description, 'Adopted')).toEqual([normal('Adopted', /web-1/)]);
    }),
    PATIENCE_MS,
  );

  it(
    'of what cannot be: a change in place that is none, and a revision that the quota has no room for',
    inLane(async () => {
      const description = await deploy({ podUpdatePolicy: 'InPlaceIfPossible' });
      const changed = { ...description, environment: { MODE: 'new' } };
      // Held back, until nothing but updates in place is allowed.
      await ground.cluster().applySet({ ...changed, partition: 2 });
      await ground.cluster().applySet({ ...changed, podUpdatePolicy: 'InPlaceOnly' });
      expect(await told(description, 'InPlaceImpossible')).toEqual([
        warning('InPlaceImpossible', /web-1.*env/),
      ]);

      const refused = await describeSet();
      const { namespace } = refused;
      await ground.cluster().client.create(
        { ...QUOTAS, namespace },
        {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: { name: 'none' },
          spec: { hard: { 'count/controllerrevisions.apps': '0' } },
        },
      );
      // Until the controller manager has counted, nothing is refused, or for another reason.
      await ground
        .cluster()
        .until<KubernetesObject & { status?: { hard?: object; used?: object } }>(
          { ...QUOTAS, namespace, name: 'none' },
          'counted',
          ({ status }) => status?.hard !== undefined && status.used !== undefined,
        );
      await ground.cluster().applySet(refused);
      expect(await told(refused, 'FailedCreateRevision')).toEqual([
        warning('FailedCreateRevision', /exceeded quota: none/),
      ]);
    }),
    PATIENCE_MS,
  );
});
