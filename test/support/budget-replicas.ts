/**
 * Judges from outside workloads whose pods stand in for each other: Deployments, whose ReplicaSets make and delete the pods, and
 * the two ReplicationControllers of a rolling update. There is no write of a worker to a pod to be charged: what counts is what
 * became of the pods, at every event (issues 5 and 6: available ≥ wanted − unavailable, total ≤ wanted + surge).
 */

import type { Violation } from './budget-checker.ts';
import type { Observation, SeenPod, SeenReplicaKind, SeenWorkload } from './budget-evidence.ts';
import { amount } from './budget-kinds.ts';
import { isFinished, isInService, isTerminating } from './budget-rules.ts';

export interface ReplicasReport {
  /** Pods that there ever were. */
  readonly came: number;
  /** Pods that were available and were taken: each was judged. */
  readonly taken: number;
  readonly violations: readonly Violation[];
}

/** What a workload is to hold from `at` on, milliseconds since the epoch. */
interface Limits {
  readonly at: number;
  /** Pods that must be available after one was taken. */
  readonly least: number;
  /** Pods that may be there, those that terminate left out. */
  readonly most: number;
  readonly minReadySeconds: number;
  /** Recreate: pods of two templates are never there at once, not even those that terminate. */
  readonly apart: boolean;
}

interface Herd {
  /** Newest last. */
  readonly limits: Limits[];
  /** By uid. */
  readonly pods: Map<string, SeenPod>;
}

const HASH = 'pod-template-hash';
const DESIRED = 'kubernetes.io/desired-replicas';
/** Nobody has to be there any more. */
const OVER = { least: 0, most: Number.POSITIVE_INFINITY, minReadySeconds: 0, apart: false };

/** `ordered` as of resourceVersion; a pod may be taken by a plan that is so much older, milliseconds. */
export function judgeReplicas(ordered: readonly Observation[], planAgeMs: number): ReplicasReport {
  const meadow = new Meadow(planAgeMs);
  for (const observation of ordered) {
    if (observation.kind === 'pod') meadow.seePod(observation);
    else if (observation.kind === 'Deployment') meadow.seeDeployment(observation);
    else if (observation.kind === 'ReplicaSet') meadow.seeReplicaSet(observation.object);
    else if (observation.kind === 'ReplicationController') meadow.seeController(observation);
  }
  return meadow.report();
}

class Meadow {
  readonly #planAgeMs: number;
  readonly #violations: Violation[] = [];
  /** By uid of the Deployment, or by namespace: one rolling update at a time. */
  readonly #herds = new Map<string, Herd>();
  /** Herd by uid of what controls its pods. */
  readonly #herdOf = new Map<string, string>();
  /** Herd of each pod, also of one that is nobody's in the middle of a rename. */
  readonly #home = new Map<string, string>();
  readonly #controllers = new Map<string, SeenWorkload>();
  #taken = 0;

  constructor(planAgeMs: number) {
    this.#planAgeMs = planAgeMs;
  }

  report(): ReplicasReport {
    return { came: this.#home.size, taken: this.#taken, violations: this.#violations };
  }

  seeDeployment({ type, object, at }: Extract<Observation, { readonly kind: SeenReplicaKind }>): void {
    const { metadata, spec } = object;
    const isOver = type === 'DELETED' || metadata.deletionTimestamp !== undefined;
    const { replicas = 1, strategy, minReadySeconds = 0 } = spec;
    const apart = strategy?.type === 'Recreate';
    const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
    const surge = amount(metadata.name, maxSurge, replicas, Math.ceil);
    const unavailable = amount(metadata.name, maxUnavailable, replicas, Math.floor);
    // P3: both 0 would be no way to go on.
    const least = replicas - (surge === 0 ? Math.max(1, unavailable) : unavailable);
    const limits = apart
      ? { least: 0, most: replicas, minReadySeconds, apart }
      : { least, most: replicas + surge, minReadySeconds, apart };
    this.#herd(metadata.uid).limits.push({ at, ...(isOver ? OVER : limits) });
  }

  seeReplicaSet({ metadata }: SeenWorkload): void {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner !== undefined) this.#herdOf.set(metadata.uid, owner.uid);
  }

  /** K5: one pod more, none less, of those that are wanted in the end. What the marks say goes before a size on the way. */
  seeController({ type, object, at }: Extract<Observation, { readonly kind: SeenReplicaKind }>): void {
    const { uid, namespace = '' } = object.metadata;
    this.#herdOf.set(uid, namespace);
    if (type === 'DELETED') this.#controllers.delete(uid);
    else this.#controllers.set(uid, object);
    const herd = this.#herd(namespace);
    const there = [...this.#controllers.values()].filter(({ metadata }) => metadata.namespace === namespace);
    const marks = there.map(({ metadata }) => Number(metadata.annotations?.[DESIRED] ?? 0));
    const wanted = Math.max(...marks, 0) || there.find(isUnmarked)?.spec.replicas;
    // Between two controllers of a rename there is none, and as much is wanted as before.
    if (wanted === undefined) return;
    const { minReadySeconds = 0 } = object.spec;
    herd.limits.push({ at, least: wanted, most: wanted + 1, minReadySeconds, apart: false });
  }

  seePod({ type, object: pod, at }: Observation & { readonly kind: 'pod' }): void {
    const { uid } = pod.metadata;
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const home = (owner && this.#herdOf.get(owner.uid)) ?? this.#home.get(uid);
    const herd = home === undefined ? undefined : this.#herds.get(home);
    if (home === undefined || herd === undefined) return;
    this.#home.set(uid, home);
    const before = herd.pods.get(uid);
    if (type === 'DELETED') herd.pods.delete(uid);
    else herd.pods.set(uid, pod);
    if (before === undefined && type !== 'DELETED') this.#judgeArrival(herd, pod, at);
    if (before !== undefined && (type === 'DELETED' || isTerminating(pod))) {
      this.#judgeDeparture(herd, before, at);
    }
  }

  #judgeArrival(herd: Herd, pod: SeenPod, at: number): void {
    const limits = this.#inForce(herd, at);
    const active = [...herd.pods.values()].filter((one) => !isTerminating(one) && !isFinished(one));
    const most = Math.max(...limits.map((one) => one.most));
    if (active.length > most) {
      this.#accuse(
        'too many pods',
        pod,
        at,
        `it is one of ${String(active.length)}, and ${String(most)} may be`,
      );
    }
    const others = [...herd.pods.values()].filter((one) => hashOf(one) !== hashOf(pod));
    if (limits.every(({ apart }) => apart) && others.length > 0) {
      const names = others.map(({ metadata }) => metadata.name).join(', ');
      this.#accuse('too many pods', pod, at, `${names} of another template must be gone before`);
    }
  }

  #judgeDeparture(herd: Herd, before: SeenPod, at: number): void {
    const limits = this.#inForce(herd, at);
    const minReadySeconds = limits.at(-1)?.minReadySeconds ?? 0;
    const isAvailable = (pod: SeenPod) => isInService(pod, minReadySeconds, at);
    if (!isAvailable(before)) return;
    this.#taken += 1;
    const available = [...herd.pods.values()].filter(isAvailable).length;
    const least = Math.min(...limits.map((one) => one.least));
    if (available < least) {
      const why = `it was available and was taken, ${String(available)} are left, and ${String(least)} must be`;
      this.#accuse('budget', before, at, why);
    }
  }

  /** Those of now, and those that a plan which is still being carried out may have seen. */
  #inForce({ limits }: Herd, at: number): readonly Limits[] {
    return limits.filter((_, index) => (limits[index + 1]?.at ?? at) >= at - this.#planAgeMs);
  }

  #herd(key: string): Herd {
    const herd = this.#herds.get(key) ?? { limits: [], pods: new Map() };
    this.#herds.set(key, herd);
    return herd;
  }

  #accuse(rule: Violation['rule'], { metadata }: SeenPod, at: number, why: string): void {
    const { namespace = '', name } = metadata;
    const message = `pod ${namespace}/${name} at ${new Date(at).toISOString()}: ${why}`;
    this.#violations.push({ rule, namespace, pod: name, message });
  }
}

function isUnmarked({ metadata }: SeenWorkload): boolean {
  return metadata.annotations?.[DESIRED] === undefined;
}

function hashOf({ metadata }: SeenPod): string | undefined {
  return metadata.labels?.[HASH];
}
