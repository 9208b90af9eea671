/** Random histories of a simulated cluster: what users, nodes and a crashing worker may do, and the checks after each plan. */

import { fc } from './properties.ts';

import type { Pod } from '../../planners/objects.ts';
import type { Action, Plan } from '../../planners/plan.ts';
import type { Snapshot, StatefulSet, StatefulSetStatus } from '../../planners/workload.ts';
import { SimulatedCluster } from './simulated-cluster.ts';
import { templateOf } from './statefulset-fixtures.ts';

export type Planner = (snapshot: Snapshot<StatefulSet>, now: number) => Plan<StatefulSetStatus>;

/** How often each happens: mostly the planner and the kubelets, so that rollouts get somewhere between the accidents. */
const OPERATIONS = {
  plan: 12,
  settle: 6,
  kubelets: 8,
  kubelet: 4,
  time: 4,
  template: 4,
  supersede: 2,
  crash: 1,
  kill: 1,
  evict: 1,
  node: 1,
  scale: 1,
  partition: 1,
  pause: 1,
  maximum: 1,
  policy: 1,
  strategy: 1,
  refuse: 1,
  temporal: 1,
  orphan: 1,
  claim: 1,
  label: 1,
  start: 1,
} as const;

export interface Operation {
  readonly kind: keyof typeof OPERATIONS;
  readonly number: number;
}

export interface History {
  readonly settings: Partial<StatefulSet>;
  readonly operations: readonly Operation[];
}

const IMAGES = ['web:1', 'web:2', 'web:2+same-digest', 'web:bad', 'web:crash', 'web:3'];

const DATA = { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } };

/** Amounts of cpu by the last digit of the template's number: what fits, what a node puts off, and more than any node has. */
const CPU: Readonly<Record<number, string>> = { 5: '12', 6: '1', 7: '2', 8: '99' };

/** Templates that differ in what can be changed in place, images, metadata, resources, and in what cannot. */
export function templateNumber(number: number): StatefulSet['template'] {
  const variant = number % 10;
  const image = IMAGES[Math.floor(number / 10) % IMAGES.length] ?? 'web:1';
  const cpu = CPU[variant];
  const container = {
    name: 'main',
    image,
    ...(cpu !== undefined && { resources: { requests: { cpu } } }),
    ...(variant === 9 && { env: [{ name: 'A', value: 'b' }] }),
  };
  const template = templateOf(image, { containers: [container] });
  return Math.floor(number / 60) % 4 === 3
    ? { ...template, metadata: { ...template.metadata, annotations: { note: String(number) } } }
    : template;
}

export function histories(overrides: Partial<StatefulSet> = {}): fc.Arbitrary<History> {
  const settings = fc.record({
    replicas: fc.integer({ min: 0, max: 6 }),
    start: fc.constantFrom(0, 0, 3),
    podManagementPolicy: fc.constantFrom('Parallel', 'OrderedReady'),
    maxUnavailable: fc.constantFrom(1, 2, 3, '50%'),
    podUpdatePolicy: fc.constantFrom('ReCreate', 'InPlaceIfPossible', 'InPlaceOnly'),
    minReadySeconds: fc.constantFrom(0, 0, 5),
    gracePeriodSeconds: fc.constantFrom(0, 3),
    revisionHistoryLimit: fc.constantFrom(0, 2, 10),
    volumeClaimTemplates: fc.constantFrom([], [], [DATA]),
    whenScaled: fc.constantFrom('Retain', 'Delete'),
    whenDeleted: fc.constantFrom('Retain', 'Delete'),
  } satisfies { [K in keyof StatefulSet]?: fc.Arbitrary<StatefulSet[K]> });
  const kind = fc.oneof(
    ...Object.entries(OPERATIONS).map(([name, weight]) => ({
      arbitrary: fc.constant(name as Operation['kind']),
      weight,
    })),
  );
  const operation = fc.record({ kind, number: fc.integer({ min: 0, max: 1000 }) });
  return fc.record({
    settings: settings.map((random) => ({ ...random, ...overrides })),
    operations: fc.array(operation, { minLength: 5, maxLength: 80, size: 'max' }),
  });
}

/** Runs a history. `check` sees each plan before it is executed. */
export function runHistory(
  history: History,
  planner: Planner,
  check: (plan: Plan<StatefulSetStatus>, snapshot: Snapshot<StatefulSet>, now: number) => void,
): SimulatedCluster {
  const cluster = new SimulatedCluster(history.settings);
  const world = { temporal: true };
  settle(cluster, planner, 12);
  for (const operation of history.operations) operate(cluster, world, operation, planner, check);
  return cluster;
}

function operate(
  cluster: SimulatedCluster,
  world: { temporal: boolean },
  { kind, number }: Operation,
  planner: Planner,
  check: (plan: Plan<StatefulSetStatus>, snapshot: Snapshot<StatefulSet>, now: number) => void,
): void {
  const names = [...cluster.pods.keys()].sort();
  const name = names[number % Math.max(1, names.length)] ?? '';
  const { set } = cluster;
  switch (kind) {
    case 'plan':
      return act(cluster, world.temporal, number, planner, check);
    case 'settle':
      return settle(cluster, planner, number % 8);
    case 'kubelets':
      return cluster.kubelets();
    case 'kubelet':
      return cluster.kubelet(name);
    case 'crash':
      return cluster.crash(name);
    case 'kill':
      return cluster.kill(name);
    case 'evict':
      return cluster.evict(name);
    case 'claim':
      return cluster.loseClaim(`data-${name}`);
    case 'orphan':
      return cluster.orphan(name);
    case 'node': {
      const node = `node-${String(number % 3)}`;
      if (cluster.downNodes.has(node)) cluster.downNodes.delete(node);
      else cluster.nodeDown(node);
      return;
    }
    case 'scale':
      return cluster.change({ replicas: number % 7 });
    case 'template':
      return cluster.changeTemplate(templateNumber(number));
    case 'supersede':
      act(cluster, world.temporal, number, planner, check);
      return cluster.changeTemplate(templateNumber(number));
    case 'partition':
      return cluster.change({ partition: number % 7 });
    case 'pause':
      return cluster.pause(number % 2 === 0);
    case 'maximum':
      return cluster.change({ maxUnavailable: [1, 2, 4, '34%'][number % 4] ?? 1 });
    case 'policy':
      return cluster.change({ podUpdatePolicy: number % 3 === 0 ? 'ReCreate' : 'InPlaceIfPossible' });
    case 'strategy':
      return cluster.change({ updateStrategy: number % 3 === 0 ? 'OnDelete' : 'RollingUpdate' });
    case 'label':
      return cluster.relabel(
        name,
        number % 2 === 0 ? { app: 'other' } : { 'statefulset.kubernetes.io/pod-name': 'x' },
      );
    case 'start':
      return cluster.change({ start: number % 2 === 0 ? set.start : number % 4 });
    case 'refuse':
      cluster.refusesCreates = number % 3 === 0;
      return;
    case 'temporal':
      world.temporal = number % 3 !== 0;
      return;
    case 'time':
      cluster.pass([100, 900, 5_000, 15_000, 60_000][number % 5] ?? 0);
  }
}

/** Some undisturbed rounds of planner, kubelets and time. */
function settle(cluster: SimulatedCluster, planner: Planner, rounds: number): void {
  for (let round = 0; round < rounds; round += 1) {
    act(cluster, true, 1, planner, () => undefined);
    cluster.kubelets();
    cluster.pass(3_000);
  }
}

/** One reconcile and one step of a run; a crash may cut either short. */
function act(
  cluster: SimulatedCluster,
  temporal: boolean,
  number: number,
  planner: Planner,
  check: (plan: Plan<StatefulSetStatus>, snapshot: Snapshot<StatefulSet>, now: number) => void,
): void {
  const snapshot = cluster.snapshot();
  const plan = planner(snapshot, cluster.now);
  check(plan, snapshot, cluster.now);
  cluster.writeStatus(plan);
  const survives = number % 4 === 0 ? number % 3 : Infinity;
  let written = 0;
  for (const action of plan.steady) {
    if ((written += 1) > survives) return;
    cluster.execute(action);
  }
  if (!temporal) return;
  if (plan.needsRollout) cluster.createRevision();
  for (const action of plan.batch) {
    if ((written += 1) > survives) return;
    cluster.execute(action);
  }
}

/** Wanted pods that do not serve, judged from the pods alone and not by the planner's own code. */
function unavailableNames(set: StatefulSet, pods: readonly Pod[], now: number): readonly string[] {
  const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  return Array.from(
    { length: set.replicas },
    (_, offset) => `${set.ref.name}-${String(set.start + offset)}`,
  ).filter((name) => {
    const pod = byName.get(name);
    const ready = pod?.status?.conditions?.find(({ type }) => type === 'Ready');
    const since = Date.parse(ready?.lastTransitionTime ?? '');
    return (
      pod === undefined ||
      pod.metadata.deletionTimestamp !== undefined ||
      pod.status?.phase !== 'Running' ||
      ready?.status !== 'True' ||
      since + set.minReadySeconds * 1000 > now
    );
  });
}

/** maxUnavailable in pods, computed apart from the planner (C3). */
function allowed(set: StatefulSet): number {
  if (set.podManagementPolicy === 'OrderedReady') return 1;
  const { maxUnavailable } = set;
  const pods =
    typeof maxUnavailable === 'number'
      ? maxUnavailable
      : Math.floor((Number(maxUnavailable.replace('%', '')) / 100) * set.replicas);
  return Math.max(1, pods);
}

/** Breaches of the budget in a batch: writes to Ready pods beyond what the snapshot allows. */
export function budgetBreaches(
  plan: Plan<StatefulSetStatus>,
  snapshot: Snapshot<StatefulSet>,
  now: number,
): readonly Action[] {
  const { workload, pods } = snapshot;
  const ready = new Set(
    pods
      .filter((pod) =>
        pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
      )
      .map((pod) => pod.metadata.name),
  );
  const gone = new Set(unavailableNames(workload, pods, now));
  return plan.batch.filter((action) => {
    if (!ready.has(action.name)) return false;
    const breach = gone.size + 1 > allowed(workload);
    gone.add(action.name);
    return breach;
  });
}
