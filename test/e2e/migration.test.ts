/**
 * "Migration is not an outage": commits that move a StatefulSet or a Deployment from the built-in controller (apps/v1) to Fairlead
 * (fairlead.dev) and back. No pod changes its uid, no container restarts, in either direction.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DeploymentObject } from '../../kubernetes/deployment-adapter.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import { asRecord } from '../../kubernetes/values.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type {
  ControllerRevision,
  KubernetesObject,
  PersistentVolumeClaim,
  Pod,
} from '../../planners/objects.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { TestRepository } from '../support/git-repository.ts';
import { runCli } from '../support/cli.ts';
import { runPrinted } from '../support/printed-command.ts';
import { startWorker } from '../support/worker-process.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

/** Rich in fields that the apiserver defaults for apps/v1 and leaves alone in a custom resource. */
const manifest = (apiVersion: string, image = 'app:1'): string => `apiVersion: ${apiVersion}
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 3
  serviceName: web
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {team: shop}}
    spec:
      terminationGracePeriodSeconds: 1
      initContainers:
      - {name: proxy, image: proxy, restartPolicy: Always}
      containers:
      - name: main
        image: ${image}
        ports: [{containerPort: 8080, name: http}]
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        resources: {requests: {cpu: "0.5", memory: 1024Mi}, limits: {cpu: 1000m}}
        readinessProbe: {httpGet: {path: /, port: http}}
        volumeMounts: [{name: data, mountPath: /data}, {name: settings, mountPath: /settings}]
      volumes: [{name: settings, configMap: {name: settings, optional: true}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

/** A rollout that its partition holds in the middle. */
const canary = (apiVersion: string, image: string): string => `apiVersion: ${apiVersion}
kind: StatefulSet
metadata: {name: canary}
spec:
  replicas: 4
  serviceName: canary
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: ${image === 'app:1' ? '0' : '2'}}}
  selector: {matchLabels: {app: canary}}
  template:
    metadata: {labels: {app: canary}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: ${image}}]
`;

/**
 * Our fields are refused by apps/v1; the gate is not. Of one pod: between two, none is out of service, and the other one would be replaced
 * by who keeps it then, behind a gate that nobody opens.
 */
const inPlace = (apiVersion: string, image: string): string => `apiVersion: ${apiVersion}
kind: StatefulSet
metadata: {name: gated}
spec:
  replicas: 1
  serviceName: gated
  podManagementPolicy: Parallel
  updateStrategy:
    type: RollingUpdate
    ${
      apiVersion === 'apps/v1'
        ? ''
        : 'rollingUpdate: {maxUnavailable: 1, podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 3}}'
    }
  selector: {matchLabels: {app: gated}}
  template:
    metadata: {labels: {app: gated}}
    spec:
      terminationGracePeriodSeconds: 1
      readinessGates: [{conditionType: InPlaceUpdateReady}]
      containers: [{name: main, image: ${image}}]
`;

/** Says neither how many, nor what is set in the cluster. */
const sparse = (apiVersion: string, labels = ''): string => `apiVersion: ${apiVersion}
kind: StatefulSet
metadata: {name: sparse, labels: {${labels}}}
spec:
  serviceName: sparse
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: sparse}}
  template:
    metadata: {labels: {app: sparse}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: app:1}]
`;

/** With `spec.paused`, which both APIs have for Deployments. */
const held = (apiVersion: string, paused: boolean, image: string): string => `apiVersion: ${apiVersion}
kind: Deployment
metadata: {name: held}
spec:
  paused: ${String(paused)}
  selector: {matchLabels: {app: held}}
  template:
    metadata: {labels: {app: held}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: ${image}}]
`;

/** With the annotation, which is what kinds without the field have for it. */
const noted = (apiVersion: string, paused: boolean, image: string): string => `apiVersion: ${apiVersion}
kind: StatefulSet
metadata: {name: noted, annotations: {fairlead.dev/paused: "${String(paused)}"}}
spec:
  serviceName: noted
  selector: {matchLabels: {app: noted}}
  template:
    metadata: {labels: {app: noted}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: ${image}}]
`;

const deploymentManifest = (apiVersion: string): string => `apiVersion: ${apiVersion}
kind: Deployment
metadata: {name: api}
spec:
  replicas: 3
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}, annotations: {team: shop}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: api:1
        ports: [{containerPort: 8080, name: http}]
        resources: {requests: {cpu: "0.5", memory: 1024Mi}, limits: {cpu: 1000m}}
        readinessProbe: {httpGet: {path: /, port: http}}
`;

describe('migration between the workload APIs', () => {
  const controlPlane = useControlPlane({ nodes: 3 });
  let native: Cluster;
  let ours: Cluster;
  let worker: WorkerProcess;
  let repository: TestRepository;
  let directory: string;
  let namespace: string;

  beforeAll(async () => {
    const { kubeconfig } = controlPlane();
    native = await Cluster.connect(kubeconfig, 'apps/v1');
    ours = await Cluster.connect(kubeconfig, 'fairlead.dev/v1beta1');
    namespace = await ours.createNamespace('migration');
    await grantSync(ours, namespace);
    repository = await TestRepository.create();
    directory = await mkdtemp(join(tmpdir(), 'fairlead-migration-'));
    const file = join(directory, 'repositories.yaml');
    await writeFile(
      file,
      `- {name: shop, url: ${repository.path}, namespace: ${namespace}, serviceAccount: sync, interval: 1s}\n`,
    );
    await repository.commit({ 'web.yaml': manifest('apps/v1') });
    worker = await startWorker({
      controlPlane: controlPlane(),
      cluster: 'migration',
      environment: { FAIRLEAD_REPOSITORIES: file },
    });
  }, 90_000);

  afterAll(async () => {
    await worker?.stop();
    await repository?.remove();
    await rm(directory, { recursive: true, force: true });
    native?.close();
    ours?.close();
  }, 30_000);

  async function identities(): Promise<unknown> {
    const pods = await ours.pods(namespace, 'web');
    const claims = await ours.client.list<PersistentVolumeClaim>({
      group: '',
      version: 'v1',
      resource: 'persistentvolumeclaims',
      namespace,
    });
    return {
      pods: pods.map((pod) => [pod.metadata.name, pod.metadata.uid, restarts(pod)]),
      claims: claims.items.map(({ metadata }) => metadata.uid).sort(),
    };
  }

  /** Every pod is controlled by this object; every claim goes with it (S3), and with no other. */
  async function untilOwned(set: StatefulSetObject): Promise<void> {
    const core = { group: '', version: 'v1', namespace } as const;
    const isOwned = ({ metadata }: KubernetesObject) =>
      metadata.ownerReferences?.length === 1 && metadata.ownerReferences[0]?.uid === set.metadata.uid;
    for (const ordinal of ['0', '1', '2']) {
      for (const [resource, name] of [
        ['pods', `web-${ordinal}`],
        ['persistentvolumeclaims', `data-web-${ordinal}`],
      ] as const)
        await ours.until({ ...core, resource, name }, `owned by ${set.apiVersion ?? ''}`, isOwned);
    }
  }

  it('moves there and back without a restart', async () => {
    await native.until<StatefulSetObject>(
      native.setPath(namespace, 'web'),
      'rolled out by the built-in controller',
      ({ status }) => status?.readyReplicas === 3 && status.availableReplicas === 3,
      60_000,
    );
    const before = await identities();

    await repository.commit({ 'web.yaml': manifest('fairlead.dev/v1beta1') });
    await ours.until(ours.setPath(namespace, 'web'), 'there', () => true, 30_000);
    const adopted = await ours.untilReady(namespace, 'web');
    await untilOwned(adopted);
    expect(await identities()).toEqual(before);
    expect((await ours.events(namespace)).filter(({ reason }) => reason === 'RolloutStarted')).toEqual([]);
    const [revision, ...others] = await revisions();
    expect(others).toEqual([]);
    expect(revision?.metadata.ownerReferences?.[0]?.uid).toBe(adopted.metadata.uid);

    await repository.commit({ 'web.yaml': manifest('apps/v1') });
    await native.until(native.setPath(namespace, 'web'), 'there again', () => true, 30_000);
    const back = await native.until<StatefulSetObject>(
      native.setPath(namespace, 'web'),
      'taken back by the built-in controller',
      ({ metadata, status }) =>
        status?.observedGeneration === metadata.generation && status?.readyReplicas === 3,
      60_000,
    );
    await untilOwned(back);
    expect(await identities()).toEqual(before);
    expect(back.status?.updateRevision).toBe(revision?.metadata.name);
    expect(await revisions()).toHaveLength(1);
  }, 150_000);

  it('moves in the middle of a canary: below the partition a pod comes back at the revision from before', async () => {
    const pod = { group: '', version: 'v1', resource: 'pods', namespace };
    const imageOf = ({ spec }: Pod) => spec.containers[0]?.image;
    const isAt = (updated: number) => (set: StatefulSetObject) =>
      set.status?.observedGeneration === set.metadata.generation &&
      set.status?.readyReplicas === 4 &&
      set.status.updatedReplicas === updated;
    await repository.commit({ 'canary.yaml': canary('apps/v1', 'app:1') });
    await native.until(native.setPath(namespace, 'canary'), 'rolled out', isAt(4), 60_000);
    await repository.commit({ 'canary.yaml': canary('apps/v1', 'app:2') });
    const { status } = await native.until(
      native.setPath(namespace, 'canary'),
      'half rolled out',
      isAt(2),
      60_000,
    );

    await repository.commit({ 'canary.yaml': canary('fairlead.dev/v1beta1', 'app:2') });
    const moved = await ours.until(ours.setPath(namespace, 'canary'), 'taken over', isAt(2), 60_000);
    expect(moved.status).toMatchObject({
      currentRevision: status?.currentRevision,
      updateRevision: status?.updateRevision,
      currentReplicas: 2,
    });
    const [first] = await ours.pods(namespace, 'canary');
    await ours.client.delete({ ...pod, name: 'canary-0' }, { uid: first?.metadata.uid ?? '' });
    const again = await ours.until<Pod>(
      { ...pod, name: 'canary-0' },
      'there again',
      ({ metadata }) => metadata.uid !== first?.metadata.uid,
      60_000,
    );
    expect(imageOf(again)).toBe('app:1');
    expect((await ours.pods(namespace, 'canary')).slice(1).map(imageOf)).toEqual(['app:1', 'app:2', 'app:2']);
  }, 150_000);

  it('leaves in the middle of an update in place when no pod is out of service any more', async () => {
    await repository.commit({ 'gated.yaml': inPlace('fairlead.dev/v1beta1', 'app:1') });
    await ours.until(ours.setPath(namespace, 'gated'), 'there', () => true, 30_000);
    await ours.untilReady(namespace, 'gated');
    const before = (await ours.pods(namespace, 'gated')).map(({ metadata }) => metadata.uid);
    await repository.commit({ 'gated.yaml': inPlace('fairlead.dev/v1beta1', 'app:2') });
    await ours.until<Pod>(
      { group: '', version: 'v1', resource: 'pods', namespace, name: 'gated-0' },
      'out of service',
      ({ metadata }) => metadata.annotations?.[ANNOTATION.inPlaceUpdate] !== undefined,
      30_000,
    );

    await repository.commit({ 'gated.yaml': inPlace('apps/v1', 'app:2') });
    await native.until<StatefulSetObject>(
      native.setPath(namespace, 'gated'),
      'kept by the built-in controller, and ready',
      ({ metadata, status }) =>
        status?.observedGeneration === metadata.generation &&
        status?.readyReplicas === 1 &&
        status.updatedReplicas === 1,
      60_000,
    );
    const after = await ours.pods(namespace, 'gated');
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(before);
    expect(after.map(({ spec }) => spec.containers[0]?.image)).toEqual(['app:2']);
  }, 150_000);

  it('moves a Deployment there and back: its ReplicaSet and its pods stay', async () => {
    const path = (group: string, version: string) => ({
      group,
      version,
      resource: 'deployments',
      namespace,
      name: 'api',
    });
    const isRolledOut = ({ metadata, status }: DeploymentObject) =>
      status?.observedGeneration === metadata.generation &&
      status?.availableReplicas === 3 &&
      status.updatedReplicas === 3;
    const kept = async () => {
      const sets = { group: 'apps', version: 'v1', resource: 'replicasets', namespace };
      const { items } = await ours.client.list(sets);
      return {
        sets: items.map(({ metadata }) => [metadata.name, metadata.uid]),
        pods: (await ours.pods(namespace, 'api')).map(({ metadata }) => metadata.uid),
      };
    };
    const untilTaken = async ({ metadata: { uid } }: DeploymentObject) => {
      const { sets } = await kept();
      const [name = ''] = sets[0] ?? [];
      await ours.until(
        { group: 'apps', version: 'v1', resource: 'replicasets', namespace, name },
        `owned by ${uid}`,
        ({ metadata }) => metadata.ownerReferences?.[0]?.uid === uid,
      );
    };

    await repository.commit({ 'api.yaml': deploymentManifest('apps/v1') });
    await native.until<DeploymentObject>(
      path('apps', 'v1'),
      'rolled out by the built-in one',
      isRolledOut,
      60_000,
    );
    const before = await kept();
    expect([before.sets.length, before.pods.length]).toEqual([1, 3]);

    await repository.commit({ 'api.yaml': deploymentManifest('fairlead.dev/v1beta1') });
    const moved = await ours.until<DeploymentObject>(
      path('fairlead.dev', 'v1beta1'),
      'there',
      isRolledOut,
      60_000,
    );
    await untilTaken(moved);
    expect(await kept()).toEqual(before);

    await repository.commit({ 'api.yaml': deploymentManifest('apps/v1') });
    const back = await native.until<DeploymentObject>(path('apps', 'v1'), 'there again', isRolledOut, 60_000);
    await untilTaken(back);
    expect(await kept()).toEqual(before);
  }, 150_000);

  it('what others have set goes over: a size, a restart, what is put into the template; it stays theirs', async () => {
    const home = await mkdtemp(join(tmpdir(), 'fairlead-home-'));
    const byHand = async (command: string) =>
      await runPrinted(`${command} -n ${namespace}`, controlPlane().kubeconfig, home);
    const isCurrent = (replicas: number) => (set: StatefulSetObject) =>
      set.status?.observedGeneration === set.metadata.generation &&
      set.status?.replicas === replicas &&
      set.status.readyReplicas === replicas &&
      set.status.updatedReplicas === replicas &&
      set.status.currentRevision === set.status.updateRevision;
    const uids = async () =>
      (await ours.pods(namespace, 'sparse')).map(({ metadata }) => [metadata.name, metadata.uid]);
    const [there, here] = [native.setPath(namespace, 'sparse'), ours.setPath(namespace, 'sparse')];
    const inventory = {
      group: '',
      version: 'v1',
      resource: 'configmaps',
      namespace: 'fairlead-system',
      name: 'fairlead-shop',
    };
    const keepsNothing = ({ data = {} }: KubernetesObject & { data?: Record<string, string> }) =>
      asRecord(JSON.parse(data['status'] ?? '{"fields": {}}'))['fields'] === undefined;
    try {
      await repository.commit({ 'sparse.yaml': sparse('apps/v1') });
      await native.until<StatefulSetObject>(there, 'rolled out', isCurrent(1), 60_000);
      await byHand('kubectl scale statefulset.apps/sparse --replicas 3');
      await byHand('kubectl set env statefulset.apps/sparse COLOR=blue');
      await byHand('kubectl rollout restart statefulset.apps/sparse');
      const restarted = await native.until<StatefulSetObject>(there, 'restarted', isCurrent(3), 60_000);
      const before = await uids();
      expect(before).toHaveLength(3);

      await repository.commit({ 'sparse.yaml': sparse('fairlead.dev/v1beta1') });
      const moved = await ours.until<StatefulSetObject>(here, 'taken over', isCurrent(3), 60_000);
      expect(await uids()).toEqual(before);
      expect(moved.status?.updateRevision).toBe(restarted.status?.updateRevision);
      // It is not git's: the next commit leaves it, and so it is after a restart by Fairlead, on the way back.
      await repository.commit({ 'sparse.yaml': sparse('fairlead.dev/v1beta1', 'a: b') });
      await ours.until(here, 'labelled', ({ metadata }) => metadata.labels?.['a'] === 'b', 30_000);
      expect(await uids()).toEqual(before);
      await byHand('kubectl scale statefulsets.fairlead.dev/sparse --replicas 4');
      await ours.until<StatefulSetObject>(here, 'scaled', isCurrent(4), 60_000);
      const restart = ['rollout', 'restart', 'statefulsets.fairlead.dev/sparse', '-n', namespace];
      expect(await runCli(restart, { environment: { KUBECONFIG: controlPlane().kubeconfig } })).toMatchObject(
        { code: 0 },
      );
      await ours.until<StatefulSetObject>(
        here,
        'restarted',
        (set) => isCurrent(4)(set) && set.status?.updateRevision !== moved.status?.updateRevision,
        60_000,
      );
      const after = await uids();

      await repository.commit({ 'sparse.yaml': sparse('apps/v1') });
      const back = await native.until<StatefulSetObject>(there, 'taken back', isCurrent(4), 60_000);
      expect(await uids()).toEqual(after);
      const { containers } = back.spec.template.spec;
      expect(containers).toMatchObject([{ env: [{ name: 'COLOR', value: 'blue' }] }]);
      // What was kept for the move goes with its last write, after the one that the built-in controller has seen.
      await ours.until(inventory, 'without what was carried over', keepsNothing, 30_000);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }, 180_000);

  it('a pause of git moves as one of git: it ends when git says so', async () => {
    const path = (group: string, version: string) => ({
      group,
      version,
      resource: 'deployments',
      namespace,
      name: 'held',
    });
    const isThere = ({ metadata, status }: DeploymentObject) =>
      status?.observedGeneration === metadata.generation && status?.availableReplicas === 1;
    const api = 'fairlead.dev/v1beta1';
    await repository.commit({ 'held.yaml': held('apps/v1', false, 'app:1') });
    await native.until<DeploymentObject>(path('apps', 'v1'), 'rolled out', isThere, 60_000);
    await repository.commit({ 'held.yaml': held('apps/v1', true, 'app:1') });
    const isPaused = ({ spec }: DeploymentObject) => spec.paused === true;
    await native.until<DeploymentObject>(path('apps', 'v1'), 'paused', isPaused, 30_000);

    await repository.commit({ 'held.yaml': held(api, true, 'app:1') });
    const moved = await ours.until<DeploymentObject>(
      path('fairlead.dev', 'v1beta1'),
      'there',
      isThere,
      60_000,
    );
    expect(moved.metadata.annotations).not.toHaveProperty([ANNOTATION.paused]);
    await repository.commit({ 'held.yaml': held(api, false, 'app:2') });
    const isUpdated = (one: DeploymentObject) =>
      !isPaused(one) && isThere(one) && one.status?.updatedReplicas === 1;
    await ours.until<DeploymentObject>(
      path('fairlead.dev', 'v1beta1'),
      'no longer paused',
      isUpdated,
      60_000,
    );
    const images = (await ours.pods(namespace, 'held')).map(({ spec }) => spec.containers[0]?.image);
    expect(images).toContain('app:2');
  }, 150_000);

  it('a pause of git by the annotation does as well', async () => {
    const isAt = (wanted: number) => (set: StatefulSetObject) =>
      set.status?.observedGeneration === set.metadata.generation &&
      (set.status?.updatedReplicas ?? 0) === wanted;
    await repository.commit({ 'noted.yaml': noted('apps/v1', true, 'app:1') });
    await native.until(native.setPath(namespace, 'noted'), 'rolled out', isAt(1), 60_000);
    await repository.commit({ 'noted.yaml': noted('fairlead.dev/v1beta1', true, 'app:2') });
    const moved = await ours.until(ours.setPath(namespace, 'noted'), 'paused', isAt(0), 60_000);
    expect(moved.metadata.annotations).toMatchObject({ [ANNOTATION.paused]: 'true' });
    await repository.commit({ 'noted.yaml': noted('fairlead.dev/v1beta1', false, 'app:2') });
    await ours.until(ours.setPath(namespace, 'noted'), 'no longer paused', isAt(1), 60_000);
  }, 150_000);

  async function revisions(): Promise<readonly ControllerRevision[]> {
    return await ours.revisions(namespace, 'web');
  }
});

function restarts(pod: Pod): number {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** What a platform team gives the ServiceAccount that applies a repository's commits. */
async function grantSync(cluster: Cluster, namespace: string): Promise<void> {
  const { client } = cluster;
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespace };
  await client.create(
    { group: '', version: 'v1', resource: 'serviceaccounts', namespace },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sync', namespace } },
  );
  await client.create(
    { ...rbac, resource: 'roles' },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'sync', namespace },
      rules: [
        { apiGroups: ['apps', 'fairlead.dev'], resources: ['statefulsets', 'deployments'], verbs: ['*'] },
      ],
    },
  );
  await client.create(
    { ...rbac, resource: 'rolebindings' },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'sync', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'sync' },
      subjects: [{ kind: 'ServiceAccount', name: 'sync', namespace }],
    },
  );
}
