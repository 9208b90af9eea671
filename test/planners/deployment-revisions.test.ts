import { describe, expect, it } from '@jest/globals';

import {
  renumberReplicaSet,
  planReplicaSetRevision,
  revisionOfReplicaSet,
} from '../../planners/deployment-revision.ts';
import { DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { PodTemplate, ReplicaSet } from '../../planners/objects.ts';
import type { Deployment } from '../../planners/workload.ts';
import { deploymentOf, replicaSetOf } from '../support/deployment-fixtures.ts';
import { NEW, planOf } from '../support/deployment-plans.ts';
import { alteredTemplate } from '../support/simulated-replica-sets.ts';

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

  it('P1: a hash that the template of the Deployment carries, from the ReplicaSet it was exported from, is not looked at', () => {
    const { metadata, spec } = deployment.template;
    const labels = { ...metadata?.labels, 'pod-template-hash': '5d4f8c7b9' };
    const exported = deploymentOf({ template: { metadata: { labels }, spec } });
    const plan = planReplicaSetRevision(exported, []);
    expect(plan).toEqual(planReplicaSetRevision(deployment, []));
    expect(planReplicaSetRevision(exported, revisions(replicaSetOf(deployment)))).toMatchObject({
      outcome: 'exists',
    });
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

  describe('one that the apiserver has not stored as it was sent', () => {
    const { template } = deployment;
    const without = ({ spec: { containers } }: PodTemplate): PodTemplate => ({
      metadata: { labels: { app: 'web' } },
      spec: { containers: containers.map(({ name, image = '' }) => ({ name, image })) },
    });
    const group = { schedulingGroup: { podGroupName: 'g' } };
    const gated = deploymentOf({ template: { ...template, spec: { ...template.spec, ...group } } });
    const stored = (of: Deployment, store: (template: PodTemplate) => PodTemplate, taken: string[] = []) => {
      const plan = planReplicaSetRevision(of, [], new Set(taken));
      if (plan.outcome !== 'create') throw new Error(plan.outcome);
      const made = plan.manifest as unknown as ReplicaSet;
      return { ...made, spec: { ...made.spec, template: store(made.spec.template) } };
    };
    const first = stored(deployment, (one) => one).metadata.name;

    it.each([
      ['a policy changes it', deployment, alteredTemplate, [], ['metadata.annotations[injected]']],
      ['a feature gate is off', gated, without, [], ['spec.schedulingGroup']],
      ['its first name was taken', deployment, alteredTemplate, [first], ['metadata.annotations[injected]']],
    ])('%s: it is the ReplicaSet all the same, and that is told', (_, of, store, taken, fields) => {
      const set = stored(of, store, taken);
      const plan = planReplicaSetRevision(of, revisions(set));
      expect(plan).toMatchObject({ outcome: 'exists', altered: true, revision: { metadata: set.metadata } });
      const { waiting, updateRevision, needsRollout } = planOf(of, [set]);
      expect([updateRevision, needsRollout]).toEqual([set.metadata.name, false]);
      const told = waiting.find(({ code }) => code === 'RevisionAltered')?.message;
      expect(told).toContain(fields.join(', '));
      expect(told).toContain('`fairlead rollout restart deployment/api -n default`');
    });

    it('one that has the template comes first', () => {
      const altered = stored(deployment, alteredTemplate);
      const equal = {
        ...replicaSetOf(deployment, { revision: 2 }),
        metadata: { ...altered.metadata, name: 'api-b' },
      };
      expect(planReplicaSetRevision(deployment, revisions(altered, equal))).toMatchObject({
        revision: { metadata: { name: 'api-b' } },
      });
    });

    it('is gone back to: it is its own template that the Deployment then has', () => {
      const [old, newest] = [
        stored(deployment, alteredTemplate),
        replicaSetOf(deployment, { ...NEW, revision: 2 }),
      ];
      const back = deploymentOf({ template: alteredTemplate(template) });
      expect(planReplicaSetRevision(back, revisions(old, newest))).toMatchObject({
        outcome: 'renumber',
        revision: { metadata: { name: old.metadata.name } },
        to: 3,
      });
      expect(planReplicaSetRevision(deployment, revisions(old, newest))).toMatchObject({
        altered: true,
        to: 3,
      });
    });
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
