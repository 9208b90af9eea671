/**
 * A cluster with one Deployment in memory: an apiserver with preconditions, ReplicaSet controllers that come late and whose status
 * comes later still, kubelets, a watch that lags, and a worker that plans.
 */

import { fc } from './properties.ts';

import { isActive, isAvailable, isReady } from '../../planners/availability.ts';
import { planReplicaSetRevision, renumberReplicaSet } from '../../planners/deployment-revision.ts';
import type { ControllerRevision, Pod, PodTemplate, ReplicaSet } from '../../planners/objects.ts';
import type { Action, Plan } from '../../planners/plan.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';
import type { Deployment, DeploymentStatus, Snapshot } from '../../planners/workload.ts';
import { deploymentOf, deploymentSnapshotOf, replicaPodOf, replicaSetOf } from './deployment-fixtures.ts';
import { NOW } from './statefulset-fixtures.ts';

export type DeploymentPlanner = (snapshot: Snapshot<Deployment>, now: number) => Plan<DeploymentStatus>;
/** Called after each plan, before it is executed. */
export type DeploymentCheck = (cluster: SimulatedDeployment, plan: Plan<DeploymentStatus>) => void;

const OPERATIONS = {
  plan: 14,
  controller: 12,
  status: 12,
  watch: 10,
  kubelet: 10,
  gone: 8,
  time: 3,
  template: 3,
  crash: 2,
  kill: 1,
  scale: 2,
  pause: 1,
  foreign: 1,
  limit: 1,
  everybody: 8,
} as const;
export type Operation = keyof typeof OPERATIONS;

const IMAGES = ['api:1', 'api:2', 'api:bad', 'api:3'];

export interface DeploymentHistory {
  readonly settings: Partial<Deployment>;
  /** A policy changes the template of each ReplicaSet that is made. */
  readonly alters: boolean;
  readonly operations: readonly { readonly kind: Operation; readonly number: number }[];
}

/** Random histories. `without` are operations that do not happen. */
export function deploymentHistories(
  overrides: Partial<Deployment> = {},
  without: readonly Operation[] = [],
): fc.Arbitrary<DeploymentHistory> {
  const settings = fc.record({
    replicas: fc.constantFrom(1, 3, 4, 6),
    maxUnavailable: fc.constantFrom(0, 1, 2, '25%', '50%'),
    maxSurge: fc.constantFrom(0, 1, 2, '25%', '150%'),
    minReadySeconds: fc.constantFrom(0, 0, 5),
    revisionHistoryLimit: fc.constantFrom(0, 2, 10),
    podReplacementPolicy: fc.constantFrom('TerminationStarted', 'TerminationComplete'),
  } satisfies { [K in keyof Deployment]?: fc.Arbitrary<Deployment[K]> });
  const kinds = Object.entries(OPERATIONS).filter(([name]) => !without.some((one) => one === name));
  const kind = fc.oneof(
    ...kinds.map(([name, weight]) => ({ arbitrary: fc.constant(name as Operation), weight })),
  );
  return fc.record({
    settings: settings.map((random) => ({ ...random, ...overrides })),
    alters: fc.boolean(),
    operations: fc.array(fc.record({ kind, number: fc.integer({ min: 0, max: 1000 }) }), {
      minLength: 5,
      maxLength: 120,
      size: 'max',
    }),
  });
}

export class SimulatedDeployment {
  deployment: Deployment;
  now = NOW;
  readonly sets = new Map<string, ReplicaSet>();
  readonly pods = new Map<string, Pod>();
  /** What the worker's watch has seen of the pods. */
  #seen: readonly Pod[] = [];
  /** By ReplicaSet: what its controller has counted and not written yet. */
  readonly #counted = new Map<string, NonNullable<ReplicaSet['status']>>();
  /** By ReplicaSet whose size has changed, and whose controller has not looked since: the pods that were Ready as far as the worker knew. */
  readonly #readyThen = new Map<string, ReadonlySet<string>>();
  readonly #alters: boolean;
  #version = 100;

  constructor(settings: Partial<Deployment>, alters = false) {
    this.deployment = deploymentOf(settings);
    this.#alters = alters;
  }

  snapshot(): Snapshot<Deployment> {
    const sets = [...this.sets.values()];
    const { uid } = this.deployment.ref;
    const related = sets.filter(({ metadata }) => (metadata.ownerReferences?.[0]?.uid ?? uid) === uid);
    return deploymentSnapshotOf(this.deployment, related, { pods: this.#seen });
  }

  /** One look of the planner, and its writes; a run makes the revision first. */
  act(planner: DeploymentPlanner, check: DeploymentCheck): Plan<DeploymentStatus> {
    if (this.deployment.paused === undefined) this.#createRevision();
    for (let round = 0; round < 3; round += 1) {
      const plan = planner(this.snapshot(), this.now);
      check(this, plan);
      const due = plan.steady.length > 0 ? plan.steady : plan.batch;
      for (const action of due) this.#write(action);
      this.deployment = { ...this.deployment, status: plan.status };
      if (plan.steady.length === 0) return plan;
    }
    return planner(this.snapshot(), this.now);
  }

  #createRevision(): void {
    const plan = planReplicaSetRevision(this.deployment, this.snapshot().revisions);
    if (plan.outcome === 'exists') return;
    if (plan.outcome === 'renumber') {
      this.#renumber(plan.revision, plan.to);
      return;
    }
    const set = structuredClone(plan.manifest) as unknown as ReplicaSet;
    const { name } = set.metadata;
    this.#store({
      ...set,
      metadata: {
        ...set.metadata,
        uid: `uid-${name}-${String(this.#version)}`,
        generation: 1,
        creationTimestamp: new Date(NOW + this.#version * 1000).toISOString(),
      },
      spec: this.#alters ? { ...set.spec, template: alteredTemplate(set.spec.template) } : set.spec,
      status: {},
    });
  }

  #renumber(revision: ControllerRevision, to: number | bigint): void {
    const set = this.sets.get(revision.metadata.name);
    if (set === undefined) throw new Error('a ReplicaSet is renumbered that does not exist');
    const { metadata } = renumberReplicaSet(revision, to) as unknown as ReplicaSet;
    this.#store({
      ...set,
      metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, ...metadata.annotations } },
    });
  }

  #store(set: ReplicaSet): void {
    this.#version += 1;
    const metadata = { ...set.metadata, resourceVersion: String(this.#version) };
    this.sets.set(metadata.name, { ...set, metadata });
  }

  /** As the apiserver does it: preconditions, and a spec that changes is another generation. */
  #write({ verb, name, uid, resourceVersion, body, purpose }: Action): void {
    const set = this.sets.get(name);
    if (set === undefined || set.metadata.uid !== uid) return;
    if (purpose === 'Adopt') {
      const { ownerReferences = [] } = (body as unknown as ReplicaSet).metadata;
      this.#store({ ...set, metadata: { ...set.metadata, ownerReferences } });
      return;
    }
    if (set.metadata.resourceVersion !== resourceVersion) return;
    if (verb === 'delete') {
      this.sets.delete(name);
      return;
    }
    const { metadata, spec } = body as unknown as Partial<ReplicaSet>;
    const { generation = 0 } = set.metadata;
    const next = { ...set.spec, ...spec };
    const isChanged = JSON.stringify(next) !== JSON.stringify(set.spec);
    if (next.replicas !== set.spec.replicas)
      this.#readyThen.set(name, new Set(this.#seen.filter(isReady).map((pod) => pod.metadata.name)));
    this.#store({
      ...set,
      metadata: {
        ...set.metadata,
        annotations: { ...set.metadata.annotations, ...metadata?.annotations },
        generation: isChanged ? generation + 1 : generation,
      },
      spec: next,
    });
  }

  podsOf({ metadata }: ReplicaSet): readonly Pod[] {
    return [...this.pods.values()].filter((pod) => pod.metadata.ownerReferences?.[0]?.uid === metadata.uid);
  }

  isOurs({ metadata }: ReplicaSet): boolean {
    return metadata.ownerReferences?.[0]?.uid === this.deployment.ref.uid;
  }

  /** Pods of ours that are neither finished nor being deleted. */
  active(): readonly Pod[] {
    return [...this.sets.values()]
      .filter((set) => this.isOurs(set))
      .flatMap((set) => this.podsOf(set).filter(isActive));
  }

  available(): number {
    const { minReadySeconds } = this.deployment;
    return this.active().filter((pod) => isAvailable(pod, minReadySeconds, this.now)).length;
  }

  /**
   * One look of the controller of a ReplicaSet (R1–R3): it counts what there is, then makes or deletes pods, those first that are
   * not Ready, then those that have got Ready since the size was decided, which are Ready for less time; which of the others is anybody's
   * guess. What it has counted is written later.
   */
  lookOfController(number: number): void {
    const sets = [...this.sets.values()];
    const set = sets[number % Math.max(1, sets.length)];
    if (set === undefined) return;
    const { metadata, spec } = set;
    const pods = this.podsOf(set);
    const active = pods.filter(isActive);
    this.#counted.set(metadata.name, {
      ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
      replicas: active.length,
      readyReplicas: active.filter(isReady).length,
      availableReplicas: active.filter((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, this.now)).length,
      terminatingReplicas: pods.length - active.length,
    });
    const missing = (spec.replicas ?? 0) - active.length;
    for (let made = 0; made < missing; made += 1) {
      this.#version += 1;
      const pod = replicaPodOf(set, this.#version, { ready: false });
      this.pods.set(pod.metadata.name, pod);
    }
    const guess = (pod: Pod) => (Number(pod.metadata.name.split('-').at(-1)) * (number + 7)) % 11;
    const then = this.#readyThen.get(metadata.name);
    this.#readyThen.delete(metadata.name);
    const rank = (pod: Pod) =>
      Number(isReady(pod)) + Number(isReady(pod) && then?.has(pod.metadata.name) !== false);
    const ranked = active.toSorted((a, b) => rank(a) - rank(b) || guess(a) - guess(b));
    for (const pod of ranked.slice(0, Math.max(0, -missing))) {
      const deletionTimestamp = new Date(this.now).toISOString();
      this.pods.set(pod.metadata.name, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
    }
  }

  writeStatus(number: number): void {
    const names = [...this.#counted.keys()];
    const name = names[number % Math.max(1, names.length)] ?? '';
    const [set, status] = [this.sets.get(name), this.#counted.get(name)];
    this.#counted.delete(name);
    if (set !== undefined && status !== undefined) this.#store({ ...set, status });
  }

  lookAtPods(): void {
    this.#seen = [...this.pods.values()];
  }

  /** A pod gets Ready, but never with a bad image. */
  kubelet(number: number): void {
    const waiting = [...this.pods.values()].filter(
      (pod) => isActive(pod) && !isReady(pod) && pod.spec.containers[0]?.image !== 'api:bad',
    );
    const pod = waiting[number % Math.max(1, waiting.length)];
    if (pod !== undefined) this.#setReady(pod, true);
  }

  #setReady(pod: Pod, ready: boolean): void {
    const condition = {
      type: 'Ready',
      status: ready ? ('True' as const) : ('False' as const),
      lastTransitionTime: new Date(this.now).toISOString(),
    };
    this.pods.set(pod.metadata.name, { ...pod, status: { ...pod.status, conditions: [condition] } });
  }

  /** A pod that was to go is gone. */
  finishDeletion(number: number): void {
    const going = [...this.pods.values()].filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const pod = going[number % Math.max(1, going.length)];
    if (pod !== undefined) this.pods.delete(pod.metadata.name);
  }

  run(kind: Operation, number: number, planner: DeploymentPlanner, check: DeploymentCheck): void {
    switch (kind) {
      case 'plan':
        this.act(planner, check);
        return;
      case 'controller':
        this.lookOfController(number);
        return;
      case 'status':
        this.writeStatus(number);
        return;
      case 'watch':
        this.lookAtPods();
        return;
      case 'kubelet':
        this.kubelet(number);
        return;
      case 'gone':
        this.finishDeletion(number);
        return;
      case 'time':
        this.now += 1000 * (1 + (number % 7));
        return;
      case 'template':
        this.change({ template: templateOfImage(IMAGES[number % IMAGES.length] ?? '') });
        return;
      case 'crash': {
        const ready = this.active().filter(isReady);
        const pod = ready[number % Math.max(1, ready.length)];
        if (pod !== undefined) this.#setReady(pod, false);
        return;
      }
      case 'kill': {
        const pod = this.active()[number % Math.max(1, this.active().length)];
        if (pod !== undefined) this.pods.delete(pod.metadata.name);
        return;
      }
      case 'scale':
        this.change({ replicas: number % 8 });
        return;
      case 'pause': {
        const { paused: isPaused, ...rest } = this.deployment;
        this.deployment = isPaused === undefined ? { ...rest, paused: { by: 'ann' } } : rest;
        return;
      }
      case 'foreign':
        this.#store(
          replicaSetOf(this.deployment, {
            image: IMAGES[number % IMAGES.length] ?? '',
            name: `foreign-${String(number)}`,
            owner: number % 3 === 0 ? null : 'somebody',
            size: number % 3,
            replicas: 0,
          }),
        );
        return;
      case 'limit':
        this.change({ revisionHistoryLimit: number % 3 });
        return;
      case 'everybody':
        for (let set = 0; set < this.sets.size; set += 1) this.lookOfController(set);
        while (this.#counted.size > 0) this.writeStatus(0);
        this.lookAtPods();
    }
  }

  change(change: Partial<Deployment>): void {
    this.deployment = { ...this.deployment, ...change, generation: this.deployment.generation + 1 };
  }

  /** Everybody does what there is to do, again and again. Resolves to whether the rollout came to its end. */
  settle(planner: DeploymentPlanner, check: DeploymentCheck, rounds = 60): boolean {
    for (let round = 0; round < rounds; round += 1) {
      const plan = this.act(planner, check);
      if (plan.finished && plan.steady.length === 0 && plan.batch.length === 0) return true;
      for (let number = 0; number < this.sets.size; number += 1) this.lookOfController(number);
      for (let number = 0; number < 40; number += 1) {
        this.writeStatus(0);
        this.kubelet(number);
        this.finishDeletion(number);
      }
      this.lookAtPods();
      this.now += 10_000;
    }
    return false;
  }
}

/** As a policy for ReplicaSets leaves it. */
export function alteredTemplate(template: PodTemplate): PodTemplate {
  const annotations = { ...template.metadata?.annotations, injected: 'yes' };
  return { ...template, metadata: { ...template.metadata, annotations } };
}

function templateOfImage(image: string): Deployment['template'] {
  return normaliseTemplate({
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image }] },
  });
}

/** Plays a history. */
export function runDeploymentHistory(
  { settings, alters, operations }: DeploymentHistory,
  planner: DeploymentPlanner,
  check: DeploymentCheck,
  after: (cluster: SimulatedDeployment) => void = () => undefined,
): SimulatedDeployment {
  const cluster = new SimulatedDeployment(settings, alters);
  cluster.settle(planner, check);
  for (const { kind, number } of operations) {
    cluster.run(kind, number, planner, check);
    after(cluster);
  }
  return cluster;
}
