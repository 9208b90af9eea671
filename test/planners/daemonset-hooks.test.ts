/** Before and after a pod of a DaemonSet is replaced: images are pulled, other pods leave the node and come back. */

import { describe, expect, it } from '@jest/globals';

import { planDaemonSet } from '../../planners/daemonset.ts';
import { LABEL } from '../../planners/names.ts';
import { imagesToPull } from '../../planners/pre-pull.ts';
import type { ContainerStatus, Node, Pod } from '../../planners/objects.ts';
import type { Action } from '../../planners/plan.ts';
import type { DaemonSet, Snapshot } from '../../planners/workload.ts';
import { daemonPodOn, daemonRolloutOf, daemonSnapshotOf, nodeOf } from '../support/daemonset-fixtures.ts';
import { NOW } from '../support/statefulset-fixtures.ts';

const brief = (actions: readonly Action[]) =>
  actions.map(({ purpose, place, name }) => `${purpose} ${place ?? name}`);

interface Mark {
  readonly at?: number;
  readonly cordoned?: boolean;
  readonly gaveUp?: boolean;
  readonly uid?: string;
  readonly name?: string;
}

describe('a node is drained before its pod is replaced', () => {
  const overrides: Partial<DaemonSet> = { drain: { timeoutSeconds: 60 } };
  const { set, old, update, revisions } = daemonRolloutOf(overrides);

  function marked(
    nodeName: string,
    { at = NOW - 1_000, cordoned = true, gaveUp = false, uid = set.ref.uid, name = set.ref.name }: Mark = {},
  ): Node {
    const node = nodeOf(nodeName);
    const mark = { kind: 'DaemonSet', namespace: set.ref.namespace, name, uid };
    const text = JSON.stringify({ ...mark, at: new Date(at).toISOString(), cordoned, gaveUp });
    return {
      ...node,
      metadata: { ...node.metadata, annotations: { 'fairlead.dev/drain': text } },
      spec: { ...node.spec, ...(cordoned && { unschedulable: true }) },
    };
  }

  function neighbour(name: string, change: Partial<Pod['metadata']> = {}, status: Pod['status'] = {}): Pod {
    return {
      metadata: {
        name,
        namespace: 'shop',
        uid: `uid-${name}`,
        resourceVersion: '5',
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop', uid: 'uid-shop', controller: true },
        ],
        ...change,
      },
      spec: { nodeName: 'b', containers: [] },
      status,
    };
  }

  const planOf = (
    what: string,
    nodes: readonly Node[],
    neighbours: readonly Pod[] | 'unseen' = [],
    workload: DaemonSet = set,
  ) => {
    const pods = what.split('').flatMap((letter, index) =>
      letter === '-'
        ? []
        : [
            daemonPodOn(
              workload,
              nodes[index]?.metadata.name ?? '',
              letter.toLowerCase() === 'n' ? update : old,
              {
                ready: letter === letter.toLowerCase(),
              },
            ),
          ],
    );
    const parts: Partial<Snapshot<DaemonSet>> =
      neighbours === 'unseen'
        ? {}
        : { neighbours: new Map(nodes.map(({ metadata }) => [metadata.name, neighbours])) };
    return planDaemonSet(daemonSnapshotOf(workload, { revisions, nodes, pods, ...parts }), NOW);
  };

  it('first it is cordoned, which takes one from the budget', () => {
    const [cordon, ...more] = planOf('oo', [nodeOf('a'), nodeOf('b')]).batch;
    expect(more).toEqual([]);
    expect(cordon).toMatchObject({
      verb: 'patch',
      resource: 'nodes',
      name: 'b',
      uid: 'uid-b',
      resourceVersion: '1',
      charged: true,
      body: { spec: { unschedulable: true } },
    });
    expect(JSON.stringify(cordon?.body)).toContain('\\"cordoned\\":true');
  });

  it('then other pods are evicted, by uid; those of DaemonSets, static and finished ones stay', () => {
    const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'x', uid: 'x', controller: true };
    const neighbours = [
      neighbour('shop-1'),
      neighbour('daemon', { ownerReferences: [daemon] }),
      neighbour('static', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
      neighbour('job', {}, { phase: 'Succeeded' }),
      neighbour('leaving', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ];
    const plan = planOf('oo', [nodeOf('a'), marked('b')], neighbours);
    expect(plan.batch).toMatchObject([
      {
        purpose: 'Evict',
        subresource: 'eviction',
        namespace: 'shop',
        name: 'shop-1',
        body: { kind: 'Eviction', deleteOptions: { preconditions: { uid: 'uid-shop-1' } } },
      },
    ]);
    const reason = plan.waiting.find(({ code }) => code === 'Draining');
    expect(reason?.message).toContain('shop/shop-1, shop/leaving are still there');
    expect(reason?.until).toBe(NOW + 59_000);
  });

  it('a pod that nobody would make again is never evicted, and named', () => {
    const plan = planOf('oo', [nodeOf('a'), marked('b')], [neighbour('alone', { ownerReferences: [] })]);
    expect(plan.batch).toEqual([]);
    expect(plan.waiting.find(({ code }) => code === 'Draining')?.message).toContain(
      'shop/alone has no controller that would make it again: delete it by hand',
    );
  });

  it('when all have left its pod is replaced, and no second node is begun meanwhile', () => {
    expect(brief(planOf('oo', [nodeOf('a'), marked('b')]).batch)).toEqual(['Recreate b']);
    expect(brief(planOf('o-', [nodeOf('a'), marked('b')]).batch)).toEqual([]);
  });

  it('with the new pod available it is uncordoned, and only then the rollout is over', () => {
    const plan = planOf('nn', [nodeOf('a'), marked('b')]);
    expect(plan.steady).toMatchObject([
      {
        purpose: 'Uncordon',
        name: 'b',
        body: { metadata: { annotations: { 'fairlead.dev/drain': null } }, spec: { unschedulable: null } },
      },
    ]);
    expect(planOf('nN', [nodeOf('a'), marked('b')]).steady).toEqual([]);
  });

  it('what somebody else had cordoned stays cordoned', () => {
    const [uncordon] = planOf('nn', [nodeOf('a'), marked('b', { cordoned: false })]).steady;
    expect(uncordon?.untold).toBe(true);
    expect(uncordon?.body).toEqual({ metadata: { annotations: { 'fairlead.dev/drain': null } } });
    const closed: Node = { ...nodeOf('b'), spec: { unschedulable: true } };
    const [cordon] = planOf('oo', [nodeOf('a'), closed]).batch;
    expect(cordon?.untold).toBe(true);
    expect(planOf('oo', [nodeOf('a'), nodeOf('b')]).batch[0]).not.toHaveProperty('untold');
    expect(cordon?.body).not.toHaveProperty('spec');
    expect(JSON.stringify(cordon?.body)).toContain('\\"cordoned\\":false');
  });

  it('at the time limit the node is put back into service, others go on, and it is tried again as long after', () => {
    const late = planOf('oo', [nodeOf('a'), marked('b', { at: NOW - 60_000 })], [neighbour('stays')]);
    expect(late.steady).toMatchObject([{ purpose: 'Uncordon', body: { spec: { unschedulable: null } } }]);
    expect(late.steady[0]?.message).toContain('shop/stays is still there');
    expect(JSON.stringify(late.steady[0]?.body)).toContain('\\"gaveUp\\":true');
    const after = planOf(
      'oo',
      [nodeOf('a'), marked('b', { cordoned: false, gaveUp: true })],
      [neighbour('stays')],
    );
    expect(brief(after.batch)).toEqual(['Cordon a']);
    expect(after.waiting.find(({ code }) => code === 'DrainTimedOut')).toMatchObject({ until: NOW + 59_000 });
    const again = planOf('oo', [
      nodeOf('a'),
      marked('b', { at: NOW - 60_000, cordoned: false, gaveUp: true }),
    ]);
    // After those that were never tried: two nodes that cannot be drained must not take turns for ever.
    expect(brief(again.batch)).toEqual(['Cordon a']);
    const alone = planOf('no', [
      nodeOf('a'),
      marked('b', { at: NOW - 60_000, cordoned: false, gaveUp: true }),
    ]);
    expect(brief(alone.batch)).toEqual(['Cordon b']);
    const busy = planOf(
      'oo',
      [marked('a'), marked('b', { cordoned: false, gaveUp: true })],
      [neighbour('x')],
    );
    expect(busy.waiting.map(({ code }) => code)).toContain('DrainTimedOut');
  });

  it('paused, going back, or without the setting: a node whose pod is not replaced yet is let go', () => {
    const nodes = [nodeOf('a'), marked('b')];
    expect(brief(planOf('oo', nodes, [], { ...set, paused: {} }).steady)).toEqual(['Uncordon b']);
    // Its pod is gone already: the new one is still waited for.
    expect(brief(planOf('o-', nodes, [], { ...set, paused: {} }).steady)).toEqual(['ScaleUp b']);
    const { drain: _, ...without } = set;
    expect(brief(planOf('oo', nodes, [], without).steady)).toEqual(['Uncordon b']);
    expect(brief(planOf('oo', nodes, [], { ...set, partition: 2 }).steady)).toEqual(['Uncordon b']);
    expect(brief(planOf('oo', nodes, [], { ...set, deleting: true }).steady)).toEqual(['Uncordon b']);
    expect(brief(planOf('oo', [nodeOf('a'), marked('b', { uid: 'earlier' })]).steady)).toEqual([
      'Uncordon b',
    ]);
  });

  it('what is not ready is replaced at once: nobody needs protection from that', () => {
    expect(brief(planOf('oO', [nodeOf('a'), nodeOf('b')]).batch)).toEqual(['Recreate b']);
  });

  it('without sight of all namespaces nothing is drained, and the reason says so', () => {
    const plan = planOf('oo', [nodeOf('a'), nodeOf('b')], 'unseen');
    expect(plan.batch).toEqual([]);
    expect(plan.waiting.map(({ code }) => code)).toContain('DrainBlind');
  });

  it('a node that is drained for another workload is left to it, mark and all: another one is taken meanwhile', () => {
    const theirs = marked('b', { uid: 'uid-other', name: 'other' });
    const plan = planOf('oo', [nodeOf('a'), theirs]);
    expect(brief(plan.batch)).toEqual(['Cordon a']);
    expect(plan.steady).toEqual([]);
    const last = planOf('no', [nodeOf('a'), theirs]);
    expect(brief(last.batch)).toEqual([]);
    expect(last.waiting.find(({ code }) => code === 'DrainTaken')?.message).toEqual(
      expect.stringMatching(
        /^the node of \S+ is being drained for another workload, which comes first: Node b for DaemonSet \S+\/other$/,
      ),
    );
    // Of one that was given up the node is in service again.
    const left = marked('b', { uid: 'uid-other', name: 'other', cordoned: false, gaveUp: true });
    expect(brief(planOf('no', [nodeOf('a'), left]).batch)).toEqual(['Cordon b']);
  });

  it('a smaller budget does not lock nodes that are being drained', () => {
    const plan = planOf('ooo', [nodeOf('a'), marked('b'), marked('c')]);
    expect(brief(plan.batch)).toEqual(['Recreate c']);
  });
});

describe('images are pulled before pods are replaced', () => {
  const { set, old, update, revisions } = daemonRolloutOf({ prePull: { nodes: 1, timeoutSeconds: 60 } });
  const nodes = ['a', 'b', 'c', 'd'].map((name) => nodeOf(name));

  function planOf(what: string, pullers: readonly Pod[] = [], workload: DaemonSet = set) {
    const pods = what.split('').map((letter, index) =>
      daemonPodOn(workload, nodes[index]?.metadata.name ?? '', letter.toLowerCase() === 'n' ? update : old, {
        ready: letter === letter.toLowerCase(),
      }),
    );
    return planDaemonSet(
      daemonSnapshotOf(workload, {
        revisions,
        nodes: nodes.slice(0, what.length),
        pods: [...pods, ...pullers],
      }),
      NOW,
    );
  }

  /** As the plan makes it, in the given state. */
  function puller(node: string, state: ContainerStatus['state'], change: Partial<Pod['metadata']> = {}): Pod {
    const create = ['oooo', 'ooon', 'oonn', 'onnn']
      .flatMap((what) => planOf(what).batch)
      .find(({ purpose, place }) => purpose === 'PrePull' && place === node);
    const body = create?.body as unknown as Pod;
    const status = { name: 'image-0', restartCount: 0, ready: false, ...(state && { state }) };
    return {
      ...body,
      metadata: {
        ...body.metadata,
        uid: `uid-pull-${node}`,
        resourceVersion: '7',
        creationTimestamp: new Date(NOW - 10_000).toISOString(),
        ...change,
      },
      status: { phase: 'Pending', containerStatuses: state === undefined ? [] : [status] },
    };
  }

  it('on the nodes that may be updated now and as many more, before anything is replaced', () => {
    const plan = planOf('oooo');
    expect(brief(plan.batch)).toEqual(['PrePull d', 'PrePull c']);
    const body = plan.batch[0]?.body as unknown as Pod;
    expect(body.metadata.labels).toEqual({ [LABEL.prePull]: update.metadata.labels?.[LABEL.revisionHash] });
    expect(body.metadata.ownerReferences).toMatchObject([{ uid: set.ref.uid, controller: false }]);
    expect(body.spec).toMatchObject({
      restartPolicy: 'Never',
      activeDeadlineSeconds: 60,
      containers: [{ image: 'agent:2', command: ['/fairlead-pre-pull'] }],
    });
  });

  it.each<[string, ContainerStatus['state'], readonly string[], string | undefined]>([
    ['is being pulled', { waiting: { reason: 'ContainerCreating' } }, [], 'PrePulling'],
    ['fails', { waiting: { reason: 'ImagePullBackOff', message: 'not found' } }, [], 'PrePulling'],
    [
      'is there: the container cannot start',
      { waiting: { reason: 'RunContainerError' } },
      ['Recreate d'],
      undefined,
    ],
    [
      'is there: the container has ended',
      { terminated: { reason: 'StartError' } },
      ['Recreate d'],
      undefined,
    ],
  ])('an image that %s', (_, state, expected, code) => {
    const plan = planOf('oooo', [
      puller('d', state),
      puller('c', { waiting: { reason: 'ContainerCreating' } }),
    ]);
    expect(brief(plan.batch).filter((one) => one.startsWith('Recreate'))).toEqual(expected);
    const reason = plan.waiting.find((one) => one.code === code);
    expect([reason?.until, reason?.message.includes('agent:2')]).toEqual(
      code === undefined ? [undefined, undefined] : [NOW + 50_000, true],
    );
  });

  it('what takes too long is not waited for, and told', () => {
    const created = { creationTimestamp: new Date(NOW - 60_000).toISOString() };
    const plan = planOf('oooo', [
      puller('d', { waiting: { reason: 'ErrImagePull', message: 'denied' } }, created),
    ]);
    expect(brief(plan.batch)).toContain('Recreate d');
    expect(plan.waiting.find(({ code }) => code === 'PrePullLate')?.message).toContain(
      'ErrImagePull: denied',
    );
  });

  it('the next pulls overlap the running batch', () => {
    const plan = planOf('oooN');
    expect(brief(plan.batch)).toEqual(['PrePull c']);
  });

  it('a pull that the apiserver refuses does not hold the node up', () => {
    const [create] = planOf('o').batch;
    const pods = [daemonPodOn(set, 'a', old)];
    const refusal = { since: NOW, retryAt: NOW + 5_000, message: 'quota', revision: update.metadata.name };
    const refusals = new Map([[`create pods/${create?.name ?? ''}`, refusal]]);
    const plan = planDaemonSet(
      daemonSnapshotOf(set, { revisions, nodes: [nodeOf('a')], pods, refusals }),
      NOW,
    );
    expect(brief(plan.batch)).toEqual(['Recreate a']);
  });

  it('pods that have pulled are deleted with their node updated, with another revision, without the setting', () => {
    const done = puller('d', { terminated: { reason: 'StartError' } });
    expect(brief(planOf('ooon', [done]).steady)).toEqual(['PrePullDone d']);
    expect(brief(planOf('oooo', [done]).steady)).toEqual([]);
    const stale = { ...done, metadata: { ...done.metadata, labels: { [LABEL.prePull]: 'earlier' } } };
    expect(brief(planOf('oooo', [stale]).steady)).toEqual(['PrePullDone d']);
    const { prePull: _, ...without } = set;
    expect(brief(planOf('oooo', [done], without).steady)).toEqual(['PrePullDone d']);
  });

  describe('one whose owner was deleted with --cascade=orphan', () => {
    const pulling = { waiting: { reason: 'ContainerCreating' } };
    const ended = { terminated: { reason: 'StartError' } };
    const orphaned = { ownerReferences: [] };

    it('goes, and its node has the images that it has pulled', () => {
      const plan = planOf('oooo', [puller('d', ended, orphaned)]);
      expect(brief(plan.steady)).toEqual(['PrePullDone d']);
      expect(plan.steady[0]).toMatchObject({ uid: 'uid-pull-d', resourceVersion: '7' });
      expect(plan.steady[0]?.message).toContain('its owner is gone');
      expect(brief(plan.batch)).toContain('Recreate d');
    });

    it('goes before it has pulled: no event of it would tell', () => {
      expect(brief(planOf('oooo', [puller('d', pulling, orphaned)]).steady)).toEqual(['PrePullDone d']);
    });

    it('is left alone under another name than it would have for this set', () => {
      const other = puller('d', ended, { ...orphaned, name: 'other-pull-0123456789' });
      expect(brief(planOf('oooo', [other]).steady)).toEqual([]);
    });
  });
});

describe('which images are pulled', () => {
  const of = (...images: readonly string[]) => ({
    spec: { containers: images.map((image, index) => ({ name: `c${String(index)}`, image })) },
  });

  it('those that the node need not have, each once', () => {
    expect(imagesToPull(of('a:1', 'b:1'), of('a:1', 'b:1'))).toEqual([]);
    expect(imagesToPull(of('a:1', 'b:1'), of('a:2', 'b:1', 'a:2'))).toEqual([{ image: 'a:2' }]);
    expect(imagesToPull(undefined, of('a:1'))).toEqual([{ image: 'a:1' }]);
  });

  it('none that is never to be pulled', () => {
    const to = { spec: { containers: [{ name: 'c', image: 'a:2', imagePullPolicy: 'Never' }] } };
    expect(imagesToPull(of('a:1'), to)).toEqual([]);
  });
});

describe('the cost of a plan', () => {
  /** How often a plan reads one pod that pulls for another node, in a set of so many nodes that all wait for their images. */
  function readsOfOnePuller(nodes: number): number {
    const { set, old, revisions } = daemonRolloutOf({
      prePull: { nodes, timeoutSeconds: 60 },
      maxUnavailable: 1,
    });
    const names = Array.from({ length: nodes }, (_, index) => `n${String(index)}`);
    let reads = 0;
    const { metadata } = daemonPodOn(set, 'elsewhere', old);
    const puller: Pod = {
      get metadata() {
        reads += 1;
        return { ...metadata, labels: { [LABEL.prePull]: 'x' } };
      },
      spec: { containers: [] },
    };
    const pods = [...names.map((name) => daemonPodOn(set, name, old)), puller];
    const { batch } = planDaemonSet(
      daemonSnapshotOf(set, { revisions, nodes: names.map((name) => nodeOf(name)), pods }),
      NOW,
    );
    expect(batch.filter(({ purpose }) => purpose === 'PrePull')).toHaveLength(nodes);
    return reads;
  }

  it('a pod that pulls is looked at as often in a large set as in a small one', () => {
    expect(readsOfOnePuller(4)).toBeGreaterThan(0);
    expect(readsOfOnePuller(64)).toBe(readsOfOnePuller(4));
  });
});
