import { describe, expect, it } from '@jest/globals';

import { planWorkload } from '../../../cli/snapshot.ts';
import type { RunTrouble } from '../../../cli/stuck-runs.ts';
import type { Evidence } from '../../../cli/verdict.ts';
import { judge } from '../../../cli/verdict.ts';
import type { WorkloadObject } from '../../../kubernetes/workload-edit.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { lookupsOf } from '../../../kubernetes/workload-children.ts';
import { templateOfData } from '../../../kubernetes/workload-revisions.ts';
import type { ControllerRevision, Node, Pod } from '../../../planners/objects.ts';
import { rollout } from '../../support/rollout-objects.ts';
import type { ObjectOptions } from '../../support/workload-objects.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const HELD = { state: 'held', holder: 'worker-1' } as const;
const NONE = { state: 'none' } as const;
const TARGET = {
  group: 'fairlead.dev',
  version: 'v1beta1',
  kind: 'StatefulSet',
  namespace: 'default',
  name: 'web',
} as const;
const PAUSED = {
  'fairlead.dev/paused': JSON.stringify({ by: 'alice', reason: 'db alarm', at: '2026-01-01T00:56:00Z' }),
};

interface Case {
  readonly object?: ObjectOptions;
  readonly pods?: (pods: readonly Pod[]) => readonly Pod[];
  /** Pods at the new revision; the others are at the one before. */
  readonly updated?: number;
  /** Images of the revisions that were complete once. */
  readonly marked?: readonly string[];
  /** What the container of the revision before had beside its image. */
  readonly before?: object;
  /** The revisions have no owner. */
  readonly isFreed?: boolean;
  /** Beside what the plan waits for. */
  readonly waiting?: Evidence['plan']['waiting'];
  readonly evidence?: Partial<Pick<Evidence, 'lease' | 'silent' | 'run' | 'gitTrouble'>>;
  /** Nodes that are there; undefined: not known. */
  readonly nodes?: readonly Node[];
}

function verdict(given: Case): string {
  const {
    object,
    pods = (all) => all,
    updated = 3,
    marked = [],
    before,
    isFreed,
    waiting = [],
    evidence,
    nodes,
  } = given;
  const made = rollout({ updated, ...(object && { object }) });
  const [old, present] = made.revisions;
  const all = [before === undefined ? old : withContainer(old, before), present];
  const owned = all.map((one) => (marked.includes(imageOf(one)) ? complete(one) : one));
  const revisions = isFreed === true ? owned.map(freed) : owned;
  const planned = planWorkload(
    made.object satisfies WorkloadObject,
    TARGET,
    {
      children: lookupsOf({ controllerrevisions: revisions, pods: pods(made.pods) }),
      claims: [],
      nodes,
    },
    NOW,
  );
  const result = judge({
    ...planned,
    plan: { ...planned.plan, waiting: [...planned.plan.waiting, ...waiting] },
    lease: HELD,
    leaseName: 'fairlead-system/fairlead-default',
    run: NONE,
    now: NOW,
    ...evidence,
  });
  return `${result.verdict}: ${result.sentence}${result.next === undefined ? '' : ` → ${result.next}`}`;
}

function imageOf(revision: ControllerRevision): string {
  return templateOfData(revision).spec.containers[0]?.image ?? '';
}

function withContainer(revision: ControllerRevision, fields: object): ControllerRevision {
  const template = templateOfData(revision);
  const containers = template.spec.containers.map((container) => ({ ...container, ...fields }));
  const changed = { ...template, spec: { ...template.spec, containers }, $patch: 'replace' };
  return { ...revision, data: trusted({ spec: { template: changed } }) };
}

function freed(revision: ControllerRevision): ControllerRevision {
  return { ...revision, metadata: { ...revision.metadata, ownerReferences: [] } };
}

function complete({ metadata, ...rest }: ControllerRevision): ControllerRevision {
  return {
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, 'fairlead.dev/complete': 'true' } },
  };
}

function notReady(name: string): (pods: readonly Pod[]) => readonly Pod[] {
  return (pods) =>
    pods.map((pod) =>
      pod.metadata.name === name
        ? { ...pod, status: { ...pod.status, conditions: [{ type: 'Ready', status: 'False' }] } }
        : pod,
    );
}

describe('explain', () => {
  it('done', () => {
    expect(verdict({})).toMatch(/^Done: nothing is to be done: all 3 pods are available at revision web-/);
    // Whoever looks before the control plane takes them away is not told that all is well.
    expect(verdict({ nodes: [] })).toMatch(
      /^Done: .* available at revision \S+; but web-0, web-1, web-2 are on a node that is gone → wait: the control plane deletes/,
    );
  });

  it.each([
    [1, 'its only pod is available at revision web-'],
    [0, 'no pods are wanted'],
  ])('done, with %i of them wanted', (replicas, words) => {
    expect(verdict({ object: { spec: { replicas } }, pods: (all) => all.slice(0, replicas) })).toContain(
      `Done: nothing is to be done: ${words}`,
    );
  });

  it('done, and nobody there for the next change', () => {
    expect(verdict({ evidence: { lease: { state: 'free' } } })).toMatch(
      /^Done: .*; but no Fairlead worker holds the Lease fairlead-system\/fairlead-default → start a worker: fairlead worker/,
    );
  });

  it.each([
    [
      'nobody acts on what is to be done',
      {},
      1,
      'NoLeader: the worker w has not renewed it for 4s, so nobody acts → another',
    ],
    ['a pause counts whoever leads', { annotations: PAUSED }, 1, 'Paused: '],
    ['nothing is to be done', {}, 3, 'Done: '],
  ])('the leader has just died: %s', (_, object, updated, words) => {
    const silent = 'the worker w has not renewed it for 4s';
    expect(verdict({ object, updated, evidence: { silent } })).toContain(words);
  });

  it('done, and the next change is held', () => {
    expect(verdict({ object: { annotations: PAUSED } })).toMatch(
      /^Done: .*; the next change will wait: paused by alice: db alarm$/,
    );
  });

  it('done, and pinned by an operator', () => {
    const annotations = {
      'fairlead.dev/pinned': JSON.stringify({ by: 'ann', reason: 'leaks', rejected: 'x' }),
    };
    expect(verdict({ object: { annotations } })).toMatch(
      /^Done: .*; it is pinned by ann: leaks; the manifest in git/,
    );
  });

  it('done, because the last commit was refused', () => {
    const text = 'commit 56124dbb of shop was refused: UnknownField web.yaml:10@56124dbb: unknown field';
    expect(verdict({ evidence: { gitTrouble: { text, next: 'correct the manifest' } } })).toMatch(
      /^Done: nothing is to be done: .*; but commit 56124dbb of shop was refused: .*unknown field → correct the manifest/,
    );
  });

  it('done, and a pod that has ended is still there', () => {
    const message = 'agent-x is terminating, held by its finalizer ev.io/y';
    expect(verdict({ waiting: [{ code: 'LeftoverHeld', message, pods: ['agent-x'] }] })).toMatch(
      /^Done: .* → who has set it takes it off; if nobody does any more: kubectl patch pod agent-x -n /,
    );
  });

  it('done below a partition', () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } };
    expect(verdict({ object: { spec: { updateStrategy } }, updated: 1 })).toMatch(
      /^Done: nothing is to be done: web-1, web-0 are below the partition.*; all 3 pods are available$/,
    );
  });

  it('nobody leads', () => {
    const lease = { state: 'free', lastHolder: 'worker-9', renewedAt: '2026-01-01T00:00:00Z' } as const;
    expect(verdict({ updated: 1, evidence: { lease } })).toMatch(
      /^NoLeader: no Fairlead worker holds the Lease fairlead-system\/fairlead-default \(last worker-9, 2026-01-01T00:00:00Z\), so nobody acts → start a worker/,
    );
  });

  it('nobody has ever led under this name: a typing mistake', () => {
    expect(verdict({ updated: 1, evidence: { lease: { state: 'free', missing: true } } })).toMatch(
      /^NoLeader: there is no Lease fairlead-system\/fairlead-default: .*, so nobody acts → name the cluster .*--cluster/,
    );
  });

  it.each([
    [
      { workloadApi: 'apps/v1', namespaces: undefined },
      /keeps the workloads of apps\/v1, not those of fairlead\.dev/,
    ],
    [
      { workloadApi: 'fairlead.dev/v1beta1', namespaces: ['shop'] },
      /of shop, not those of namespace default/,
    ],
  ])('the leader has no eyes for it, paused or not: %j', (keeps, words) => {
    const lease = { state: 'held', holder: 'worker-1', keeps } as const;
    const text = verdict({ object: { annotations: PAUSED }, updated: 1, evidence: { lease } });
    expect(text).toMatch(/^NotKept: .* so Fairlead does nothing about it → start a worker for it/);
    expect(text).toMatch(words);
    expect(verdict({ evidence: { lease } })).toMatch(/^Done: .*; but the worker that holds/);
  });

  it('the leader keeps its API and its namespace', () => {
    const keeps = { workloadApi: 'fairlead.dev/v1beta1', namespaces: ['shop', 'default'] };
    const lease = { state: 'held', holder: 'worker-1', keeps } as const;
    expect(verdict({ object: { annotations: PAUSED }, updated: 1, evidence: { lease } })).toMatch(/^Paused/);
  });

  it('stalled: the cause and what mends it', () => {
    const conditions = [
      { type: 'Stalled', status: 'True', reason: 'RunTerminated', message: 'run x was terminated' },
    ] as const;
    expect(verdict({ object: { conditions }, updated: 1 })).toBe(
      'Stalled: it is stalled: run x was terminated → fairlead rollout retry statefulset.fairlead.dev/web -n default; or go back: fairlead rollout abort statefulset.fairlead.dev/web -n default',
    );
  });

  it('paused: by whom, why and since when', () => {
    expect(verdict({ object: { annotations: PAUSED }, updated: 1 })).toBe(
      'Paused: it is paused by alice: db alarm since 2026-01-01T00:56:00Z → fairlead rollout resume statefulset.fairlead.dev/web -n default',
    );
  });

  it('paused by its deadline: resuming alone leads to the same end', () => {
    const annotations = {
      'fairlead.dev/paused': JSON.stringify({ by: 'progressDeadlineSeconds', reason: 'no progress' }),
    };
    expect(verdict({ object: { annotations }, updated: 1 })).toMatch(
      /^Paused: .* → commit a template that works, or go back: fairlead rollout abort statefulset\.fairlead\.dev\/web -n default; then fairlead rollout resume/,
    );
    // A template of after the pause has not been tried.
    const since = (at: string) => ({
      'fairlead.dev/paused': JSON.stringify({ by: 'progressDeadlineSeconds', reason: 'no progress', at }),
    });
    const before = since('2025-12-31T23:59:00Z');
    expect(verdict({ object: { annotations: before }, updated: 0 })).toMatch(
      /^Paused: .* → fairlead rollout resume/,
    );
    expect(verdict({ object: { annotations: before }, updated: 1 })).toMatch(/→ commit a template/);
    const after = since('2026-01-01T00:01:00Z');
    expect(verdict({ object: { annotations: after }, updated: 0 })).toMatch(/→ commit a template/);
    // Gone back by kubectl to one that was complete, whose pods work; a pod of it that does not says that it fails, too.
    const undone = { object: { annotations: after }, updated: 1, marked: ['web:1', 'web:2'] };
    expect(verdict(undone)).toMatch(/^Paused: .* → fairlead rollout resume/);
    expect(verdict({ ...undone, pods: notReady('web-2') })).toMatch(/→ commit a template/);
    const [, present] = rollout({ updated: 1 }).revisions;
    const pinned = JSON.stringify({ to: present.metadata.name, verb: 'abort' });
    const back = { ...annotations, 'fairlead.dev/pinned': pinned };
    expect(verdict({ object: { annotations: back }, updated: 1, marked: ['web:2'] })).toMatch(
      /^Paused: .* → fairlead rollout resume/,
    );
  });

  it('the apiserver refuses what the rollout writes: no deadline lays that to the template', () => {
    const refusal = 'the apiserver refuses to change web-2: delete of pods/default/web-2: Forbidden: no';
    const reason = `no progress before the deadline: ${refusal}`;
    const annotations = { 'fairlead.dev/paused': JSON.stringify({ by: 'progressDeadlineSeconds', reason }) };
    const mend = 'mend what it names (a quota, a policy, a permission: `fairlead check --worker`)';
    const who = 'statefulset.fairlead.dev/web -n default';
    expect(verdict({ object: { annotations }, updated: 1 })).toBe(
      `Paused: it is paused by progressDeadlineSeconds: ${reason} → ${mend}; then fairlead rollout resume ${who}`,
    );
    const message = `no progress for 9 s: ${refusal}`;
    const stalled = { type: 'Stalled', status: 'True', reason: 'ProgressDeadlineExceeded', message } as const;
    const waits = { type: 'Reconciling', status: 'True', reason: 'WriteRefused', message: refusal } as const;
    expect(verdict({ object: { conditions: [stalled, waits] }, updated: 1 })).toBe(
      `Stalled: it is stalled: ${message} → ${mend}; it is tried again by itself; or go back: fairlead rollout abort ${who}`,
    );
    // A Deployment is both.
    expect(verdict({ object: { annotations, conditions: [stalled] }, updated: 1 })).toMatch(
      /^Stalled: .* → mend what it names [^;]*; then fairlead rollout resume/,
    );
  });

  it('Temporal is away and pods are to be replaced', () => {
    const run = {
      state: 'unreachable',
      address: 'localhost:1',
      message: 'Temporal at localhost:1 does not answer',
    } as const;
    expect(verdict({ updated: 1, evidence: { run } })).toMatch(
      /^TemporalUnreachable: Temporal at localhost:1 does not answer: pods are healed/,
    );
  });

  it('stalled and paused: both are told', () => {
    const conditions = [
      { type: 'Stalled', status: 'True', reason: 'RunTerminated', message: 'run x was terminated' },
    ] as const;
    expect(verdict({ object: { conditions, annotations: PAUSED }, updated: 1 })).toMatch(
      /it is stalled: run x was terminated; it is paused too by alice: db alarm → fairlead rollout retry (\S+ -n [^;]+); or go back: fairlead rollout abort \1; then fairlead rollout resume \1$/,
    );
  });

  it('stalled: an abort where it leads to a better revision, else the revision is to be chosen', () => {
    const conditions = [
      { type: 'Stalled', status: 'True', reason: 'ProgressDeadlineExceeded', message: 'no progress for 9 s' },
    ] as const;
    const [, present] = rollout({ updated: 1 }).revisions;
    const pin = { to: present.metadata.name, verb: 'abort' };
    const annotations = { 'fairlead.dev/pinned': JSON.stringify(pin) };
    const marked = ['web:2'];
    expect(verdict({ object: { conditions }, updated: 1 })).toMatch(
      /→ fairlead rollout abort statefulset\.fairlead\.dev\/web -n default$/,
    );
    const another =
      'fairlead rollout undo statefulset.fairlead.dev/web -n default --to-revision N (one of `fairlead rollout history statefulset.fairlead.dev/web -n default`)';
    expect(verdict({ object: { conditions, annotations }, updated: 1, marked })).toContain(
      `→ commit a template that works, or go back: ${another}`,
    );
    // Where an undo has led, and the one before was complete.
    expect(verdict({ object: { conditions, annotations }, updated: 1, marked: ['web:1'] })).toMatch(
      /→ fairlead rollout abort statefulset\.fairlead\.dev\/web -n default$/,
    );
  });

  it('InPlaceOnly and what no running pod takes over: the policy is to be changed, for an abort is refused as well', () => {
    const conditions = [
      { type: 'Stalled', status: 'True', reason: 'InPlaceImpossible', message: 'web-2 cannot be updated' },
    ] as const;
    const rollingUpdate = { partition: 0, podUpdatePolicy: 'InPlaceOnly' };
    const object = { conditions, spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } } };
    const env = [{ name: 'A', value: 'b' }];
    expect(verdict({ object, updated: 0, before: { env } })).toMatch(
      /→ set podUpdatePolicy to InPlaceIfPossible, .*\(InPlaceOnly lets nobody change spec\.containers\[main\]\.env\)$/,
    );
    expect(verdict({ object, updated: 0 })).toMatch(/→ fairlead rollout abort /);
  });

  it.each([
    ['3 Insufficient cpu', 'kubectl describe pod web-2 -n default; kubectl get nodes   # make room, '],
    [
      'pod has unbound immediate PersistentVolumeClaims',
      'kubectl get pvc -n default; kubectl get storageclass ',
    ],
  ])('a pod that finds no node (%s): what to do', (why, next) => {
    const message = `0/3 nodes are available: ${why}.`;
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] as const;
    const pending = (pods: readonly Pod[]): readonly Pod[] =>
      pods.map((pod) =>
        pod.metadata.name === 'web-2' ? { ...pod, status: { phase: 'Pending', conditions } } : pod,
      );
    const told = verdict({ updated: 1, pods: pending });
    expect(told).toContain(`0/3 nodes are available: ${why}`);
    expect(told).toContain(` → ${next}`);
    expect(told).toMatch(/; or commit a template that works, or go back: fairlead rollout abort /);
  });

  it('a pod that the apiserver finds invalid: another template, no permission, mends it', () => {
    const message =
      'the apiserver refuses to change web-2: delete of pods/web-2: POST pods default: Invalid: the pod that is to come in its place would be refused: Pod "web-2" is invalid: spec.x: Invalid value';
    const conditions = [{ type: 'Reconciling', status: 'True', reason: 'WriteRefused', message }] as const;
    expect(verdict({ object: { conditions }, updated: 1 })).toMatch(
      / → commit a template that the apiserver takes; or go back: fairlead rollout abort /,
    );
  });

  it('a pod that will never be ready: what to do', () => {
    const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "web:bad"' } };
    const broken = (pods: readonly Pod[]): readonly Pod[] =>
      notReady('web-2')(pods).map((pod) => ({
        ...pod,
        status: {
          ...pod.status,
          containerStatuses: [
            { name: 'main', image: 'web:bad', imageID: '', ready: false, restartCount: 0, state: waiting },
          ],
        },
      }));
    expect(verdict({ updated: 1, pods: broken })).toMatch(
      /^Waiting: it waits: .*ImagePullBackOff.* → commit a template that works, or go back: fairlead rollout abort statefulset\.fairlead\.dev\/web -n default$/,
    );
    // An abort with nothing to go back to has held it: resuming alone leads to the same pods.
    const annotations = { 'fairlead.dev/paused': JSON.stringify({ by: 'ann' }) };
    expect(verdict({ object: { annotations }, updated: 1, pods: broken })).toMatch(
      /^Paused: .* → commit a template that works, .*; then fairlead rollout resume /,
    );
    // Nothing is under way that could be aborted: the rollout had ended well before.
    const conditions = [{ type: 'Reconciling', status: 'False', reason: 'Reconciled' }] as const;
    expect(verdict({ object: { conditions }, updated: 3, pods: broken })).toMatch(
      /or go back: fairlead rollout undo statefulset\.fairlead\.dev\/web -n default --to-revision 1$/,
    );
  });

  it('the budget is used up by a pod that is not ready', () => {
    expect(verdict({ updated: 1, pods: notReady('web-2') })).toMatch(
      /^Waiting: it waits: .*web-2 is not ready|^Waiting: it waits: the budget is used up/,
    );
  });

  it.each([
    [
      ['example.com/hold'],
      'web-2 is terminating, held by its finalizer example.com/hold → who has set it takes it off; if nobody does ' +
        `any more: kubectl patch pod web-2 -n default --type=merge -p '{"metadata":{"finalizers":null}}'`,
    ],
    [
      [],
      'web-2 is terminating, and its grace period is over: its node node-0 does not confirm that web-2 has ended → ' +
        'kubectl get node node-0   # the pod goes when it is back, or when a Node that does not come back is deleted; ' +
        'where its containers surely run no more (else two pods of one name may write to one volume): ' +
        'kubectl delete pod web-2 -n default --force --grace-period=0',
    ],
  ])('a pod that cannot terminate, with finalizers %j', (finalizers, words) => {
    const deleted = { finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const leaving = (all: readonly Pod[]) =>
      all.map((pod) =>
        pod.metadata.name === 'web-2'
          ? { ...pod, metadata: { ...pod.metadata, ...deleted }, spec: { ...pod.spec, nodeName: 'node-0' } }
          : pod,
      );
    expect(verdict({ pods: leaving })).toBe(`Waiting: it waits: ${words}`);
  });

  it('a refusal that only the worker sees', () => {
    const conditions = [
      {
        type: 'Reconciling',
        status: 'True',
        reason: 'CreateRefused',
        message: 'the apiserver refuses to create web-2: quota',
      },
    ] as const;
    expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toBe(
      'Waiting: it waits: the apiserver refuses to create web-2: quota → mend what it names (a quota, a policy, a permission: `fairlead check --worker`); it is tried again by itself; or go back: fairlead rollout abort statefulset.fairlead.dev/web -n default',
    );
  });

  it.each([
    [
      'exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2',
      'ask for less, delete what is not needed, or have the quota raised (kubectl describe resourcequota few -n default)',
    ],
    ['no PriorityClass with name high was found', 'make the PriorityClass high, or name one that is there'],
    [
      'maximum memory usage per Container is 1Gi, but limit is 2Gi',
      'keep to what the LimitRange allows, or have it changed (kubectl describe limitrange -n default)',
    ],
  ])('a pod that admission refuses: %s', (why, next) => {
    const message = `the apiserver refuses to create web-2: pods "web-2" is forbidden: ${why}`;
    const conditions = [{ type: 'Reconciling', status: 'True', reason: 'CreateRefused', message }] as const;
    expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toBe(
      `Waiting: it waits: ${message} → ${next}; it is tried again by itself; or go back: fairlead rollout abort statefulset.fairlead.dev/web -n default`,
    );
  });

  describe('in a namespace that is being deleted, in which an abort can make nothing either', () => {
    const message =
      'the apiserver refuses to create web-2: unable to create new content in namespace default because it is being terminated';
    const ends =
      'nothing is made in a namespace that is being deleted, and its deletion is not taken back; what holds it: kubectl describe namespace default';
    const refusedWith = (type: string, reason: string) => {
      const refusal = { type: 'Reconciling', status: 'True', reason: 'CreateRefused', message } as const;
      return [refusal, { type, status: 'True', reason, message }] as const;
    };

    it('nothing is to be mended', () => {
      const conditions = refusedWith('Progressing', 'Refused');
      expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toBe(
        `Waiting: it waits: ${message} → ${ends}`,
      );
    });

    it('nor where the deadline has passed', () => {
      const conditions = refusedWith('Stalled', 'ProgressDeadlineExceeded');
      expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toBe(
        `Stalled: it is stalled: ${message} → ${ends}`,
      );
    });

    it('a pod that holds it by a finalizer is named with the command', () => {
      const conditions = refusedWith('Progressing', 'Refused');
      const leaving = { finalizers: ['example.com/hold'], deletionTimestamp: '2026-01-01T00:00:00Z' };
      const pods = (all: readonly Pod[]) =>
        all
          .slice(0, 2)
          .map((pod, index) => (index === 1 ? { ...pod, metadata: { ...pod.metadata, ...leaving } } : pod));
      expect(verdict({ object: { conditions }, pods })).toMatch(
        /; web-1 is terminating, held by .*example\.com\/hold.*: who has set it takes it off; if nobody does any more: kubectl patch pod web-1 /,
      );
    });
  });

  describe('a pod beyond the replicas', () => {
    const mend =
      '→ mend what it names (a quota, a policy, a permission: `fairlead check --worker`); it is tried again by itself';
    const message = 'the apiserver refuses to change web-2: denied';
    const conditions = [{ type: 'Reconciling', status: 'True', reason: 'WriteRefused', message }] as const;
    const leaving = { deletionTimestamp: '2026-01-01T01:00:00Z' };
    it.each<[string, Case, string]>([
      ['may not go', { object: { conditions } }, `Waiting: it waits: ${message} ${mend}`],
      [
        'may not go, and a pause does not hold it',
        { object: { conditions, annotations: PAUSED } },
        `Waiting: it waits: ${message} ${mend}`,
      ],
      [
        'is on its way out',
        {
          pods: (all) =>
            all.map((pod, index) =>
              index === 2 ? { ...pod, metadata: { ...pod.metadata, ...leaving } } : pod,
            ),
        },
        'Waiting: it waits: web-2 is terminating',
      ],
      [
        'is about to go',
        { object: { annotations: PAUSED } },
        'Working: something is happening: delete Pod web-2',
      ],
    ])('%s', (_, given, expected) => {
      const { object } = given;
      expect(verdict({ ...given, object: { ...object, spec: { replicas: 2 } } })).toContain(expected);
    });
  });

  it.each([2, 3])(
    'the worker reaches no Temporal, although it is reached from here: generation %i',
    (generation) => {
      const message = 'Temporal does not answer: pods are healed, replacing them waits for it';
      const reason = 'TemporalUnreachable';
      const conditions = [{ type: 'Reconciling', status: 'True', reason, message }] as const;
      expect(verdict({ object: { conditions, generation }, updated: 1 })).toMatch(
        /^Waiting: it waits: Temporal does not answer: .* → see that Temporal runs and that the worker reaches it/,
      );
    },
  );

  describe('a run that cannot go on', () => {
    const workflowId = 'rollout/default/shop/StatefulSet.fairlead.dev/web';
    const run = (kind: RunTrouble['kind']) =>
      ({
        state: 'running',
        status: 'RUNNING',
        workflowId,
        runId: 'run-1',
        startedAt: '2026-01-01T00:00:00Z',
        trouble: { kind, text: 'the run does not go on', next: 'mend it' },
      }) as const;
    const back = 'fairlead rollout abort statefulset.fairlead.dev/web -n default';
    const pods = notReady('web-2');
    const stall = { reason: 'ProgressDeadlineExceeded', message: 'no progress for 20 s: web-2 is next' };
    const conditions = [{ type: 'Stalled', status: 'True', ...stall }] as const;

    it.each<[string, Case, RegExp]>([
      ['of what is next', { updated: 1 }, /^RunHeld: nothing is happening: the run does not go on → mend it/],
      [
        'of pods',
        { updated: 1, pods },
        /^Waiting: it waits: web-2 is not .*; the run does not go on → mend it/,
      ],
      [
        'of a stall',
        { updated: 1, object: { conditions } },
        /^Stalled: it is stalled: .* web-2 is next; the run does not go on → mend it/,
      ],
      [
        'of a pause',
        { updated: 1, object: { annotations: PAUSED } },
        /^Paused: .*; the run does not go on → mend it.*; then fairlead rollout resume/,
      ],
      ['of a workload that is done', {}, /^Done: nothing is to be done: all 3 pods are available/],
    ])('goes before what is said %s', (_, given, words) => {
      expect(verdict({ ...given, evidence: { run: run('fails') } })).toMatch(words);
    });

    it('is told to go back where it would hear that', () => {
      const given = { updated: 1, marked: ['web:1'], object: { conditions } };
      expect(verdict({ ...given, evidence: { run: run('paused') } })).toContain(
        `→ mend it; or go back: ${back}`,
      );
      expect(verdict({ ...given, evidence: { run: run('fails') } })).not.toContain(back);
    });
  });

  it('a name that a pod has which no selector finds: only the worker sees it', () => {
    const reason = { reason: 'NameTaken', message: 'a pod stands in the place of web-2' };
    const conditions = [{ type: 'Reconciling', status: 'True', ...reason }] as const;
    expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toMatch(
      /^Waiting: it waits: a pod stands in the place of web-2 → delete the pod .*: kubectl label pod web-2 -n default KEY=VALUE --overwrite;/,
    );
  });

  it('a name whose pod is being deleted: nobody is told to delete it', () => {
    const reason = {
      reason: 'NameLeaving',
      message: 'web-2 is not made yet: a pod of that name is being deleted',
    };
    const conditions = [{ type: 'Reconciling', status: 'True', ...reason }] as const;
    expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toMatch(
      /^Waiting: it waits: web-2 is not made yet: .* → wait until it is gone; .*kubectl patch pod web-2 -n default/,
    );
  });

  it('a resize that the apiserver refuses: what makes do without it', () => {
    const message = 'the apiserver refuses to resize web-2: node without support for resize';
    const conditions = [{ type: 'Reconciling', status: 'True', reason: 'ResizeRefused', message }] as const;
    expect(verdict({ object: { conditions }, updated: 1 })).toMatch(
      /^Waiting: it waits: the apiserver refuses to resize web-2: .* → set podUpdatePolicy to InPlaceIfPossible/,
    );
  });

  it('a drain that a PodDisruptionBudget blocks: what it is that blocks, not a permission', () => {
    const message =
      'db-3 may not leave a node that the rollout drains: eviction of pods/shop/db-3: budget db';
    const conditions = [{ type: 'Reconciling', status: 'True', reason: 'DrainBlocked', message }] as const;
    expect(verdict({ object: { conditions }, pods: (all) => all.slice(0, 2) })).toMatch(
      /^Waiting: it waits: db-3 may not leave .* → loosen the PodDisruptionBudget that it names/,
    );
  });

  it('something is happening', () => {
    const run = {
      state: 'running',
      status: 'RUNNING',
      workflowId: 'w',
      runId: 'run-1',
      startedAt: '',
    } as const;
    expect(verdict({ updated: 1, evidence: { run } })).toBe(
      'Working: something is happening: web-1 is next; run run-1 is at it',
    );
    expect(verdict({ updated: 1 })).toBe(
      'Working: something is happening: web-1 is next; the leader starts a run for it within seconds',
    );
  });

  it.each<[string, Case, string]>([
    ['', {}, 'is being deleted; its pods are left to the garbage collector'],
    [
      ', held by a finalizer',
      { object: { finalizers: ['x.y/z'] } },
      `is being deleted, held by its finalizer x.y/z; its pods are left to the garbage collector → who has set what holds it takes it off; if nobody does any more: kubectl patch statefulset.fairlead.dev/web -n default --type=merge -p '{"metadata":{"finalizers":null}}'`,
    ],
    [
      ' without its pods, held by a finalizer',
      { object: { finalizers: ['x.y/z'] }, isFreed: true },
      `is being deleted, held by its finalizer x.y/z; its pods stay, and go over to the next workload that selects them, as when it moves to the other workload API → who has set what holds it takes it off; if nobody does any more: kubectl patch statefulset.fairlead.dev/web -n default --type=merge -p '{"metadata":{"finalizers":null}}'`,
    ],
    [
      ' without its pods, which the garbage collector has yet to free: no command that would delete them',
      { object: { finalizers: ['orphan', 'x.y/z'] } },
      'is being deleted, held by its finalizers orphan, x.y/z; its pods stay, and go over to the next workload that selects them, as when it moves to the other workload API',
    ],
    [
      ' without its pods, which are free for a minute, and it is still there',
      {
        object: { finalizers: ['orphan'] },
        isFreed: true,
        pods: (all) => all.map((pod) => ({ ...pod, metadata: { ...pod.metadata, ownerReferences: [] } })),
      },
      'is being deleted, held by its finalizer orphan; its pods stay, and go over to the next workload that selects them, as when it moves to the other workload API; nobody keeps them until it is gone → no pod has it as its owner any more, and the garbage collector takes off `orphan` when it is through; where it has lost its way (the apiserver was away while pods were replaced): restart kube-controller-manager, or kubectl patch statefulset.fairlead.dev/web -n default --type=merge -p \'{"metadata":{"finalizers":null}}\'',
    ],
  ])('being deleted%s', (_what, given, words) => {
    const object = { ...given.object, deleting: true };
    expect(verdict({ ...given, object })).toBe(`Deleting: it ${words}`);
  });
});
