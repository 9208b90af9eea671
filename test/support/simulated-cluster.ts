/** An apiserver, kubelets and users in memory, for properties of planners: deterministic, no clocks, no network. */

import { timestamp } from '../../planners/availability.ts';
import type {
  ControllerRevision,
  JsonObject,
  PersistentVolumeClaim,
  Pod,
  PodTemplate,
} from '../../planners/objects.ts';
import type { Action, Plan, Refusal } from '../../planners/plan.ts';
import { actionKey } from '../../planners/plan.ts';
import { planStatefulSetRevision } from '../../planners/statefulset-revision.ts';
import type { Snapshot, StatefulSet, StatefulSetStatus } from '../../planners/workload.ts';
import { crashContainer, kubeletStep } from './simulated-kubelet.ts';
import { strategicMerge } from './strategic-merge.ts';
import { NOW, setOf } from './statefulset-fixtures.ts';

const NODES = 3;
let uids = 0;

export class SimulatedCluster {
  now = NOW;
  set: StatefulSet;
  revisions: readonly ControllerRevision[] = [];
  readonly pods = new Map<string, Pod>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly downNodes = new Set<string>();
  readonly refusals = new Map<string, Refusal>();
  /** The apiserver refuses to create pods. */
  refusesCreates = false;
  #resourceVersion = 100;

  constructor(overrides: Partial<StatefulSet> = {}) {
    this.set = setOf(overrides);
  }

  snapshot(): Snapshot<StatefulSet> {
    return {
      workload: this.set,
      revisions: this.revisions,
      pods: [...this.pods.values()],
      claims: [...this.claims.values()],
      downNodes: new Map([...this.downNodes].map((node) => [node, 'NotReady'])),
      refusals: new Map(this.refusals),
    };
  }

  /** The set's spec is changed by a user. */
  change(fields: Partial<StatefulSet>): void {
    const generation = this.set.generation + 1;
    this.set = { ...this.set, ...fields, generation, metadata: { ...this.set.metadata, generation } };
  }

  changeTemplate(template: PodTemplate): void {
    this.change({ template });
  }

  pause(paused: boolean): void {
    const { paused: _, ...rest } = this.set;
    this.set = paused ? { ...rest, paused: { by: 'test' } } : rest;
  }

  /** What the first step of a rollout does. */
  createRevision(): void {
    const plan = planStatefulSetRevision(this.set, this.revisions);
    if (plan.outcome === 'create') {
      const revision = plan.manifest as unknown as ControllerRevision;
      const metadata = {
        ...revision.metadata,
        uid: `uid-${String((uids += 1))}`,
        resourceVersion: this.#next(),
      };
      this.revisions = [...this.revisions, { ...revision, metadata }];
    } else if (plan.outcome === 'renumber') {
      const renumbered = { ...plan.revision, revision: plan.to };
      this.revisions = this.revisions.map((one) => (one === plan.revision ? renumbered : one));
    }
  }

  writeStatus(plan: Plan<StatefulSetStatus>): void {
    this.set = { ...this.set, status: plan.status };
  }

  /** Executes one write as the apiserver would, with its preconditions. */
  execute(action: Action): 'done' | 'stale' | 'refused' {
    if (action.verb === 'create' && action.resource === 'pods' && this.refusesCreates) {
      const { revision } = action;
      const previous = this.refusals.get(actionKey(action));
      this.refusals.set(actionKey(action), {
        since: previous?.revision === revision ? (previous?.since ?? this.now) : this.now,
        retryAt: this.now + 2_000,
        message: 'exceeded quota',
        ...(revision !== undefined && { revision }),
      });
      return 'refused';
    }
    const outcome = action.verb === 'create' ? this.#create(action) : this.#write(action);
    if (outcome === 'done') this.refusals.delete(actionKey(action));
    return outcome;
  }

  /** A user deletes a pod; kubelet lets it go later. */
  kill(name: string): void {
    this.#edit(name, (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: timestamp(this.now) },
    }));
  }

  evict(name: string): void {
    this.#edit(name, (pod) => ({ ...pod, status: { ...pod.status, phase: 'Failed', conditions: [] } }));
  }

  crash(name: string): void {
    this.#edit(name, (pod) => (this.#isDown(pod) ? pod : crashContainer(pod, this.now)));
  }

  relabel(name: string, labels: Readonly<Record<string, string>>): void {
    this.#edit(name, (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...labels } },
    }));
  }

  orphan(name: string): void {
    this.#edit(name, (pod) => {
      const { ownerReferences: _, ...metadata } = pod.metadata;
      return { ...pod, metadata };
    });
  }

  /** A node goes away: its pods are not Ready any more, and nothing happens to them. */
  nodeDown(node: string): void {
    this.downNodes.add(node);
    for (const [name, pod] of this.pods) {
      if (pod.spec.nodeName !== node) continue;
      const conditions = (pod.status?.conditions ?? []).map((condition) =>
        condition.type === 'Ready'
          ? { ...condition, status: 'False' as const, lastTransitionTime: timestamp(this.now) }
          : condition,
      );
      this.#edit(name, (one) => ({ ...one, status: { ...one.status, conditions } }));
    }
  }

  /** One step of kubelet on one pod. */
  kubelet(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined || this.#isDown(pod)) return;
    const next = kubeletStep(pod, this.now);
    if (next === undefined) this.#collect(pod);
    else if (next !== pod) this.#store(next);
  }

  /** Time passes; kubelets that live do not sleep through a second. */
  pass(milliseconds: number): void {
    this.now += milliseconds;
    if (milliseconds >= 1_000) for (let step = 0; step < 3; step += 1) this.kubelets();
  }

  remove(name: string): void {
    const pod = this.pods.get(name);
    if (pod !== undefined) this.#collect(pod);
  }

  kubelets(): void {
    for (const name of [...this.pods.keys()].sort()) this.kubelet(name);
  }

  /** Somebody deletes a claim; it goes once no pod of its name is left. */
  loseClaim(name: string): void {
    const claim = this.claims.get(name);
    if (claim === undefined) return;
    const metadata = {
      ...claim.metadata,
      deletionTimestamp: timestamp(this.now),
      resourceVersion: this.#next(),
    };
    if (this.pods.has(name.replace('data-', ''))) this.claims.set(name, { ...claim, metadata });
    else this.claims.delete(name);
  }

  /** The pod is gone, and with it the claims that it owns and those that were only held by it. */
  #collect(pod: Pod): void {
    this.pods.delete(pod.metadata.name);
    for (const [name, { metadata }] of this.claims) {
      const owned = metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true;
      const held = metadata.deletionTimestamp !== undefined && name === `data-${pod.metadata.name}`;
      if (owned || held) this.claims.delete(name);
    }
  }

  #isDown(pod: Pod): boolean {
    return this.downNodes.has(pod.spec.nodeName ?? '');
  }

  #create(action: Action): 'done' | 'stale' {
    const body = action.body as unknown as Pod & PersistentVolumeClaim;
    const store: Map<string, Pod | PersistentVolumeClaim> =
      action.resource === 'pods' ? this.pods : this.claims;
    if (store.has(action.name)) return 'stale';
    const metadata = {
      ...body.metadata,
      uid: `uid-${String((uids += 1))}`,
      resourceVersion: this.#next(),
      generation: 1,
      creationTimestamp: timestamp(this.now),
    };
    if (action.resource === 'persistentvolumeclaims') {
      store.set(action.name, { ...body, metadata });
      return 'done';
    }
    const claims = (body.spec.volumes ?? []).flatMap(
      (volume) => volume.persistentVolumeClaim?.claimName ?? [],
    );
    if (claims.some((claim) => !this.claims.has(claim)))
      throw new Error(`${action.name} was created before its claim`);
    const nodeName = `node-${String(uids % NODES)}`;
    store.set(action.name, {
      ...body,
      metadata,
      spec: { ...body.spec, nodeName },
      status: { phase: 'Pending' },
    });
    return 'done';
  }

  #write(action: Action): 'done' | 'stale' {
    if (action.resource === 'controllerrevisions') return this.#writeRevision(action);
    if (action.resource === 'persistentvolumeclaims') return this.#patchClaim(action);
    const pod = this.pods.get(action.name);
    if (pod === undefined || !this.#preconditionsHold(action, pod)) return 'stale';
    if (action.verb === 'delete') {
      this.kill(action.name);
      return 'done';
    }
    const patched = strategicMerge(pod, action.body as JsonObject) as unknown as Pod;
    const spec = action.subresource === 'status' ? pod.spec : patched.spec;
    const status = action.subresource === 'status' ? patched.status : pod.status;
    const changed = JSON.stringify(spec) !== JSON.stringify(pod.spec);
    const generation = (pod.metadata.generation ?? 1) + (changed ? 1 : 0);
    // The resize subresource takes nothing but resources.
    const metadata = action.subresource === 'resize' ? pod.metadata : patched.metadata;
    this.#store({ ...pod, spec, ...(status && { status }), metadata: { ...metadata, generation } });
    return 'done';
  }

  #writeRevision(action: Action): 'done' | 'stale' {
    const found = this.revisions.find(({ metadata }) => metadata.name === action.name);
    if (found === undefined || !this.#preconditionsHold(action, found)) return 'stale';
    this.revisions = this.revisions.filter((one) => one !== found);
    if (action.verb === 'patch') {
      this.revisions = [
        ...this.revisions,
        strategicMerge(found, action.body as JsonObject) as unknown as ControllerRevision,
      ];
    }
    return 'done';
  }

  #patchClaim(action: Action): 'done' | 'stale' {
    const claim = this.claims.get(action.name);
    if (claim === undefined || !this.#preconditionsHold(action, claim)) return 'stale';
    const body = action.body as { readonly metadata: JsonObject };
    this.claims.set(action.name, {
      ...claim,
      metadata: { ...claim.metadata, ...body.metadata, resourceVersion: this.#next() },
    });
    return 'done';
  }

  #preconditionsHold(action: Action, object: Pod | PersistentVolumeClaim | ControllerRevision): boolean {
    const { uid, resourceVersion } = object.metadata;
    return (
      (action.uid === undefined || action.uid === uid) &&
      (action.resourceVersion === undefined || action.resourceVersion === resourceVersion)
    );
  }

  #edit(name: string, edit: (pod: Pod) => Pod): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    const next = edit(pod);
    if (next !== pod) this.#store(next);
  }

  #store(pod: Pod): void {
    this.pods.set(pod.metadata.name, {
      ...pod,
      metadata: { ...pod.metadata, resourceVersion: this.#next() },
    });
  }

  #next(): string {
    this.#resourceVersion += 1;
    return String(this.#resourceVersion);
  }
}
