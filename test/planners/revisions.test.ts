import { describe, expect, it } from '@jest/globals';
import { fc } from '../support/properties.ts';

import { canonicalJson } from '../../planners/canonical-json.ts';
import { fnv1, safeEncode } from '../../planners/hash.ts';
import type { ControllerRevision, PodTemplate } from '../../planners/objects.ts';
import {
  compareRevisions,
  hasReachedAll,
  lastCompleteOf,
  nextRevisionNumber,
  revisionsOf,
  surplusRevisions,
} from '../../planners/revision.ts';
import { collisionCountOf, revisionName } from '../../planners/revision-plan.ts';
import { planDaemonSet } from '../../planners/daemonset.ts';
import type { DaemonSet, StatefulSet } from '../../planners/workload.ts';
import { planDeployment } from '../../planners/deployment.ts';
import { planStatefulSetRevision } from '../../planners/statefulset-revision.ts';
import { revisionData, templateOfRevision } from '../../planners/template-revision.ts';
import { planStatefulSet } from '../../planners/statefulset.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';
import {
  daemonPodOn,
  daemonRevisionFor,
  daemonRolloutOf,
  daemonSetOf,
  daemonSnapshotOf,
  nodeOf,
} from '../support/daemonset-fixtures.ts';
import { deploymentOf, deploymentSnapshotOf } from '../support/deployment-fixtures.ts';
import { RICH_TEMPLATES } from '../support/rich-templates.ts';
import {
  NOW,
  asStored,
  completed,
  podOf,
  revisionFor,
  rolloutOf,
  setOf,
  snapshotOf,
  templateOf,
} from '../support/statefulset-fixtures.ts';

const set = setOf();

/** The record of one attempt. */
const attempts = (outcome: string, endedAt: string) => ({
  'fairlead.dev/attempts': JSON.stringify([{ outcome, endedAt }]),
});

function numbered(
  name: string,
  revision: number | bigint,
  annotations: Record<string, string> = {},
): ControllerRevision {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', annotations };
  return { metadata, revision, data: { spec: { template: { name } } } };
}

describe('bytes and names', () => {
  it.each([
    [{ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}'],
    [{ text: '<a href="x">&\u2028\u2029' }, '{"text":"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\u2029"}'],
    [{ text: 'ü🚀\u0001\b\f\n\r\t\u007f' }, '{"text":"ü🚀\\u0001\\b\\f\\n\\r\\t\u007f"}'],
    [{ left: undefined, kept: {} }, '{"kept":{}}'],
    [[1e21, 1e-7, 0.1, 3000000000, 9007199254740993n], '[1e+21,1e-7,0.1,3000000000,9007199254740992]'],
  ])('C9: %j is written as Go does', (value, expected) => {
    expect(canonicalJson(value)).toBe(expected);
  });

  it('C8: FNV-1, not FNV-1a', () => {
    expect(fnv1('')).toBe(0x811c9dc5);
    expect(fnv1('a')).toBe(0x050c5d7e);
    expect(fnv1('foobar')).toBe(0x31f0b262);
    expect(fnv1('bar', fnv1('foo'))).toBe(fnv1('foobar'));
  });

  it('C7: SafeEncode has no vowels', () => {
    expect(safeEncode('4294967295')).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{10}$/);
  });

  it('C8: long set names are cut, the collision count is part of the hash', () => {
    const data = revisionData(set.template);
    expect(revisionName('x'.repeat(300), data, 0)).toMatch(/^x{223}-\w+$/);
    expect(revisionName('web', data, 0)).not.toBe(revisionName('web', data, 1));
  });

  it.each(Object.entries(RICH_TEMPLATES))('C9: normalisation is idempotent: %s', (_, template) => {
    const once = normaliseTemplate(template as unknown as PodTemplate);
    expect(canonicalJson(normaliseTemplate(structuredClone(once)))).toBe(canonicalJson(once));
  });

  it('C9: of numbers alone 0 is nothing, the text "0" is a value', () => {
    const template = RICH_TEMPLATES['texts that look like nothing'] as unknown as PodTemplate;
    const { spec } = normaliseTemplate(template);
    expect(spec.containers[0]?.['env']).toEqual([
      { name: 'DEBUG', value: '0' },
      { name: 'BLANK', value: ' ' },
      { name: 'HEX', value: '0x0' },
      { name: 'FRACTION', value: '0.0' },
      { name: 'EMPTY' },
    ]);
    expect(spec).toMatchObject({ hostname: '0', tolerations: [{ key: 'tainted', value: '0' }] });
  });

  it('C9: normalisation takes whatever JSON comes and stays idempotent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (metadata, spec) => {
        const input = { metadata, spec } as unknown as PodTemplate;
        const before = JSON.stringify(input);
        const once = normaliseTemplate(input);
        expect(canonicalJson(normaliseTemplate(structuredClone(once)))).toBe(canonicalJson(once));
        expect(JSON.stringify(input)).toBe(before);
      }),
    );
  });
});

describe('history', () => {
  it('S6: the first revision has number 1, the C9 bytes, the set as controller and its annotations but for our wishes', () => {
    const annotated = setOf({
      metadata: {
        ...set.metadata,
        annotations: {
          'kubernetes.io/change-cause': 'why',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'fairlead.dev/paused': 'true',
        },
      },
    });
    const plan = planStatefulSetRevision(annotated, []);
    expect(plan).toMatchObject({
      outcome: 'create',
      manifest: {
        apiVersion: 'apps/v1',
        kind: 'ControllerRevision',
        revision: 1,
        metadata: {
          namespace: 'default',
          annotations: { 'kubernetes.io/change-cause': 'why' },
          labels: { app: 'web' },
          ownerReferences: [{ kind: 'StatefulSet', name: 'web', uid: set.ref.uid, controller: true }],
        },
        data: { spec: { template: { $patch: 'replace' } } },
      },
    });
    const { metadata } = revisionFor(annotated);
    expect(Object.keys(metadata.annotations ?? {})).toEqual(['kubernetes.io/change-cause']);
    expect(metadata.name).toBe(`web-${metadata.labels?.['controller.kubernetes.io/hash'] ?? ''}`);
  });

  it('S6: an equal newest revision is used, an equal older one gets the highest number (rollback)', () => {
    const { set: changed, old, update } = rolloutOf();
    expect(planStatefulSetRevision(changed, [old, update])).toEqual({ outcome: 'exists', revision: update });
    expect(planStatefulSetRevision(setOf({ template: templateOf('web:1') }), [update, old])).toEqual({
      outcome: 'renumber',
      revision: old,
      to: 3,
    });
  });

  it('S6: another spelling of the same template is no new revision', () => {
    const spelled = setOf({
      template: {
        metadata: { labels: { app: 'web' }, annotations: {} },
        spec: {
          containers: [{ name: 'main', image: 'web:1', resources: { limits: {} }, env: [] }],
          readinessGates: [{ conditionType: 'InPlaceUpdateReady' }],
        },
      },
    });
    const stored = revisionFor(set);
    expect(planStatefulSetRevision(spelled, [stored])).toEqual({ outcome: 'exists', revision: stored });
    const amounts = (memory: string) =>
      setOf({
        template: {
          spec: { containers: [{ name: 'main', image: 'x', resources: { requests: { memory } } }] },
        },
      });
    const mebi = revisionFor(amounts('1024Mi'));
    expect(planStatefulSetRevision(amounts('1Gi'), [mebi]).outcome).toBe('exists');
    expect(planStatefulSetRevision(amounts('1G'), [mebi]).outcome).toBe('create');
  });

  it('S6: a name that other data has taken is passed over, and the count is found again from the name', () => {
    const wanted = revisionFor(set);
    const squatter = { ...wanted, data: { spec: { template: { spec: { containers: [] } } } } };
    const plan = planStatefulSetRevision(set, [squatter]);
    expect(plan.outcome).toBe('create');
    const made = revisionFor(set, [squatter]);
    expect(made.metadata.name).toBe(revisionName('web', made.data, 1));
    expect(collisionCountOf(set, made)).toBe(1);
    const { status } = planStatefulSet(snapshotOf(set, { revisions: [squatter, made] }), NOW);
    expect(status.collisionCount).toBe(1);
  });

  it('S6: a count that cannot be found again stays as it was', () => {
    const renamed = { ...revisionFor(set), metadata: { ...revisionFor(set).metadata, name: 'web-by-hand' } };
    expect(collisionCountOf(setOf({ status: { replicas: 0, collisionCount: 4 } }), renamed)).toBe(4);
  });

  it('C10: numbers beyond 2^53 are exact', () => {
    expect(nextRevisionNumber([numbered('a', 3546343826724305832n)])).toBe(3546343826724305833n);
    expect(nextRevisionNumber([numbered('a', 9007199254740991)])).toBe(9007199254740992n);
    expect(nextRevisionNumber([numbered('a', 41)])).toBe(42);
    expect(
      [numbered('b', 10n), numbered('a', 9)].sort(compareRevisions).map(({ revision }) => revision),
    ).toEqual([9, 10n]);
  });

  it('S8: live ones are kept and not counted, the oldest others go first, a negative limit keeps all', () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((name, index) => numbered(name, index));
    const names = (limit: number) =>
      surplusRevisions(all, new Set(['b', 'e']), limit, false).map(({ metadata }) => metadata.name);
    expect([names(0), names(1), names(2), names(3), names(-1)]).toEqual([
      ['a', 'c', 'd'],
      ['a', 'c'],
      ['a'],
      [],
      [],
    ]);
  });

  it('S8: one that is being deleted, and held by a finalizer, is not deleted again and takes no place', () => {
    const held = ({ metadata, ...rest }: ControllerRevision): ControllerRevision => ({
      ...rest,
      metadata: { ...metadata, finalizers: ['example.com/keep'], deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    const all = [held(numbered('a', 1)), numbered('b', 2), numbered('c', 3), numbered('d', 4)];
    const names = (limit: number) =>
      surplusRevisions(all, new Set(['d']), limit, true).map(({ metadata }) => metadata.name);
    expect([names(0), names(1), names(2)]).toEqual([['b', 'c'], ['b'], []]);
  });

  it('design "Pause, abort, retry, undo": the last complete revision outlives any limit', () => {
    const several = (...outcomes: readonly (readonly [string, string])[]) => ({
      'fairlead.dev/attempts': JSON.stringify(outcomes.map(([outcome, endedAt]) => ({ outcome, endedAt }))),
    });
    const all = [
      numbered('a', 1, several(['Succeeded', '2026-01-01'], ['Failed', '2026-01-02'])),
      numbered('b', 2, several(['Succeeded', '2026-01-04'], ['Failed', '2026-01-05'])),
      numbered('c', 3),
      numbered('d', 4),
    ];
    const names = (limit: number, complete = false) =>
      surplusRevisions(all, new Set(['d']), limit, complete).map(({ metadata }) => metadata.name);
    expect([names(0), names(1), names(2)]).toEqual([['a', 'c'], ['a', 'c'], ['a']]);
    // The present one is the last complete one then.
    expect([names(0, true), names(1, true), names(2, true)]).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a']]);
    expect(lastCompleteOf(all)?.metadata.name).toBe('b');
    expect(lastCompleteOf(all.slice(2))?.metadata.name).toBe('d');
    const spoilt = numbered('x', 1, { 'fairlead.dev/attempts': 'not json' });
    expect(lastCompleteOf([spoilt])).toBe(spoilt);
    expect(lastCompleteOf([numbered('y', 1, several(['Failed', '2026-01-01']))])).toBeUndefined();
  });

  it('A9: a rollout is through if the newest attempt of all is its own and succeeded, and nothing has come to it since', () => {
    const [a, b] = [
      numbered('a', 1, attempts('Succeeded', '2026-01-01')),
      numbered('b', 2, attempts('Succeeded', '2026-01-02')),
    ];
    const canary = { isAlone: true, isPartial: true };
    expect([hasReachedAll(a, [a, b], canary), hasReachedAll(b, [a, b], canary)]).toEqual([false, true]);
    const failed = numbered('c', 3, attempts('Aborted', '2026-01-03'));
    expect(hasReachedAll(b, [a, b, failed], canary)).toBe(false);
    expect(hasReachedAll(numbered('d', 4), [], canary)).toBe(false);
    // As far as a partition let it: without that one there is more to do, until all pods were at it.
    const rest = { isAlone: true, isPartial: false };
    expect(hasReachedAll(b, [a, b], rest)).toBe(false);
    const everywhere = completed(b);
    expect(hasReachedAll(everywhere, [a, everywhere], rest)).toBe(true);
    // It was left, and is being gone back to, a canary first.
    expect(hasReachedAll(everywhere, [a, everywhere], { ...rest, isAlone: false })).toBe(false);
  });

  it('a rollout that is finished is noted on its revision once, when there is nothing else to write', () => {
    const revision = revisionFor(set);
    const { name, uid } = revision.metadata;
    const pods = [0, 1, 2].map((ordinal) => podOf(set, ordinal, name));
    const steady = (revisions: readonly ControllerRevision[], all = pods) =>
      planStatefulSet(snapshotOf(set, { revisions, pods: all }), NOW).steady;
    expect(steady([revision])).toEqual([
      {
        verb: 'patch',
        resource: 'controllerrevisions',
        name,
        uid,
        body: { metadata: { annotations: { 'fairlead.dev/complete': 'true' } } },
        purpose: 'MarkComplete',
        message: `note on ControllerRevision ${name} of StatefulSet web that its rollout was finished`,
      },
    ]);
    const annotated = (annotations: Record<string, string>) => ({
      ...revision,
      metadata: { ...revision.metadata, annotations },
    });
    expect(steady([annotated({ 'fairlead.dev/complete': 'true' })])).toEqual([]);
    // What a run records may be true of a part of the pods only.
    expect(steady([annotated(attempts('Succeeded', '2026-01-01'))])).toMatchObject([
      { purpose: 'MarkComplete' },
    ]);
    expect(steady([revision], pods.slice(1)).map(({ purpose }) => purpose)).toEqual(['ScaleUp']);
  });

  it.each<[string, Partial<StatefulSet>, string, boolean]>([
    ['a partition that leaves nothing to update', { partition: 3 }, 'ooo', false],
    ['a partition that was raised above pods at it', { partition: 3 }, 'oon', false],
    ['a partition, and all above it updated', { partition: 2 }, 'oon', false],
    ['a partition, and every pod updated', { partition: 2 }, 'nnn', true],
    ['OnDelete', { updateStrategy: 'OnDelete' }, 'ooo', false],
    ['OnDelete, and every pod was deleted', { updateStrategy: 'OnDelete' }, 'nnn', true],
    ['no partition', {}, 'nnn', true],
  ])(
    'S10: a run that is finished is no note that a StatefulSet is at its revision: %s',
    (_, overrides, at, noted) => {
      const { set: rolled, old, update, revisions } = rolloutOf(overrides);
      const pods = at
        .split('')
        .map((word, ordinal) => podOf(rolled, ordinal, (word === 'n' ? update : old).metadata.name));
      const plan = planStatefulSet(snapshotOf(rolled, { revisions, pods }), NOW);
      expect(plan.finished).toBe(true);
      expect(plan.steady.map(({ purpose }) => purpose)).toEqual(noted ? ['MarkComplete'] : []);
    },
  );

  it.each<[string, Partial<DaemonSet>, string, boolean]>([
    ['a partition', { partition: 1 }, 'on', false],
    ['a nodeSelector that selects none', { nodeSelector: { canary: 'yes' } }, 'oo', false],
    ['OnDelete', { updateStrategy: 'OnDelete' }, 'oo', false],
    ['a partition, and every node updated', { partition: 1 }, 'nn', true],
  ])('… nor that a DaemonSet is: %s', (_, overrides, at, noted) => {
    const { set: rolled, old, update, revisions } = daemonRolloutOf(overrides);
    const nodes = [nodeOf('a'), nodeOf('b')];
    const pods = nodes.map(({ metadata: { name } }, index) =>
      daemonPodOn(rolled, name, at.charAt(index) === 'n' ? update : old),
    );
    const plan = planDaemonSet(daemonSnapshotOf(rolled, { revisions, nodes, pods }), NOW);
    expect(plan.finished).toBe(true);
    expect(plan.steady.map(({ purpose }) => purpose)).toEqual(noted ? ['MarkComplete'] : []);
  });

  it('a revision that the apiserver does not take is told in its words, of every kind', () => {
    const told = [
      planStatefulSet(snapshotOf(set, { revisionRefused: 'quota' }), NOW),
      planDaemonSet(daemonSnapshotOf(daemonSetOf(), { revisionRefused: 'quota' }), NOW),
      planDeployment(deploymentSnapshotOf(deploymentOf(), [], { revisionRefused: 'quota' }), NOW),
    ].map(({ waiting }) => waiting.map(({ code, message }) => `${code}: ${message}`));
    expect(told.map((lines) => lines.find((line) => line.startsWith('CreateRefused')))).toEqual([
      expect.stringMatching(/the new ControllerRevision.*quota/),
      expect.stringMatching(/the new ControllerRevision.*quota/),
      expect.stringMatching(/the new ReplicaSet.*quota/),
    ]);
    expect(told.flat().join()).not.toContain('RevisionMissing');
  });

  it('a revision that was complete is gone back to, although its run could only record that it was superseded', () => {
    const mark = { 'fairlead.dev/complete': 'true' };
    const all = [
      numbered('a', 1, { ...attempts('Superseded', '2026-01-01'), ...mark }),
      numbered('b', 2, attempts('Superseded', '2026-01-02')),
    ];
    expect(lastCompleteOf(all)?.metadata.name).toBe('a');
  });

  it('C4: an orphan that holds no pod template is not taken for a revision', () => {
    const labels = set.template.metadata?.labels ?? {};
    const orphan = numbered('stray', 1);
    const stray = { ...orphan, metadata: { ...orphan.metadata, labels }, data: {} };
    expect(revisionsOf(set, [stray])).toEqual([]);
  });

  it('S8: pods, also terminating and condemned ones, keep their revisions', () => {
    const sets = ['web:1', 'web:2', 'web:3', 'web:4'].map((image) =>
      setOf({ template: templateOf(image), revisionHistoryLimit: 0 }),
    );
    const revisions: ControllerRevision[] = [];
    for (const one of sets) revisions.push(revisionFor(one, revisions));
    const [first, second, third, last] = revisions.map(({ metadata }) => metadata.name);
    const newest = setOf({ ...sets[3], status: { replicas: 3, currentRevision: last ?? '' }, replicas: 1 });
    const pods = [
      podOf(newest, 0, last ?? ''),
      podOf(newest, 5, first ?? '', { terminating: true }),
      podOf(newest, 6, third ?? ''),
    ];
    const plan = planStatefulSet(snapshotOf(newest, { revisions, pods }), NOW);
    expect(plan.steady.filter(({ purpose }) => purpose === 'TrimHistory')).toMatchObject([
      { verb: 'delete', resource: 'controllerrevisions', name: second, uid: `uid-${second ?? ''}` },
    ]);
  });

  it('D22: the limit of a DaemonSet counts what is not the newest, once that is on all nodes', () => {
    const sets = ['agent:1', 'agent:2', 'agent:3'].map((image) =>
      daemonSetOf({ template: templateOf(image), revisionHistoryLimit: 1 }),
    );
    const revisions: ControllerRevision[] = [];
    for (const one of sets) {
      const { metadata, ...rest } = daemonRevisionFor(one, revisions);
      const annotations = { ...metadata.annotations, ...attempts('Succeeded', '2026-01-01') };
      revisions.push({ ...rest, metadata: { ...metadata, annotations } });
    }
    const [first, second, last] = revisions as [ControllerRevision, ControllerRevision, ControllerRevision];
    const newest = sets[2] as DaemonSet;
    const trimmed = (revision: ControllerRevision) => {
      const nodes = [nodeOf('a'), nodeOf('b')];
      const pods = [daemonPodOn(newest, 'a', last), daemonPodOn(newest, 'b', revision)];
      const plan = planDaemonSet(daemonSnapshotOf(newest, { revisions, nodes, pods }), NOW);
      return plan.steady.filter(({ purpose }) => purpose === 'TrimHistory').map(({ name }) => name);
    };
    expect(trimmed(last)).toEqual([first.metadata.name]);
    expect(trimmed(second)).toEqual([]);
  });

  it('C9: the template comes out of a revision as it went in', () => {
    const stored = asStored({ ...revisionFor(set), data: revisionData(set.template) });
    expect(templateOfRevision(stored)).toEqual(set.template);
    expect(() => templateOfRevision(numbered('a', 1))).not.toThrow();
    expect(() => templateOfRevision({ ...stored, data: {} })).toThrow(/holds no spec.template/);
  });
});
