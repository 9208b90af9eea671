import { describe, expect, it } from '@jest/globals';

import { planDaemonSet } from '../../planners/daemonset.ts';
import { hashOf } from '../../planners/daemonset-hash.ts';
import { daemonPodName, newDaemonPod } from '../../planners/daemonset-pods.ts';
import type { ControllerRevision, Node, Pod } from '../../planners/objects.ts';
import type { Action, Plan } from '../../planners/plan.ts';
import type { DaemonSet, DaemonSetStatus, Snapshot } from '../../planners/workload.ts';
import { LONGEST_FAILURE_MS } from '../../planners/workload.ts';
import {
  daemonPodOn,
  daemonRevisionFor,
  daemonRolloutOf,
  daemonSetOf,
  daemonSnapshotOf,
  nodeOf,
} from '../support/daemonset-fixtures.ts';
import type { DaemonPodOptions } from '../support/daemonset-fixtures.ts';
import { NOW, completed, templateOf } from '../support/statefulset-fixtures.ts';

const NODES = ['a', 'b', 'c', 'd'].map((name) => nodeOf(name));
const NO_SCHEDULE = [{ key: 'full', effect: 'NoSchedule' }];
const NO_EXECUTE = [{ key: 'broken', effect: 'NoExecute' }];

/** `ScaleUp a`, by the node that it is for. */
function brief(actions: readonly Action[]): readonly string[] {
  return actions.map(({ purpose, place, name }) => `${purpose} ${place ?? name}`);
}

function bodyOf(action: Action | undefined): Pod {
  if (action?.body === undefined) throw new Error('no object is created');
  return action.body as unknown as Pod;
}

describe('a pod on each node (D6–D10)', () => {
  const set = daemonSetOf();
  const revision = daemonRevisionFor(set);
  const planOf = (
    pods: readonly Pod[],
    nodes: readonly Node[] = NODES,
    parts: Partial<Snapshot<DaemonSet>> = {},
  ) => planDaemonSet(daemonSnapshotOf(set, { revisions: [completed(revision)], nodes, pods, ...parts }), NOW);
  const on = (node: string, options?: DaemonPodOptions) => daemonPodOn(set, node, revision, options);

  it('D6: where none is, one is made; where one is, none, even while it terminates', () => {
    expect(brief(planOf([on('a'), on('b', { terminating: true })]).steady)).toEqual([
      'ScaleUp c',
      'ScaleUp d',
    ]);
  });

  it('D3, D4: the pod is aimed at its node and names its revision by the hash', () => {
    const [create] = planOf([]).steady;
    const { metadata, spec } = bodyOf(create);
    expect(metadata.labels?.['controller-revision-hash']).toBe(
      revision.metadata.labels?.['controller-revision-hash'],
    );
    expect(revision.metadata.name).toBe(`agent-${metadata.labels?.['controller-revision-hash'] ?? ''}`);
    expect(spec['affinity']).toMatchObject({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }],
        },
      },
    });
  });

  it('D6: one that is finished and terminating counts no more, and keeps its name', () => {
    const ghost = on('a', { phase: 'Failed', terminating: true });
    const [create] = planOf([ghost], [nodeOf('a')]).steady;
    expect(create).toMatchObject({ purpose: 'ScaleUp', place: 'a' });
    expect(create?.name).not.toBe(ghost.metadata.name);
  });

  it.each([
    ['and held by a finalizer, is told of, and holds nothing up', ['ev.io/y'], 60_000, ['LeftoverHeld']],
    ['has the time of its grace period and a little more', ['ev.io/y'], 0, []],
    ['is the business of its node where nothing holds it', [], 60_000, []],
  ])('D6: one that is finished and terminating, %s', (_, finalizers, agoMs, codes) => {
    const ghost = on('a', { phase: 'Succeeded', terminating: true, beside: 'before' });
    const deletionTimestamp = new Date(NOW - agoMs).toISOString();
    const left = { ...ghost, metadata: { ...ghost.metadata, finalizers, deletionTimestamp } };
    const { waiting, finished, settled } = planOf([left, on('a')], [nodeOf('a')]);
    expect(waiting.map(({ code }) => code)).toEqual(codes);
    expect([finished, settled]).toEqual([true, true]);
    const said = `${left.metadata.name} is terminating, held by its finalizer ev.io/y`;
    expect(waiting.map(({ message }) => message)).toEqual(codes.map(() => said));
  });

  it('C4, D6: a pod that was released keeps its name, and its place is taken by one of another name', () => {
    const rollout = daemonRolloutOf();
    const { update, revisions } = rollout;
    const mine = daemonPodOn(rollout.set, 'a', update);
    const { ownerReferences: _, ...metadata } = mine.metadata;
    const released = { ...mine, metadata: { ...metadata, labels: { app: 'quarantine' } } };
    const steadyOf = (pods: readonly Pod[]) =>
      planDaemonSet(daemonSnapshotOf(rollout.set, { revisions, nodes: [nodeOf('a')], pods }), NOW).steady;
    const [create] = steadyOf([released]);
    expect(create).toMatchObject({ verb: 'create', place: 'a' });
    expect(create?.name).not.toBe(mine.metadata.name);
    expect(steadyOf([released])).toEqual(steadyOf([released]));
    expect(steadyOf([])[0]?.name).toBe(mine.metadata.name);
  });

  it('D3: a revision that was meant for another node does not send the pod there', () => {
    const { update } = daemonRolloutOf();
    const template = templateOf('agent:2');
    const elsewhere = daemonSetOf({ template: { ...template, spec: { ...template.spec, nodeName: 'b' } } });
    const nodeNameOn = (node: string) =>
      (newDaemonPod(set, 'x', node, daemonRevisionFor(elsewhere), true)['spec'] as Pod['spec']).nodeName;
    expect([nodeNameOn('a'), nodeNameOn('b')]).toEqual([undefined, 'b']);
    expect(newDaemonPod(set, 'x', 'a', update, true)['spec']).not.toHaveProperty('nodeName');
  });

  it('a failed one is told as failed, also by who does not know when it is replaced', () => {
    const pod = on('a', { phase: 'Failed', ready: false });
    const told = `${pod.metadata.name} is not ready: ${pod.metadata.name} has failed`;
    expect(planOf([pod], [nodeOf('a')]).waiting.map(({ message }) => message)).toContain(told);
  });

  it.each<[string, 'old' | 'update', 'old' | 'update', Partial<DaemonSet>, readonly string[]]>([
    ['another revision is what may mend it', 'old', 'old', {}, ['ScaleUp a']],
    ['but not while that is held by a pause', 'old', 'old', { paused: {} }, []],
    ['failures of another say nothing of it', 'update', 'old', {}, ['ScaleUp a']],
    ['its own do', 'update', 'update', {}, []],
  ])('D7, D13: the back-off is of one revision: %s', (_, at, of, settings, expected) => {
    const { set: rolled, revisions, ...both } = daemonRolloutOf(settings);
    const pods = [daemonPodOn(rolled, 'a', both[at], { phase: 'Failed', ready: false })];
    const failures = new Map([['a', { revision: hashOf(both[of]), until: NOW + 900_000 }]]);
    const snapshot = daemonSnapshotOf(rolled, { revisions, nodes: [nodeOf('a')], pods, failures });
    const { steady } = planDaemonSet(snapshot, NOW);
    expect(brief(steady)).toEqual(expected);
    expect(steady.map(({ revision: name }) => name)).toEqual(expected.map(() => both.update.metadata.name));
  });

  it('D7: a failed one goes after its back-off, a succeeded one at once, of two the older stays', () => {
    const member = on('a', { phase: 'Failed', ready: false });
    const failed = planOf([member], [nodeOf('a')], {
      failures: new Map([['a', { revision: hashOf(revision), until: NOW + 4_000 }]]),
    });
    expect([failed.steady, failed.requeueAt]).toEqual([[], NOW + 4_000]);
    const beforeTheClock = new Map([
      ['a', { revision: hashOf(revision), until: NOW + LONGEST_FAILURE_MS + 1 }],
    ]);
    // Set back since: nobody waits for a time that far off.
    expect(brief(planOf([member], [nodeOf('a')], { failures: beforeTheClock }).steady)).toEqual([
      'ScaleUp a',
    ]);
    const { name } = member.metadata;
    expect(failed.waiting.find(({ code }) => code === 'PodNotReady')?.message).toBe(
      `${name} is not ready: it failed on node a`,
    );
    for (const phase of ['Failed', 'Succeeded'] as const) {
      const pod = on('a', { phase });
      const [create, ...more] = planOf([pod], [nodeOf('a')]).steady;
      expect([create?.purpose, create?.place, more]).toEqual(['ScaleUp', 'a', []]);
      // Whoever waits until the failed pod is gone knows it by its name only.
      expect(create?.name).not.toBe(pod.metadata.name);
      const successor = on('a', { beside: pod.metadata.uid });
      const removal = planOf([pod, successor], [nodeOf('a')]).steady;
      expect(brief(removal)).toEqual(['ReplaceFinished a']);
      expect(removal[0]?.finishedRevision).toBe(hashOf(revision));
      const leaving = nodeOf('a', { taints: NO_SCHEDULE });
      expect(brief(planOf([pod], [leaving]).steady)).toEqual(['ReplaceFinished a']);
    }
    const younger = on('a', { beside: 'x', created: '2025-12-31T12:00:00Z' });
    expect(planOf([younger, on('a')], [nodeOf('a')]).steady).toMatchObject([
      { purpose: 'ScaleDown', name: younger.metadata.name },
    ]);
  });

  it('D9: a pod that may not be deleted there is told, and nothing is settled', () => {
    const nodes = [nodeOf('a'), nodeOf('b', { taints: NO_EXECUTE })];
    const [removal] = planOf([on('a'), on('b')], nodes).steady;
    const refusal = { since: NOW, retryAt: NOW + 1_000, message: 'denied' };
    const refusals = new Map([[`delete pods/${removal?.name ?? ''}`, refusal]]);
    const plan = planOf([on('a'), on('b')], nodes, { refusals });
    expect([plan.steady, plan.finished, plan.settled]).toEqual([[], true, false]);
    expect(plan.waiting).toMatchObject([{ code: 'WriteRefused', pods: [removal?.name] }]);
    expect(planOf([on('a')], nodes).settled).toBe(true);
  });

  it('D9: on nodes that are not for it pods go, but for a NoSchedule taint', () => {
    const nodes = [nodeOf('a', { taints: NO_SCHEDULE }), nodeOf('b', { taints: NO_EXECUTE })];
    expect(brief(planOf([on('a'), on('b')], nodes).steady)).toEqual(['ScaleDown b']);
    expect(planOf([], nodes).steady).toEqual([]);
  });

  it('D10: a pod that waits for a node that is gone is deleted; one that is bound is the garbage collector’s', () => {
    const plan = planOf([on('gone', { bound: false, ready: false }), on('lost')], []);
    expect(brief(plan.steady)).toEqual(['ScaleDown gone']);
  });

  it('design "Once": names of 10,000 nodes differ, and fit', () => {
    const long = daemonSetOf({ ref: { ...set.ref, name: 'x'.repeat(253) } });
    const names = new Set(
      Array.from({ length: 10_000 }, (_, index) =>
        daemonPodName(long, `ip-10-0-${String(index)}.internal`, revision),
      ),
    );
    expect(names.size).toBe(10_000);
    expect(Math.max(...[...names].map((name) => name.length))).toBeLessThanOrEqual(63);
  });
});

describe('a new template that selects other nodes (D1)', () => {
  const POOLS = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) =>
    nodeOf(name, { labels: { pool: name.slice(0, 1) } }),
  );
  const NO_POOL = {};
  /** From the nodes of a pool to those of another; `parts` is what holds the set. */
  function moved(parts: Partial<DaemonSet>, from: object = { pool: 'a' }, to: object = { pool: 'b' }) {
    const template = (nodeSelector: object) => templateOf('agent:1', { nodeSelector });
    const old = daemonRevisionFor(daemonSetOf({ ...parts, template: template(from) }));
    const set = daemonSetOf({ ...parts, template: template(to), generation: 2 });
    const update = daemonRevisionFor(set, [old]);
    const plan = (pods: readonly Pod[], revisions = [old, update]) =>
      planDaemonSet(daemonSnapshotOf(set, { revisions, nodes: POOLS, pods }), NOW);
    const at = (revision: ControllerRevision, ...names: readonly string[]) =>
      names.map((name) => daemonPodOn(set, name, revision));
    return { old, update, plan, at };
  }

  it('nothing holds it: pods go from the nodes that it does not want, and come on those that it does', () => {
    const { old, update, plan, at } = moved({});
    const { steady } = plan(at(old, 'a1', 'a2', 'a3'));
    const [a, b] = [['a1', 'a2', 'a3'].map((name) => `ScaleDown ${name}`), ['ScaleUp b1', 'ScaleUp b2']];
    expect(brief(steady)).toEqual([...a, ...b]);
    expect(steady.at(-1)?.revision).toBe(update.metadata.name);
  });

  it.each<[string, Partial<DaemonSet>]>([
    ['a pause', { paused: { by: 'kim' } }],
    ['a partition of all nodes', { partition: 5 }],
    ['a nodeSelector of the update', { nodeSelector: { canary: 'true' } }],
  ])('%s holds it: no pod goes, none comes, and one that dies comes back as it was', (_, parts) => {
    const { old, plan, at } = moved(parts);
    const held = plan(at(old, 'a1', 'a2', 'a3'));
    expect([held.steady, held.batch, held.progress.unavailable]).toEqual([[], [], 0]);
    expect(held.status).toMatchObject({ desiredNumberScheduled: 3, numberMisscheduled: 0 });
    const [back, ...more] = plan(at(old, 'a1', 'a3')).steady;
    expect([back?.place, back?.revision, more]).toEqual(['a2', old.metadata.name, []]);
  });

  it('before the template has a revision nothing goes', () => {
    const { old, plan, at } = moved({});
    expect(plan(at(old, 'a1', 'a2', 'a3'), [old])).toMatchObject({ steady: [], needsRollout: true });
  });

  it('a pause in the middle leaves what has come, and what has not yet gone', () => {
    const { old, update, plan, at } = moved({ paused: { by: 'kim' } });
    const paused = plan([...at(old, 'a1'), ...at(update, 'b1', 'b2')]);
    // Those of the old template are made again: the rollout has not reached them.
    expect(brief(paused.steady)).toEqual(['ScaleUp a2', 'ScaleUp a3']);
    expect(paused.finished).toBe(false);
  });

  it('more nodes than before: a partition keeps those that have something to keep', () => {
    const { old, update, plan, at } = moved({ partition: 3 }, { pool: 'a' }, NO_POOL);
    const { steady, batch } = plan(at(old, 'a1', 'a2', 'a3'));
    expect([brief(steady), batch]).toEqual([['ScaleUp b1', 'ScaleUp b2'], []]);
    expect(steady.map(({ revision }) => revision)).toEqual([update.metadata.name, update.metadata.name]);
  });

  it('more nodes than before, all held: nothing is made there that could not be scheduled, nor is that complete', () => {
    const { old, plan, at } = moved({ partition: 5 }, { pool: 'a' }, NO_POOL);
    expect(plan(at(old, 'a1', 'a2', 'a3')).steady).toEqual([]);
    const other = moved({ paused: {} }, { pool: 'a' }, NO_POOL);
    expect(other.plan(other.at(other.update, 'a1', 'a2', 'a3'))).toMatchObject({
      steady: [],
      finished: false,
    });
  });
});

describe('which nodes may be updated now (D12–D17)', () => {
  /** One character a node: o old, n new, capital = not ready, t terminating, - none. */
  function planOf(
    overrides: Partial<DaemonSet>,
    what: string,
    parts: Partial<Snapshot<DaemonSet>> = {},
  ): Plan<DaemonSetStatus> {
    const { set, old, update, revisions } = daemonRolloutOf(overrides);
    const pods = what.split('').flatMap((letter, index) => {
      const name = NODES[index]?.metadata.name ?? '';
      if (letter === '-') return [];
      const revision = letter.toLowerCase() === 'n' ? update : old;
      return [
        daemonPodOn(set, name, revision, {
          ready: letter === letter.toLowerCase(),
          terminating: letter === 't',
        }),
      ];
    });
    return planDaemonSet(
      daemonSnapshotOf(set, { revisions, nodes: NODES.slice(0, what.length), pods, ...parts }),
      NOW,
    );
  }

  it.each<[string, Partial<DaemonSet>, string, readonly string[]]>([
    ['one at a time, the last first', {}, 'oooo', ['Recreate d']],
    ['C3: a percentage is rounded up', { maxUnavailable: '26%' }, 'oooo', ['Recreate d', 'Recreate c']],
    ['D12: one that is terminating counts', {}, 'ooot', []],
    ['D12: a new one that is not ready counts', {}, 'oooN', []],
    ['D13: all that are not ready, whatever the budget', {}, 'OOoN', ['Recreate b', 'Recreate a']],
    ['D11: not before nodes without a pod have theirs', {}, 'ooo-', []],
    ['partition: the last names go first', { partition: 3 }, 'oooo', ['Recreate d']],
    [
      'partition: what is updated counts as one of those that may be',
      { partition: 2 },
      'ooon',
      ['Recreate c'],
    ],
    ['partition: enough are updated', { partition: 2 }, 'nnoo', []],
    ['D18: OnDelete', { updateStrategy: 'OnDelete' }, 'oooo', []],
    ['paused', { paused: { by: 'kim' } }, 'OOoo', []],
    ['D16: a surge puts the new one beside the old', { maxSurge: 1, maxUnavailable: 0 }, 'oooo', ['Surge d']],
    [
      'D16: beside what is not ready at once',
      { maxSurge: 1, maxUnavailable: 0 },
      'oOOo',
      ['Surge d', 'Surge c', 'Surge b'],
    ],
  ])('%s', (_, overrides, what, expected) => {
    expect(brief(planOf(overrides, what).batch).toSorted()).toEqual([...expected].toSorted());
  });

  it('design "Budget": a write to a ready pod is charged, with uid and resourceVersion', () => {
    const [write] = planOf({}, 'oooo').batch;
    expect(write).toMatchObject({ verb: 'delete', charged: true, resourceVersion: '10' });
    expect(write?.uid).toBeDefined();
    expect(planOf({}, 'OnnN').batch).toMatchObject([{ place: 'a' }]);
    expect(planOf({}, 'OnnN').batch[0]?.charged).toBeUndefined();
  });

  describe('a canary is taken back (undo, abort, a deadline): the revision that was before is wanted again', () => {
    /** The good one has the higher number again, as after a rollback (D19); the rejected one was made after it. */
    function takenBack(overrides: Partial<DaemonSet>) {
      const { set: rejecting, old: good, update: rejected } = daemonRolloutOf(overrides);
      const set = { ...rejecting, template: templateOf('agent:1') };
      // Both made within one second, which is all that the apiserver tells apart.
      const made = (
        revision: ControllerRevision,
        number: number,
        annotations: Record<string, string> = {},
      ) => ({
        ...revision,
        revision: number,
        metadata: { ...revision.metadata, creationTimestamp: '2025-12-31T01:00:00Z', annotations },
      });
      const revisions = [
        made(rejected, 2),
        made(good, 3, { 'fairlead.dev/wanted-since': '2025-12-31T02:00:00Z' }),
      ] as const;
      const pods = [
        ...['a', 'b', 'c'].map((name) => daemonPodOn(set, name, good)),
        daemonPodOn(set, 'd', rejected),
      ];
      const plan = (without?: string) =>
        planDaemonSet(
          daemonSnapshotOf(set, {
            revisions,
            nodes: [...NODES.slice(0, 3), nodeOf('d', { labels: { canary: 'true' } })],
            pods: pods.filter(({ metadata }) => metadata.name !== without),
          }),
          NOW,
        );
      return { good, pods, plan };
    }

    it.each<[string, Partial<DaemonSet>]>([
      ['by number', { partition: 3 }],
      ['by the labels of nodes', { nodeSelector: { canary: 'true' } }],
    ])('%s: its nodes get the good one, and so does a pod that is made anew elsewhere', (_, overrides) => {
      const { good, pods, plan } = takenBack(overrides);
      expect(brief(plan().batch)).toEqual(['Recreate d']);
      expect(plan()).toMatchObject({ needsRollout: true, finished: false });
      const [create] = plan(pods[1]?.metadata.name).steady;
      expect(create).toMatchObject({ verb: 'create', place: 'b', revision: good.metadata.name });
    });

    it('a node that is kept instead of another, and has no pod yet, gets the good one too', () => {
      const { good, pods, plan } = takenBack({ partition: 1 });
      expect(brief(plan().batch)).toEqual(['Recreate d']);
      const [create] = plan(pods[3]?.metadata.name).steady;
      expect(create).toMatchObject({ verb: 'create', place: 'd', revision: good.metadata.name });
    });
  });

  it('D14: on a node that may keep its pod but gets no new one, the old one is taken all the same', () => {
    const { set, old, revisions } = daemonRolloutOf();
    const nodes = [nodeOf('a', { taints: NO_SCHEDULE })];
    const plan = planDaemonSet(
      daemonSnapshotOf(set, { revisions, nodes, pods: [daemonPodOn(set, 'a', old)] }),
      NOW,
    );
    expect(brief(plan.batch)).toEqual(['Recreate a']);
    expect(plan.status).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 });
  });

  it.each<[string, number, readonly string[]]>([
    ['one of all nodes', 100, []],
    ['one of all but a canary', 2, ['Recreate b']],
    ['without one', 0, ['Recreate t']],
  ])('D14: with a partition such a pod is taken last, %s', (_, partition, expected) => {
    const { set, old, update, revisions } = daemonRolloutOf({ partition });
    const nodes = [nodeOf('0'), nodeOf('a'), nodeOf('b'), nodeOf('t', { taints: NO_SCHEDULE })];
    const planWith = (...updated: readonly string[]) => {
      const pods = nodes.map(({ metadata: { name } }) =>
        daemonPodOn(set, name, updated.includes(name) ? update : old),
      );
      return planDaemonSet(daemonSnapshotOf(set, { revisions, nodes, pods }), NOW);
    };
    expect(brief(planWith().batch)).toEqual(expected);
    expect(planWith('0', 'a', 'b').needsRollout).toBe(partition === 0);
  });

  it('D17: in a surge such a pod is held until there are more pods than wanted', () => {
    const { set, old, update, revisions } = daemonRolloutOf({ maxSurge: 1, maxUnavailable: 0 });
    const nodes = [nodeOf('a', { taints: NO_SCHEDULE }), nodeOf('b')];
    const held = daemonPodOn(set, 'a', old);
    const batchWith = (pod: Pod) =>
      brief(planDaemonSet(daemonSnapshotOf(set, { revisions, nodes, pods: [held, pod] }), NOW).batch);
    expect(batchWith(daemonPodOn(set, 'b', update, { ready: false }))).toEqual([]);
    expect(batchWith(daemonPodOn(set, 'b', update))).toEqual(['Recreate a']);
  });

  it('D17: nor does it wait for the pod of a node that was not Ready before the rollout began', () => {
    const { set, old, update } = daemonRolloutOf({ maxSurge: 1, maxUnavailable: 0 });
    const made = { ...update, metadata: { ...update.metadata, creationTimestamp: '2025-12-31T01:00:00Z' } };
    const nodes = [
      nodeOf('a', { taints: NO_SCHEDULE }),
      nodeOf('b'),
      nodeOf('c', { notReadySince: Date.parse('2025-12-31T00:00:00Z') }),
    ];
    const batchWith = (ready: boolean) => {
      const pods = [
        daemonPodOn(set, 'a', old),
        daemonPodOn(set, 'b', made, { ready }),
        daemonPodOn(set, 'c', made, { ready: false }),
      ];
      return brief(planDaemonSet(daemonSnapshotOf(set, { revisions: [old, made], nodes, pods }), NOW).batch);
    };
    expect(batchWith(false)).toEqual([]);
    expect(batchWith(true)).toEqual(['Recreate a']);
  });

  it('D8: in a surge the old one goes when the new one is available, or when it is not ready itself', () => {
    const { set, old, update, revisions } = daemonRolloutOf({
      maxSurge: 1,
      maxUnavailable: 0,
      minReadySeconds: 10,
    });
    const steadyOf = (oldReady: boolean, newSince: number) => {
      const pods = [
        daemonPodOn(set, 'a', old, { ready: oldReady }),
        daemonPodOn(set, 'a', update, { readySince: newSince, beside: 'x' }),
      ];
      return brief(
        planDaemonSet(daemonSnapshotOf(set, { revisions, nodes: [nodeOf('a')], pods }), NOW).steady,
      );
    };
    expect(steadyOf(true, NOW - 5_000)).toEqual([]);
    expect(steadyOf(true, NOW - 10_000)).toEqual(['ScaleDown a']);
    expect(steadyOf(false, NOW - 5_000)).toEqual(['ScaleDown a']);
  });

  it.each(['old', 'update'] as const)(
    'D8: in a surge that one of two at the %s revision stays which is Ready',
    (at) => {
      const { set, revisions, ...rollout } = daemonRolloutOf({ maxSurge: 1, maxUnavailable: 0 });
      for (const readyAt of [1, 2]) {
        const pods = [1, 2].map((day) =>
          daemonPodOn(set, 'a', rollout[at], {
            created: `2025-12-0${String(day)}T00:00:00Z`,
            ready: day === readyAt,
            beside: String(day),
          }),
        );
        const { steady } = planDaemonSet(
          daemonSnapshotOf(set, { revisions, nodes: [nodeOf('a')], pods }),
          NOW,
        );
        expect(steady.map(({ name }) => name)).toEqual([pods[2 - readyAt]?.metadata.name]);
      }
    },
  );

  it('A9: while paused a node without a pod gets the current revision, unless a batch has deleted its pod', () => {
    const { set, old, update, revisions } = daemonRolloutOf({ paused: {} });
    const revisionOf = (replaced: ReadonlyMap<string, string>) =>
      planDaemonSet(daemonSnapshotOf(set, { revisions, nodes: [nodeOf('a')], replaced }), NOW).steady[0]
        ?.revision;
    expect(revisionOf(new Map())).toBe(old.metadata.name);
    expect(revisionOf(new Map([['a', update.metadata.name]]))).toBe(update.metadata.name);
  });

  it('A9: while paused a node that joins gets the revision that was complete and that all others have, without a run on record', () => {
    const { set, old, update } = daemonRolloutOf({ paused: {} });
    const made = (at: ControllerRevision, newest: ControllerRevision) => {
      const pods = [daemonPodOn(set, 'a', update), daemonPodOn(set, 'b', at)];
      const snapshot = daemonSnapshotOf(set, { revisions: [old, newest], nodes: NODES.slice(0, 3), pods });
      return planDaemonSet(snapshot, NOW).steady.map(({ place, revision }) => [place, revision]);
    };
    expect(made(update, completed(update))).toEqual([['c', update.metadata.name]]);
    expect(made(old, completed(update))).toEqual([['c', old.metadata.name]]);
    expect(made(update, update)).toEqual([['c', old.metadata.name]]);
  });

  it('A9: while paused that a canary succeeded does not let the rest come, on nodes that it had not reached', () => {
    const { set, old, update } = daemonRolloutOf({ paused: {} });
    const [o, u] = [old.metadata.name, update.metadata.name];
    const attempts = JSON.stringify([{ outcome: 'Succeeded', endedAt: '2026-01-01T00:00:00Z' }]);
    const tried = {
      ...update,
      metadata: { ...update.metadata, annotations: { 'fairlead.dev/attempts': attempts } },
    };
    /** At which revision a pod comes to node d. */
    const made = (partition: number, others: string, canary: ControllerRevision = tried) => {
      const nodes = ['a', 'b', 'c', 'd'].map((name) => nodeOf(name));
      const pods = others
        .split('')
        .map((at, index) => daemonPodOn(set, nodes[index]?.metadata.name ?? '', at === 'n' ? update : old));
      const revisions = [old, canary];
      const snapshot = daemonSnapshotOf({ ...set, partition }, { revisions, nodes, pods });
      return planDaemonSet(snapshot, NOW).steady.map(({ place, revision }) => [place, revision]);
    };
    expect(made(0, 'oon')).toEqual([['d', o]]);
    // None of them is left to tell.
    expect(made(0, 'nnn')).toEqual([['d', o]]);
    expect(made(0, 'nnn', completed(tried))).toEqual([['d', u]]);
    // It is gone back to: that it was complete was before.
    expect(made(0, 'oon', completed(tried))).toEqual([['d', o]]);
    // The canary's own nodes.
    expect(made(2, 'oon')).toEqual([['d', u]]);
    expect(made(3, 'ooo')).toEqual([['d', u]]);
    // One more than it had reached.
    expect(made(1, 'oon')).toEqual([['d', o]]);
  });

  it('A9: a node that nobody waits for does not make a finished rollout one that is held', () => {
    const { set, old, update } = daemonRolloutOf({ paused: {} });
    const attempts = JSON.stringify([{ outcome: 'Succeeded', endedAt: '2026-01-01T00:00:00Z' }]);
    const { metadata: made, ...rest } = completed(update);
    const metadata = { ...made, creationTimestamp: '2025-12-31T01:00:00Z' };
    const annotations = { ...metadata.annotations, 'fairlead.dev/attempts': attempts };
    const comes = (newest: ControllerRevision) => {
      const down = nodeOf('b', { notReadySince: Date.parse('2025-12-31T00:00:00Z') });
      const pods = [daemonPodOn(set, 'a', update), daemonPodOn(set, 'b', old)];
      const snapshot = daemonSnapshotOf(set, {
        revisions: [old, newest],
        nodes: [nodeOf('a'), down, nodeOf('c')],
        pods,
      });
      return planDaemonSet(snapshot, NOW).steady.map(({ place, revision }) => [place, revision]);
    };
    expect(comes({ ...rest, metadata: { ...metadata, annotations } })).toEqual([['c', update.metadata.name]]);
    // Taken over, without a run on record.
    expect(comes({ ...rest, metadata })).toEqual([['c', update.metadata.name]]);
  });

  it.each<[string, Readonly<Record<string, string>>, boolean]>([
    ['counts where the hash says nothing', { 'controller-revision-hash': 'unknown' }, true],
    [
      'proves nothing of a pod that is known to be at another revision: a set made again counts anew',
      {},
      false,
    ],
  ])('D5: in apps/v1 the generation of the template %s', (_, labels, isNew) => {
    const { set, old, revisions } = daemonRolloutOf({ templateGeneration: '1' });
    const pod = daemonPodOn(set, 'a', old);
    const labelled = {
      ...pod,
      metadata: {
        ...pod.metadata,
        labels: { ...pod.metadata.labels, 'pod-template-generation': '1', ...labels },
      },
    };
    const plan = planDaemonSet(
      daemonSnapshotOf(set, { revisions, nodes: [nodeOf('a')], pods: [labelled] }),
      NOW,
    );
    expect([plan.batch.length, plan.finished, plan.needsRollout]).toEqual([isNew ? 0 : 1, isNew, !isNew]);
  });

  it.each([
    ['oooo', { needsRollout: true, finished: false, updated: 0, available: 4 }],
    ['ooon', { needsRollout: true, finished: false, updated: 1, available: 4 }],
    ['nnnN', { needsRollout: false, finished: false, updated: 4, available: 3 }],
    ['nnnn', { needsRollout: false, finished: true, updated: 4, available: 4 }],
    ['nnn-', { needsRollout: false, finished: false, updated: 3, available: 3 }],
  ])('D23: status, progress and end of %s', (what, { needsRollout, finished, updated, available }) => {
    const plan = planOf({}, what);
    expect(plan).toMatchObject({
      needsRollout,
      finished,
      progress: { desired: 4, target: 4, updated, available },
      status: { desiredNumberScheduled: 4, updatedNumberScheduled: updated, numberAvailable: available },
    });
  });

  it('a pod is updated in place where the policy allows it', () => {
    const plan = planOf({ podUpdatePolicy: 'InPlaceIfPossible', template: templateOf('agent:2') }, 'oo');
    expect(plan.batch).toMatchObject([{ verb: 'patch', purpose: 'InPlaceBegin', place: 'b', charged: true }]);
  });

  it.each([
    ['Infeasible', ['Recreate a']],
    ['Deferred', []],
  ])(
    'KEP-1287: a new pod for what the node refuses, not for what it puts off, as that would come to the same node: %s',
    (reason, written) => {
      const { set, update, revisions } = daemonRolloutOf({ podUpdatePolicy: 'InPlaceIfPossible' });
      const pod = daemonPodOn(set, 'a', update);
      const [at, revision] = [new Date(NOW).toISOString(), hashOf(update)];
      const resources = [{ list: 'containers', container: 'main', previous: { requests: {}, limits: {} } }];
      const state = { revision, at, appliedAt: at, gate: false, wasReady: true, containers: {}, resources };
      const annotations = { 'fairlead.dev/in-place-update': JSON.stringify(state) };
      const pending = { type: 'PodResizePending', status: 'True', reason, message: 'no cpu' } as const;
      const deferred = {
        ...pod,
        metadata: { ...pod.metadata, annotations },
        status: { ...pod.status, conditions: [...(pod.status?.conditions ?? []), pending] },
      };
      const snapshot = daemonSnapshotOf(set, { revisions, nodes: [nodeOf('a')], pods: [deferred] });
      const plan = planDaemonSet(snapshot, NOW + 86_400_000);
      expect(brief([...plan.steady, ...plan.batch])).toEqual(written);
      expect(plan.waiting.some(({ code }) => code === 'ResizePending')).toBe(written.length === 0);
    },
  );

  describe('which nodes, in which order', () => {
    const zones = (...letters: readonly string[]) =>
      letters.map((zone, index) =>
        nodeOf(NODES[index]?.metadata.name ?? '', { labels: zone === '' ? {} : { zone } }),
      );

    it.each<[string, string, readonly Node[], readonly string[], string]>([
      [
        'one value after the other',
        'oooo',
        zones('x', 'y', 'x', 'y'),
        ['Recreate a', 'Recreate c'],
        'zone=x',
      ],
      [
        'the next only when all of the last are available',
        'nooN',
        zones('x', 'x', 'y', 'x'),
        ['Recreate b'],
        'zone=x',
      ],
      ['then the next', 'nono', zones('x', 'y', 'x', 'y'), ['Recreate b', 'Recreate d'], ''],
      ['nodes without the label come last', 'oon', zones('', 'x', 'x'), ['Recreate b'], 'zone=x'],
      ['and they do come', 'onn', zones('', 'x', 'x'), ['Recreate a'], ''],
      [
        'what is not ready does not wait for its turn',
        'oO',
        zones('x', 'y'),
        ['Recreate a', 'Recreate b'],
        '',
      ],
    ])('topologyKey: %s', (_, what, nodes, expected, turn) => {
      const plan = planOf({ topologyKey: 'zone', maxUnavailable: 3 }, what, { nodes });
      expect(brief(plan.batch).toSorted()).toEqual(expected);
      const reason = plan.waiting.find(({ code }) => code === 'TopologyOrder');
      expect(reason?.message ?? '').toContain(turn);
    });

    it('nodeSelector: only the nodes that it selects, and the rollout ends with them', () => {
      const nodes = [nodeOf('a', { labels: { canary: 'true' } }), nodeOf('b'), nodeOf('c'), nodeOf('d')];
      const overrides = { nodeSelector: { canary: 'true' }, maxUnavailable: 4 };
      const plan = planOf(overrides, 'oooo', { nodes });
      expect(brief(plan.batch)).toEqual(['Recreate a']);
      expect(plan.waiting.map(({ code }) => code)).toContain('NodeSelector');
      expect(planOf(overrides, 'nooo', { nodes })).toMatchObject({ finished: true, needsRollout: false });
      // A pod that is made anew elsewhere keeps the revision of its node.
      const [made] = planOf(overrides, 'noo-', { nodes }).steady;
      expect(made?.revision).toBe(daemonRolloutOf().old.metadata.name);
    });

    it('nodeSelector and partition: the partition keeps so many of those that are selected', () => {
      const labels = { canary: 'true' };
      const nodes = [nodeOf('a', { labels }), nodeOf('b', { labels }), nodeOf('c'), nodeOf('d')];
      const plan = planOf({ nodeSelector: labels, partition: 1, maxUnavailable: 4 }, 'oooo', { nodes });
      expect(brief(plan.batch)).toEqual(['Recreate b']);
    });
  });

  describe('nodes that are not Ready (k/k #117204)', () => {
    const begun = Date.parse('2025-12-31T00:00:00Z');
    const tolerated = (notReadySince: number, what: string, overrides: Partial<DaemonSet> = {}) => {
      const { set, old, update } = daemonRolloutOf(overrides);
      const wanted = {
        ...update,
        metadata: { ...update.metadata, creationTimestamp: new Date(begun).toISOString() },
      };
      const nodes = ['a', 'b', 'c'].map((name) =>
        name === 'a' ? nodeOf(name, { notReadySince }) : nodeOf(name),
      );
      const pods = what.split('').map((letter, index) =>
        daemonPodOn(set, nodes[index]?.metadata.name ?? '', letter.toLowerCase() === 'n' ? wanted : old, {
          ready: letter !== letter.toUpperCase() && letter !== 't',
          terminating: letter === 't',
        }),
      );
      return planDaemonSet(daemonSnapshotOf(set, { revisions: [old, wanted], nodes, pods }), NOW);
    };

    it('one that was so before the rollout began takes nothing from the budget, and nobody waits for it', () => {
      const plan = tolerated(begun - 1_000, 'too');
      expect(brief(plan.batch)).toEqual(['Recreate c']);
      expect(plan.waiting.find(({ code }) => code === 'NodesIgnored')?.message).toBe(
        'a was not Ready before the rollout began and does not hold it up',
      );
      expect(tolerated(begun - 1_000, 'tnn')).toMatchObject({ finished: true, needsRollout: false });
    });

    it('one that broke since then stops it', () => {
      expect(tolerated(begun + 1_000, 'too').batch).toEqual([]);
      expect(tolerated(begun + 1_000, 'tnn').finished).toBe(false);
    });

    it('a revision that is wanted again: since then, not since it was made', () => {
      const { set, old, update } = daemonRolloutOf();
      const again = {
        ...update,
        metadata: {
          ...update.metadata,
          creationTimestamp: new Date(begun).toISOString(),
          annotations: { 'fairlead.dev/wanted-since': new Date(begun + 60_000).toISOString() },
        },
      };
      const nodes = [nodeOf('a', { notReadySince: begun + 1_000 }), nodeOf('b')];
      const pods = [daemonPodOn(set, 'a', old, { terminating: true }), daemonPodOn(set, 'b', old)];
      const plan = planDaemonSet(daemonSnapshotOf(set, { revisions: [old, again], nodes, pods }), NOW);
      expect(brief(plan.batch)).toEqual(['Recreate b']);
    });

    describe('they prove nothing', () => {
      const message = (who: string, whom: string) =>
        `${who} not Ready before the rollout began, and no other node has an available pod at the new revision: the rollout waits for ${whom}`;
      const awaited = ({ waiting }: Plan<DaemonSetStatus>) =>
        waiting.find(({ code }) => code === 'NodesAwaited')?.message;

      it('a partition takes them last', () => {
        const plan = tolerated(begun - 1_000, 'Ooo', { partition: 2 });
        expect(brief(plan.batch)).toEqual(['Recreate c']);
        expect(tolerated(begun - 1_000, 'Oon', { partition: 2 })).toMatchObject({ finished: true });
        expect(brief(tolerated(begun - 1_000, 'Onn').batch)).toEqual(['Recreate a']);
      });

      it('a canary on one alone is not finished before its pod is available', () => {
        const [canary, labels] = [{ nodeSelector: { canary: 'true' } }, { canary: 'true' }];
        const { set, old, revisions } = daemonRolloutOf(canary);
        const nodes = [nodeOf('a', { labels, notReadySince: begun - 1_000 }), nodeOf('b')];
        const wanted = revisions.map((one) => ({
          ...one,
          metadata: { ...one.metadata, creationTimestamp: new Date(begun).toISOString() },
        }));
        const pods = [
          daemonPodOn(set, 'a', old, { ready: false, terminating: true }),
          daemonPodOn(set, 'b', old),
        ];
        const plan = planDaemonSet(daemonSnapshotOf(set, { revisions: wanted, nodes, pods }), NOW);
        expect([plan.finished, awaited(plan)]).toEqual([false, message('a was', 'it')]);
      });

      it('where there are no others the rollout is not finished, and the revision not complete', () => {
        const { set, old, update } = daemonRolloutOf();
        const wanted = {
          ...update,
          metadata: { ...update.metadata, creationTimestamp: new Date(begun).toISOString() },
        };
        const nodes = ['a', 'b'].map((name) => nodeOf(name, { notReadySince: begun - 1_000 }));
        const planWith = (revision: ControllerRevision, ready: boolean) => {
          const pods = nodes.map(({ metadata: { name } }) => daemonPodOn(set, name, revision, { ready }));
          return planDaemonSet(daemonSnapshotOf(set, { revisions: [old, wanted], nodes, pods }), NOW);
        };
        const plan = planWith(wanted, false);
        expect([plan.finished, plan.steady, awaited(plan)]).toEqual([
          false,
          [],
          message('a, b were', 'one of them'),
        ]);
        // A network plugin gets ready where the node is not: that is proof.
        expect(planWith(wanted, true)).toMatchObject({
          finished: true,
          steady: [{ purpose: 'MarkComplete' }],
        });
      });
    });

    it('Count: as upstream', () => {
      expect(tolerated(begun - 1_000, 'too', { notReadyNodes: 'Count' }).batch).toEqual([]);
    });
  });
});
