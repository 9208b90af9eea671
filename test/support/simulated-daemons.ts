/** A cluster with one DaemonSet in memory: nodes, a scheduler, kubelets, an apiserver with preconditions, a worker that may crash. */

import { fc } from './properties.ts';

import { WriteMemory } from '../../controllers/write-memory.ts';
import { isReady as isUp } from '../../planners/availability.ts';
import { ANNOTATION, LABEL } from '../../planners/names.ts';
import type { ControllerRevision, JsonObject, Node, Pod } from '../../planners/objects.ts';
import type { Action, Plan } from '../../planners/plan.ts';
import { planRevision } from '../../planners/revision-plan.ts';
import type { DaemonSet, DaemonSetStatus, Snapshot } from '../../planners/workload.ts';
import { daemonSetOf, daemonSnapshotOf, nodeOf } from './daemonset-fixtures.ts';
import { NOW, asStored, templateOf } from './statefulset-fixtures.ts';
import { strategicMerge } from './strategic-merge.ts';

export type DaemonPlanner = (snapshot: Snapshot<DaemonSet>, now: number) => Plan<DaemonSetStatus>;
export type DaemonCheck = (cluster: SimulatedDaemons, plan: Plan<DaemonSetStatus>) => void;

const OPERATIONS = {
  plan: 14,
  kubelets: 10,
  kubelet: 4,
  time: 4,
  template: 4,
  crash: 1,
  kill: 1,
  fail: 1,
  join: 1,
  leave: 1,
  taint: 1,
  breakNode: 1,
  label: 3,
  pause: 1,
  partition: 1,
  guests: 2,
  cordon: 1,
  allow: 2,
  maximum: 1,
  strategy: 1,
} as const;

export interface DaemonHistory {
  readonly settings: Partial<DaemonSet>;
  readonly operations: readonly { readonly kind: keyof typeof OPERATIONS; readonly number: number }[];
}

const NODE_NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const IMAGES = ['agent:1', 'agent:2', 'agent:bad', 'agent:3'];
/** What a template may ask of a node: no node has the disk, and half of them each pool. */
const NODE_SELECTORS: readonly Readonly<Record<string, string>>[] = [
  { disk: 'ssd' },
  {},
  { pool: 'odd' },
  {},
  { pool: 'even' },
];
const TAINTS: readonly NonNullable<NonNullable<Node['spec']>['taints']>[] = [
  [],
  [{ key: 'full', effect: 'NoSchedule' }],
  [{ key: 'broken', effect: 'NoExecute' }],
];

export function daemonHistories(overrides: Partial<DaemonSet> = {}): fc.Arbitrary<DaemonHistory> {
  const settings = fc.record({
    maxUnavailable: fc.constantFrom(1, 2, '50%'),
    minReadySeconds: fc.constantFrom(0, 0, 5),
    revisionHistoryLimit: fc.constantFrom(0, 2, 10),
    podUpdatePolicy: fc.constantFrom('ReCreate', 'InPlaceIfPossible'),
    notReadyNodes: fc.constantFrom('Ignore', 'Count'),
  } satisfies { [K in keyof DaemonSet]?: fc.Arbitrary<DaemonSet[K]> });
  const kind = fc.oneof(
    ...Object.entries(OPERATIONS).map(([name, weight]) => ({
      arbitrary: fc.constant(name as keyof typeof OPERATIONS),
      weight,
    })),
  );
  return fc.record({
    settings: settings.map((random) => ({ ...random, ...overrides })),
    operations: fc.array(fc.record({ kind, number: fc.integer({ min: 0, max: 1000 }) }), {
      minLength: 5,
      maxLength: 80,
      size: 'max',
    }),
  });
}

export class SimulatedDaemons {
  set: DaemonSet;
  now = NOW;
  revisions: readonly ControllerRevision[] = [];
  readonly pods = new Map<string, Pod>();
  readonly nodes = new Map<string, Node>();
  /** Pods of others by name; each is on a node. */
  readonly guests = new Map<string, Pod>();
  /** Nodes that somebody else has cordoned. */
  readonly closed = new Set<string>();
  /** A PodDisruptionBudget lets pods of others go. */
  allowsEvictions = true;
  #memory = new WriteMemory();
  #version = 100;

  constructor(settings: Partial<DaemonSet>) {
    this.set = daemonSetOf(settings);
    for (const name of NODE_NAMES.slice(0, 4)) this.nodes.set(name, labelledNode(name));
  }

  snapshot(): Snapshot<DaemonSet> {
    return daemonSnapshotOf(this.set, {
      revisions: this.revisions,
      pods: [...this.pods.values()],
      nodes: [...this.nodes.values()],
      ...(this.set.drain !== undefined && { neighbours: this.#neighbours() }),
      ...this.#memory.of(this.set.ref.uid),
    });
  }

  /** One look of the planner, and its writes. The first step of a run makes the revision. */
  act(planner: DaemonPlanner, check: DaemonCheck): Plan<DaemonSetStatus> {
    const revision = planRevision(this.set, this.revisions, LABEL.revisionHash);
    const at = new Date(this.now).toISOString();
    if (revision.outcome === 'create') {
      const made = asStored(revision.manifest);
      this.revisions = [
        ...this.revisions,
        { ...made, metadata: { ...made.metadata, creationTimestamp: at } },
      ];
    }
    if (revision.outcome === 'renumber') {
      const { metadata } = revision.revision;
      const annotations = { ...metadata.annotations, [ANNOTATION.wantedSince]: at };
      const wanted = { ...revision.revision, revision: revision.to, metadata: { ...metadata, annotations } };
      this.revisions = this.revisions.map((one) => (one === revision.revision ? wanted : one));
    }
    const plan = planner(this.snapshot(), this.now);
    check(this, plan);
    for (const action of plan.steady.length > 0 ? plan.steady : plan.batch) this.execute(action);
    this.set = { ...this.set, status: plan.status };
    return plan;
  }

  #neighbours(): ReadonlyMap<string, readonly Pod[]> {
    const on = (node: string) => [...this.guests.values()].filter(({ spec }) => spec.nodeName === node);
    return new Map([...this.nodes.keys()].map((node) => [node, on(node)]));
  }

  execute(action: Action): void {
    if (action.purpose === 'Evict' && !this.allowsEvictions) {
      this.#memory.refused(this.set.ref.uid, action, 'budget', this.now);
      return;
    }
    const outcome = this.#write(action) ? 'done' : 'stale';
    this.#memory.taken(this.set.ref.uid, action, outcome, this.now);
  }

  #write({ verb, resource, name, uid, resourceVersion, body, purpose }: Action): boolean {
    if (resource === 'controllerrevisions') {
      const found = this.revisions.find(({ metadata }) => metadata.name === name && metadata.uid === uid);
      if (found === undefined) return false;
      this.revisions = this.revisions.flatMap((one) => {
        if (one !== found) return [one];
        if (verb !== 'patch') return [];
        return [strategicMerge(one, body as JsonObject) as unknown as ControllerRevision];
      });
      return true;
    }
    if (resource === 'nodes') return this.#writeNode(name, resourceVersion, body as unknown as NodePatch);
    if (purpose === 'Evict') return this.guests.delete(name);
    const present = this.pods.get(name);
    if (verb === 'create') {
      if (present !== undefined) return false;
      const pod = body as unknown as Pod;
      const version = this.#next();
      this.pods.set(name, {
        ...pod,
        metadata: {
          ...pod.metadata,
          uid: `uid-${version}`,
          resourceVersion: version,
          creationTimestamp: new Date(this.now).toISOString(),
        },
        status: { phase: 'Pending', conditions: [] },
      });
      return true;
    }
    if (present === undefined || (uid !== undefined && present.metadata.uid !== uid)) return false;
    if (resourceVersion !== undefined && present.metadata.resourceVersion !== resourceVersion) return false;
    if (verb === 'delete') {
      this.#put({
        ...present,
        metadata: { ...present.metadata, deletionTimestamp: new Date(this.now).toISOString() },
      });
      return true;
    }
    this.#put(patched(present, body as unknown as PodPatch, this.now));
    return true;
  }

  #writeNode(name: string, resourceVersion: string | undefined, { metadata, spec }: NodePatch): boolean {
    const node = this.nodes.get(name);
    if (node === undefined || node.metadata.resourceVersion !== resourceVersion) return false;
    const unschedulable = spec?.unschedulable === undefined ? node.spec?.unschedulable : spec.unschedulable;
    const annotations = Object.fromEntries(
      Object.entries({ ...node.metadata.annotations, ...metadata.annotations }).filter(
        (entry): entry is [string, string] => entry[1] !== null,
      ),
    );
    this.nodes.set(name, {
      ...node,
      metadata: { ...node.metadata, annotations, resourceVersion: this.#next() },
      spec: { ...node.spec, ...(unschedulable === true ? { unschedulable } : { unschedulable: false }) },
    });
    return true;
  }

  /** As it was made, with what was written on it meanwhile. */
  #changeNode(name: string, parts: Parameters<typeof nodeOf>[1]): void {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    const changed = labelledNode(name, parts);
    this.nodes.set(name, {
      ...changed,
      metadata: {
        ...changed.metadata,
        annotations: node.metadata.annotations ?? {},
        resourceVersion: this.#next(),
      },
      spec: { ...changed.spec, unschedulable: node.spec?.unschedulable === true },
    });
  }

  /** Binds, starts, ends one pod as scheduler and kubelet would. A bad image never gets ready. */
  kubelet(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    const host = this.nodes.get(pod.spec.nodeName ?? '');
    if (host !== undefined && !isUp(host)) {
      // Nobody is there; the node controller says so.
      if (isUp(pod)) this.#put(withStatus(pod, false, this.now));
      return;
    }
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.pods.delete(name);
      return;
    }
    if (pod.spec.nodeName === undefined) {
      const node = aimOf(pod);
      if (node !== undefined && this.nodes.has(node))
        this.#put({ ...pod, spec: { ...pod.spec, nodeName: node } });
      return;
    }
    if (!this.nodes.has(pod.spec.nodeName)) {
      this.pods.delete(name); // the garbage collector
      return;
    }
    if (pod.status?.phase === 'Failed') return;
    const ready = pod.spec.containers[0]?.image !== 'agent:bad';
    this.#put(withStatus(pod, ready, this.now));
  }

  kubelets(): void {
    for (const name of this.pods.keys()) this.kubelet(name);
  }

  operate(
    { kind, number }: DaemonHistory['operations'][number],
    planner: DaemonPlanner,
    check: DaemonCheck,
  ): void {
    const names = [...this.pods.keys()].sort();
    const name = names[number % Math.max(1, names.length)] ?? '';
    const node = NODE_NAMES[number % NODE_NAMES.length] ?? 'a';
    switch (kind) {
      case 'plan':
        this.act(planner, check);
        return;
      case 'kubelets':
        return this.kubelets();
      case 'kubelet':
        return this.kubelet(name);
      case 'time':
        this.now += (number % 10) * 1_000;
        return;
      case 'template':
        return this.change({ template: templateOf(IMAGES[number % IMAGES.length] ?? 'agent:1') });
      case 'crash':
        this.#memory = new WriteMemory();
        return;
      case 'kill':
        return this.#edit(name, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, deletionTimestamp: new Date(this.now).toISOString() },
        }));
      case 'fail':
        return this.#edit(name, (pod) => ({ ...pod, status: { phase: 'Failed', conditions: [] } }));
      case 'join':
        if (!this.nodes.has(node)) this.nodes.set(node, labelledNode(node));
        return;
      case 'leave':
        this.nodes.delete(node);
        this.closed.delete(node);
        return;
      case 'taint':
        this.#changeNode(node, { taints: TAINTS[Math.floor(number / 7) % TAINTS.length] ?? [] });
        return;
      case 'guests': {
        const guest = guestOn(node, String(number));
        if (this.nodes.get(node)?.spec?.unschedulable !== true) this.guests.set(guest.metadata.name, guest);
        return;
      }
      case 'cordon': {
        const there = this.nodes.get(node);
        // Nobody interferes with what is marked.
        if (there === undefined || Object.keys(there.metadata.annotations ?? {}).length > 0) return;
        this.closed.add(node);
        this.nodes.set(node, {
          ...there,
          metadata: { ...there.metadata, resourceVersion: this.#next() },
          spec: { ...there.spec, unschedulable: true },
        });
        return;
      }
      case 'allow':
        this.allowsEvictions = number % 2 === 0;
        return;
      case 'breakNode':
        this.#changeNode(node, number % 2 === 0 ? {} : { notReadySince: this.now });
        return;
      case 'label': {
        const nodeSelector = NODE_SELECTORS[number % NODE_SELECTORS.length] ?? {};
        return this.change({ template: templateOf('agent:2', { nodeSelector }) });
      }
      case 'pause': {
        const { paused, ...rest } = this.set;
        this.set = paused === undefined ? { ...rest, paused: { by: 'test' } } : rest;
        return;
      }
      case 'partition':
        return this.change({ partition: number % 8 });
      case 'maximum':
        if (this.set.maxSurge === 0) this.change({ maxUnavailable: 1 + (number % 3) });
        return;
      case 'strategy':
        return this.change({ updateStrategy: number % 2 === 0 ? 'RollingUpdate' : 'OnDelete' });
    }
  }

  /** Everything is well from now on: whatever happened before, the rollout must come to its end. */
  heal(): void {
    const { paused: _, ...rest } = this.set;
    this.set = { ...rest, partition: 0, updateStrategy: 'RollingUpdate', generation: rest.generation + 1 };
    this.change({ template: templateOf('agent:9') });
    for (const name of NODE_NAMES) {
      if (this.nodes.has(name)) this.#changeNode(name, {});
      else this.nodes.set(name, labelledNode(name));
    }
    this.allowsEvictions = true;
  }

  change(change: Partial<DaemonSet>): void {
    this.set = { ...this.set, ...change, generation: this.set.generation + 1 };
  }

  #edit(name: string, change: (pod: Pod) => Pod): void {
    const pod = this.pods.get(name);
    if (pod !== undefined) this.#put(change(pod));
  }

  #put(pod: Pod): void {
    this.pods.set(pod.metadata.name, {
      ...pod,
      metadata: { ...pod.metadata, resourceVersion: this.#next() },
    });
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

interface NodePatch {
  readonly metadata: { readonly annotations: Readonly<Record<string, string | null>> };
  readonly spec?: { readonly unschedulable: boolean | null };
}

function labelledNode(name: string, parts: Parameters<typeof nodeOf>[1] = {}): Node {
  const pool = NODE_NAMES.indexOf(name) % 2 === 0 ? 'even' : 'odd';
  return nodeOf(name, { ...parts, labels: { pool } });
}

function guestOn(node: string, name: string): Pod {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'shop',
    uid: 'uid-shop',
    controller: true,
  };
  return {
    metadata: {
      name: `shop-${name}`,
      namespace: 'shop',
      uid: `uid-shop-${name}`,
      resourceVersion: '1',
      ownerReferences: [owner],
    },
    spec: { nodeName: node, containers: [] },
    status: { phase: 'Running' },
  };
}

/** Runs a history; `check` sees each plan before it is executed. */
export function runDaemonHistory(
  { settings, operations }: DaemonHistory,
  planner: DaemonPlanner,
  check: DaemonCheck,
): SimulatedDaemons {
  const cluster = new SimulatedDaemons(settings);
  for (let round = 0; round < 4; round += 1) {
    cluster.act(planner, check);
    cluster.kubelets();
    cluster.now += 6_000;
  }
  for (const operation of operations) cluster.operate(operation, planner, check);
  return cluster;
}

interface PodPatch {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string | null>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
  readonly spec?: { readonly containers?: readonly { readonly name: string; readonly image?: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}

/** A strategic merge patch, as far as updates in place write one; a container whose image changes is started again. */
function patched(pod: Pod, patch: PodPatch, now: number): Pod {
  const merge = (
    old: Readonly<Record<string, string>> = {},
    change: Readonly<Record<string, string | null>> = {},
  ) =>
    Object.fromEntries(
      Object.entries({ ...old, ...change }).flatMap(([key, value]) =>
        value === null ? [] : [[key, value] as const],
      ),
    );
  const images = new Map(patch.spec?.containers?.map(({ name, image }) => [name, image]));
  const containers = pod.spec.containers.map((container) => {
    const image = images.get(container.name);
    return image === undefined ? container : { ...container, image };
  });
  const conditions = [...(pod.status?.conditions ?? [])];
  for (const change of patch.status?.conditions ?? []) {
    const at = conditions.findIndex(({ type }) => type === change.type);
    const merged = { ...conditions[at], ...change } as (typeof conditions)[number];
    if (at < 0) conditions.push(merged);
    else conditions[at] = merged;
  }
  const restarted = images.size > 0;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      generation: (pod.metadata.generation ?? 1) + (patch.spec === undefined ? 0 : 1),
      labels: merge(pod.metadata.labels, patch.metadata?.labels),
      annotations: merge(pod.metadata.annotations, patch.metadata?.annotations),
    },
    spec: { ...pod.spec, containers },
    status: {
      ...pod.status,
      conditions,
      containerStatuses: (pod.status?.containerStatuses ?? []).map((status) =>
        restarted ? { ...status, ready: false, startedAgainAt: now } : status,
      ),
    },
  };
}

/** What kubelet says of a pod that runs: containers as in the spec, Ready if its gates are open. */
function withStatus(pod: Pod, ready: boolean, now: number): Pod {
  const time = new Date(now).toISOString();
  const gate = pod.status?.conditions?.find(({ type }) => type === 'InPlaceUpdateReady');
  const before = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  const isReady = ready && gate?.status === 'True';
  const status = isReady ? 'True' : 'False';
  const containerStatuses = pod.spec.containers.map(({ name, image = '' }) => {
    const old = pod.status?.containerStatuses?.find((one) => one.name === name);
    const isSame = old?.image === image;
    const count = old === undefined ? 0 : old.restartCount + (isSame ? 0 : 1);
    return {
      name,
      image,
      imageID: `sha256:${image}`,
      containerID: `containerd://${pod.metadata.uid}-${String(count)}`,
      restartCount: count,
      ready,
      state: ready ? { running: { startedAt: time } } : { waiting: { reason: 'ImagePullBackOff' } },
    };
  });
  return {
    ...pod,
    status: {
      ...pod.status,
      phase: 'Running',
      observedGeneration: pod.metadata.generation ?? 1,
      containerStatuses,
      conditions: [
        ...(gate === undefined ? [] : [gate]),
        {
          type: 'Ready',
          status,
          lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? time) : time,
        },
      ],
    },
  };
}

/** The node that a pod's affinity names. */
export function aimOf({ spec }: Pod): string | undefined {
  const text = JSON.stringify(spec['affinity'] ?? {});
  return /"key":"metadata\.name","operator":"In","values":\["([^"]+)"\]/.exec(text)?.[1];
}
