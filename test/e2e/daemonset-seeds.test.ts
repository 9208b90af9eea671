/** The tests that the seeds of the DaemonSet list, by their names, as far as no other file has them (docs/seed-tests.md). */

import { describe, expect, it } from '@jest/globals';

import { isReady } from '../../planners/availability.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import type { PodEvent } from '../support/cluster.ts';
import type { DaemonGround } from '../support/daemonset-ground.ts';
import { PODS, allAt, imageOf, nodesOf, uidOf, useGrounds } from '../support/daemonset-ground.ts';
import type { DaemonSetDescription } from '../support/daemonset-manifest.ts';
import { found } from '../support/eventually.ts';
import { untilObjects } from '../support/until-objects.ts';

const NODES = 10;
const HASH = 'controller-revision-hash';

describe('seeds 002 and 000', () => {
  const { inApis } = useGrounds(NODES, 'apps/v1');
  const isAgent = ({ metadata }: Pod) => metadata.labels?.['app'] === 'agent';

  /** Its cases have nodes of their own, by labels: they run side by side. */
  async function labelNodes(ground: DaemonGround, names: readonly string[], label: string): Promise<void> {
    await Promise.all(
      names.map((name) => ground.patchNode(name, { metadata: { labels: { [label]: 'yes' } } })),
    );
  }

  async function untilRevisions(
    ground: DaemonGround,
    { namespace }: DaemonSetDescription,
    count: number,
  ): Promise<readonly ControllerRevision[]> {
    return await untilObjects<ControllerRevision>(
      ground.cluster().client,
      { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespace },
      `${String(count)} revisions`,
      (revisions) => revisions.length === count,
      30_000,
    );
  }

  it.concurrent(
    'seed 002 "the daemon controller can be reaped": cascading, pods and revisions go with it (C4)',
    inApis(async (ground) => {
      const description = await ground.deploy();
      await untilRevisions(ground, description, 1);
      await ground.cluster().client.delete(ground.path(description), { propagationPolicy: 'Foreground' });
      await ground.untilPods(description, 'none', (pods) => pods.length === 0);
      await untilRevisions(ground, description, 0);
    }),
    60_000,
  );

  it.concurrent(
    'seed 002 "the daemon controller can be reaped": orphaned, its pods stay, and the next of that name adopts them (C4, C5)',
    inApis(async (ground) => {
      const description = await ground.deploy();
      const before = await ground.untilPods(description, 'ten', allAt('agent:1', NODES));
      await ground.cluster().client.delete(ground.path(description), { propagationPolicy: 'Orphan' });
      await ground.untilPods(description, 'orphans', (pods) =>
        pods.every(({ metadata }) => (metadata.ownerReferences ?? []).length === 0),
      );
      await ground.cluster().untilGone(ground.path(description));
      await ground.apply(description);
      const { metadata } = await ground.untilReady(description);
      const after = await ground.untilPods(description, 'adopted', (pods) =>
        pods.every((pod) => pod.metadata.ownerReferences?.[0]?.uid === metadata.uid),
      );
      expect(after.map(uidOf)).toEqual(before.map(uidOf));
      await untilRevisions(ground, description, 1);
    }),
    60_000,
  );

  it.concurrent(
    'seed 002 "a pod whose labels no longer match": it is released, and another one takes its place (C4, C5)',
    inApis(async (ground) => {
      const description = await ground.deploy();
      const [first] = await ground.untilPods(description, 'ten', allAt('agent:1', NODES));
      const { namespace } = description;
      const name = first?.metadata.name;
      await ground
        .cluster()
        .client.patch({ ...PODS, namespace, name }, 'merge', { metadata: { labels: { app: 'quarantine' } } });
      const isReleased = (pod: Pod) =>
        uidOf(pod) === first?.metadata.uid && (pod.metadata.ownerReferences ?? []).length === 0;
      await ground.untilPods(
        description,
        'released, and another one there',
        (pods) => pods.length === NODES + 1 && pods.some(isReleased),
      );
      await ground.untilPods(description, 'ten again', (all) => allAt('agent:1', NODES)(all.filter(isAgent)));
    }),
    60_000,
  );

  it.concurrent(
    'seed 002 "using the pod’s node name field" and "node selector": it runs on that node alone (D1)',
    inApis(async (ground) => {
      const description = await ground.deploy({ podSpec: { nodeName: 'node-7' } });
      expect(nodesOf(await ground.untilPods(description, 'one', allAt('agent:1', 1)))).toEqual(['node-7']);
      await labelNodes(ground, ['node-2', 'node-3'], 'by-selector');
      await ground.apply({ ...description, podSpec: {}, nodeSelector: { 'by-selector': 'yes' } });
      // For a moment the one that goes and the first that comes are two as well.
      await ground.untilPods(
        description,
        'two, on other nodes',
        (pods) => allAt('agent:1', 2)(pods) && nodesOf(pods).join() === 'node-2,node-3',
      );
    }),
    60_000,
  );

  it.concurrent(
    'seed 000 "Users can use node labels to choose which nodes": updates only affect pods on those nodes (D1, D9)',
    inApis(async (ground) => {
      const { client } = ground.cluster();
      await labelNodes(ground, ['node-1', 'node-3'], 'daemons');
      const description = await ground.deploy({ nodeSelector: { daemons: 'yes' } });
      const { namespace } = description;
      // "Some nodes may be running manifest pods, and other nodes will be running daemon pods."
      await client.create(
        { ...PODS, namespace },
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name: 'manifest-node-0',
            labels: { app: 'manifest' },
            annotations: { 'kubernetes.io/config.mirror': 'x' },
          },
          spec: { nodeName: 'node-0', containers: [{ name: 'main', image: 'agent:1' }] },
        },
      );
      const three = await ground.untilPods(description, 'three', allAt('agent:1', 3));
      await ground.apply({ ...description, image: 'agent:2' });
      const after = await ground.untilPods(
        description,
        'two new, one as it was',
        (pods) => pods.length === 3 && allAt('agent:2', 2)(pods.filter(isAgent)),
      );
      expect(nodesOf(after.filter(isAgent))).toEqual(['node-1', 'node-3']);
      const manifest = after.filter((pod) => !isAgent(pod));
      expect(manifest.map(uidOf)).toEqual(three.filter((pod) => !isAgent(pod)).map(uidOf));
      expect(manifest.map(imageOf)).toEqual(['agent:1']);
    }),
    60_000,
  );

  it.concurrent(
    'seed 000 "rollover updates": an update in the middle of another takes over, and nothing new comes of the first',
    inApis(async (ground) => {
      const slow = { templateAnnotations: { 'sim.fairlead.dev/ready-delay': '2s' } };
      const description = await ground.deploy({ maxUnavailable: 2, ...slow });
      const record = await ground.cluster().recordPods(description.namespace);
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilPods(description, 'it has begun', (pods) =>
        pods.some((pod) => imageOf(pod) === 'agent:2'),
      );
      await ground.apply({ ...description, image: 'agent:3' });
      await ground.untilPods(description, 'all at the third', allAt('agent:3', NODES), 60_000);
      await ground.untilReady(description);
      record.stop();
      const of = (image: string) =>
        new Set(record.events.filter(({ pod }) => imageOf(pod) === image).map(({ pod }) => uidOf(pod)));
      // Those of the batch that was in flight, and at most the next one.
      expect(of('agent:2').size).toBeLessThanOrEqual(4);
      expect(of('agent:3').size).toBe(NODES);
      expect(fewestUp(record.events, of('agent:1'))).toBeGreaterThanOrEqual(NODES - 2);
    }),
    90_000,
  );

  it.concurrent(
    'seed 000 "needs to be ready for a specific amount of time": the next node waits for minReadySeconds (C1)',
    inApis(async (ground) => {
      await labelNodes(ground, ['node-4', 'node-5'], 'patient');
      const description = await ground.deploy({ nodeSelector: { patient: 'yes' }, minReadySeconds: 2 });
      const record = await ground.cluster().recordPods(description.namespace);
      await ground.apply({ ...description, image: 'agent:2' });
      await ground.untilPods(description, 'all new', allAt('agent:2', 2));
      await ground.untilReady(description);
      record.stop();
      const firstReady = record.events.find(({ pod }) => imageOf(pod) === 'agent:2' && isReady(pod));
      const gone = new Map<string, number>();
      for (const { pod, at } of record.events) {
        const isLeaving = imageOf(pod) === 'agent:1' && pod.metadata.deletionTimestamp !== undefined;
        if (isLeaving && !gone.has(uidOf(pod))) gone.set(uidOf(pod), at);
      }
      const ready = firstReady?.pod.status?.conditions?.find(({ type }) => type === 'Ready');
      const readyAt = Date.parse(ready?.lastTransitionTime ?? '');
      expect(gone.size).toBe(2);
      expect(Math.max(...gone.values()) - readyAt).toBeGreaterThanOrEqual(2_000);
    }),
    60_000,
  );

  it(
    'seed 000 "a daemon pod can no longer fit": it waits within the budget, and with room made by hand the rollout succeeds',
    inApis(async (ground) => {
      await labelNodes(ground, ['node-8'], 'full');
      const description = await ground.deploy({ nodeSelector: { full: 'yes' }, requests: { cpu: '1' } });
      await fill(ground, description, 'node-8');
      await ground.apply({ ...description, image: 'agent:2', requests: { cpu: '600' } });
      await untilExplained(ground, description, /Insufficient cpu/);
      await ground.cluster().client.delete({ ...PODS, namespace: description.namespace, name: 'filler' });
      await ground.untilPods(description, 'it fits', allAt('agent:2', 1));
      await ground.untilReady(description);
    }),
    60_000,
  );

  it.concurrent(
    'seed 000 "each pod can still fit": with a priorityClassName pods of less priority make room',
    inApis(async (ground) => {
      await labelNodes(ground, ['node-9'], 'preempted');
      const { client } = ground.cluster();
      await client.create(
        { group: 'scheduling.k8s.io', version: 'v1', resource: 'priorityclasses' },
        {
          apiVersion: 'scheduling.k8s.io/v1',
          kind: 'PriorityClass',
          metadata: { name: 'daemons' },
          value: 1_000,
        },
      );
      const description = await ground.deploy({ nodeSelector: { preempted: 'yes' }, requests: { cpu: '1' } });
      await fill(ground, description, 'node-9');
      await ground.apply({
        ...description,
        image: 'agent:2',
        requests: { cpu: '600' },
        podSpec: { priorityClassName: 'daemons' },
      });
      await ground.untilPods(description, 'it alone', allAt('agent:2', 1));
      await ground.untilReady(description);
    }),
    60_000,
  );

  it(
    'seed 000 "which version is this DaemonSet pod", "view the history" and "rollback": get, history, undo (D4, D19)',
    inApis(async (ground) => {
      const description = await ground.deploy({ maxUnavailable: NODES, partition: 6 });
      const { namespace } = description;
      await ground.apply({ ...description, image: 'agent:2' });
      const mixed = await ground.untilPods(
        description,
        'four new',
        (pods) =>
          pods.length === NODES &&
          pods.every(isReady) &&
          pods.filter((pod) => imageOf(pod) === 'agent:2').length === 4,
      );
      const hashOf = (image: string) =>
        mixed.find((pod) => imageOf(pod) === image)?.metadata.labels?.[HASH] ?? 'none';
      const { out: wide } = await ground.cli('get ds/agent -o wide', namespace);
      expect(wide).toContain(`${hashOf('agent:1')}:6`);
      expect(wide).toContain(`${hashOf('agent:2')}:4`);
      const { out: history } = await ground.cli('rollout history ds/agent', namespace);
      expect(history).toMatch(/^\s*1\s/m);
      expect(history).toMatch(/^\s*2\s/m);
      // A canary is taken back as well, and tried again.
      expect((await ground.cli('rollout undo ds/agent', namespace)).code).toBe(0);
      await ground.untilPods(description, 'no canary any more', allAt('agent:1', NODES));
      await ground.untilReady(description);
      const { partition: _, ...whole } = description;
      await ground.apply({ ...whole, image: 'agent:2' });
      await ground.untilPods(description, 'all new', allAt('agent:2', NODES));
      await ground.untilReady(description);
      expect((await ground.cli('rollout undo ds/agent', namespace)).code).toBe(0);
      await ground.untilPods(description, 'as before', allAt('agent:1', NODES));
    }),
    60_000,
  );

  /** Takes half of a node's 1,000 processors. */
  async function fill(
    ground: DaemonGround,
    { namespace }: DaemonSetDescription,
    node: string,
  ): Promise<void> {
    await ground.cluster().client.create(
      { ...PODS, namespace },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'filler' },
        spec: {
          nodeName: node,
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image: 'filler:1', resources: { requests: { cpu: '500' } } }],
        },
      },
    );
  }

  async function untilExplained(
    ground: DaemonGround,
    { namespace }: DaemonSetDescription,
    pattern: RegExp,
  ): Promise<void> {
    let last = '';
    await found(
      `explain says ${String(pattern)}`,
      async () => {
        last = (await ground.cli('explain ds/agent', namespace)).out;
        return pattern.test(last) ? last : undefined;
      },
      20_000,
      () => last,
    );
  }
});

/** The fewest nodes that had a Ready pod at once; in the beginning those of the given pods. */
function fewestUp(events: readonly PodEvent[], before: ReadonlySet<string>): number {
  const up = new Set(before);
  let fewest = Infinity;
  for (const { type, pod } of events) {
    if (type === 'DELETED' || pod.metadata.deletionTimestamp !== undefined || !isReady(pod))
      up.delete(uidOf(pod));
    else up.add(uidOf(pod));
    fewest = Math.min(fewest, up.size);
  }
  return fewest;
}
