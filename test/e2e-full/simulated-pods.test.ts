/** Simulated pods behave as a kubelet's do (`local/stages/pods.yaml`; the facts of in-place updates, KEP-1287 and KEP-753). */

import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { PodHistory, condition, container } from '../support/pod-history.ts';
import type { ObservedEvent, ObservedPod } from '../support/pod-history.ts';

jest.setTimeout(60_000);

const NAMESPACE = 'default';

interface PodOptions {
  readonly image?: string;
  /** Without their prefix `sim.fairlead.dev/`. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly spec?: object;
}

const controlPlane = useControlPlane({ nodes: 1 });
let client: KubernetesClient;
let history: PodHistory;

beforeAll(() => {
  ({ client } = controlPlane());
  history = new PodHistory(client, NAMESPACE);
});

afterAll(async () => {
  await history.close();
});

function path(name: string, subresource?: string): ResourcePath {
  return { group: '', version: 'v1', resource: 'pods', namespace: NAMESPACE, name, subresource };
}

async function createPod(name: string, options: PodOptions = {}): Promise<void> {
  const { image = 'web:1', annotations = {}, finalizers = [], spec = {} } = options;
  const entries = Object.entries(annotations).map(([key, value]) => [`sim.fairlead.dev/${key}`, value]);
  await client.create(
    { group: '', version: 'v1', resource: 'pods', namespace: NAMESPACE },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, annotations: Object.fromEntries(entries) as object, finalizers },
      spec: { containers: [{ name: 'app', image }], ...spec },
    },
  );
}

async function setImage(
  name: string,
  image: string,
  list = 'containers',
  containerName = 'app',
): Promise<number> {
  const at = performance.now();
  await client.patch(path(name), 'strategic', { spec: { [list]: [{ name: containerName, image }] } });
  return at;
}

const isReady = (pod: ObservedPod): boolean => condition(pod, 'Ready') === 'True';

function ready(name: string, from = 0): Promise<ObservedEvent> {
  return history.until(name, 'is Ready', isReady, from);
}

describe('start', () => {
  it('is Running and Ready soon, with an IP, and says which generation it saw', async () => {
    await createPod('plain');
    const { pod } = await ready('plain');
    expect(pod.status).toMatchObject({
      phase: 'Running',
      observedGeneration: pod.metadata.generation,
      podIP: expect.stringMatching(/^10\./),
    });
    expect(pod.status.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration).toBe(1);
    expect(container(pod)).toMatchObject({ image: 'web:1', restartCount: 0, ready: true, started: true });
  });

  it('is not Ready before its ready-delay is over; that time does not move with what else happens to it', async () => {
    const created = performance.now();
    await createPod('slow', { annotations: { 'ready-delay': '1s' } });
    const due = (pod: ObservedPod) =>
      pod.status.conditions?.find(({ type }) => type === 'ContainersReady')?.message;
    const started = await history.until('slow', 'runs', (pod) => container(pod)?.state.running !== undefined);
    expect(isReady(started.pod)).toBe(false);
    expect(due(started.pod)).toMatch(/simulated: ready at /);
    await client.patch(path('slow'), 'merge', { metadata: { annotations: { touched: 'yes' } } });
    const { pod: touched } = await history.until(
      'slow',
      'is touched',
      ({ metadata }) => metadata.annotations?.['touched'] === 'yes',
    );
    expect(due(touched)).toBe(due(started.pod));
    const { at } = await ready('slow');
    // Seen from here a start may come late, but nothing is ever seen before it was.
    expect(at - created).toBeGreaterThan(1200);
  });

  it('gives each pod of one template its own delay, and some none, by its name', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `lot-${String(index)}`);
    // The first twelve digits of the SHA-256 of a name, modulo 1000, are below 200 for lot-6 and lot-7 alone.
    const lots = names.map((name) =>
      Number(BigInt(`0x${createHash('sha256').update(name).digest('hex').slice(0, 12)}`) % 1000n),
    );
    const annotations = { 'ready-delay': '200..2200ms', 'never-ready': '20%' };
    const created = performance.now();
    await Promise.all(names.map((name) => createPod(name, { annotations })));
    const willBe = names.filter((_, index) => (lots[index] ?? 0) >= 200);
    const delays = await Promise.all(willBe.map(async (name) => (await ready(name)).at - created));
    for (const [index, name] of willBe.entries()) {
      // Start delay, then its own share of the range.
      const wanted = 200 + 200 + 2 * (lots[names.indexOf(name)] ?? 0);
      expect(delays[index]).toBeGreaterThan(wanted - 5);
      expect(delays[index]).toBeLessThan(wanted + 3000);
    }
    const never = names.filter((name) => !willBe.includes(name));
    expect(never).toEqual(['lot-6', 'lot-7']);
    for (const name of never) expect(history.of(name).some(({ pod }) => isReady(pod))).toBe(false);
  }, 15_000);

  it.each(['web:bad', 'webserver:404', 'docker.io/library/foo:non-existent', 'gb-redisslave:nonexistent'])(
    'stays Pending in ImagePullBackOff with the image %s, until another one is set',
    async (image) => {
      const name = image.replaceAll(/[^a-z0-9]+/g, '-');
      await createPod(name, { image });
      const backOff = await history.until(
        name,
        'is in ImagePullBackOff',
        (pod) => container(pod)?.state.waiting?.reason === 'ImagePullBackOff',
      );
      expect(backOff.pod.status.phase).toBe('Pending');
      expect(condition(backOff.pod, 'Ready')).toBe('False');
      const { pod } = await ready(name, await setImage(name, 'web:2'));
      expect(container(pod)).toMatchObject({ image: 'web:2', restartCount: 0 });
      expect(history.of(name).filter(({ type }) => type === 'ADDED')).toHaveLength(1);
    },
  );

  it('restarts a container that crashes again and again, never Ready, and starts another image at once', async () => {
    await createPod('crash', { image: 'web:crash' });
    await history.until('crash', 'crashed three times', (pod) => (container(pod)?.restartCount ?? 0) >= 2);
    const reasons = history.of('crash').map(({ pod }) => container(pod)?.state.waiting?.reason);
    expect(reasons).toContain('CrashLoopBackOff');
    expect(history.of('crash').some(({ pod }) => isReady(pod))).toBe(false);
    const at = await setImage('crash', 'web:2');
    expect((await ready('crash', at)).at - at).toBeLessThan(3000);
  });

  it.each([
    ['web:exit-0', 'Succeeded'],
    ['web:exit-3', 'Failed'],
  ])('ends with %s and restartPolicy Never as %s', async (image, phase) => {
    const name = `never-${phase.toLowerCase()}`;
    await createPod(name, { image, spec: { restartPolicy: 'Never' } });
    const { pod } = await history.until(name, `is ${phase}`, ({ status }) => status.phase === phase);
    expect(container(pod)?.state.terminated?.exitCode).toBe(image === 'web:exit-0' ? 0 : 3);
    expect(condition(pod, 'Ready')).toBe('False');
  });
});

describe('change of an image in place', () => {
  it('restarts that container only; the old one lingers Ready after the generation was seen (fact 1)', async () => {
    const containers = [
      { name: 'app', image: 'web:1' },
      { name: 'other', image: 'other:1' },
    ];
    await createPod('in-place', { annotations: { linger: '400ms' }, spec: { containers } });
    const { pod: before } = await ready('in-place');
    const at = await setImage('in-place', 'web:2');
    const seen = await history.until(
      'in-place',
      'saw the generation',
      ({ metadata, status }) => metadata.generation === 2 && status.observedGeneration === 2,
      at,
    );
    expect(isReady(seen.pod)).toBe(true);
    expect(container(seen.pod)).toEqual(container(before));
    const down = await history.until('in-place', 'is not Ready', (pod) => !isReady(pod), at);
    expect(down.at - at).toBeGreaterThan(400);
    const { pod } = await ready('in-place', down.at);
    expect(pod.metadata.uid).toBe(before.metadata.uid);
    expect(pod.status.podIP).toBe(before.status.podIP);
    expect(container(pod)).toMatchObject({ image: 'web:2', restartCount: 1, ready: true });
    expect(container(pod)?.containerID).not.toBe(container(before)?.containerID);
    expect(container(pod, 'other')).toEqual(container(before, 'other'));
  });

  it('keeps the old tag and imageID when both tags are one digest, yet restarts (facts 2, 3, 4)', async () => {
    await createPod('digest', { image: 'web:1_digest-abc' });
    const { pod: before } = await ready('digest');
    const at = await setImage('digest', 'web:2_digest-abc');
    const down = await history.until('digest', 'is not Ready', (pod) => !isReady(pod), at);
    const { pod } = await ready('digest', down.at);
    expect(container(pod)).toMatchObject({ image: 'web:1_digest-abc', restartCount: 1 });
    expect(container(pod)?.imageID).toBe(container(before)?.imageID);
    expect(container(pod)?.containerID).not.toBe(container(before)?.containerID);
    // Another change of the pod must not restart it once more.
    const later = await setImage('digest', 'web:3');
    const gone = await history.until('digest', 'is not Ready', (one) => !isReady(one), later);
    expect(container((await ready('digest', gone.at)).pod)).toMatchObject({
      image: 'web:3',
      restartCount: 2,
    });
  });

  it('is downtime with an image that does not exist; patching back recovers (fact 6)', async () => {
    await createPod('mistake');
    const { pod: before } = await ready('mistake');
    const at = await setImage('mistake', 'web:bad');
    const { pod } = await history.until(
      'mistake',
      'cannot pull',
      (one) => container(one)?.state.waiting?.reason === 'ErrImagePull',
      at,
    );
    expect(container(pod)).toMatchObject({ image: 'web:1', restartCount: 0 });
    expect(pod.status.phase).toBe('Running');
    const back = await setImage('mistake', 'web:1');
    const recovered = await ready('mistake', back);
    expect(recovered.at - back).toBeLessThan(3000);
    expect(container(recovered.pod)?.containerID).not.toBe(container(before)?.containerID);
  });

  it('restarts a native sidecar alone (KEP-753)', async () => {
    const initContainers = [
      { name: 'init', image: 'init:1' },
      { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' },
    ];
    await createPod('sidecar', { spec: { initContainers } });
    const { pod: before } = await ready('sidecar');
    expect(container(before, 'init')?.state.terminated?.reason).toBe('Completed');
    expect(container(before, 'proxy')).toMatchObject({ ready: true, started: true });
    const at = await setImage('sidecar', 'proxy:2', 'initContainers', 'proxy');
    const down = await history.until('sidecar', 'is not Ready', (pod) => !isReady(pod), at);
    const { pod } = await ready('sidecar', down.at);
    expect(container(pod, 'proxy')).toMatchObject({ image: 'proxy:2', restartCount: 1 });
    expect(container(pod, 'app')).toEqual(container(before, 'app'));
    expect(container(pod, 'init')).toEqual(container(before, 'init'));
  });

  it('waits for restart-delay and ready-delay after the old container stopped', async () => {
    const annotations = { linger: '0s', 'restart-delay': '500ms', 'ready-delay': '500ms' };
    await createPod('delays', { annotations });
    await ready('delays');
    const at = await setImage('delays', 'web:2');
    const down = await history.until('delays', 'is not Ready', (pod) => !isReady(pod), at);
    const up = await ready('delays', down.at);
    expect(up.at - at).toBeGreaterThan(1000);
    expect(up.at - at).toBeLessThan(4000);
  });
});

describe('resize, gates and deletion', () => {
  it('takes new resources without a restart (KEP-1287, fact 9)', async () => {
    const resources = (cpu: string) => [{ name: 'app', resources: { requests: { cpu } } }];
    await createPod('resize', { spec: { containers: [{ ...resources('100m')[0], image: 'web:1' }] } });
    const { pod: before } = await ready('resize');
    await client.patch(path('resize', 'resize'), 'strategic', { spec: { containers: resources('200m') } });
    const { pod: during } = await history.until(
      'resize',
      'is being resized',
      (pod) => condition(pod, 'PodResizeInProgress') === 'True',
    );
    expect(container(during)?.resources).toEqual({ requests: { cpu: '100m' } });
    const { pod } = await history.until(
      'resize',
      'is resized',
      (one) =>
        one.metadata.generation === 2 &&
        condition(one, 'PodResizeInProgress') === undefined &&
        one.status.observedGeneration === 2,
    );
    expect(container(pod)?.resources).toEqual({ requests: { cpu: '200m' } });
    expect(container(pod)).toMatchObject({ restartCount: 0, containerID: container(before)?.containerID });
  });

  it('resizes a container beside others without resources, which report empty ones as those of a kubelet do', async () => {
    const b = (cpu: string) => ({ name: 'b', resources: { requests: { cpu } } });
    const sidecar = { name: 'sidecar', image: 'log:1', restartPolicy: 'Always' };
    await createPod('mixed', {
      spec: {
        initContainers: [sidecar],
        containers: [
          { name: 'app', image: 'web:1' },
          { ...b('10m'), image: 'db:1' },
        ],
      },
    });
    const { pod: before } = await ready('mixed');
    expect(before.status.containerStatuses?.map(({ resources }) => resources)).toEqual([
      {},
      { requests: { cpu: '10m' } },
    ]);
    expect(before.status.initContainerStatuses?.map(({ resources }) => resources)).toEqual([{}]);
    await client.patch(path('mixed', 'resize'), 'strategic', { spec: { containers: [b('20m')] } });
    await history.until(
      'mixed',
      'is resized',
      (one) => JSON.stringify(container(one, 'b')?.resources) === '{"requests":{"cpu":"20m"}}',
    );
  });

  it('is Ready only while its readiness gate is True, and writes no gate itself', async () => {
    await createPod('gate', { spec: { readinessGates: [{ conditionType: 'InPlaceUpdateReady' }] } });
    const { pod } = await history.until(
      'gate',
      'has ready containers',
      (one) => condition(one, 'ContainersReady') === 'True',
    );
    expect(condition(pod, 'Ready')).toBe('False');
    expect(condition(pod, 'InPlaceUpdateReady')).toBeUndefined();
    const setGate = (status: string) =>
      client.patch(path('gate', 'status'), 'strategic', {
        status: {
          conditions: [{ type: 'InPlaceUpdateReady', status, lastTransitionTime: new Date().toISOString() }],
        },
      });
    await setGate('True');
    const { at } = await ready('gate');
    await setGate('False');
    const closed = await history.until('gate', 'is not Ready', (one) => !isReady(one), at);
    expect(condition(closed.pod, 'ContainersReady')).toBe('True');
  });

  it('is not Ready at once when it is deleted, and is gone after stop-delay', async () => {
    await createPod('deleted', { annotations: { 'stop-delay': '600ms' } });
    const { at: up } = await ready('deleted');
    const asked = performance.now();
    await client.delete(path('deleted'));
    const down = await history.until('deleted', 'is not Ready', (pod) => !isReady(pod), up);
    expect(down.pod.metadata.deletionTimestamp).toBeDefined();
    const { at } = await history.until('deleted', 'is gone', (_pod, type) => type === 'DELETED');
    expect(at - asked).toBeGreaterThan(600);
    expect(at - asked).toBeLessThan(4000);
  });

  it('is gone at the end of its grace period, however long it would take to stop', async () => {
    await createPod('stubborn', { annotations: { 'stop-delay': '60s' } });
    await ready('stubborn');
    const asked = performance.now();
    // The end of it is a deletionTimestamp, which has whole seconds.
    await client.delete(path('stubborn'), { gracePeriodSeconds: 2 });
    const { at } = await history.until('stubborn', 'is gone', (_pod, type) => type === 'DELETED');
    expect(at - asked).toBeGreaterThan(900);
    expect(at - asked).toBeLessThan(10_000);
  });

  it('stays, with its containers ended, until its finalizer is removed', async () => {
    await createPod('held', { finalizers: ['test.fairlead.dev/hold'] });
    await ready('held');
    await client.delete(path('held'));
    const { pod } = await history.until('held', 'has ended', ({ status }) => status.phase === 'Succeeded');
    expect(container(pod)?.state.terminated).toBeDefined();
    expect(history.of('held').some(({ type }) => type === 'DELETED')).toBe(false);
    await client.patch(path('held'), 'merge', { metadata: { finalizers: null } });
    await history.until('held', 'is gone', (_pod, type) => type === 'DELETED');
  });
});

describe('around pods', () => {
  it('never deletes the next pod of a name', async () => {
    for (let round = 0; round < 5; round += 1) {
      await createPod('again', { annotations: { 'stop-delay': '50ms' } });
      const { pod } = await history.until(
        'again',
        `starts in round ${round}`,
        () => history.of('again').filter(({ type }) => type === 'ADDED').length > round,
      );
      expect(pod.metadata.deletionTimestamp).toBeUndefined();
      if (round === 4) break;
      await client.delete(path('again'));
      await history.until(
        'again',
        'is gone',
        () => history.of('again').filter(({ type }) => type === 'DELETED').length > round,
      );
    }
    await ready('again');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await client.get<ObservedPod>(path('again'))).metadata.deletionTimestamp).toBeUndefined();
  });

  it('never deletes the next pod of a name when one is killed, which the apiserver removes itself', async () => {
    const [node] = (await client.list({ group: '', version: 'v1', resource: 'nodes' })).items;
    const killAgainAndAgain = async (name: string) => {
      for (let round = 0; round < 40; round += 1) {
        const pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name },
          spec: { nodeName: node?.metadata.name, containers: [{ name: 'app', image: 'web:1' }] },
        };
        const { metadata } = await client.create({ ...path(name), name: undefined }, pod);
        // What kwok does meanwhile differs from round to round.
        await new Promise((resolve) => setTimeout(resolve, (round % 5) * 4));
        // One that is not there any more was deleted by somebody else.
        await client.delete(path(name), { uid: metadata.uid, gracePeriodSeconds: 0 });
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, index) => killAgainAndAgain(`killed-${String(index)}`)));
  });

  it('binds claims to volumes that exist only as objects, and deletes them with their claims', async () => {
    const claims = { group: '', version: 'v1', resource: 'persistentvolumeclaims', namespace: NAMESPACE };
    const volumes = { group: '', version: 'v1', resource: 'persistentvolumes' };
    await client.create(claims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await createPod('with-claim', {
      spec: {
        containers: [{ name: 'app', image: 'web:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
    });
    await ready('with-claim');
    expect((await client.list(volumes)).items).toHaveLength(1);
    await client.delete(path('with-claim'));
    await client.delete({ ...claims, name: 'data' });
    let left = 1;
    const poll = setInterval(() => {
      void client.list(volumes).then(({ items }) => (left = items.length));
    }, 50);
    try {
      await eventually('the volume is deleted', () => left === 0, 10_000);
    } finally {
      clearInterval(poll);
    }
  });

  it('goes on with every pod after kwok itself was restarted', async () => {
    await createPod('over-restart', { annotations: { 'ready-delay': '1500ms' } });
    await history.until('over-restart', 'runs', (pod) => container(pod)?.state.running !== undefined);
    await controlPlane().kill('kwok');
    await controlPlane().start('kwok');
    await ready('over-restart');
  }, 30_000);
});
