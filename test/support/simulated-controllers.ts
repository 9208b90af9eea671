/**
 * A namespace with ReplicationControllers in memory: writes with their preconditions, the controller manager's part (R1, R2, C4)
 * and the garbage collector's, each a step of its own, so that a test can put anything between any two of them.
 */

import { UPDATE_FIELD_MANAGER } from '../../planners/names.ts';
import type {
  ControllerRevision,
  JsonObject,
  OwnerReference,
  Pod,
  PodTemplate,
} from '../../planners/objects.ts';
import type {
  ReplicationController,
  ReplicationControllerSpec,
} from '../../planners/replication-controller.ts';
import { recordManifest } from '../../planners/rolling-update-record.ts';
import type { RecordData, RecordState, UpdateRecord } from '../../planners/rolling-update-record.ts';
import type { UpdateWrite } from '../../planners/rolling-update-steps.ts';
import type { RollingUpdateSnapshot } from '../../planners/rolling-update-view.ts';
import { matchesSelector } from '../../planners/selector.ts';
import { isActive, isReady } from '../../planners/availability.ts';

type Stored = ReplicationController | ControllerRevision | Pod;
type Resource = UpdateWrite['resource'];

export const IMAGE_TEMPLATE = (image: string, labels: Record<string, string> = { app: 'foo' }) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image }] },
});

/** Ready since long ago: minReadySeconds is another table's matter. */
const READY = [{ type: 'Ready', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' }] as const;

/** Field managers and admission, which most tables have no use for. */
export interface Served {
  /** Controllers tell who owns their templates, and objects when they were made: each write is a second of its own. */
  readonly owners?: boolean;
  /** A mutating webhook for controllers, whoever writes them; installed or taken away at any time. */
  policy?: ((template: PodTemplate) => PodTemplate) | undefined;
  /** One for new pods. */
  podPolicy?: ((pod: Pod['spec']) => Pod['spec']) | undefined;
}

/** Whoever wrote the template then. */
export function ownerEntry(manager: string, time: string) {
  const fieldsV1 = { 'f:spec': { 'f:selector': {}, 'f:template': { 'f:spec': {} } } };
  return { manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', time, fieldsV1 };
}

export class SimulatedControllers {
  readonly served: Served;
  readonly #objects = new Map<string, Stored>();
  /** What the controller manager knows of pods: what it did itself, and what it was told of by {@link observe}. */
  readonly #seen = new Map<string, Pod>();
  #version = 0;
  #names = 0;

  constructor(served: Served = {}) {
    this.served = served;
  }

  controller(name: string, spec: ReplicationControllerSpec, annotations: Record<string, string> = {}): void {
    const controller: ReplicationController = {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { ...this.#meta(name), generation: 1, annotations, labels: spec.selector ?? {} },
      spec,
      status: { replicas: 0, observedGeneration: 1 },
    };
    this.#put('replicationcontrollers', this.#admit(controller, 'kubectl-create'));
  }

  /** Controllers as they are, with all their pods, ready. */
  settle(): void {
    for (let changed = true; changed;) {
      this.observe();
      changed = this.controllers.some(({ metadata: { name } }) => this.manage(name));
      for (const pod of this.pods) this.becomeReady(pod.metadata.name);
    }
  }

  get controllers(): readonly ReplicationController[] {
    return this.#all<ReplicationController>('replicationcontrollers');
  }

  get pods(): readonly Pod[] {
    return this.#all<Pod>('pods');
  }

  get revisions(): readonly ControllerRevision[] {
    return this.#all<ControllerRevision>('controllerrevisions');
  }

  get activePods(): readonly Pod[] {
    return this.pods.filter(isActive);
  }

  find(name: string): ReplicationController | undefined {
    return this.#objects.get(`replicationcontrollers/${name}`) as ReplicationController | undefined;
  }

  snapshot(name: string, next?: string): RollingUpdateSnapshot {
    const { controllers, revisions, pods } = this;
    return { namespace: 'default', name, next, controllers, revisions, pods };
  }

  /** Anybody's hand. */
  edit(name: string, change: (controller: ReplicationController) => ReplicationController): void {
    const found = this.find(name);
    if (found !== undefined) this.#put('replicationcontrollers', change(found));
  }

  forget(resource: Resource, name: string): void {
    this.#objects.delete(`${resource}/${name}`);
  }

  /** An update begins: its record is written, as by who asked for it; `records` are those that are there. */
  record(data: RecordData, state: RecordState, records: readonly UpdateRecord[] = []): void {
    const body = recordManifest(data, state, records);
    const { name } = body['metadata'] as { name: string };
    this.apply({
      verb: 'create',
      resource: 'controllerrevisions',
      name,
      body,
      purpose: 'Record',
      message: '',
    });
  }

  /** As the apiserver: preconditions, merge patches, foreground of an orphaning delete. */
  apply({ verb, resource, name, body = {}, uid, resourceVersion, orphan }: UpdateWrite): 'done' | 'stale' {
    const key = `${resource}/${name}`;
    const found = this.#objects.get(key);
    if (verb === 'create') {
      if (found !== undefined) return 'stale';
      const metadata = body['metadata'] as JsonObject;
      const created = { ...body, metadata: { ...this.#meta(name), generation: 1, ...metadata } };
      this.#put(resource, this.#admit(created as unknown as Stored, UPDATE_FIELD_MANAGER));
      return 'done';
    }
    if (
      found === undefined ||
      found.metadata.uid !== uid ||
      found.metadata.resourceVersion !== resourceVersion
    ) {
      return 'stale';
    }
    if (verb === 'patch') {
      const patched = merge(found, body) as Stored;
      const isSpec = 'spec' in body;
      const generation = (found.metadata.generation ?? 1) + (isSpec ? 1 : 0);
      const written = { ...patched, metadata: { ...patched.metadata, generation } };
      this.#put(resource, this.#admit(written, UPDATE_FIELD_MANAGER));
      this.#letGo(name);
    } else {
      this.#remove(resource, found, orphan === true ? 'orphan' : undefined);
    }
    return 'done';
  }

  /** `kubectl delete rc`, with `--cascade=foreground` where it is asked for; the pods go with it, or with the last finalizer. */
  deleteByHand(name: string, finalizer?: 'foregroundDeletion'): void {
    const found = this.find(name);
    if (found !== undefined) this.#remove('replicationcontrollers', found, finalizer);
  }

  /** What a delete wants of the children replaces what one of before wanted: also of an object that is being deleted already. */
  #remove(resource: Resource, object: Stored, policy: 'orphan' | 'foregroundDeletion' | undefined): void {
    const { finalizers: before = [], name } = object.metadata;
    const others = before.filter((one) => one !== 'orphan' && one !== 'foregroundDeletion');
    const finalizers = [...others, ...(policy === undefined ? [] : [policy])];
    const metadata = { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers };
    if (finalizers.length > 0) this.#put(resource, { ...object, metadata });
    else this.#delete(resource, name);
  }

  /** The controller manager's cache of pods catches up; that of controllers is never behind, so it may know of these first. */
  observe(): void {
    this.#seen.clear();
    for (const pod of this.pods) this.#seen.set(pod.metadata.name, pod);
  }

  /**
   * One turn of the controller manager for one controller, on what it knows: adopt, release, then one pod more or less, then the
   * status, of one that is being deleted too. False: nothing to do.
   */
  manage(name: string): boolean {
    const controller = this.find(name);
    if (controller === undefined) return false;
    const { uid, deletionTimestamp, generation = 1 } = controller.metadata;
    const isStaying = deletionTimestamp === undefined;
    const matchLabels = controller.spec.selector ?? {};
    let changed = false;
    for (const pod of isStaying ? this.#known() : []) {
      const owner = ownerOf(pod);
      const matches = matchesSelector({ matchLabels }, pod.metadata.labels);
      const live = this.#objects.get(`pods/${pod.metadata.name}`) as Pod | undefined;
      if (owner === undefined && matches) {
        if (live !== undefined && ownerOf(live) === undefined) {
          this.#own(live, { apiVersion: 'v1', kind: 'ReplicationController', name, uid, controller: true });
        }
        changed = true;
      } else if (owner?.uid === uid && !matches) {
        if (live !== undefined && ownerOf(live)?.uid === uid) this.#own(live, undefined);
        changed = true;
      }
    }
    const own = () => this.#known().filter((pod) => ownerOf(pod)?.uid === uid);
    const wanted = controller.spec.replicas ?? 1;
    if (isStaying && own().length < wanted) {
      this.#create(controller);
      changed = true;
    } else if (isStaying && own().length > wanted) {
      // R2: what is not ready goes first.
      const victim = own().find((pod) => !isReady(pod)) ?? own()[0];
      if (victim !== undefined) this.#delete('pods', victim.metadata.name);
      changed = true;
    }
    const matchTemplate = { matchLabels: controller.spec.template?.metadata?.labels ?? {} };
    const status = {
      replicas: own().length,
      fullyLabeledReplicas: own().filter((pod) => matchesSelector(matchTemplate, pod.metadata.labels)).length,
      readyReplicas: own().filter(isReady).length,
      observedGeneration: generation,
    };
    if (JSON.stringify(controller.status) !== JSON.stringify(status)) {
      this.edit(name, (one) => ({ ...one, status }));
      changed = true;
    }
    return changed;
  }

  /** Active pods as the controller manager knows them. */
  #known(): readonly Pod[] {
    return [...this.#seen.values()].filter(isActive);
  }

  /** A pod as the controller would have made it from an earlier template. */
  addPod(name: string, labels: Readonly<Record<string, string>>): string {
    const controller = this.find(name);
    if (controller === undefined) throw new Error(`no controller ${name}`);
    const { template } = controller.spec;
    this.#create({
      ...controller,
      spec: {
        ...controller.spec,
        template: { metadata: { labels }, spec: template?.spec ?? { containers: [] } },
      },
    });
    return `${name}-${String(this.#names)}`;
  }

  becomeReady(name: string): void {
    const pod = this.#objects.get(`pods/${name}`) as Pod | undefined;
    if (pod !== undefined && !isReady(pod)) {
      this.#put('pods', { ...pod, status: { phase: 'Running', conditions: READY } });
    }
  }

  /** The garbage collector frees, or deletes, the children of one controller that is being deleted, and lets it go. */
  collect(): boolean {
    const foreground = this.controllers.find(({ metadata }) =>
      metadata.finalizers?.includes('foregroundDeletion'),
    );
    if (foreground !== undefined) {
      const { name, uid } = foreground.metadata;
      for (const pod of this.pods) if (ownerOf(pod)?.uid === uid) this.#delete('pods', pod.metadata.name);
      this.#takeOff(name, 'foregroundDeletion');
      return true;
    }
    const going = this.controllers.find(({ metadata }) => metadata.finalizers?.includes('orphan') === true);
    if (going === undefined) return false;
    for (const [key, object] of this.#objects) {
      if (ownerOf(object)?.uid === going.metadata.uid) {
        const [resource] = key.split('/') as [Resource];
        this.#put(resource, { ...object, metadata: { ...object.metadata, ownerReferences: [] } });
      }
    }
    this.#takeOff(going.metadata.name, 'orphan');
    return true;
  }

  #takeOff(name: string, finalizer: string): void {
    this.edit(name, (one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        finalizers: (one.metadata.finalizers ?? []).filter((other) => other !== finalizer),
      },
    }));
    this.#letGo(name);
  }

  /** What is being deleted goes with its last finalizer. */
  #letGo(name: string): void {
    const { deletionTimestamp, finalizers = [] } = this.find(name)?.metadata ?? {};
    if (deletionTimestamp !== undefined && finalizers.length === 0)
      this.#delete('replicationcontrollers', name);
  }

  /** The object, and with a controller the pods that are still its own. */
  #delete(resource: Resource, name: string): void {
    const uid = this.#objects.get(`${resource}/${name}`)?.metadata.uid;
    this.#objects.delete(`${resource}/${name}`);
    if (resource === 'pods') this.#seen.delete(name);
    for (const pod of resource === 'replicationcontrollers' ? this.pods : [])
      if (ownerOf(pod)?.uid === uid) this.#delete('pods', pod.metadata.name);
  }

  /** By the controller manager itself: it knows of it at once. */
  #create({ metadata: { name, uid }, spec }: ReplicationController): void {
    this.#names += 1;
    const owner = { apiVersion: 'v1', kind: 'ReplicationController', name, uid, controller: true };
    const podName = `${name}-${String(this.#names)}`;
    const made = spec.template?.spec ?? { containers: [] };
    this.#put('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...this.#meta(podName),
        generateName: `${name}-`,
        labels: spec.template?.metadata?.labels ?? {},
        ownerReferences: [owner],
      },
      spec: this.served.podPolicy?.(made) ?? made,
      status: { phase: 'Pending' },
    });
    this.#know(podName);
  }

  #know(name: string): void {
    const pod = this.#objects.get(`pods/${name}`) as Pod | undefined;
    if (pod !== undefined) this.#seen.set(name, pod);
  }

  #own(pod: Pod, owner: OwnerReference | undefined): void {
    const ownerReferences = owner === undefined ? [] : [owner];
    this.#put('pods', { ...pod, metadata: { ...pod.metadata, ownerReferences } });
    this.#know(pod.metadata.name);
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says which type
  #all<T>(resource: Resource): readonly T[] {
    return [...this.#objects]
      .filter(([key]) => key.startsWith(`${resource}/`))
      .map(([, object]) => object as T);
  }

  #meta(name: string) {
    this.#version += 1;
    const uid = `uid-${String(this.#version)}`;
    const made = this.served.owners === true && { creationTimestamp: this.now };
    return { name, namespace: 'default', uid, resourceVersion: '', ...made };
  }

  /** Time of the apiserver. */
  get now(): string {
    return new Date(Date.parse('2026-01-01T00:00:00Z') + this.#version * 1_000).toISOString();
  }

  /** What a webhook makes of a controller that is written, and who owns what has changed then: whoever wrote it. */
  #admit(object: Stored, manager: string): Stored {
    if (object.kind !== 'ReplicationController') return object;
    const controller = object as ReplicationController;
    const { template } = controller.spec;
    const policed = template && (this.served.policy?.(template) ?? template);
    const admitted = { ...controller, spec: { ...controller.spec, ...(policed && { template: policed }) } };
    const { metadata } = controller;
    const before = this.find(metadata.name)?.spec.template;
    if (this.served.owners !== true || JSON.stringify(before) === JSON.stringify(policed)) return admitted;
    const { managedFields = [] } = metadata as { managedFields?: readonly { manager?: string }[] };
    const others = managedFields.filter((entry) => entry.manager !== manager);
    return {
      ...admitted,
      metadata: { ...metadata, managedFields: [...others, ownerEntry(manager, this.now)] },
    };
  }

  #put(resource: Resource, object: Stored): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#objects.set(`${resource}/${object.metadata.name}`, { ...object, metadata });
  }
}

function ownerOf({ metadata }: Stored): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** RFC 7386. */
export function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}
