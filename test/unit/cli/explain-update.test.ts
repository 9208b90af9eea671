/** What `explain rc/NAME` says first. */

import { describe, expect, it } from '@jest/globals';

import type { AskedRun } from '../../../cli/controller-session.ts';
import { controllerName } from '../../../cli/controller-argument.ts';
import { rowsOf, viewControllers } from '../../../cli/controller-list.ts';
import { explain } from '../../../cli/explain-update.ts';
import type { GitState } from '../../../cli/git-state.ts';
import { judgeUpdate, whyNothingMoves } from '../../../cli/update-state.ts';
import {
  ANNOTATION,
  RENAME_FINALIZER,
  ROLLING_UPDATE,
  SHIPPED_ROLLING_UPDATE,
} from '../../../planners/names.ts';
import { planRollingUpdate } from '../../../planners/rolling-update.ts';
import { recordManifest } from '../../../planners/rolling-update-record.ts';
import type { Turned } from '../../../planners/rolling-update-record.ts';
import { decideRollback } from '../../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../../planners/rolling-update-start.ts';
import { updateNameOf, viewUpdate } from '../../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../../support/simulated-controllers.ts';

const RUNNING: AskedRun = { state: 'running', status: 'RUNNING', workflowId: 'w' };
const TERMINATED: AskedRun = { state: 'closed', status: 'TERMINATED', workflowId: 'w' };
const NOBODY = 'no Fairlead worker holds the Lease fairlead';

/** An update that has come so far that `until` is the next write. */
function world(until?: string): SimulatedControllers {
  const all = new SimulatedControllers();
  all.controller('foo', { replicas: 2, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') });
  all.settle();
  if (until === undefined) return all;
  const request = { change: { kind: 'image', image: 'app:2' }, key: ROLLING_UPDATE.deployment } as const;
  const decision = decideStart(viewUpdate(all.snapshot('foo')), request);
  if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
  const state = {
    phase: 'Rolling',
    desired: 2,
    surge: 1,
    unavailable: 0,
    updatePeriodMs: 0,
    pollIntervalMs: 1,
  } as const;
  const body = recordManifest(decision.data, state, []);
  const { name } = body['metadata'] as { name: string };
  all.apply({ verb: 'create', resource: 'controllerrevisions', name, body, purpose: 'Record', message: '' });
  for (;;) {
    const { step } = planRollingUpdate(all.snapshot('foo'), 0);
    if (step.do === 'write' && step.write.purpose === until) return all;
    if (step.do === 'write') all.apply(step.write);
    else if (!all.collect()) all.settle();
  }
}

function said(all: SimulatedControllers, run: AskedRun, nobody?: string) {
  return explain(planRollingUpdate(all.snapshot('foo'), 0), { run, nobody, git: undefined });
}

describe('why nothing moves, where a wait for a rolling update ends', () => {
  const whyOf = (all: SimulatedControllers) => whyNothingMoves(planRollingUpdate(all.snapshot('foo'), 0));

  it('is what it waits for', () => {
    const all = world('ScaleUp');
    const { step } = planRollingUpdate(all.snapshot('foo'), 0);
    if (step.do === 'write') all.apply(step.write);
    expect(whyOf(all)).toMatch(/^foo-[0-9a-f]+ has 0 of 1 pods$/);
  });

  it('is the step that is planned, where that is not done: its run tries it again and again, or waits before it', () => {
    expect(whyOf(world('ScaleDown'))).toBe('its next step is not done: scale foo from 2 to 1');
  });
});

describe('explain of a rolling update', () => {
  it('names the finalizer of a controller that does not go, and how it goes', () => {
    const all = world('DeleteOld');
    all.edit('foo', (one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        finalizers: ['example.com/x'],
      },
    }));
    expect(said(all, RUNNING)).toMatchObject({
      sentence: expect.stringContaining('foo is being deleted, held by its finalizer example.com/x'),
      next: expect.stringContaining('kubectl patch rc foo -n default --type=merge'),
    });
  });

  it('says what the cluster answers where its step fails again and again, pods without a controller first', () => {
    const all = world('Create');
    const failing = { attempts: 9, message: 'HTTP 500: no' };
    const { sentence, next } = said(all, { ...RUNNING, failing });
    expect(sentence).toMatch(/^2 pods have no controller: .* has failed 9 times: HTTP 500: no$/);
    expect(next).toBe('mend what it names (it is tried again by itself)');
    expect(said(all, RUNNING).sentence).not.toContain('failed');
  });

  it('does not say that it goes on where its step fails, and how to give it up while that is possible', () => {
    const failing = { attempts: 2, message: 'foo-1 keeps its name for now' };
    expect(said(world('DeleteOld'), { ...RUNNING, failing })).toMatchObject({
      sentence: expect.stringMatching(
        /^it does not get on: what is due \(delete foo: .*\) has failed 2 times: foo-1 keeps its name for now$/,
      ),
      next: 'mend what it names (it is tried again by itself), or give it up: fairlead rollout abort rc/foo -n default',
    });
  });

  it('names pods without a controller before anything else', () => {
    expect(said(world('Create'), TERMINATED)).toEqual({
      verdict: 'PodsWithoutController',
      sentence: expect.stringMatching(
        /^2 pods have no controller: foo-[0-9a-f]+ is gone and foo is not there yet; no run is open \(the last one is terminated\)$/,
      ),
      next: 'fairlead rollout retry rc/foo -n default',
    });
    expect(said(world('Create'), RUNNING).sentence).toMatch(/not there yet$/);
  });

  it('says nothing of pods in a rename whose pods are gone', () => {
    const plan = planRollingUpdate({ ...world('Create').snapshot('foo'), pods: [] }, 0);
    const evidence = { nobody: undefined, git: undefined };
    const none = explain(plan, { ...evidence, run: { state: 'none' } });
    expect(none).toEqual({
      verdict: 'NoRun',
      sentence: 'the update does not go on: no run is open',
      next: 'fairlead rollout retry rc/foo -n default',
    });
    expect(explain(plan, { ...evidence, run: RUNNING }).sentence).toMatch(/^it goes on: create foo/);
  });

  it('a run that cannot go on is named', () => {
    const trouble = {
      kind: 'paused',
      text: 'its activity was paused',
      next: 'temporal activity unpause',
    } as const;
    expect(said(world('ScaleUp'), { ...RUNNING, trouble })).toEqual({
      verdict: 'RunHeld',
      sentence: 'the update does not go on: its activity was paused',
      next: 'temporal activity unpause',
    });
  });

  it.each<[string, SimulatedControllers, AskedRun, string | undefined, string]>([
    ['no run', world('ScaleUp'), TERMINATED, undefined, 'NoRun'],
    ['no worker', world('ScaleUp'), RUNNING, NOBODY, 'NoRun'],
    ['Temporal away', world('ScaleUp'), { state: 'unreachable', message: 'away' }, undefined, 'NoRun'],
    ['under way', world('ScaleUp'), RUNNING, undefined, 'Progressing'],
    ['no update', world(), { state: 'none' }, undefined, 'NoUpdate'],
    ['stuck', world('ScaleDown'), RUNNING, undefined, 'Progressing'],
  ])('%s', (_, all, run, nobody, verdict) => {
    expect(said(all, run, nobody).verdict).toBe(verdict);
  });
});

describe('pods without a controller', () => {
  const list = (all: SimulatedControllers) =>
    viewControllers(
      {
        chosen: all.controllers,
        controllers: all.controllers,
        revisions: all.revisions,
        pods: all.pods,
        isWhole: true,
      },
      0,
    );

  it('are told by get and status too', () => {
    const all = world('Create');
    expect(all.controllers).toEqual([]);
    const told = /^2 pods have no controller: foo-[0-9a-f]+ is gone and foo is not there yet$/;

    expect(list(all)).toEqual([
      expect.objectContaining({
        name: 'foo',
        current: 0,
        state: 'Progressing',
        message: expect.stringMatching(told),
      }),
    ]);
    const plan = planRollingUpdate(all.snapshot('foo'), 0);
    expect(judgeUpdate(plan).sentence).toContain('(2 pods have no controller: ');
  });

  it('are told by all of them while the next controller, which has let them go, is held until a worker is there', () => {
    const all = world('ReleaseNext');
    const [next] = all.controllers;
    expect(next?.metadata).toMatchObject({ deletionTimestamp: expect.any(String) });
    const told = `2 pods have no controller: ${next?.metadata.name ?? ''} is being deleted and foo is not there yet`;

    expect(said(all, RUNNING, NOBODY)).toEqual({
      verdict: 'PodsWithoutController',
      sentence: `${told}; ${NOBODY}`,
      next: expect.stringMatching(/^start a worker/),
    });
    expect(judgeUpdate(planRollingUpdate(all.snapshot('foo'), 0)).sentence).toContain(`(${told})`);
    expect(list(all)).toEqual([
      expect.objectContaining({
        replaces: 'foo',
        current: 0,
        available: 2,
        message: told,
        progress: expect.objectContaining({ next: expect.objectContaining({ available: 2 }) }),
      }),
    ]);
  });

  it.each<[string, string | undefined, string]>([
    ['alone', undefined, 'null'],
    ['beside the finalizer of the rename', RENAME_FINALIZER, `["${RENAME_FINALIZER}"]`],
  ])('are told with the finalizer of somebody else that holds the rename, %s', (_, own, left) => {
    const all = world('ReleaseNext');
    const next = all.controllers[0]?.metadata.name ?? '';
    const finalizers = ['x.example/hold', ...(own === undefined ? [] : [own])];
    all.edit(next, (one) => ({ ...one, metadata: { ...one.metadata, finalizers } }));
    const told = `2 pods have no controller: ${next} is being deleted, held by its finalizer x.example/hold, and foo is not there yet`;

    expect(said(all, RUNNING)).toEqual({
      verdict: 'PodsWithoutController',
      sentence: told,
      next: `who has set it takes it off; if nobody does any more: kubectl patch rc ${next} -n default --type=merge -p '{"metadata":{"finalizers":${left}}}'`,
    });
    expect(whyNothingMoves(planRollingUpdate(all.snapshot('foo'), 0))).toBe(told);
    // Without a worker nothing would come of it.
    expect(said(all, RUNNING, NOBODY)).toMatchObject({
      sentence: `${told}; ${NOBODY}`,
      next: expect.stringMatching(/^start a worker/),
    });
  });

  it('also where the next one is deleted without them in the middle, and none while it still has them', () => {
    const all = world('ScaleDown');
    const [{ metadata } = { metadata: undefined }] = all.controllers.filter(
      (one) => one.metadata.name !== 'foo',
    );
    const { name = '', uid = '', resourceVersion = '' } = metadata ?? {};
    const deleted = { resource: 'replicationcontrollers', name, uid, resourceVersion, orphan: true } as const;
    all.apply({ verb: 'delete', ...deleted, purpose: 'DeleteNext', message: '' });
    // The garbage collector's finalizer is not to be taken off by hand: it would take the pods with it.
    expect(said(all, RUNNING)).toEqual({
      verdict: 'ControllerLeaving',
      sentence: `${name} is being deleted, held by its finalizer orphan`,
    });
    const { pods, ...snapshot } = all.snapshot('foo');
    const free = pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, ownerReferences: [] } }));
    expect(
      explain(planRollingUpdate({ ...snapshot, pods: free }, 0), {
        run: RUNNING,
        nobody: undefined,
        git: undefined,
      }),
    ).toEqual({
      verdict: 'PodsWithoutController',
      sentence: `1 pod has no controller: ${name} is being deleted without it`,
    });
  });

  it('a rename takes nothing from what is available, and says what it goes on with', () => {
    const all = world('Create');
    for (const purpose of ['Create', 'Renamed']) {
      const { step } = planRollingUpdate(all.snapshot('foo'), 0);
      expect(step).toMatchObject({ write: { purpose } });
      if (step.do === 'write') all.apply(step.write);
    }
    const plan = planRollingUpdate(all.snapshot('foo'), 0);
    expect(plan.step).toMatchObject({ do: 'await', waiting: [{ code: 'Adoption' }] });
    expect(plan.progress.old).toMatchObject({ name: 'foo', available: 2 });
    all.settle();
    expect(said(all, RUNNING).sentence).toBe('it goes on: foo keeps the record foo-1');
  });

  it('are told by get too where somebody deleted both controllers without them, and not where they went too', () => {
    const all = world('ScaleDown');
    for (const { metadata } of all.controllers) all.forget('replicationcontrollers', metadata.name);
    expect(list(all)).toEqual([]);
    const orphans = all.pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, ownerReferences: [] } }));
    const { revisions } = all;
    const rows = viewControllers({ chosen: [], controllers: [], revisions, pods: orphans, isWhole: true }, 0);
    expect(rows).toEqual([
      expect.objectContaining({
        name: 'foo',
        state: 'Progressing',
        message: expect.stringContaining('3 pods have'),
      }),
    ]);
  });

  it('rc/NAME is found by its own name while only the next one is there', () => {
    const rows = list(world('HoldNext'));
    expect(rowsOf(rows, 'foo')).toEqual([expect.objectContaining({ replaces: 'foo' })]);
    expect(rowsOf(rows, rows[0]?.name ?? '')).toEqual(rows);
    expect(rowsOf(rows, 'bar')).toEqual([]);
  });

  it('before and after the rename there is one row', () => {
    for (const until of ['ScaleDown', 'DeleteNext']) {
      expect(list(world(until)).map(({ state }) => state)).toEqual(['Progressing']);
    }
    expect(list(world()).map(({ name }) => name)).toEqual(['foo']);
  });
});

describe('an update that cannot be', () => {
  it('says why, not that it has no run: another one would end the same way', () => {
    const all = world('ScaleUp');
    const next = all.controllers.find(({ metadata }) => metadata.name !== 'foo')?.metadata.name ?? '';
    all.controller('bar', { replicas: 1, selector: { app: 'bar' }, template: IMAGE_TEMPLATE('app:1') });
    all.edit(next, (one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        annotations: { ...one.metadata.annotations, [ROLLING_UPDATE.partner]: 'bar' },
      },
    }));
    expect(said(all, TERMINATED)).toEqual({
      verdict: 'OtherUpdate',
      sentence: `${next} belongs to another update, with bar and not with foo`,
      next: 'give it up: fairlead rollout abort rc/foo -n default',
    });
  });
});

it('a pause on the next controller alone is one, in the list too', () => {
  const { controllers, revisions, pods } = world('ScaleDown');
  const paused = { [ANNOTATION.paused]: JSON.stringify({ by: 'ann', reason: 'look' }) };
  const held = controllers.map((one) =>
    one.metadata.name === 'foo'
      ? one
      : { ...one, metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, ...paused } } },
  );
  const found = { chosen: held, controllers: held, revisions, pods, isWhole: true };
  expect(viewControllers(found, 0)).toMatchObject([
    { name: 'foo', state: 'Paused', message: 'paused by ann: look' },
  ]);
});

describe('a pause without an update under way', () => {
  const wish = { by: 'ann', reason: 'look' };
  const annotations = { [ANNOTATION.paused]: JSON.stringify(wish) };
  const held = (all: SimulatedControllers) => {
    all.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, ...annotations } },
    }));
    const snapshot = all.snapshot('foo');
    // The simulated controller manager counts no available pods.
    const controllers = snapshot.controllers.map((one) => ({
      ...one,
      status: {
        ...one.status,
        observedGeneration: one.metadata.generation ?? 0,
        availableReplicas: one.spec.replicas ?? 0,
      },
    }));
    return { ...snapshot, controllers, paused: wish };
  };
  const rowOf = ({ controllers, revisions, pods }: ReturnType<typeof held>) =>
    viewControllers({ chosen: controllers, controllers, revisions, pods, isWhole: true }, 0)[0];

  it('is told by status, explain and get: the controller is well, the next update will wait', () => {
    const snapshot = held(world());
    const plan = planRollingUpdate(snapshot, 0);
    const sentence =
      'replication controller "foo" successfully rolled out; the next update will wait: paused by ann: look';
    expect(judgeUpdate(plan)).toEqual({ outcome: 'done', sentence });
    expect(explain(plan, { run: { state: 'none' }, nobody: undefined, git: undefined })).toEqual({
      verdict: 'Complete',
      sentence,
    });
    expect(rowOf(snapshot)).toMatchObject({ state: 'Paused', message: 'paused by ann: look', paused: wish });
  });

  it('holds the next update before its first pod', () => {
    const all = world('ScaleUp');
    expect(planRollingUpdate(held(all), 0)).toMatchObject({
      step: { do: 'paused', by: 'ann' },
      progress: { old: { replicas: 2 }, next: { replicas: 0 } },
    });
  });
});

describe('why pods do not come', () => {
  const explained = (snapshot: ReturnType<SimulatedControllers['snapshot']>, ending?: string) => {
    const plan = planRollingUpdate(snapshot, 0);
    const { sentence } = judgeUpdate(plan);
    return {
      status: sentence,
      ...explain(plan, { run: RUNNING, nobody: undefined, git: undefined, ending }),
    };
  };

  it.each(['ImagePullBackOff', 'CrashLoopBackOff'])('the pod and its reason: %s', (reason) => {
    const snapshot = world('ScaleDown').snapshot('foo');
    const pods = snapshot.pods.map((pod) =>
      pod.spec.containers[0]?.image === 'app:2'
        ? {
            ...pod,
            status: {
              phase: 'Pending' as const,
              containerStatuses: [
                {
                  name: 'main',
                  image: '',
                  imageID: '',
                  ready: false,
                  restartCount: 0,
                  state: { waiting: { reason } },
                },
              ],
            },
          }
        : pod,
    );
    const told = new RegExp(
      `1 of 1 pod of foo-\\w+ is not available: container main of foo-\\w+-\\d+: ${reason}`,
    );
    const { status, sentence, next } = explained({ ...snapshot, pods });
    expect(sentence).toMatch(told);
    expect(status).toMatch(told);
    expect(next).toBe('wait, or go back: fairlead rollout abort rc/foo -n default');
  });

  it.each([
    [
      'exceeded quota: small, requested: pods=1',
      'ask for less, delete what is not needed, or have the quota raised (kubectl describe resourcequota small -n default)',
    ],
    ['no PriorityClass with name high was found', 'make the PriorityClass high, or name one that is there'],
    [
      'maximum memory usage per Pod is 1Gi, but limit is 2Gi',
      'keep to what the LimitRange allows, or have it changed (kubectl describe limitrange -n default)',
    ],
    [
      'a plug-in of somebody',
      'mend what it names (a quota, a policy, a permission: `fairlead check --worker`)',
    ],
  ])('pods that are refused, in the words of the controller manager: %s', (why, next) => {
    const all = world('ScaleDown');
    const { controllers, ...snapshot } = all.snapshot('foo');
    const isNew = (image: string | undefined) => image === 'app:2';
    const message = `pods "foo-x-abcde" is forbidden: ${why}`;
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }] as const;
    const refused = controllers.map((one) =>
      isNew(one.spec.template?.spec.containers[0]?.image)
        ? { ...one, status: { ...one.status, conditions } }
        : one,
    );
    const pods = snapshot.pods.filter(({ spec }) => !isNew(spec.containers[0]?.image));
    const found = explained({ ...snapshot, controllers: refused, pods });
    expect(found).toMatchObject({
      verdict: 'PodRefused',
      sentence: expect.stringMatching(new RegExp(`^foo-\\w+ has 0 of 1 pods: pods are forbidden: ${why}$`)),
      next: `${next}; it is tried again by itself, or go back: fairlead rollout abort rc/foo -n default`,
    });
    expect(found.status).toContain(why);
  });

  it('a namespace that is being deleted: nothing is advised', () => {
    const found = explained(world('ScaleDown').snapshot('foo'), 'namespace default is being deleted');
    expect(found).toMatchObject({
      verdict: 'NamespaceEnds',
      sentence: expect.stringContaining('is being deleted'),
    });
    expect(found).not.toHaveProperty('next');
  });
});

describe('pods that do not become available', () => {
  it.each<[string, 'ScaleDown' | 'Phase', RegExp]>([
    ['while the old controller is there: go back', 'ScaleDown', /go back: fairlead rollout abort rc\/foo/],
    ['after the rename: another image', 'Phase', /another image: fairlead rolling-update foo --image=/],
  ])('%s', (_, until, next) => {
    const all = world(until);
    if (until === 'Phase') {
      // The first is the way into the rename, the second its end.
      for (
        let step = planRollingUpdate(all.snapshot('foo'), 0).step;
        all.find('foo')?.spec.template?.spec.containers[0]?.image !== 'app:2';
      ) {
        if (step.do === 'write') all.apply(step.write);
        else if (!all.collect()) all.settle();
        step = planRollingUpdate(all.snapshot('foo'), 0).step;
      }
      const { step } = planRollingUpdate(all.snapshot('foo'), 0);
      if (step.do === 'write') all.apply(step.write);
      all.settle();
    }
    const snapshot = all.snapshot('foo');
    const pods = snapshot.pods.map((pod) => ({ ...pod, status: { phase: 'Pending' as const } }));
    const explanation = explain(planRollingUpdate({ ...snapshot, pods }, 0), {
      run: RUNNING,
      nobody: undefined,
      git: undefined,
    });
    expect(explanation).toMatchObject({ verdict: 'PodNotReady', next: expect.stringMatching(next) });
  });
});

describe('an update that kubectl began, and nobody goes on with (K1)', () => {
  const NO_RUN: AskedRun = { state: 'none' };

  /** Two of three pods are still those of before. */
  function shipped(): SimulatedControllers {
    const all = new SimulatedControllers();
    const spec = (replicas: number, deployment: string, image: string) => ({
      replicas,
      selector: { app: 'foo', deployment },
      template: {
        metadata: { labels: { app: 'foo', deployment } },
        spec: { containers: [{ name: 'main', image }] },
      },
    });
    all.controller('foo', spec(2, 'a-orig', 'app:1'), {
      [SHIPPED_ROLLING_UPDATE.originalReplicas]: '3',
      [SHIPPED_ROLLING_UPDATE.nextController]: 'foo-b',
    });
    all.controller('foo-b', spec(1, 'b', 'app:2'), {
      [SHIPPED_ROLLING_UPDATE.sourceId]: 'foo:uid',
      [SHIPPED_ROLLING_UPDATE.desiredReplicas]: '3',
    });
    all.settle();
    for (const name of ['foo', 'foo-b']) {
      all.edit(name, (one) => ({
        ...one,
        status: { ...one.status, availableReplicas: one.spec.replicas ?? 0 },
      }));
    }
    return all;
  }

  const planOf = (all: SimulatedControllers, name: string) =>
    planRollingUpdate(all.snapshot(updateNameOf(all, name)), 0);
  // Nobody knows any more what was typed, but no update forms this name.
  const TAKES_ON = 'fairlead rolling-update foo foo-b -n default';

  it.each<[string, string, string | undefined]>([
    ['the old controller', 'foo', undefined],
    ['the next controller', 'foo-b', undefined],
    ['the next controller, which alone is there', 'foo-b', 'foo'],
  ])('of %s: it is in the middle, and which command takes it on', (_, name, gone) => {
    const all = shipped();
    if (gone !== undefined) all.forget('replicationcontrollers', gone);
    const plan = planOf(all, name);

    expect(plan.view.name).toBe('foo');
    expect(judgeUpdate(plan)).toMatchObject({
      outcome: 'progressing',
      sentence: expect.stringContaining(TAKES_ON),
    });
    // A run that is completed was of an update before.
    const completed = { ...TERMINATED, status: 'COMPLETED' };
    for (const run of [NO_RUN, completed]) {
      expect(explain(plan, { run, nobody: undefined, git: undefined })).toMatchObject({
        verdict: 'NoRun',
        sentence: expect.stringMatching(/no run is open$/),
        next: TAKES_ON,
      });
    }
  });

  it('whose next controller is gone: it has to be rolled out again, under the name that was written down', () => {
    const all = shipped();
    all.forget('replicationcontrollers', 'foo-b');
    const plan = planOf(all, 'foo');

    expect(judgeUpdate(plan)).toMatchObject({
      outcome: 'stalled',
      sentence: expect.stringContaining('is gone'),
    });
    expect(explain(plan, { run: NO_RUN, nobody: undefined, git: undefined })).toMatchObject({
      verdict: 'NextLost',
      next: 'roll it out again: fairlead rolling-update foo foo-b --image=… -n default; or go back: fairlead rollout abort rc/foo -n default',
    });
    const change = { kind: 'image', image: 'app:2' } as const;
    expect(decideStart(plan.view, { change, key: ROLLING_UPDATE.deployment })).toMatchObject({
      do: 'begin',
      desired: 3,
      data: { next: 'foo-b' },
    });
  });

  it('that kubectl has rolled back leaves marks, and is over', () => {
    const all = shipped();
    all.forget('replicationcontrollers', 'foo-b');
    all.edit('foo', (one) => ({
      ...one,
      spec: { ...one.spec, replicas: 3 },
      status: { ...one.status, availableReplicas: 3 },
    }));
    expect(judgeUpdate(planOf(all, 'foo')).outcome).toBe('done');
  });

  it('is not begun the wrong way round from the next controller', () => {
    const all = shipped();
    const snapshot = all.snapshot('foo-b');

    expect(planRollingUpdate(snapshot, 0).step).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
    const view = viewUpdate(snapshot);
    expect(decideRollback(view, {})).toMatchObject({ do: 'refuse', code: 'IsNext' });
    expect(decideStart(view, { change: { kind: 'none' }, key: ROLLING_UPDATE.deployment })).toMatchObject({
      do: 'refuse',
      code: 'IsNext',
    });
  });

  it('nor one of Fairlead, forward or back', () => {
    const all = world('ScaleDown');
    const next = all.controllers.find(({ metadata }) => metadata.name !== 'foo')?.metadata.name ?? '';
    expect(planOf(all, next).view.name).toBe('foo');
    const decision = decideRollback(viewUpdate(all.snapshot('foo')), { verb: 'abort' });
    if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
    all.apply(decision.write);
    expect(planOf(all, next).view.name).toBe('foo');
    // Without its record the mark of who turned it round tells which is the old one.
    for (const { metadata } of all.revisions) all.forget('controllerrevisions', metadata.name);
    expect(planOf(all, 'foo').view.name).toBe('foo');
  });
});

describe('status at the end of a way back', () => {
  it('does not take the marks that are left for an update that nobody carries on', () => {
    const all = world('ScaleDown');
    const decision = decideRollback(viewUpdate(all.snapshot('foo')), { verb: 'abort' });
    if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
    all.apply(decision.write);
    const sentences: string[] = [];
    for (let plan = planRollingUpdate(all.snapshot('foo'), 0); plan.step.do !== 'done';) {
      if (plan.step.do === 'write') all.apply(plan.step.write);
      else if (!all.collect()) all.settle();
      plan = planRollingUpdate(all.snapshot('foo'), 0);
      sentences.push(judgeUpdate(plan).sentence);
    }
    expect(sentences.filter((sentence) => sentence.includes('takes it on'))).toEqual([]);
    expect(sentences).toContainEqual(expect.stringMatching(/^cleaning up: foo 2/));
  });
});

describe('status of a controller without an update', () => {
  it('is not done before the controller manager has seen the last change', () => {
    const all = world();
    expect(judgeUpdate(planRollingUpdate(all.snapshot('foo'), 0)).outcome).toBe('progressing');
    const seen = (observedGeneration: number) => {
      all.edit('foo', (one) => ({
        ...one,
        metadata: { ...one.metadata, generation: 2 },
        status: { ...one.status, availableReplicas: 2, observedGeneration },
      }));
      return judgeUpdate(planRollingUpdate(all.snapshot('foo'), 0)).outcome;
    };
    expect([seen(1), seen(2)]).toEqual(['progressing', 'done']);
  });

  const git = (outcome: GitState['outcome']): GitState => ({
    repository: 'r',
    commit: 'c2',
    outcome,
    problems: [],
  });

  it.each<[string, Turned, GitState | undefined, string, RegExp, boolean?]>([
    [
      'by hand',
      { verb: 'abort', by: 'ann', reason: 'slow' },
      undefined,
      'rolledBack',
      /rolled back by ann: slow/,
    ],
    [
      'by a commit that is on its way',
      { verb: 'commit', commit: 'c2' },
      git('Progressing'),
      'progressing',
      /c2 is rolled out next/,
    ],
    [
      'by a commit that reverts it',
      { verb: 'commit', commit: 'c2' },
      git('Succeeded'),
      'done',
      /^replication controller "foo" is as commit c2 has it, which reverted the update to app:2$/,
    ],
    [
      'by a commit of which nothing is known',
      { verb: 'commit', commit: 'c2' },
      undefined,
      'progressing',
      /^the update of foo to app:2 was superseded; what becomes of commit c2 is not known here$/,
    ],
    [
      'by a commit of which nothing is known, and nothing has come',
      { verb: 'commit', commit: 'c2', reason: 'another' },
      undefined,
      'rolledBack',
      /rolled back: another; foo is as it was before$/,
      true,
    ],
    [
      'by a commit that failed',
      { verb: 'commit', commit: 'c2', reason: 'another' },
      git('Failed'),
      'rolledBack',
      /rolled back: another/,
    ],
  ])('turned round %s', (_, turned, state, outcome, sentence, isGivenUp = false) => {
    const all = world('ScaleDown');
    const decision = decideRollback(viewUpdate(all.snapshot('foo')), turned);
    if (decision.do !== 'turn') throw new Error(JSON.stringify(decision));
    all.apply(decision.write);
    for (let step = planRollingUpdate(all.snapshot('foo'), 0).step; step.do !== 'done';) {
      if (step.do === 'write') all.apply(step.write);
      else if (!all.collect()) all.settle();
      step = planRollingUpdate(all.snapshot('foo'), 0).step;
    }
    const verdict = judgeUpdate(planRollingUpdate(all.snapshot('foo'), 0), state, isGivenUp);
    expect(verdict).toEqual({ outcome, sentence: expect.stringMatching(sentence) });
    const { controllers, revisions, pods } = all;
    const [row] = viewControllers({ chosen: controllers, controllers, revisions, pods, isWhole: true }, 0);
    expect(row?.message).toMatch(/^rolled back(?: by ann: slow|: another)?$/);
    // Whatever git brings next, it is that which counts.
    all.edit('foo', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'fairlead.dev/commit': 'c3' } },
    }));
    expect(judgeUpdate(planRollingUpdate(all.snapshot('foo'), 0), state).outcome).toBe('progressing');
    expect(judgeUpdate(planRollingUpdate(all.snapshot('foo'), 0), state).sentence).not.toMatch(sentence);
  });
});

describe('rc/NAME', () => {
  it.each([
    ['rc/foo', 'foo'],
    ['replicationcontroller/foo', 'foo'],
    ['ReplicationControllers.v1/foo', 'foo'],
    ['sts/foo', undefined],
    ['foo', undefined],
    [undefined, undefined],
  ])('%s', (operand, name) => {
    expect(controllerName(operand)).toBe(name);
  });
});
