/** Which nodes of a DaemonSet are updated, in which order, and what happens on them before, in both workload APIs. */

import { describe, expect, it } from '@jest/globals';

import { isReady } from '../../planners/availability.ts';
import type { Node, Pod } from '../../planners/objects.ts';
import type { DaemonGround } from '../support/daemonset-ground.ts';
import { NODES, allAt, imageOf, nodesOf, uidOf, useGrounds } from '../support/daemonset-ground.ts';
import { found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import { OwnNodes } from '../support/own-nodes.ts';

const ZONE = 'topology.kubernetes.io/zone';
const DRAIN = 'fairlead.dev/drain';

/** Several plays go on at a time. */
const PATIENCE_MS = 180_000;
const UNTIL_MS = 60_000;

const grounds = useGrounds(1, 'fairlead.dev/v1beta1');

type Play = (ground: DaemonGround, nodes: OwnNodes) => Promise<void>;

/** Each on six nodes that no other has pods on. */
function inApis(play: Play): () => Promise<void> {
  return grounds.inApis(async (ground) => {
    const owner = `nodes-${Math.random().toString(36).slice(2, 8)}`;
    const nodes = await OwnNodes.create(ground.cluster().client, owner, 6);
    try {
      await play(ground, nodes);
    } finally {
      await nodes.remove();
    }
  });
}

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
    60_000,
    () => last,
  );
}

/** Pods of somebody else on these nodes, with a budget. */
async function shop(
  ground: DaemonGround,
  nodes: OwnNodes,
  replicas: number,
  minAvailable: number,
): Promise<string> {
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
          spec: {
            ...nodes.placement,
            terminationGracePeriodSeconds: 1,
            containers: [{ name: 'shop', image: 'shop:1' }],
          },
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
  await ground.untilPods(
    { namespace },
    'the shop is open',
    (pods) => pods.length === replicas && pods.every(isReady),
  );
  return namespace;
}

async function dropBudget(ground: DaemonGround, namespace: string): Promise<void> {
  const budget = { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets', name: 'shop' };
  await ground.cluster().client.delete({ ...budget, namespace });
}

describe('nodes of a DaemonSet', () => {
  const lane = useLanes(3);
  const inLane = (play: Play) => lane(inApis(play));

  itInFull(
    'topologyKey: no node of the next zone before those of the last are available',
    inLane(async (ground, nodes) => {
      const description = await ground.deploy({ ...nodes.placement, maxUnavailable: 6, topologyKey: ZONE });
      const zones = new Map(
        (await nodes.list()).map(({ metadata }) => [metadata.name, metadata.labels?.[ZONE] ?? '']),
      );
      const record = await ground.cluster().recordPods(description.namespace);
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilPods(description, 'all new', allAt('agent:2', 6));
      await record.caughtUp();
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
    PATIENCE_MS,
  );

  it(
    'nodeSelector: a canary by labels of nodes ends by itself, and the rest follows when the selector goes',
    inLane(async (ground, nodes) => {
      const canary = { [ZONE]: 'zone-b' };
      const description = await ground.deploy({ ...nodes.placement, maxUnavailable: 6, updateNodes: canary });
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilReady(description);
      const pods = await ground.untilPods(
        description,
        'two new',
        (all) => all.filter((pod) => imageOf(pod) === 'agent:2').length === 2,
      );
      expect(nodesOf(pods.filter((pod) => imageOf(pod) === 'agent:2'))).toEqual([
        nodes.names[1],
        nodes.names[4],
      ]);
      expect((await ground.cli('explain ds/agent', description.namespace)).out).toMatch(
        /nodeSelector of the update does not select/,
      );
      const { updateNodes: _, ...all } = description;
      await ground.apply({ ...all, image: 'agent:2' });
      await ground.untilPods(description, 'all new', allAt('agent:2', 6));
    }),
    PATIENCE_MS,
  );

  describe('a node that is not Ready', () => {
    it(
      'before the rollout: it takes nothing from the budget, unless that is asked for (k/k #117204)',
      inLane(async (ground, nodes) => {
        const { client } = ground.cluster();
        const dark = `${nodes.owner}-dark`;
        const description = await ground.deploy({
          ...nodes.placement,
          tolerations: [{ operator: 'Exists' }],
        });
        await client.create(NODES, {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: dark, labels: nodes.placement.nodeSelector },
          status: {
            conditions: [
              { type: 'Ready', status: 'False', reason: 'Dark', lastTransitionTime: '2026-01-01T00:00:00Z' },
            ],
          },
        });
        try {
          await ground.untilPods(description, 'one for the dark node', (pods) => pods.length === 7);
          await ground.apply({ ...description, image: 'agent:2', notReadyNodes: 'Count' });
          await untilExplained(ground, description.namespace, /budget is used up: 1 of 1 unavailable/);
          await ground.apply({ ...description, image: 'agent:2', notReadyNodes: 'Ignore' });
          const pods = await ground.untilPods(
            description,
            'six new',
            (all) => all.filter((pod) => isReady(pod) && imageOf(pod) === 'agent:2').length === 6,
          );
          expect(pods.some(({ spec }) => spec.nodeName === dark)).toBe(false);
          expect(
            (await untilExplained(ground, description.namespace, new RegExp(`${dark} was not Ready before`)))
              .length,
          ).toBeGreaterThan(0);
        } finally {
          await client.delete({ ...NODES, name: dark });
        }
      }),
      PATIENCE_MS,
    );
  });

  describe('drain', () => {
    it(
      'other pods leave in the order of their budget, and every node takes pods again',
      inLane(async (ground, nodes) => {
        const namespace = await shop(ground, nodes, 12, 10);
        const description = await ground.deploy({
          ...nodes.placement,
          drainTimeoutSeconds: 60,
          maxUnavailable: 2,
        });
        const shopBefore = await ground.untilPods(
          { namespace },
          'all',
          (pods) => pods.length === 12 && pods.every(isReady),
        );
        const record = await ground.cluster().recordPods(namespace);
        await ground.apply({ ...description, image: 'agent:2' });
        await ground.untilPods(description, 'all new', allAt('agent:2', 6), 60_000);
        await nodes.until('all are free', (all) => all.every(isFree), UNTIL_MS);
        await ground.untilReady(description);
        await record.caughtUp();
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
      PATIENCE_MS,
    );

    it(
      'a budget that never allows it: explain names the pod, the limit is obeyed, the node is put back into service',
      inLane(async (ground, nodes) => {
        const namespace = await shop(ground, nodes, 6, 6);
        const description = await ground.deploy({ ...nodes.placement, drainTimeoutSeconds: 8 });
        await ground.apply({ ...description, image: 'agent:2' });
        await untilExplained(
          ground,
          description.namespace,
          new RegExp(`other pods are leaving .*${namespace}/shop-`),
        );
        await untilExplained(ground, description.namespace, /could not be drained within the time limit/);
        await ground.cli('rollout pause ds/agent', description.namespace);
        await nodes.until(
          'all are free',
          (all) => all.every(({ spec }) => spec?.unschedulable !== true),
          UNTIL_MS,
        );
        await dropBudget(ground, namespace);
        await ground.cli('rollout resume ds/agent', description.namespace);
        await ground.untilPods(description, 'all new', allAt('agent:2', 6), 90_000);
        await nodes.until('all are free', (all) => all.every(isFree), UNTIL_MS);
      }),
      PATIENCE_MS,
    );

    it(
      'two that roll out at once: a node is drained for one after the other, and every node takes pods again',
      inLane(async (ground, nodes) => {
        await shop(ground, nodes, 6, 4);
        const wanted = { ...nodes.placement, drainTimeoutSeconds: 60, maxUnavailable: 2 };
        const sets = [await ground.deploy(wanted), await ground.deploy(wanted)];
        await Promise.all(sets.map(async (one) => await ground.apply({ ...one, image: 'agent:2' })));
        for (const one of sets) await ground.untilPods(one, 'all new', allAt('agent:2', 6), 90_000);
        await nodes.until('all are free', (all) => all.every(isFree), UNTIL_MS);
        for (const one of sets) await ground.untilReady(one);
      }),
      PATIENCE_MS,
    );

    it(
      'deleted while a node is cordoned: the node is let go',
      inLane(async (ground, nodes) => {
        await shop(ground, nodes, 6, 6);
        const description = await ground.deploy({ ...nodes.placement, drainTimeoutSeconds: 120 });
        await ground.apply({ ...description, image: 'agent:2' });
        await nodes.until('one is cordoned', (all) => all.some(isCordoned), UNTIL_MS);
        await ground.cluster().client.delete(ground.path(description));
        await nodes.until('all are free', (all) => all.every(isFree), UNTIL_MS);
      }),
      PATIENCE_MS,
    );
  });

  describe('pre-pull', () => {
    it(
      'images are pulled before a pod goes, and nothing is left of it',
      inLane(async (ground, nodes) => {
        const description = await ground.deploy({ ...nodes.placement, prePullNodes: 2 });
        const record = await ground.cluster().recordPods(description.namespace);
        await ground.apply({ ...description, image: 'agent:2' });
        await ground.untilPods(description, 'all new, and no other', allAt('agent:2', 6), 60_000);
        await record.caughtUp();
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
      PATIENCE_MS,
    );

    itInFull(
      'a pull that fails takes no pod out of service before its limit, and explain says why',
      inLane(async (ground, nodes) => {
        const description = await ground.deploy({
          ...nodes.placement,
          prePullNodes: 0,
          prePullTimeoutSeconds: 10,
        });
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
      PATIENCE_MS,
    );
  });

  it(
    'nodes that join and leave during a rollout',
    inLane(async (ground, nodes) => {
      const { client } = ground.cluster();
      const description = await ground.deploy({ ...nodes.placement, maxUnavailable: 1 });
      const [fifth = '', sixth] = [nodes.names[5], `${nodes.owner}-6`];
      const gone = await client.get<Node>({ ...NODES, name: fifth });
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilPods(description, 'it has begun', (pods) =>
        pods.some((pod) => imageOf(pod) === 'agent:2'),
      );
      await client.delete({ ...NODES, name: fifth });
      const { metadata, spec: { taints } = {}, ...rest } = gone;
      const labels = { ...metadata.labels, 'kubernetes.io/hostname': sixth };
      await client.create(NODES, {
        ...rest,
        metadata: { name: sixth, labels, annotations: metadata.annotations },
        spec: { taints, providerID: `kwok://${sixth}` },
      });
      // The pod of the node that is gone is the garbage collector's, which takes its time.
      const wanted = [...nodes.names.slice(0, 5), sixth].join();
      const onOthers = (pods: readonly Pod[]) => pods.filter(({ spec }) => spec.nodeName !== fifth);
      await ground.untilPods(
        description,
        'new ones on the nodes that there are',
        (pods) => allAt('agent:2', 6)(onOthers(pods)) && nodesOf(onOthers(pods)).join() === wanted,
        60_000,
      );
      await ground.untilReady(description);
      await client.create(NODES, {
        ...rest,
        metadata: { name: fifth, labels: metadata.labels, annotations: metadata.annotations },
        spec: { taints, providerID: `kwok://${fifth}` },
      });
      await ground.untilPods(description, 'seven', allAt('agent:2', 7), 60_000);
      await client.delete({ ...NODES, name: sixth });
    }),
    PATIENCE_MS,
  );

  // Alone: it kills the workers.
  describe('drain', () => {
    itInFull(
      'killed while a node is cordoned: the next worker goes on, and uncordons only what we cordoned',
      inApis(async (ground, nodes) => {
        const namespace = await shop(ground, nodes, 6, 6);
        await nodes.cordon(0);
        const description = await ground.deploy({ ...nodes.placement, drainTimeoutSeconds: 120 });
        await ground.apply({ ...description, image: 'agent:2' });
        await nodes.until('one is cordoned', (all) => all.some(isCordoned), UNTIL_MS);
        await ground.crash();
        await dropBudget(ground, namespace);
        await ground.untilPods(description, 'all new', allAt('agent:2', 6), 60_000);
        const unmarked = await nodes.until(
          'no marks',
          (all) => all.every(({ metadata }) => metadata.annotations?.[DRAIN] === undefined),
          UNTIL_MS,
        );
        expect(
          unmarked.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name),
        ).toEqual([nodes.names[0]]);
      }),
      PATIENCE_MS,
    );
  });
});
