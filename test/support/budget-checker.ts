/**
 * Judges a rollout from outside: replays what the watches saw in resourceVersion order, finds among it the writes that the audit
 * log attributes to a worker, and names each that broke a rule of the design ("Budget", "Once", "In-place update of a pod").
 */

import { WriteDocket } from './budget-docket.ts';
import type { Observation, PodWrite, SeenPod, SeenWorkload } from './budget-evidence.ts';
import { GateWatch } from './budget-gates.ts';
import {
  allowedUnavailable,
  changeOf,
  gateOf,
  inPlaceMark,
  isAvailable,
  isFinished,
  isInService,
  isReady,
  isWanted,
  ordinalOf,
  replicasOf,
  revisionOf,
} from './budget-rules.ts';

export interface Violation {
  readonly rule: 'budget' | 'deleted twice' | 'deleted for nothing' | 'in-place order' | 'ownership';
  readonly namespace: string;
  readonly pod: string;
  /** Names the write, the state it met and what was allowed. */
  readonly message: string;
}

export interface BudgetReport {
  /** Deletes of wanted pods, and patches that begin or continue a change, that were judged. */
  readonly deletes: number;
  readonly patches: number;
  /** Of both: those that took a Ready pod. */
  readonly charged: number;
  readonly violations: readonly Violation[];
}

export interface JudgeOptions {
  /**
   * A plan may be this much older than its write, milliseconds: a pod that failed by itself in between is not the writer's
   * fault. The writer's own writes count in any case, so that this forgives no write too many. @default 1000
   */
  readonly planAgeMs?: number;
}

/** @throws Error when a write cannot be placed among the events: then nothing can be said */
export function judge(
  observations: readonly Observation[],
  writes: readonly PodWrite[],
  options: JudgeOptions = {},
): BudgetReport {
  const ordered = [...observations].sort((a, b) => compareVersions(a, b));
  const docket = new WriteDocket(writes);
  const court = new Court(options.planAgeMs ?? 1_000);
  for (const observation of ordered) {
    court.see(observation, docket.take(observation));
  }
  docket.close();
  return court.report();
}

function compareVersions(a: Observation, b: Observation): number {
  const difference = BigInt(a.object.metadata.resourceVersion) - BigInt(b.object.metadata.resourceVersion);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** An event of one workload that can be taken back, to look at the states that a plan may have seen. */
interface Step {
  readonly at: number;
  readonly ordinal?: number;
  readonly pod?: SeenPod | undefined;
  readonly workload?: SeenWorkload;
  readonly charged: boolean;
}

interface Case {
  workload: SeenWorkload;
  readonly pods: Map<number, SeenPod>;
  readonly steps: Step[];
  /** The last rollout delete of an ordinal. */
  readonly deleted: Map<
    number,
    { readonly revision: string; readonly template: string; readonly by: PodWrite }
  >;
}

class Court {
  readonly #planAgeMs: number;
  readonly #cases = new Map<string, Case>();
  readonly #pods = new Map<string, SeenPod>();
  readonly #deleteRequests = new Map<string, PodWrite>();
  readonly #gates = new GateWatch();
  readonly #violations: Violation[] = [];
  #deletes = 0;
  #patches = 0;
  #charged = 0;

  constructor(planAgeMs: number) {
    this.#planAgeMs = planAgeMs;
  }

  report(): BudgetReport {
    return {
      deletes: this.#deletes,
      patches: this.#patches,
      charged: this.#charged,
      violations: this.#violations,
    };
  }

  see(observation: Observation, writes: readonly PodWrite[]): void {
    if (observation.kind === 'workload') {
      this.#seeWorkload(observation);
      return;
    }
    const pod = observation.object;
    const before = this.#pods.get(pod.metadata.uid);
    let charged = false;
    for (const [index, write] of writes.entries()) {
      if (write.verb === 'delete') {
        charged = this.#judgeDelete(write, before ?? pod) || charged;
      } else if (before !== undefined && index === 0) {
        charged = this.#judgePatch(write, before, pod) || charged;
      }
    }
    this.#seePod(observation, before, charged);
  }

  #seeWorkload({ type, object, at }: Observation & { readonly kind: 'workload' }): void {
    const { uid } = object.metadata;
    const known = this.#cases.get(uid);
    if (known === undefined) {
      this.#cases.set(uid, { workload: object, pods: new Map(), steps: [], deleted: new Map() });
    } else if (type !== 'DELETED') {
      known.steps.push({ at, workload: known.workload, charged: false });
      known.workload = object;
    }
  }

  #seePod(
    { type, object: pod, at }: Observation & { readonly kind: 'pod' },
    before: SeenPod | undefined,
    charged: boolean,
  ): void {
    const { uid } = pod.metadata;
    const found = this.#caseOf(pod);
    const ordinal = ordinalOf(pod);
    if (type === 'DELETED') {
      this.#pods.delete(uid);
      this.#gates.forget(uid);
    } else {
      this.#pods.set(uid, pod);
      for (const why of this.#gates.event(before, pod)) {
        const { namespace = '', name, resourceVersion } = pod.metadata;
        const message = `pod ${namespace}/${name} at version ${resourceVersion}: ${why}`;
        this.#violations.push({ rule: 'in-place order', namespace, pod: name, message });
      }
    }
    if (found === undefined) {
      return;
    }
    const occupant = found.pods.get(ordinal);
    found.steps.push({ at, ordinal, pod: occupant, charged });
    if (type !== 'DELETED') {
      if (occupant?.metadata.uid !== uid) {
        this.#judgeReplacement(found, ordinal, pod);
      }
      found.pods.set(ordinal, pod);
    } else if (occupant?.metadata.uid === uid) {
      found.pods.delete(ordinal);
    }
  }

  #caseOf(pod: SeenPod): Case | undefined {
    const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller === true);
    return owner === undefined ? undefined : this.#cases.get(owner.uid);
  }

  /** True if the write is charged. */
  #judgeDelete(write: PodWrite, before: SeenPod): boolean {
    const earlier = this.#deleteRequests.get(write.uid);
    if (earlier !== undefined) {
      this.#accuse('deleted twice', write, `uid ${write.uid} was deleted already by ${earlier.auditID}`);
      return false;
    }
    this.#deleteRequests.set(write.uid, write);
    const found = this.#caseOf(before);
    if (found === undefined) {
      this.#accuse('ownership', write, 'it belongs to no workload that was seen');
      return false;
    }
    const ordinal = ordinalOf(before);
    if (isFinished(before) || !this.#isWantedThroughout(found, ordinal, write.at)) {
      return false;
    }
    this.#deletes += 1;
    const template = JSON.stringify(found.workload.spec.template);
    found.deleted.set(ordinal, { revision: revisionOf(before), template, by: write });
    return this.#charge(found, write, before);
  }

  /** A pod that scaling takes away, or was to take away when the write was planned, is nobody's budget. */
  #isWantedThroughout(found: Case, ordinal: number, at: number): boolean {
    if (!isWanted(found.workload, ordinal)) {
      return false;
    }
    return found.steps.every(
      (step) =>
        step.workload === undefined || step.at < at - this.#planAgeMs || isWanted(step.workload, ordinal),
    );
  }

  /** True if the write is charged. */
  #judgePatch(write: PodWrite, before: SeenPod, after: SeenPod): boolean {
    const change = changeOf(before, after);
    if (change === 'none') {
      return false;
    }
    this.#patches += 1;
    for (const why of this.#gates.patch(before, after)) {
      this.#accuse('in-place order', write, why);
    }
    const found = this.#caseOf(before);
    if (found === undefined) {
      this.#accuse('ownership', write, 'it belongs to no workload that was seen');
      return false;
    }
    return change === 'begins' && this.#charge(found, write, before);
  }

  #judgeReplacement(found: Case, ordinal: number, pod: SeenPod): void {
    const deleted = found.deleted.get(ordinal);
    found.deleted.delete(ordinal);
    if (
      deleted !== undefined &&
      deleted.revision === revisionOf(pod) &&
      deleted.template === JSON.stringify(found.workload.spec.template)
    ) {
      this.#accuse(
        'deleted for nothing',
        deleted.by,
        `it came back at the same revision ${deleted.revision}`,
      );
    }
  }

  /** A charged write is legal if unavailable + 1 ≤ maxUnavailable in a state that it can have been planned on. */
  #charge(found: Case, write: PodWrite, before: SeenPod): boolean {
    if (!isReady(before)) {
      return false;
    }
    this.#charged += 1;
    const pods = new Map(found.pods);
    let { workload } = found;
    let since = 0;
    const now = tally(workload, pods, before, write.at);
    let legal = now.unavailable + 1 <= now.allowed;
    for (let index = found.steps.length - 1; index >= 0 && !legal; index -= 1) {
      const step = found.steps[index] as Step;
      if (step.at < write.at - this.#planAgeMs) {
        break;
      }
      workload = step.workload ?? workload;
      since += step.charged ? 1 : 0;
      if (step.ordinal !== undefined) {
        if (step.pod === undefined) {
          pods.delete(step.ordinal);
        } else {
          pods.set(step.ordinal, step.pod);
        }
      }
      const then = tally(workload, pods, before, write.at);
      legal = then.unavailable + since + 1 <= then.allowed;
    }
    if (!legal) {
      const { unavailable, allowed, names } = now;
      this.#accuse(
        'budget',
        write,
        `it was Ready, ${String(unavailable)} of ${String(replicasOf(found.workload.spec))} were unavailable already ` +
          `(${names.join(', ')}), and ${String(allowed)} may be`,
      );
    }
    return true;
  }

  #accuse(rule: Violation['rule'], write: PodWrite, why: string): void {
    const { namespace, name, verb, subresource, resourceVersion, auditID, at } = write;
    const what = `${verb} of pod ${namespace}/${name}${subresource === '' ? '' : ` (${subresource})`}`;
    this.#violations.push({
      rule,
      namespace,
      pod: name,
      message: `${what} at ${new Date(at).toISOString()}, version ${resourceVersion}, audit ${auditID}: ${why}`,
    });
  }
}

/** Wanted pods that are missing or not available. The written pod's own update in place does not count against it. */
function tally(
  workload: SeenWorkload,
  pods: ReadonlyMap<number, SeenPod>,
  written: SeenPod,
  at: number,
): { readonly unavailable: number; readonly allowed: number; readonly names: readonly string[] } {
  const { minReadySeconds = 0, ordinals } = workload.spec;
  const start = ordinals?.start ?? 0;
  const names: string[] = [];
  for (let ordinal = start; ordinal < start + replicasOf(workload.spec); ordinal += 1) {
    const pod = pods.get(ordinal);
    const own =
      pod !== undefined &&
      pod.metadata.uid === written.metadata.uid &&
      inPlaceMark(pod) !== undefined &&
      gateOf(pod) !== 'False' &&
      isInService(pod, minReadySeconds, at);
    if (!own && (pod === undefined || !isAvailable(pod, minReadySeconds, at))) {
      names.push(pod?.metadata.name ?? `${workload.metadata.name}-${String(ordinal)} (missing)`);
    }
  }
  return { unavailable: names.length, allowed: allowedUnavailable(workload), names };
}
