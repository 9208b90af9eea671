/** Which nodes of a DaemonSet are updated, in which order, and what happens on them before, in both workload APIs. */

import { afterEach, describe, expect, it } from '@jest/globals';

import { isReady } from '../../planners/availability.ts';
import type { Node, Pod } from '../../planners/objects.ts';
import type { DaemonGround } from '../support/daemonset-ground.ts';
import { NODES, allAt, imageOf, nodesOf, uidOf, useBothGrounds } from '../support/daemonset-ground.ts';
import { found } from '../support/eventually.ts';

const ZONE = 'topology.kubernetes.io/zone';
const DRAIN = 'fairlead.dev/drain';

describe('nodes of a DaemonSet', () => {
  const { grounds: GROUNDS, both } = useBothGrounds(6);

  const isCordoned = ({ metadata, spec }: Node) =>
    spec?.unschedulable === true && metadata.annotations?.[DRAIN] !== undefined;
  const isFree = ({ metadata, spec }: Node) =>
    spec?.unschedulable !== true && metadata.annotations?.[DRAIN] === undefined;

  /** Until `explain` says so. */
  async function untilExplained(ground: DaemonGround, namespace: string, pattern: RegExp): Promise<string> {
    let last = '';
    return await found(
      `explain says ${String(pattern)}`,
      async () => {
        last = (await ground.cli('explain ds/agent', namespace)).out;
        return pattern.test(last) ? last : undefined;
      },
      20_000,
      () => last,
    );
  }

  it(
    'topologyKey: no node of the next zone before those of the last are available',
    both(async (ground) => {
      const description = await ground.deploy({ maxUnavailable: 6, topologyKey: ZONE });
      const zones = new Map(
        (await ground.untilNodes('six', (nodes) => nodes.length === 6)).map(({ metadata }) => [
          metadata.name,
          metadata.labels?.[ZONE] ?? '',
        ]),
      );
      const record = await ground.cluster().recordPods(description.namespace);
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilPods(description, 'all new', allAt('agent:2', 6));
      record.stop();
      const steps = record.events.flatMap(({ type, pod }) => {
        const zone = zones.get(pod.spec.nodeName ?? '') ?? '';
        if (type === 'DELETED' || zone === '') return [];
        if (imageOf(pod) === 'agent:1' && pod.metadata.deletionTimestamp !== undefined)
          return [`${zone} goes`];
        return imageOf(pod) === 'agent:2' && isReady(pod) ? [`${zone} new`] : [];
      });
      for (const [zone, next] of [
        ['zone-a', 'zone-b'],
        ['zone-b', 'zone-c'],
      ]) {
        const begins = steps.indexOf(`${next} goes`);
        expect(begins).toBeGreaterThan(0);
        expect(steps.slice(0, begins).filter((step) => step === `${zone} new`).length).toBeGreaterThanOrEqual(
          2,
        );
      }
    }),
    60_000,
  );

  it(
    'nodeSelector: a canary by labels of nodes ends by itself, and the rest follows when the selector goes',
    both(async (ground) => {
      const canary = { [ZONE]: 'zone-b' };
      const description = await ground.deploy({ maxUnavailable: 6, updateNodes: canary });
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilReady(description);
      const pods = await ground.untilPods(
        description,
        'two new',
        (all) => all.filter((pod) => imageOf(pod) === 'agent:2').length === 2,
      );
      expect(nodesOf(pods.filter((pod) => imageOf(pod) === 'agent:2'))).toEqual(['node-1', 'node-4']);
      expect((await ground.cli('explain ds/agent', description.namespace)).out).toMatch(
        /nodeSelector of the update does not select/,
      );
      const { updateNodes: _, ...all } = description;
      await ground.apply({ ...all, image: 'agent:2' });
      await ground.untilPods(description, 'all new', allAt('agent:2', 6));
    }),
    60_000,
  );

  describe('a node that is not Ready', () => {
    const dark = { ...NODES, name: 'dark' };
    afterEach(async () => {
      await Promise.all(GROUNDS.map(({ ground }) => ground.cluster().client.delete(dark)));
    });

    it(
      'before the rollout: it takes nothing from the budget, unless that is asked for (k/k #117204)',
      both(async (ground) => {
        const { client } = ground.cluster();
        const description = await ground.deploy({ tolerations: [{ operator: 'Exists' }] });
        await client.create(NODES, {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: 'dark' },
          status: {
            conditions: [
              { type: 'Ready', status: 'False', reason: 'Dark', lastTransitionTime: '2026-01-01T00:00:00Z' },
            ],
          },
        });
        await ground.untilPods(description, 'one for the dark node', (pods) => pods.length === 7);
        await ground.apply({ ...description, image: 'agent:2', notReadyNodes: 'Count' });
        await untilExplained(ground, description.namespace, /budget is used up: 1 of 1 unavailable/);
        await ground.apply({ ...description, image: 'agent:2', notReadyNodes: 'Ignore' });
        const pods = await ground.untilPods(
          description,
          'six new',
          (all) => all.filter((pod) => isReady(pod) && imageOf(pod) === 'agent:2').length === 6,
        );
        expect(pods.some(({ spec }) => spec.nodeName === 'dark')).toBe(false);
        expect(
          (await untilExplained(ground, description.namespace, /dark was not Ready before/)).length,
        ).toBeGreaterThan(0);
      }),
      90_000,
    );
  });

  describe('drain', () => {
    // An eviction that is cut off by the death of who asked for it counts against its budget for two minutes (policy/v1
    // `disruptedPods`): the budget of another test would hold the next drain up.
    const budgets = new Map<string, DaemonGround>();
    afterEach(async () => {
      await Promise.all([...budgets].map(async ([namespace, ground]) => await dropBudget(ground, namespace)));
    });

    async function dropBudget(ground: DaemonGround, namespace: string): Promise<void> {
      const budget = { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets', name: 'shop' };
      budgets.delete(namespace);
      await ground.cluster().client.delete({ ...budget, namespace });
    }

    async function shop(ground: DaemonGround, replicas: number, minAvailable: number): Promise<string> {
      const { client } = ground.cluster();
      const namespace = await ground.cluster().createNamespace('shop');
      const labels = { app: 'shop' };
      await client.create(
        { group: 'apps', version: 'v1', resource: 'replicasets', namespace },
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          metadata: { name: 'shop' },
          spec: {
            replicas,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'shop', image: 'shop:1' }] },
            },
          },
        },
      );
      await client.create(
        { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets', namespace },
        {
          apiVersion: 'policy/v1',
          kind: 'PodDisruptionBudget',
          metadata: { name: 'shop' },
          spec: { minAvailable, selector: { matchLabels: labels } },
        },
      );
      budgets.set(namespace, ground);
      await ground.untilPods(
        { namespace },
        'the shop is open',
        (pods) => pods.length === replicas && pods.every(isReady),
      );
      return namespace;
    }

    it(
      'other pods leave in the order of their budget, and every node takes pods again',
      both(async (ground) => {
        const namespace = await shop(ground, 12, 10);
        const description = await ground.deploy({ drainTimeoutSeconds: 60, maxUnavailable: 2 });
        const shopBefore = await ground.untilPods(
          { namespace },
          'all',
          (pods) => pods.length === 12 && pods.every(isReady),
        );
        const record = await ground.cluster().recordPods(namespace);
        await ground.apply({ ...description, image: 'agent:2' });
        await ground.untilPods(description, 'all new', allAt('agent:2', 6), 60_000);
        await ground.untilNodes('all are free', (nodes) => nodes.every(isFree));
        await ground.untilReady(description);
        record.stop();
        // Every pod of the shop was on a node that was drained.
        const after = await ground.untilPods(
          { namespace },
          'open',
          (pods) => pods.length === 12 && pods.every(isReady),
        );
        const old = new Set(shopBefore.map(uidOf));
        expect(after.filter((pod) => old.has(uidOf(pod)))).toEqual([]);
        const ready = new Set(old);
        let fewest = ready.size;
        for (const { type, pod } of record.events) {
          const isUp = type !== 'DELETED' && pod.metadata.deletionTimestamp === undefined && isReady(pod);
          if (isUp) ready.add(uidOf(pod));
          else ready.delete(uidOf(pod));
          fewest = Math.min(fewest, ready.size);
        }
        expect(fewest).toBeGreaterThanOrEqual(10);
      }),
      120_000,
    );

    it(
      'a budget that never allows it: explain names the pod, the limit is obeyed, the node is put back into service',
      both(async (ground) => {
        const namespace = await shop(ground, 6, 6);
        const description = await ground.deploy({ drainTimeoutSeconds: 4 });
        await ground.apply({ ...description, image: 'agent:2' });
        await untilExplained(
          ground,
          description.namespace,
          new RegExp(`other pods are leaving .*${namespace}/shop-`),
        );
        await untilExplained(ground, description.namespace, /could not be drained within the time limit/);
        await ground.cli('rollout pause ds/agent', description.namespace);
        await ground.untilNodes('all are free', (nodes) =>
          nodes.every(({ spec }) => spec?.unschedulable !== true),
        );
        await dropBudget(ground, namespace);
        await ground.cli('rollout resume ds/agent', description.namespace);
        await ground.untilPods(description, 'all new', allAt('agent:2', 6), 60_000);
        await ground.untilNodes('all are free', (nodes) => nodes.every(isFree));
      }),
      120_000,
    );

    it(
      'killed while a node is cordoned: the next worker goes on, and uncordons only what we cordoned',
      both(async (ground) => {
        const namespace = await shop(ground, 6, 6);
        await ground.patchNode('node-0', { spec: { unschedulable: true } });
        const description = await ground.deploy({ drainTimeoutSeconds: 120 });
        await ground.apply({ ...description, image: 'agent:2' });
        await ground.untilNodes('one is cordoned', (nodes) => nodes.some(isCordoned));
        await ground.crash();
        await dropBudget(ground, namespace);
        await ground.untilPods(description, 'all new', allAt('agent:2', 6), 60_000);
        const nodes = await ground.untilNodes('no marks', (all) =>
          all.every(({ metadata }) => metadata.annotations?.[DRAIN] === undefined),
        );
        expect(
          nodes.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name),
        ).toEqual(['node-0']);
        await ground.patchNode('node-0', { spec: { unschedulable: null } });
      }),
      120_000,
    );

    it(
      'deleted while a node is cordoned: the node is let go',
      both(async (ground) => {
        await shop(ground, 6, 6);
        const description = await ground.deploy({ drainTimeoutSeconds: 120 });
        await ground.apply({ ...description, image: 'agent:2' });
        await ground.untilNodes('one is cordoned', (nodes) => nodes.some(isCordoned));
        await ground.cluster().client.delete(ground.path(description));
        await ground.untilNodes('all are free', (nodes) => nodes.every(isFree));
      }),
      60_000,
    );
  });

  describe('pre-pull', () => {
    it(
      'images are pulled before a pod goes, and nothing is left of it',
      both(async (ground) => {
        const description = await ground.deploy({ prePullNodes: 2 });
        const record = await ground.cluster().recordPods(description.namespace);
        await ground.apply({ ...description, image: 'agent:2' });
        await ground.untilPods(description, 'all new, and no other', allAt('agent:2', 6), 60_000);
        record.stop();
        const isPuller = ({ metadata }: Pod) => metadata.labels?.['fairlead.dev/pre-pull'] !== undefined;
        const first = (is: (pod: Pod) => boolean) => record.events.findIndex(({ pod }) => is(pod));
        const pulled = first((pod) => isPuller(pod) && pod.status?.phase === 'Running');
        const gone = first(
          (pod) => imageOf(pod) === 'agent:1' && pod.metadata.deletionTimestamp !== undefined,
        );
        expect(pulled).toBeGreaterThanOrEqual(0);
        expect(gone).toBeGreaterThan(pulled);
        expect(
          new Set(record.events.filter(({ pod }) => isPuller(pod)).map(({ pod }) => pod.metadata.name)).size,
        ).toBe(6);
      }),
      90_000,
    );

    it(
      'a pull that fails takes no pod out of service before its limit, and explain says why',
      both(async (ground) => {
        const description = await ground.deploy({ prePullNodes: 0, prePullTimeoutSeconds: 6 });
        await ground.apply({ ...description, image: 'agent:bad' });
        await untilExplained(
          ground,
          description.namespace,
          /images are being pulled before .*agent:bad \((ErrImagePull|ImagePullBackOff)/,
        );
        const serving = await ground.untilPods(
          description,
          'all old ones serve',
          (pods) => pods.filter(isReady).length === 6,
        );
        expect(serving.filter((pod) => isReady(pod) && imageOf(pod) === 'agent:1')).toHaveLength(6);
        await untilExplained(
          ground,
          description.namespace,
          /could not be pulled beforehand within the time limit/,
        );
        // Its budget still protects the others.
        await ground.untilPods(description, 'one is broken', (pods) =>
          pods.some((pod) => imageOf(pod) === 'agent:bad' && pod.metadata.labels?.['app'] === 'agent'),
        );
        await ground.apply(description);
        await ground.untilPods(description, 'all well, and no other', allAt('agent:1', 6), 60_000);
      }),
      120_000,
    );
  });

  it(
    'nodes that join and leave during a rollout',
    both(async (ground) => {
      const { client } = ground.cluster();
      const description = await ground.deploy({ maxUnavailable: 1 });
      const gone = await client.get<Node>({ ...NODES, name: 'node-5' });
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilPods(description, 'it has begun', (pods) =>
        pods.some((pod) => imageOf(pod) === 'agent:2'),
      );
      await client.delete({ ...NODES, name: 'node-5' });
      const { metadata, spec: _, ...rest } = gone;
      const labels = { ...metadata.labels, 'kubernetes.io/hostname': 'node-6' };
      await client.create(NODES, {
        ...rest,
        metadata: { name: 'node-6', labels, annotations: metadata.annotations },
        spec: { providerID: 'kwok://node-6' },
      });
      // The pod of the node that is gone is the garbage collector's, which takes its time.
      const wanted = ['node-0', 'node-1', 'node-2', 'node-3', 'node-4', 'node-6'].join();
      const onOthers = (pods: readonly Pod[]) => pods.filter(({ spec }) => spec.nodeName !== 'node-5');
      await ground.untilPods(
        description,
        'new ones on the nodes that there are',
        (pods) => allAt('agent:2', 6)(onOthers(pods)) && nodesOf(onOthers(pods)).join() === wanted,
        60_000,
      );
      await ground.untilReady(description);
      await client.create(NODES, {
        ...rest,
        metadata: { name: 'node-5', labels: metadata.labels, annotations: metadata.annotations },
        spec: { providerID: 'kwok://node-5' },
      });
      await ground.untilPods(description, 'seven', allAt('agent:2', 7), 60_000);
      await client.delete({ ...NODES, name: 'node-6' });
    }),
    120_000,
  );
});
