import { describe, expect, it } from '@jest/globals';

import { DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { ReplicaSet } from '../../planners/objects.ts';
import type { Deployment } from '../../planners/workload.ts';
import { deploymentOf, replicaPodOf, replicaSetOf } from '../support/deployment-fixtures.ts';
import type { ReplicaSetOptions } from '../support/deployment-fixtures.ts';
import { brief, planOf, rolling } from '../support/deployment-plans.ts';

describe('sizes outside of a rollout (P7–P9)', () => {
  it('the first ReplicaSet gets all pods, whatever the surge', () => {
    const deployment = deploymentOf({ maxSurge: 0, maxUnavailable: 1 });
    const set = replicaSetOf(deployment);
    const { steady, batch, needsRollout } = planOf(deployment, [set]);
    expect(brief(steady, set.metadata.name)).toEqual(['new 0→4']);
    expect([batch, needsRollout]).toEqual([[], false]);
  });

  it('P8: one that is alone follows the Deployment, also the old one while the template has none', () => {
    const grown = deploymentOf({ replicas: 7 });
    const only = replicaSetOf(grown, { size: 4, desired: 4, max: 5 });
    expect(brief(planOf(grown, [only]).steady, only.metadata.name)).toEqual(['new 4→7']);
    const changed = deploymentOf({ replicas: 7, image: 'api:2' });
    expect(brief(planOf(changed, [only]).steady, '')).toEqual(['old 4→7']);
  });

  it('a size that somebody has given it by hand is taken back', () => {
    const deployment = deploymentOf();
    const set = replicaSetOf(deployment, { size: 9 });
    expect(brief(planOf(deployment, [set]).steady, set.metadata.name)).toEqual(['new 9→4']);
  });

  it('P7: template and size changed together: scaling comes first, and the batch waits', () => {
    const { steady, batch, plan } = rolling(
      { replicas: 8, maxSurge: 1, maxUnavailable: 0 },
      { size: 4, desired: 4, max: 5 },
      { size: 0 },
    );
    expect([steady, batch]).toEqual([['old 4→8'], []]);
    expect(plan.waiting.map(({ code }) => code)).toContain('ScalingFirst');
  });

  it('P8: what is through takes the rest of the old ones', () => {
    const { steady } = rolling({ replicas: 4 }, { size: 1, desired: 5, max: 6 }, { size: 4 });
    expect(steady).toEqual(['old 1→0']);
  });

  // pkg/controller/deployment/sync_test.go, TestScale: sizes before (oldest first, the last is new), annotation max-replicas, sizes after.
  it.each<[string, number, number, number, readonly number[], readonly number[]]>([
    ['grows one', 12, 10, 0, [10], [12]],
    ['shrinks one', 5, 10, 0, [10], [5]],
    ['leftover goes to the largest', 12, 10, 0, [5, 5], [6, 6]],
    ['the newest of equal ones grows first', 6, 4, 0, [2, 1, 1], [3, 2, 1]],
    ['shrinks in proportion', 12, 20, 0, [10, 10], [6, 6]],
    ['grows with surge', 20, 15, 5, [5, 15], [6, 19]],
    ['to nothing', 0, 10, 0, [3, 7], [0, 0]],
  ])('P8: %s: to %i from %i', (_, replicas, before, maxSurge, sizes, after) => {
    const deployment = deploymentOf({
      replicas,
      maxSurge,
      maxUnavailable: 1,
      image: `api:${String(sizes.length)}`,
    });
    const sets = sizes.map((size, index) =>
      replicaSetOf(deployment, {
        image: `api:${String(index + 1)}`,
        revision: index + 1,
        created: `2025-12-0${String(index + 1)}T00:00:00Z`,
        size,
        available: 0,
        desired: before,
        max: before + maxSurge,
      }),
    );
    const { steady } = planOf(deployment, sets);
    const sized = new Map(
      steady.map(({ name, body }) => [name, (body?.['spec'] as { replicas?: number } | undefined)?.replicas]),
    );
    const found = sets.map(({ metadata, spec }) => sized.get(metadata.name) ?? spec.replicas);
    const ascending = (all: readonly (number | undefined)[]) => all.toSorted((a = 0, b = 0) => a - b);
    expect(ascending(found)).toEqual(ascending(after));
    expect(found.reduce((sum = 0, size = 0) => sum + size, 0)).toBe(after.reduce((sum, size) => sum + size));
  });

  it('P8: without the annotation the size in the status is what was before', () => {
    const { steady } = rolling(
      { replicas: 20, maxSurge: 0, maxUnavailable: 1, status: { replicas: 10 } },
      { size: 5, desired: 10, max: null },
      { size: 5, desired: 10, max: null, available: 0 },
    );
    expect(steady).toEqual(['old 5→10', 'new 5→10']);
  });

  it('P8: sizes that stay get their annotations, or the scaling would never be over', () => {
    const { plan } = rolling(
      { replicas: 10, maxSurge: 0, maxUnavailable: 1 },
      { size: 5, desired: 8, max: 10 },
      { size: 5, desired: 8, max: 10, available: 0 },
    );
    expect(plan.steady.map(({ purpose, body }) => [purpose, body])).toEqual(
      [1, 2].map(() => [
        'AnnotateReplicaSet',
        {
          metadata: {
            annotations: {
              [DEPLOYMENT_ANNOTATION.desiredReplicas]: '10',
              [DEPLOYMENT_ANNOTATION.maxReplicas]: '10',
            },
          },
          spec: { replicas: 5 },
        },
      ]),
    );
  });

  it('P9: while paused no ReplicaSet is made and none rolled, but scaling works', () => {
    const paused = { by: 'ann' };
    const changed = deploymentOf({ image: 'api:2', paused });
    const old = replicaSetOf(changed, { size: 4 });
    const plan = planOf(changed, [old]);
    expect([plan.steady, plan.batch, plan.needsRollout, plan.finished]).toEqual([[], [], false, false]);
    expect(plan.waiting[0]?.code).toBe('Paused');
    const scaled = deploymentOf({ image: 'api:2', paused, replicas: 6 });
    expect(brief(planOf(scaled, [old]).steady, '')).toEqual(['old 4→6']);
    const middle = rolling({ paused }, { size: 3 }, { size: 2 });
    expect([middle.steady, middle.batch]).toEqual([[], []]);
  });

  it.each<[string, Partial<Deployment>]>([
    ['P12: Recreate', { strategy: 'Recreate' }],
    ['KEP-5882: TerminationComplete', { podReplacementPolicy: 'TerminationComplete', maxSurge: 0 }],
  ])('%s: while paused, too, the new one waits until pods that are being deleted are gone', (_, settings) => {
    const paused = { replicas: 1, maxUnavailable: 1, ...settings, paused: { by: 'ann' } };
    const going = ({ old }: { readonly old: ReplicaSet }) => [replicaPodOf(old, 0, { terminating: true })];
    expect(rolling(paused, { size: 0 }, { size: 0 }, going).steady).toEqual([]);
    expect(rolling(paused, { size: 0 }, { size: 0 }).steady).toEqual(['new 0→1']);
  });

  it.each<[string, Partial<Deployment>, boolean]>([
    ['P12: Recreate', { strategy: 'Recreate' }, true],
    ['KEP-5882: TerminationComplete', { podReplacementPolicy: 'TerminationComplete', maxSurge: 0 }, true],
    ['P10: RollingUpdate', { maxSurge: 0 }, false],
  ])(
    '%s: so does the newest where a pause came before the next template had one',
    (_, settings, terminating) => {
      const changed = { replicas: 2, maxUnavailable: 1, image: 'api:3', ...settings, paused: { by: 'ann' } };
      const deployment = deploymentOf(changed);
      const first = replicaSetOf(deployment, { image: 'api:1', size: 0 });
      const pods = [0, 1].map((number) => replicaPodOf(first, number, { terminating }));
      for (const size of [0, 1]) {
        const created = '2025-12-02T00:00:00Z';
        const second = replicaSetOf(deployment, { image: 'api:2', size, revision: 2, created });
        expect(planOf(deployment, [first, second], pods).steady).toEqual([]);
        const grown = [`old ${String(size)}→2`];
        expect(brief(planOf(deployment, [first, second]).steady, '')).toEqual(grown);
      }
    },
  );
});

describe('a rolling update (P10, P11)', () => {
  const amounts = (maxSurge: number | string, maxUnavailable: number | string) => ({
    replicas: 10,
    maxSurge,
    maxUnavailable,
  });

  // From TestDeploymentController_reconcileNewReplicaSet and _reconcileOldReplicaSets, as one step of both.
  it.each<[string, Partial<Deployment>, ReplicaSetOptions, ReplicaSetOptions, readonly string[]]>([
    [
      'P10: up by the surge, down by what may be missing',
      amounts(3, 2),
      { size: 10 },
      { size: 0 },
      ['new 0→3', 'old 10→8 charged'],
    ],
    [
      'C3: 25 %: surge up, unavailable down',
      amounts('25%', '25%'),
      { size: 10 },
      { size: 0 },
      ['new 0→3', 'old 10→8 charged'],
    ],
    [
      'C3: both 0 resolve to one unavailable',
      amounts(0, '1%'),
      { size: 10 },
      { size: 0 },
      ['old 10→9 charged'],
    ],
    ['P10: no room: nothing grows', amounts(2, 0), { size: 10 }, { size: 2, available: 0 }, []],
    [
      'P11: a new one that is available lets an old one go',
      amounts(2, 0),
      { size: 10 },
      { size: 2, available: 1 },
      ['old 10→9 charged'],
    ],
    [
      'P11: not-ready old ones go first, free of charge',
      amounts(0, 2),
      { size: 10, ready: 7 },
      { size: 0 },
      ['old 10→8'],
    ],
    [
      'P11: as many as may go are not Ready: no good one goes',
      amounts(3, 2),
      { size: 10, ready: 8 },
      { size: 3, available: 0 },
      ['old 10→8'],
    ],
    [
      'P11: what is Ready but not yet available costs like any other',
      amounts(3, 2),
      { size: 10, ready: 10, available: 8 },
      { size: 3, available: 0 },
      [],
    ],
    [
      'P11: a broken new revision never takes more than may be missing',
      amounts(3, 2),
      { size: 8 },
      { size: 5, available: 0 },
      [],
    ],
    [
      'P11: pods that are not even made yet are free',
      amounts(0, 2),
      { size: 10, replicas: 6 },
      { size: 0 },
      ['old 10→8'],
    ],
    [
      'P10: one that is too large shrinks',
      amounts(3, 2),
      { size: 1 },
      { size: 12 },
      ['new 12→10', 'old 1→0 charged'],
    ],
    ['the last old ones go', amounts(3, 2), { size: 2 }, { size: 10 }, ['old 2→0 charged']],
  ])('%s', (_, overrides, old, fresh, expected) => {
    expect(rolling(overrides, old, fresh).batch).toEqual(expected);
  });

  it('P11: oldest first, and everywhere first what is not Ready', () => {
    const deployment = deploymentOf({ image: 'api:3', ...amounts(0, 3) });
    const first = replicaSetOf(deployment, { size: 4, revision: 1 });
    const broken = replicaSetOf(deployment, {
      image: 'api:2',
      revision: 2,
      created: '2025-12-02T00:00:00Z',
      size: 2,
      ready: 0,
    });
    const fresh = replicaSetOf(deployment, {
      image: 'api:3',
      revision: 3,
      created: '2025-12-03T00:00:00Z',
      size: 4,
    });
    const { batch } = planOf(deployment, [fresh, broken, first]);
    expect(batch.map(({ label, charged }) => [label, charged ?? false])).toEqual([
      [`${first.metadata.name}: 4 → 3`, true],
      [`${broken.metadata.name}: 2 → 0`, false],
    ]);
  });

  it('P11: what a ReplicaSet says of an earlier size counts for nothing: no second step from an old number', () => {
    // 10 → 8 has been written, its controller has not looked yet.
    expect(rolling(amounts(0, 2), { size: 8, replicas: 10, observed: false }, { size: 0 }).batch).toEqual([]);
    // It has looked, and its count is of before: the two that go are available ones at worst.
    expect(rolling(amounts(0, 2), { size: 8, replicas: 10 }, { size: 2, available: 0 }).batch).toEqual([]);
  });

  it('P11: a pod that got Ready before its ReplicaSet has counted it is not free', () => {
    const ready =
      (count: number) =>
      ({ old }: { readonly old: ReplicaSet }) =>
        Array.from({ length: 10 }, (_, number) => replicaPodOf(old, number, { ready: number < count }));
    const sets = [amounts(0, 2), { size: 10, ready: 8 }, { size: 0 }] as const;
    expect(rolling(...sets, ready(8)).batch).toEqual(['old 10→8']);
    expect(rolling(...sets, ready(9)).batch).toEqual(['old 10→9']);
    expect(rolling(...sets, ready(10)).batch).toEqual([]);
  });

  it('P10: pods that are still there take their places, so that there are never more than replicas and surge', () => {
    const active = ({ old }: { readonly old: ReplicaSet }) =>
      Array.from({ length: 10 }, (_, number) => replicaPodOf(old, number));
    expect(rolling(amounts(0, 2), { size: 8 }, { size: 0 }, active).batch).toEqual([]);
    const going = ({ old }: { readonly old: ReplicaSet }) =>
      Array.from({ length: 10 }, (_, number) => replicaPodOf(old, number, { terminating: number < 2 }));
    expect(rolling(amounts(0, 2), { size: 8 }, { size: 0 }, going).batch).toEqual(['new 0→2']);
  });

  it('KEP-5882: with TerminationComplete a pod that is being deleted keeps its place until it is gone', () => {
    const going = ({ old }: { readonly old: ReplicaSet }) => [
      replicaPodOf(old, 0, { terminating: true }),
      replicaPodOf(old, 1, { terminating: true, phase: 'Succeeded' }),
    ];
    const policy = { podReplacementPolicy: 'TerminationComplete' } as const;
    const { batch, plan } = rolling({ ...amounts(0, 2), ...policy }, { size: 8 }, { size: 0 }, going);
    expect(batch).toEqual(['new 0→1']);
    expect(plan.waiting.map(({ code }) => code)).toContain('PodTerminating');
  });

  it('says what it waits for', () => {
    const { plan, old } = rolling(amounts(3, 2), { size: 8 }, { size: 5, available: 0 });
    expect(plan.waiting).toEqual([
      {
        code: 'BudgetUsed',
        message: `the budget is used up: 2 of 2 unavailable; ${old.metadata.name} is next`,
        pods: [old.metadata.name],
      },
    ]);
  });

  it('P10: says why none of the old goes where none may be unavailable', () => {
    const { plan, old } = rolling(amounts(1, 0), { size: 10 }, { size: 1, available: 0 });
    expect(plan.waiting[0]?.message).toBe(
      `the budget is used up: none may be unavailable, so a new one has to be available first; ${old.metadata.name} is next`,
    );
  });

  it('every write has both preconditions and the annotations of the size', () => {
    const { plan } = rolling(amounts(3, 2), { size: 10 }, { size: 0 });
    expect(plan.batch).toHaveLength(2);
    for (const { uid, resourceVersion, body } of plan.batch) {
      expect([uid?.startsWith('uid-'), resourceVersion]).toEqual([true, '5']);
      expect(body).toMatchObject({
        metadata: {
          annotations: {
            [DEPLOYMENT_ANNOTATION.desiredReplicas]: '10',
            [DEPLOYMENT_ANNOTATION.maxReplicas]: '13',
          },
        },
      });
    }
  });
});

describe('Recreate (P12)', () => {
  const recreate = { strategy: 'Recreate' } as const;

  it('P12: all old ones go at once', () => {
    expect(rolling(recreate, { size: 4 }, { size: 0 }).batch).toEqual(['old 4→0 charged']);
  });

  it.each<[string, ReplicaSetOptions, readonly ('active' | 'terminating' | 'finished')[], readonly string[]]>(
    [
      ['their controller has not looked', { size: 0, observed: false }, [], []],
      ['it counts pods', { size: 0, replicas: 1 }, [], []],
      ['a pod is active', { size: 0 }, ['active'], []],
      ['a pod is being deleted', { size: 0 }, ['terminating'], []],
      ['only finished ones are left', { size: 0 }, ['finished'], ['new 0→4']],
      ['none is left', { size: 0 }, [], ['new 0→4']],
    ],
  )('P12: the new one begins at full size, but not while %s', (_, old, pods, expected) => {
    const { steady, batch } = rolling(recreate, old, { size: 0 }, (sets) =>
      pods.map((state, number) =>
        replicaPodOf(sets.old, number, {
          terminating: state === 'terminating',
          ...(state === 'finished' && { phase: 'Failed' }),
        }),
      ),
    );
    expect([steady, batch]).toEqual([expected, []]);
  });
});
