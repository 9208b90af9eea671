import { describe, expect, it } from '@jest/globals';

import { normaliseImage, unfinished } from '../../planners/in-place-completion.ts';
import { readInPlaceUpdate } from '../../planners/in-place-state.ts';
import type { InPlaceUpdate } from '../../planners/in-place-state.ts';
import { openGateAction } from '../../planners/in-place-writes.ts';
import type { InPlaceContext } from '../../planners/in-place-writes.ts';
import { obstacles, startInPlace, stepInPlace } from '../../planners/in-place.ts';
import type { Condition, ContainerStatus, JsonObject, Pod, PodTemplate } from '../../planners/objects.ts';
import type { Action } from '../../planners/plan.ts';
import { diffTemplates } from '../../planners/template-diff.ts';
import { strategicMerge } from '../support/strategic-merge.ts';
import { NOW, podOf, setOf, templateOf } from '../support/statefulset-fixtures.ts';

const OLD = 'web-old';
const NEW = 'web-new';
const set = setOf();
const pod = podOf(set, 0, OLD, { image: 'web:1' });

function context(
  from: PodTemplate,
  to: PodTemplate,
  overrides: Partial<InPlaceContext> = {},
): InPlaceContext {
  return {
    owner: 'StatefulSet web',
    now: NOW,
    gracePeriodSeconds: 0,
    target: NEW,
    diff: diffTemplates(from, to),
    ...overrides,
  };
}

const IMAGE = context(templateOf('web:1'), templateOf('web:2'));

function start(on: Pod, inContext: InPlaceContext): Action {
  if (inContext.diff === undefined) throw new Error('no difference is known');
  return startInPlace(on, inContext.diff, inContext);
}

/** The pod after a write, as the apiserver would store it. */
function after(on: Pod, action: Action): Pod {
  const patched = strategicMerge(on, action.body as JsonObject) as unknown as Pod;
  if (action.subresource === 'status') return { ...patched, spec: on.spec };
  const generation = (on.metadata.generation ?? 1) + (action.body?.['spec'] === undefined ? 0 : 1);
  return {
    ...patched,
    ...(on.status && { status: on.status }),
    metadata: { ...(action.subresource === 'resize' ? on.metadata : patched.metadata), generation },
  };
}

function stateOf(on: Pod): InPlaceUpdate {
  const state = readInPlaceUpdate(on);
  if (state === undefined) throw new Error('the pod is in no update');
  return state;
}

function step(on: Pod, inContext: InPlaceContext = IMAGE) {
  return stepInPlace(on, stateOf(on), inContext);
}

function applyNow(on: Pod): Action {
  const next = step(on);
  if (!('action' in next)) throw new Error(next.wait);
  return next.action;
}

function condition(on: Pod, type: string): Condition | undefined {
  return on.status?.conditions?.find((one) => one.type === type);
}

/** The pod with its main container in another state. */
function withContainer(
  on: Pod,
  change: Partial<ContainerStatus>,
  observedGeneration = on.metadata.generation ?? 1,
): Pod {
  const statuses = (on.status?.containerStatuses ?? []).map((status) => ({ ...status, ...change }));
  return { ...on, status: { ...on.status, observedGeneration, containerStatuses: statuses } };
}

const begun = after(pod, start(pod, IMAGE));

describe('an update in place, write by write', () => {
  it('design "In-place update" 1: annotation, gate False and Ready False in one write with both preconditions', () => {
    const action = start(pod, IMAGE);
    expect(action).toMatchObject({
      purpose: 'InPlaceBegin',
      subresource: 'status',
      patchType: 'strategic',
      uid: pod.metadata.uid,
      resourceVersion: pod.metadata.resourceVersion,
      charged: true,
    });
    expect(condition(begun, 'InPlaceUpdateReady')).toMatchObject({
      status: 'False',
      reason: 'StartInPlaceUpdate',
    });
    expect(condition(begun, 'Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
    expect(stateOf(begun)).toEqual({
      revision: NEW,
      at: new Date(NOW).toISOString(),
      gate: true,
      wasReady: true,
      containers: { main: { containerID: 'containerd://web-0-1', imageID: 'sha256:web:1', restartCount: 0 } },
    });
    expect(begun.metadata.labels?.['controller-revision-hash']).toBe(OLD);
  });

  it('design "In-place update" 2: not before the pod is seen not Ready', () => {
    const conditions = (begun.status?.conditions ?? []).map((one) =>
      one.type === 'Ready' ? { ...one, status: 'True' as const } : one,
    );
    const stillReady = { ...begun, status: { ...begun.status, conditions } };
    expect(step(stillReady)).toMatchObject({ wait: 'InPlaceRestarting' });
  });

  it('in-place.md 5: the grace period passes first, to the millisecond, and only if the pod was in service', () => {
    const grace = (now: number) => step(begun, { ...IMAGE, gracePeriodSeconds: 3, now });
    expect(grace(NOW + 2_999)).toEqual({ wait: 'InPlaceGrace', detail: '', until: NOW + 3_000 });
    expect(grace(NOW + 3_000)).toMatchObject({ action: { purpose: 'InPlaceApply' } });
    const unready = podOf(set, 0, OLD, { image: 'web:1', ready: false });
    const begunUnready = after(unready, start(unready, IMAGE));
    expect(step(begunUnready, { ...IMAGE, gracePeriodSeconds: 3 })).toMatchObject({
      action: { purpose: 'InPlaceApply' },
    });
  });

  it('design "In-place update" 3: one patch of image, label and metadata, on the version that was read', () => {
    const both = context(
      { ...templateOf('web:1'), metadata: { labels: { app: 'web', old: '1' }, annotations: { note: 'a' } } },
      { ...templateOf('web:2'), metadata: { labels: { app: 'web', new: '2' } } },
    );
    const result = step(begun, both);
    if (!('action' in result)) throw new Error(result.wait);
    expect(result.action).toMatchObject({
      purpose: 'InPlaceApply',
      resourceVersion: begun.metadata.resourceVersion,
      body: {
        metadata: {
          labels: { old: null, new: '2', 'controller-revision-hash': NEW },
          annotations: { note: null },
        },
        spec: { containers: [{ name: 'main', image: 'web:2' }] },
      },
    });
    expect(result.action.subresource).toBeUndefined();
    expect(stateOf(after(begun, result.action)).appliedAt).toBe(new Date(NOW).toISOString());
  });

  it('in-place.md 4: of several containers only the changed one is patched, recorded and awaited', () => {
    const two = (image: string) =>
      templateOf(image, {
        containers: [
          { name: 'main', image },
          { name: 'side', image: 'side:1' },
        ],
      });
    const wanted = context(two('web:1'), two('web:2'));
    const statuses = pod.status?.containerStatuses ?? [];
    const side = statuses.map((status) => ({ ...status, name: 'side', containerID: 'containerd://side-1' }));
    const both: Pod = {
      ...pod,
      spec: { ...pod.spec, containers: two('web:1').spec.containers },
      status: { ...pod.status, containerStatuses: [...statuses, ...side] },
    };
    const first = after(both, start(both, wanted));
    expect(Object.keys(stateOf(first).containers)).toEqual(['main']);
    const second = step(first, wanted);
    if (!('action' in second)) throw new Error(second.wait);
    expect(second.action.body).toMatchObject({ spec: { containers: [{ name: 'main', image: 'web:2' }] } });
    const applied = after(first, second.action);
    const restarted = {
      ...applied,
      status: {
        ...applied.status,
        observedGeneration: 2,
        containerStatuses: [
          ...statuses.map((status) => ({ ...status, containerID: 'containerd://web-0-2', image: 'web:2' })),
          ...side,
        ],
      },
    };
    expect(step(restarted, wanted)).toMatchObject({ action: { purpose: 'InPlaceFinish' } });
  });

  it('in-place.md 4: what a container was is recorded again when the change is applied', () => {
    const crashed = withContainer(begun, { containerID: 'containerd://web-0-2', restartCount: 1 });
    const result = step(crashed);
    if (!('action' in result)) throw new Error(result.wait);
    expect(stateOf(after(crashed, result.action)).containers['main']?.containerID).toBe(
      'containerd://web-0-2',
    );
  });

  it('design "In-place update": gate True and the annotation gone in one write, Ready left to kubelet', () => {
    const result = step(begun);
    if (!('action' in result)) throw new Error(result.wait);
    const applied = after(begun, result.action);
    expect(step(applied)).toMatchObject({
      wait: 'InPlaceRestarting',
      detail: 'kubelet has not seen the change yet',
    });
    const restarted = withContainer(applied, {
      containerID: 'containerd://web-0-2',
      image: 'web:2',
      imageID: 'sha256:web:2',
    });
    const last = step(restarted);
    if (!('action' in last)) throw new Error(last.detail);
    expect(last.action).toMatchObject({
      purpose: 'InPlaceFinish',
      subresource: 'status',
      resourceVersion: '10',
    });
    const finished = after(restarted, last.action);
    expect(finished.metadata.annotations).toEqual({});
    expect(condition(finished, 'InPlaceUpdateReady')).toEqual({
      type: 'InPlaceUpdateReady',
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect(condition(finished, 'Ready')?.status).toBe('False');
  });

  it.each([
    ['another revision is wanted by now', { target: 'web-newer' }],
    ['the pod is below the partition by now', { target: undefined, diff: undefined }],
  ])('design "In-place update": begun but not applied, it is withdrawn when %s', (_, change) => {
    const result = step(begun, { ...IMAGE, ...change });
    if (!('action' in result)) throw new Error(result.wait);
    expect(result.action.purpose).toBe('InPlaceWithdraw');
    const withdrawn = after(begun, result.action);
    expect(withdrawn.metadata.annotations).toEqual({});
    expect(condition(withdrawn, 'InPlaceUpdateReady')?.status).toBe('True');
    expect(withdrawn.metadata.labels?.['controller-revision-hash']).toBe(OLD);
  });

  it('design "In-place update": a gate that somebody opened is not relied upon', () => {
    const conditions: readonly Condition[] = [{ type: 'InPlaceUpdateReady', status: 'True' }];
    expect(step({ ...begun, status: { ...begun.status, conditions } })).toMatchObject({
      action: { purpose: 'InPlaceWithdraw' },
    });
  });

  it('A21: metadata alone is one patch, no gate, no restart', () => {
    const metadata = context(templateOf('web:1'), {
      ...templateOf('web:1'),
      metadata: { labels: { app: 'web', tier: 'a' } },
    });
    const action = start(pod, metadata);
    expect(action).toMatchObject({ purpose: 'InPlaceApply', charged: true });
    expect(action.body).toEqual({
      metadata: { labels: { tier: 'a', 'controller-revision-hash': NEW }, annotations: {} },
    });
  });

  it('A29: the gate of a new pod is opened; one that is False only as it was read', () => {
    const fresh = podOf(set, 0, NEW, { conditions: [] });
    const opened = openGateAction(fresh, IMAGE);
    expect(opened).toMatchObject({ purpose: 'OpenGate', subresource: 'status', uid: fresh.metadata.uid });
    expect(opened.resourceVersion).toBeUndefined();
    const closed = podOf(set, 0, NEW, { conditions: [{ type: 'InPlaceUpdateReady', status: 'False' }] });
    expect(openGateAction(closed, IMAGE).resourceVersion).toBe('10');
  });

  it.each([
    'not json',
    '{}',
    '[]',
    '"x"',
    'null',
    '{"revision":"x","at":"y","gate":true,"containers":{"main":null}}',
    '{"revision":"x","at":"y","gate":true,"containers":{"main":{"containerID":"a"}}}',
    '{"revision":"x","at":"y","gate":true,"containers":{},"resources":"x"}',
    '{"revision":"x","at":"y","gate":true,"containers":{},"resources":[{"list":"containers","container":"main"}]}',
    '{"revision":"x","at":"y","gate":true,"containers":{},"appliedAt":7}',
  ])(
    'design "In-place update": an annotation that cannot be read (%s) ends when all containers are ready',
    (text) => {
      const spoilt = podOf(set, 0, OLD, { annotations: { 'fairlead.dev/in-place-update': text } });
      expect(stateOf(spoilt)).toMatchObject({ revision: OLD, gate: true, containers: {} });
      expect(step(spoilt)).toMatchObject({ action: { purpose: 'InPlaceFinish' } });
      expect(step(withContainer(spoilt, { ready: false }))).toMatchObject({ wait: 'InPlaceRestarting' });
    },
  );
});

describe('a pod that has the new image already: somebody has tried it there', () => {
  const tried = podOf(set, 0, OLD, { image: 'web:2' });

  it('gets its label in one write, and stays in service: nothing restarts', () => {
    const action = start(tried, IMAGE);
    expect(action.purpose).toBe('InPlaceApply');
    const applied = after(tried, action);
    expect(applied.metadata.labels?.['controller-revision-hash']).toBe(NEW);
    expect([readInPlaceUpdate(applied), condition(applied, 'Ready')?.status]).toEqual([undefined, 'True']);
    expect(action.body?.['spec']).toBeUndefined();
  });

  it('needs no readiness gate for that', () => {
    const { readinessGates: _, ...spec } = tried.spec;
    expect(obstacles({ ...tried, spec }, diffTemplates(templateOf('web:1'), templateOf('web:2')))).toEqual(
      [],
    );
  });

  it('is done once kubelet would have restarted it, where it was begun all the same', () => {
    const run = withContainer(after(begun, applyNow(begun)), { image: 'docker.io/library/web:2' });
    const at = (seconds: number) => unfinished(run, stateOf(run), NOW + seconds * 1_000);
    expect(at(1)).toMatchObject({ detail: 'container main was not restarted yet', until: NOW + 40_000 });
    expect(at(41)).toBeUndefined();
  });
});

describe('an update that takes over from one that never became ready', () => {
  const bad = context(templateOf('web:1'), templateOf('web:bad'), { target: 'web-bad' });
  const begunBad = after(pod, start(pod, bad));
  const first = step(begunBad, bad);
  if (!('action' in first)) throw new Error(first.wait);
  const stuck = withContainer(after(begunBad, first.action), {
    ready: false,
    state: { waiting: { reason: 'ErrImagePull' } },
  });
  const fix = context(templateOf('web:bad'), templateOf('web:2'), { now: NOW + 60_000 });

  it('in-place.md 6–7: is one free write, as the pod is out of service already', () => {
    expect(step(stuck, { ...bad, target: NEW })).toMatchObject({
      wait: 'InPlaceRestarting',
      detail: 'container main: ErrImagePull',
    });
    const action = start(stuck, fix);
    expect(action).toMatchObject({
      purpose: 'InPlaceApply',
      body: { spec: { containers: [{ name: 'main', image: 'web:2' }] } },
    });
    expect(action.charged).toBeUndefined();
    expect(stateOf(after(stuck, action))).toMatchObject({ revision: NEW, overlap: true, gate: true });
  });

  it('design "In-place update": a container started for the update between is not taken for done', () => {
    const fixed = after(stuck, start(stuck, fix));
    const between = withContainer(fixed, {
      containerID: 'containerd://web-0-2',
      image: 'web:bad',
      imageID: 'sha256:web:bad',
      ready: true,
      state: { running: { startedAt: '2026-01-01T00:00:59Z' } },
    });
    expect(step(between, fix)).toMatchObject({ wait: 'InPlaceRestarting', until: NOW + 60_000 + 40_000 });
    const done = withContainer(between, {
      containerID: 'containerd://web-0-3',
      image: 'docker.io/library/web:2',
    });
    expect(step(done, fix)).toMatchObject({ action: { purpose: 'InPlaceFinish' } });
  });

  it('design "In-place update": a change taken back before kubelet acted on it restarts nothing, and ends', () => {
    const untouched = after(begunBad, first.action);
    const back = context(templateOf('web:bad'), templateOf('web:1'), { target: OLD });
    const reverted = withContainer(after(untouched, start(untouched, back)), {}, 3);
    expect(step(reverted, back)).toMatchObject({ wait: 'InPlaceRestarting', until: NOW + 40_000 });
    expect(step(reverted, { ...back, now: NOW + 40_000 })).toMatchObject({
      action: { purpose: 'InPlaceFinish' },
    });
  });

  it('design "In-place update": with a resize as well it is begun again, and withdrawing it does not open the gate', () => {
    const sized = (image: string, cpu: string) =>
      templateOf(image, { containers: [{ name: 'main', image, resources: { requests: { cpu } } }] });
    const both = context(sized('web:bad', '1'), sized('web:2', '2'));
    const action = start(stuck, both);
    expect(action).toMatchObject({ purpose: 'InPlaceBegin' });
    const again = after(stuck, action);
    expect(condition(again, 'InPlaceUpdateReady')?.status).toBe('False');
    const back = step(again, { ...both, target: 'web-newer' });
    if (!('action' in back)) throw new Error(back.wait);
    expect(stateOf(after(again, back.action))).toMatchObject({
      revision: 'web-bad',
      overlap: true,
      gate: true,
    });
  });
});

describe('resources in place (KEP-1287)', () => {
  const sized = (cpu: string, restartPolicy?: string) =>
    templateOf('web:1', {
      containers: [
        {
          name: 'main',
          image: 'web:1',
          resources: { requests: { cpu } },
          ...(restartPolicy !== undefined && { resizePolicy: [{ resourceName: 'cpu', restartPolicy }] }),
        },
      ],
    });
  const resize = context(sized('1'), sized('2'));
  const small = { ...pod, spec: { ...pod.spec, containers: sized('1').spec.containers } };

  it('A30: resize first, then label; the gate stays open unless a restart is asked for', () => {
    const started = after(small, start(small, resize));
    expect(condition(started, 'InPlaceUpdateReady')?.status).toBe('True');
    expect(stateOf(started)).toMatchObject({
      gate: false,
      containers: {},
      resources: [
        { list: 'containers', container: 'main', previous: { requests: { cpu: '1' }, limits: {} } },
      ],
    });
    const one = step(started, resize);
    if (!('action' in one)) throw new Error(one.wait);
    expect(one.action).toMatchObject({
      subresource: 'resize',
      body: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '2' } } }] } },
    });
    const bigger = after(started, one.action);
    const two = step(bigger, resize);
    if (!('action' in two)) throw new Error(two.wait);
    expect(two.action.body).toMatchObject({ metadata: { labels: { 'controller-revision-hash': NEW } } });
    const labelled = after(bigger, two.action);
    expect(step(withContainer(labelled, { resources: { requests: { cpu: '1' } } }), resize)).toMatchObject({
      wait: 'InPlaceRestarting',
    });
    expect(
      step(withContainer(labelled, { resources: { requests: { cpu: '2000m' } } }), resize),
    ).toMatchObject({
      action: { purpose: 'InPlaceFinish' },
    });
  });

  it('A30: RestartContainer closes the gate and awaits the restart', () => {
    const restart = context(sized('1', 'RestartContainer'), sized('2', 'RestartContainer'));
    const started = after(small, start(small, restart));
    expect(condition(started, 'InPlaceUpdateReady')?.status).toBe('False');
    expect(Object.keys(stateOf(started).containers)).toEqual(['main']);
  });

  it('KEP-1287: withdrawn after the resize, the resources go back first', () => {
    const started = after(small, start(small, resize));
    const one = step(started, resize);
    if (!('action' in one)) throw new Error(one.wait);
    const bigger = after(started, one.action);
    const back = step(bigger, { ...resize, target: 'web-newer' });
    if (!('action' in back)) throw new Error(back.wait);
    expect(back.action).toMatchObject({
      purpose: 'InPlaceWithdraw',
      subresource: 'resize',
      body: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] } },
    });
    expect(step(after(bigger, back.action), { ...resize, target: 'web-newer' })).toMatchObject({
      action: { purpose: 'InPlaceWithdraw', subresource: 'status' },
    });
  });

  it.each([
    ['PodResizePending', 'Infeasible', 'ResizePending'],
    ['PodResizePending', 'Deferred', 'ResizePending'],
    ['PodResizeInProgress', '', 'InPlaceRestarting'],
  ])('KEP-1287: %s %s is awaited', (type, reason, expected) => {
    const update: InPlaceUpdate = { ...stateOf(after(small, start(small, resize))), revision: OLD };
    const conditions: readonly Condition[] = [{ type, status: 'True', reason, message: 'why' }];
    expect(unfinished({ ...small, status: { ...small.status, conditions } }, update, NOW)?.code).toBe(
      expected,
    );
  });
});

describe('when it is done (in-place.md 1–4, A27, A28)', () => {
  const applied: InPlaceUpdate = {
    revision: NEW,
    at: '2025-12-31T23:59:50.000Z',
    appliedAt: '2026-01-01T00:00:00.400Z',
    gate: true,
    wasReady: true,
    containers: { main: { containerID: 'old', imageID: 'sha256:web:1', restartCount: 0 } },
  };
  const target = { ...podOf(set, 0, NEW, { image: 'web:2' }) };
  const at = (change: Partial<ContainerStatus>, observedGeneration = 1, now = NOW + 1_000) =>
    unfinished(withContainer(target, change, observedGeneration), applied, now);

  it.each([
    [
      '1: kubelet has seen the change, the old container still runs and is Ready',
      { containerID: 'old', image: 'web:1', imageID: 'sha256:web:1' },
    ],
    ['4: another container, but it is not ready', { containerID: 'new', ready: false }],
    [
      '4: another container, but it has ended',
      { containerID: 'new', state: { terminated: { reason: 'Error' } } },
    ],
    [
      '6: the image cannot be pulled',
      { containerID: 'old', ready: false, state: { waiting: { reason: 'ImagePullBackOff' } } },
    ],
    [
      'A28: it crashed and was started with the old image just before the change came',
      {
        containerID: 'new',
        image: 'web:1',
        imageID: 'sha256:web:1',
        state: { running: { startedAt: '2025-12-31T23:59:59Z' } },
      },
    ],
  ] satisfies readonly [string, Partial<ContainerStatus>][])('not done, %s', (_, change) => {
    expect(at(change)).toMatchObject({ code: 'InPlaceRestarting' });
  });

  it.each([
    ['4: another container with the wanted image', { containerID: 'new', image: 'web:2' }],
    [
      'A27: the runtime spells the image in full',
      { containerID: 'new', image: 'docker.io/library/web:2', imageID: 'sha256:web:1' },
    ],
    [
      '3: another image by digest, under a name of the runtime',
      { containerID: 'new', image: 'sha256:abc', imageID: 'sha256:web:2' },
    ],
  ] satisfies readonly [string, Partial<ContainerStatus>][])('done, %s', (_, change) => {
    expect(at(change)).toBeUndefined();
  });

  it('2: of two tags of one digest only the time of the start tells, and kubelet gets 2 s to think better of it', () => {
    const change = {
      containerID: 'new',
      image: 'web:1',
      imageID: 'sha256:web:1',
      state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    };
    const proven = Date.parse('2026-01-01T00:00:02.400Z');
    expect(at(change, 1, proven - 1)?.until).toBe(proven);
    expect(at(change, 1, proven)).toBeUndefined();
  });

  it('8: not while kubelet has not seen the change, whatever it reports', () => {
    const twice = { ...target, metadata: { ...target.metadata, generation: 2 } };
    const change = { containerID: 'new', image: 'web:2' };
    expect(unfinished(withContainer(twice, change, 1), applied, NOW)).toMatchObject({
      code: 'InPlaceRestarting',
    });
    expect(unfinished(withContainer(twice, change, 2), applied, NOW)).toBeUndefined();
  });

  it('A28: what cannot be told is settled once every old container must have ended', () => {
    const change = {
      containerID: 'new',
      image: 'web:1',
      imageID: 'sha256:web:1',
      state: { running: { startedAt: '2025-12-31T23:59:59Z' } },
    };
    const settled = Date.parse('2026-01-01T00:00:40.400Z');
    expect(at(change, 1, settled - 1)?.until).toBe(settled);
    expect(at(change, 1, settled)).toBeUndefined();
  });

  it.each([
    ['nginx', 'docker.io/library/nginx:latest'],
    ['nginx:1', 'docker.io/library/nginx:1'],
    ['team/web', 'docker.io/team/web:latest'],
    ['index.docker.io/library/nginx:1', 'docker.io/library/nginx:1'],
    ['localhost/web:1', 'localhost/web:1'],
    ['registry:5000/web', 'registry:5000/web:latest'],
    ['ghcr.io/a/b@sha256:1', 'ghcr.io/a/b@sha256:1'],
  ])('A27: %s is %s', (image, expected) => {
    expect(normaliseImage(image)).toBe(expected);
  });
});
