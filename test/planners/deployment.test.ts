import { describe, expect, it } from '@jest/globals';

import {
  renumberReplicaSet,
  planReplicaSetRevision,
  revisionOfReplicaSet,
} from '../../planners/deployment-revision.ts';
import { planDeployment } from '../../planners/deployment.ts';
import { DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { Pod, ReplicaSet } from '../../planners/objects.ts';
import type { Action } from '../../planners/plan.ts';
import type { Deployment } from '../../planners/workload.ts';
import {
  deploymentOf,
  deploymentSnapshotOf,
  replicaPodOf,
  replicaSetOf,
} from '../support/deployment-fixtures.ts';
import type { ReplicaSetOptions } from '../support/deployment-fixtures.ts';
import { NOW } from '../support/statefulset-fixtures.ts';

const NEW = { image: 'api:2', revision: 2, created: '2025-12-02T00:00:00Z' } as const;

function planOf(deployment: Deployment, sets: readonly ReplicaSet[], pods: readonly Pod[] = []) {
  return planDeployment(deploymentSnapshotOf(deployment, sets, { pods }), NOW);
}

/** `new 0→3`, `old 10→8`; other writes by their purpose. */
function brief(actions: readonly Action[], update: string): readonly string[] {
  return actions.map(({ name, label, purpose, charged }) => {
    const who = name === update ? 'new' : 'old';
    const size = label?.split(': ')[1]?.replaceAll(' ', '');
    return size === undefined ? `${purpose} ${who}` : `${who} ${size}${charged === true ? ' charged' : ''}`;
  });
}

/** A rollout from api:1 to api:2. */
function rolling(
  overrides: Partial<Deployment>,
  old: ReplicaSetOptions,
  fresh: ReplicaSetOptions,
  pods: (sets: { readonly old: ReplicaSet; readonly fresh: ReplicaSet }) => readonly Pod[] = () => [],
) {
  const deployment = deploymentOf({ image: 'api:2', ...overrides });
  const sets = { old: replicaSetOf(deployment, old), fresh: replicaSetOf(deployment, { ...NEW, ...fresh }) };
  const plan = planOf(deployment, [sets.old, sets.fresh], pods(sets));
  const { name } = sets.fresh.metadata;
  return { plan, steady: brief(plan.steady, name), batch: brief(plan.batch, name), ...sets };
}

describe('the ReplicaSet of the template (P1–P4)', () => {
  const deployment = deploymentOf();
  const revisions = (...sets: readonly ReplicaSet[]) => sets.map(revisionOfReplicaSet);

  it('P1: it is found by its template, spelt otherwise and whatever its hash says', () => {
    const set = replicaSetOf(deployment, { name: 'api-other', labels: { 'pod-template-hash': 'other' } });
    const { template } = set.spec;
    const spelt = {
      ...set,
      spec: {
        ...set.spec,
        template: { ...template, spec: { ...template.spec, volumes: [], dnsPolicy: 'ClusterFirst' } },
      },
    };
    const plan = planReplicaSetRevision(deployment, revisions(spelt));
    expect(plan).toMatchObject({ outcome: 'exists', revision: { metadata: { name: 'api-other' } } });
  });

  it('P1: of several the oldest', () => {
    const older = replicaSetOf(deployment, { name: 'api-b', created: '2025-11-01T00:00:00Z', revision: 2 });
    const newer = replicaSetOf(deployment, { name: 'api-a', created: '2025-11-02T00:00:00Z', revision: 1 });
    expect(planReplicaSetRevision(deployment, revisions(newer, older))).toMatchObject({
      outcome: 'exists',
      revision: { metadata: { name: 'api-b' } },
    });
  });

  it('P2: a new one has the hash in its name, labels, selector and template, and begins without pods', () => {
    const plan = planReplicaSetRevision(deploymentOf({ minReadySeconds: 5 }), []);
    if (plan.outcome !== 'create') throw new Error(plan.outcome);
    const { metadata, spec } = plan.manifest as unknown as ReplicaSet;
    const hash = metadata.labels?.['pod-template-hash'] ?? '';
    expect(metadata.name).toBe(`api-${hash}`);
    expect(metadata.labels).toEqual({ app: 'web', 'pod-template-hash': hash });
    expect(spec).toMatchObject({
      replicas: 0,
      minReadySeconds: 5,
      selector: { matchLabels: { app: 'web', 'pod-template-hash': hash } },
      template: { metadata: { labels: { app: 'web', 'pod-template-hash': hash } } },
    });
    expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Deployment', controller: true });
  });

  it('P2: a long name is cut, so that the hash fits into 253 characters', () => {
    const { ref } = deployment;
    const plan = planReplicaSetRevision({ ...deployment, ref: { ...ref, name: 'a'.repeat(253) } }, []);
    if (plan.outcome !== 'create') throw new Error(plan.outcome);
    expect((plan.manifest as unknown as ReplicaSet).metadata.name.length).toBeLessThanOrEqual(253);
  });

  it('P3: a name that another owner has is passed over by the next collision count', () => {
    const first = planReplicaSetRevision(deployment, []);
    if (first.outcome !== 'create') throw new Error(first.outcome);
    const { name } = (first.manifest as unknown as ReplicaSet).metadata;
    const second = planReplicaSetRevision(deployment, [], new Set([name]));
    if (second.outcome !== 'create') throw new Error(second.outcome);
    expect((second.manifest as unknown as ReplicaSet).metadata.name).not.toBe(name);
  });

  it('P4: an older one that is gone back to gets the highest number, exactly, and its old one is kept', () => {
    const old = replicaSetOf(deployment, { revision: 3 });
    const newest = replicaSetOf(deployment, { ...NEW, revision: '3546343826724305832' });
    const plan = planReplicaSetRevision(deployment, revisions(old, newest));
    expect(plan).toMatchObject({ outcome: 'renumber', to: 3546343826724305833n });
    if (plan.outcome !== 'renumber') throw new Error(plan.outcome);
    expect(renumberReplicaSet(plan.revision, plan.to)).toEqual({
      metadata: {
        annotations: {
          [DEPLOYMENT_ANNOTATION.revision]: '3546343826724305833',
          [DEPLOYMENT_ANNOTATION.revisionHistory]: '3',
        },
      },
    });
  });

  it('P4: former numbers are kept in at most 2000 characters, the oldest go', () => {
    const many = Array.from({ length: 600 }, (_, number) => String(1000 + number)).join(',');
    const set = replicaSetOf(deployment, {
      revision: 1600,
      annotations: { [DEPLOYMENT_ANNOTATION.revisionHistory]: many },
    });
    const { metadata } = renumberReplicaSet(revisionOfReplicaSet(set), 1700) as unknown as ReplicaSet;
    const history = metadata.annotations?.[DEPLOYMENT_ANNOTATION.revisionHistory] ?? '';
    expect(history.length).toBeLessThanOrEqual(2000);
    expect(history.endsWith(',1599,1600')).toBe(true);
  });

  it('P4: the Deployment gets the number, but not before its ReplicaSet has it', () => {
    const set = replicaSetOf(deployment, { revision: 7, size: 4 });
    expect(planOf(deployment, [set]).annotations).toEqual({ [DEPLOYMENT_ANNOTATION.revision]: '7' });
    expect(planOf(deployment, []).annotations).toBeUndefined();
  });

  it('P5: annotations of the Deployment travel, but not those of its own, and never ours', () => {
    const annotated = deploymentOf({
      metadata: {
        ...deployment.metadata,
        annotations: {
          'kubernetes.io/change-cause': 'because',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          [DEPLOYMENT_ANNOTATION.revision]: '1',
          [DEPLOYMENT_ANNOTATION.rollbackTo]: '0',
          'fairlead.dev/commit': 'abc',
        },
      },
    });
    const set = replicaSetOf(deployment, { size: 4, annotations: { kept: 'yes' } });
    const { steady } = planOf(annotated, [set]);
    expect(
      steady.map(({ purpose, body, uid, resourceVersion }) => ({ purpose, body, uid, resourceVersion })),
    ).toEqual([
      {
        purpose: 'AnnotateReplicaSet',
        body: { metadata: { annotations: { 'kubernetes.io/change-cause': 'because' } } },
        uid: set.metadata.uid,
        resourceVersion: '5',
      },
    ]);
  });

  it('what `kubectl rollout undo` drops from a native Deployment comes back, and what it brings goes', () => {
    const { ref, metadata } = deployment;
    const native = { ref: { ...ref, group: 'apps', version: 'v1' } };
    const ours = { 'fairlead.dev/commit': 'abc', 'fairlead.dev/on-deadline': 'Rollback' };
    const before = deploymentOf({ ...native, image: 'api:2', metadata: { ...metadata, annotations: ours } });
    const old = replicaSetOf(before, { annotations: { 'fairlead.dev/attempts': '[]' } });
    const newest = replicaSetOf(before, { ...NEW, size: 4 });
    const [kept] = planOf(before, [old, newest]).steady;
    const { annotations } = (kept?.body as unknown as ReplicaSet | undefined)?.metadata ?? {};
    expect(JSON.parse(annotations?.['fairlead.dev/of-workload'] ?? '')).toEqual(ours);
    const noted = {
      ...newest,
      metadata: { ...newest.metadata, annotations: { ...newest.metadata.annotations, ...annotations } },
    };
    const undone = deploymentOf({
      ...native,
      metadata: { ...metadata, annotations: { 'fairlead.dev/attempts': '[]' } },
    });
    expect(planOf(undone, [old, noted]).annotations).toEqual({ ...ours, 'fairlead.dev/attempts': null });
    expect(planOf(before, [old, noted]).annotations).toEqual({ [DEPLOYMENT_ANNOTATION.revision]: '2' });
  });

  it('P2: minReadySeconds follow on the new ReplicaSet alone', () => {
    const changed = deploymentOf({ image: 'api:2', minReadySeconds: 9 });
    const old = replicaSetOf(deployment, { size: 4 });
    const fresh = replicaSetOf(deployment, { ...NEW, size: 1, available: 0 });
    const late = planOf(changed, [old, fresh]).steady;
    expect(late.map(({ name, purpose, body }) => [name, purpose, body?.['spec']])).toEqual([
      [fresh.metadata.name, 'AnnotateReplicaSet', { minReadySeconds: 9 }],
    ]);
  });
});

describe('whose ReplicaSets they are (C4)', () => {
  const deployment = deploymentOf();

  it('C4, C5: an orphan that matches is adopted before anything else, one that no longer matches is released', () => {
    const orphan = replicaSetOf(deployment, { owner: null, size: 2 });
    const lost = replicaSetOf(deployment, {
      image: 'api:0',
      name: 'lost',
      labels: { app: 'other' },
      size: 1,
    });
    const { steady, batch } = planOf(deployment, [orphan, lost]);
    expect(steady.map(({ purpose, name }) => `${purpose} ${name}`)).toEqual([
      'Release lost',
      `Adopt ${orphan.metadata.name}`,
    ]);
    expect(batch).toEqual([]);
  });

  it('C4: what another owner has is not touched, though it matches', () => {
    const foreign = replicaSetOf(deployment, { owner: 'somebody', size: 9, desired: 1 });
    const plan = planOf(deployment, [foreign]);
    expect([plan.steady, plan.batch, plan.needsRollout]).toEqual([[], [], true]);
  });

  it('a Deployment that is being deleted writes nothing; one that selects everything neither', () => {
    const set = replicaSetOf(deployment, { size: 1 });
    expect(planOf(deploymentOf({ deleting: true }), [set])).toMatchObject({ steady: [], batch: [] });
    const all = planOf(deploymentOf({ selector: {} }), [set]);
    expect([all.steady, all.batch, all.waiting[0]?.code]).toEqual([[], [], 'SelectorEmpty']);
  });
});

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

describe('the end of a rollout, and history (P13, P14)', () => {
  it.each<[string, ReplicaSetOptions, ReplicaSetOptions, boolean]>([
    ['all new and available, no old', { size: 0 }, { size: 4 }, true],
    ['an old one is left', { size: 1 }, { size: 4 }, false],
    ['a pod of an old one is left', { size: 0, replicas: 1 }, { size: 4 }, false],
    ['one is not available', { size: 0 }, { size: 4, available: 3 }, false],
    ['one is too many', { size: 0 }, { size: 4, replicas: 5 }, false],
    ['its controller has not looked', { size: 0 }, { size: 4, observed: false }, false],
  ])('P13: %s', (_, old, fresh, finished) => {
    expect(rolling({}, old, fresh).plan.finished).toBe(finished);
  });

  it('a rollout is due when an old one has pods, never because the size or an available pod is missing', () => {
    expect(rolling({}, { size: 1 }, { size: 4 }).plan.needsRollout).toBe(true);
    expect(rolling({ replicas: 9 }, { size: 0 }, { size: 4, available: 1 }).plan.needsRollout).toBe(false);
  });

  const history = (limit: number, overrides: Partial<Deployment>, newest: ReplicaSetOptions) => {
    const deployment = deploymentOf({ image: 'api:5', revisionHistoryLimit: limit, ...overrides });
    const sets = [1, 2, 3, 4].map((number) =>
      replicaSetOf(deployment, {
        image: `api:${String(number)}`,
        name: `old-${String(number)}`,
        revision: number,
        created: `2025-12-0${String(5 - number)}T00:00:00Z`,
        observed: number !== 2,
      }),
    );
    const last = replicaSetOf(deployment, { image: 'api:5', revision: 5, size: 4, ...newest });
    const { steady } = planOf(deployment, [...sets, last]);
    return steady.filter(({ purpose }) => purpose === 'TrimHistory').map(({ name }) => name);
  };

  it('P14: the lowest numbers beyond the limit go; one that may have pods is skipped and not made up for', () => {
    expect(history(2, {}, {})).toEqual(['old-1']);
    expect(history(0, {}, {})).toEqual(['old-1', 'old-3', 'old-4']);
    expect(history(2_147_483_647, {}, {})).toEqual([]);
  });

  it('P14: not in the middle of a rollout; while paused, but for the one that abort goes back to', () => {
    expect(history(0, {}, { available: 3 })).toEqual([]);
    expect(history(0, { paused: {} }, { available: 3 })).toEqual(['old-1', 'old-3']);
  });

  it('P14: deletes carry uid and resourceVersion', () => {
    const { plan } = rolling({ revisionHistoryLimit: 0 }, { size: 0 }, { size: 4 });
    expect(plan.steady).toMatchObject([{ verb: 'delete', resource: 'replicasets', resourceVersion: '5' }]);
    expect(plan.steady[0]?.uid).toMatch(/^uid-/);
  });
});

describe('status and conditions (P15–P20)', () => {
  it('P15: sums of what the ReplicaSets say; a zero is absent', () => {
    const { plan } = rolling({ generation: 3 }, { size: 3, ready: 2 }, { size: 2, available: 1 });
    expect(plan.status).toEqual({
      observedGeneration: 3,
      replicas: 5,
      updatedReplicas: 2,
      readyReplicas: 4,
      availableReplicas: 3,
      unavailableReplicas: 2,
      labelSelector: 'app=web',
    });
    const none = planOf(deploymentOf({ replicas: 0 }), []).status;
    expect(none).toEqual({ observedGeneration: 1, terminatingReplicas: 0, labelSelector: 'app=web' });
  });

  it('P15: terminating ones are told only if every ReplicaSet tells them', () => {
    const told = rolling({}, { size: 1, terminating: 2 }, { size: 3, terminating: 1 });
    expect(told.plan.status.terminatingReplicas).toBe(3);
    const untold = rolling({}, { size: 1, terminating: 2 }, { size: 3 });
    expect(untold.plan.status.terminatingReplicas).toBeUndefined();
  });

  it.each([
    ['3 of 4, one may be missing', 3, 'True', 'MinimumReplicasAvailable'],
    ['2 of 4', 2, 'False', 'MinimumReplicasUnavailable'],
  ])('P16: Available: %s', (_, available, status, reason) => {
    const { plan } = rolling({}, { size: 0 }, { size: 4, available });
    expect(plan.conditions?.others['Available']).toMatchObject({ status, reason });
  });

  it('P20: ReplicaFailure comes from the new ReplicaSet, else from any, and goes with it', () => {
    const conditions = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' },
    ] as const;
    const { plan } = rolling({}, { size: 2, conditions }, { size: 2 });
    expect(plan.conditions?.others['ReplicaFailure']).toEqual({
      status: 'True',
      reason: 'FailedCreate',
      message: 'quota',
    });
    expect(plan.waiting.map(({ code }) => code)).toContain('CreateRefused');
    const { others } = rolling({}, { size: 2 }, { size: 2 }).plan.conditions ?? {};
    expect(Object.keys(others ?? {})).toContain('ReplicaFailure');
    expect(others?.['ReplicaFailure']).toBeUndefined();
  });

  it('P17: the words of Progressing name the ReplicaSet', () => {
    const { plan, fresh } = rolling({}, { size: 4 }, { size: 0 });
    const { name } = fresh.metadata;
    expect(plan.conditions?.words).toMatchObject({
      begun: { reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` },
      complete: {
        reason: 'NewReplicaSetAvailable',
        message: `ReplicaSet "${name}" has successfully progressed.`,
      },
    });
    const history = { [DEPLOYMENT_ANNOTATION.revisionHistory]: '1' };
    const back = rolling({}, { size: 4 }, { size: 0, annotations: history }).plan.conditions?.words.begun;
    expect(back?.reason).toBe('FoundNewReplicaSet');
  });
});

it('an amount that cannot be read is said, and the default is used', () => {
  const { plan, batch } = rolling({ maxSurge: 'many', replicas: 4 }, { size: 4 }, { size: 0 });
  expect(batch).toEqual(['new 0→1', 'old 4→3 charged']);
  expect(plan.waiting.map(({ code }) => code)).toContain('InvalidField');
});
