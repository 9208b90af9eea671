/**
 * Judges a rollout from outside: replays what the watches saw in resourceVersion order, finds among it the writes that the audit
 * log attributes to a worker, and names each that broke a rule of the design ("Budget", "Once", "In-place update of a pod").
 */

import { WriteDocket } from './budget-docket.ts';
import type { Observation, PodWrite, SeenKind, SeenNode, SeenPod, SeenWorkload } from './budget-evidence.ts';
import { GateWatch } from './budget-gates.ts';
import { SEEN_KINDS } from './budget-kinds.ts';
import { judgeReplicas } from './budget-replicas.ts';
import { changeOf, hasImagesOf, isFinished, isHelper, isReady, revisionOf } from './budget-rules.ts';
import { crowdOf, tally } from './budget-tally.ts';
import type { Scales, Tally } from './budget-tally.ts';

export interface Violation {
  readonly rule:
    | 'budget'
    | 'deleted twice'
    | 'deleted for nothing'
    | 'in-place order'
    | 'ownership'
    | 'too many on a node'
    | 'too many pods';
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
  /** Pods of Deployments and ReplicationControllers that there ever were; of these, available ones that were taken: each was judged. */
  readonly came: number;
  readonly taken: number;
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
  { planAgeMs = 1_000 }: JudgeOptions = {},
): BudgetReport {
  const ordered = [...observations].sort((a, b) => compareVersions(a, b));
  const docket = new WriteDocket(writes);
  const court = new Court(planAgeMs);
  for (const observation of ordered) {
    court.see(observation, docket.take(observation));
  }
  docket.close();
  const { violations, ...herds } = judgeReplicas(ordered, planAgeMs);
  const report = court.report();
  return { ...report, ...herds, violations: [...report.violations, ...violations] };
}

function isSeenKind(observation: Observation): observation is Observation & { readonly kind: SeenKind } {
  return observation.kind in SEEN_KINDS;
}

function compareVersions(a: Observation, b: Observation): number {
  const difference = BigInt(a.object.metadata.resourceVersion) - BigInt(b.object.metadata.resourceVersion);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** An event of one workload that can be taken back, to look at the states that a plan may have seen. */
interface Step {
  readonly at: number;
  /** Of the pod that changed. */
  readonly uid?: string;
  /** What it was before; undefined: not there. */
  readonly pod?: SeenPod | undefined;
  readonly workload?: SeenWorkload;
  readonly node?: { readonly name: string; readonly before: SeenNode | undefined };
  readonly charged: boolean;
}

interface Case {
  readonly kind: SeenKind;
  workload: SeenWorkload;
  /** By uid. */
  readonly pods: Map<string, SeenPod>;
  readonly steps: Step[];
  /** The last rollout delete of a slot, with the template of that moment and those before that it can have been planned for. */
  readonly deleted: Map<
    string,
    { readonly revision: string; readonly templates: readonly string[]; readonly by: PodWrite }
  >;
}

class Court {
  readonly #planAgeMs: number;
  readonly #cases = new Map<string, Case>();
  readonly #pods = new Map<string, SeenPod>();
  readonly #nodes = new Map<string, SeenNode>();
  readonly #deleteRequests = new Map<string, PodWrite>();
  readonly #gates = new GateWatch();
  readonly #violations: Violation[] = [];
  #deletes = 0;
  #patches = 0;
  #charged = 0;

  constructor(planAgeMs: number) {
    this.#planAgeMs = planAgeMs;
  }

  report(): Omit<BudgetReport, 'came' | 'taken'> {
    return {
      deletes: this.#deletes,
      patches: this.#patches,
      charged: this.#charged,
      violations: this.#violations,
    };
  }

  see(observation: Observation, writes: readonly PodWrite[]): void {
    if (observation.kind === 'node') {
      this.#seeNode(observation);
      return;
    }
    if (observation.kind !== 'pod') {
      if (isSeenKind(observation)) this.#seeWorkload(observation);
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

  #seeNode({ type, object, at }: Observation & { readonly kind: 'node' }): void {
    const { name } = object.metadata;
    const before = this.#nodes.get(name);
    for (const { kind, steps } of this.#cases.values()) {
      if (kind === 'DaemonSet') steps.push({ at, node: { name, before }, charged: false });
    }
    if (type === 'DELETED') {
      this.#nodes.delete(name);
    } else {
      this.#nodes.set(name, object);
    }
  }

  #seeWorkload({ kind, type, object, at }: Observation & { readonly kind: SeenKind }): void {
    const { uid } = object.metadata;
    const known = this.#cases.get(uid);
    if (known === undefined) {
      this.#cases.set(uid, { kind, workload: object, pods: new Map(), steps: [], deleted: new Map() });
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
    const known = found.pods.get(uid);
    found.steps.push({ at, uid, pod: known, charged });
    if (type === 'DELETED') {
      found.pods.delete(uid);
      return;
    }
    found.pods.set(uid, pod);
    if (known === undefined) {
      this.#judgeReplacement(found, pod);
      this.#judgeCrowd(found, pod, at);
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
    if (isHelper(before, (uid) => this.#cases.has(uid))) {
      return false;
    }
    const found = this.#caseOf(before);
    if (found === undefined) {
      this.#accuse('ownership', write, 'it belongs to no workload that was seen');
      return false;
    }
    const slot = SEEN_KINDS[found.kind].slotOf(before);
    const workloads = this.#workloadsThroughout(found, write.at);
    const isWanted = (seen: SeenWorkload) => SEEN_KINDS[found.kind].isWanted(seen, this.#nodes, slot);
    // A pod that scaling takes away, or was to take away when the write was planned, is nobody's budget.
    if (isFinished(before) || !workloads.every(isWanted)) {
      return false;
    }
    this.#deletes += 1;
    const templates = workloads.map(templateOf);
    found.deleted.set(slot, { revision: revisionOf(before), templates, by: write });
    return this.#charge(found, write, before);
  }

  /** What the workload is, and was in the states that a write at that time can have been planned on. */
  #workloadsThroughout({ workload, steps }: Case, at: number): SeenWorkload[] {
    const before = steps.filter((step) => step.at >= at - this.#planAgeMs);
    return [workload, ...before.flatMap((step) => step.workload ?? [])];
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

  /** A pod may come back as it was only if the template went back: after the delete, or after the plan of the delete. */
  #judgeReplacement(found: Case, pod: SeenPod): void {
    const slot = SEEN_KINDS[found.kind].slotOf(pod);
    const deleted = found.deleted.get(slot);
    found.deleted.delete(slot);
    if (deleted === undefined || deleted.revision !== revisionOf(pod)) {
      return;
    }
    const today = templateOf(found.workload);
    const [atWrite, ...before] = deleted.templates;
    const wentBack = before.some((template) => template !== today) && hasImagesOf(found.workload, pod);
    if (atWrite === today && !wentBack) {
      this.#accuse(
        'deleted for nothing',
        deleted.by,
        `it came back at the same revision ${deleted.revision}`,
      );
    }
  }

  /** One pod a node; with a surge a second one, on so many nodes at a time (D6, D8, D16). */
  #judgeCrowd({ kind, workload, pods }: Case, pod: SeenPod, at: number): void {
    const why = crowdOf({ rules: SEEN_KINDS[kind], nodes: this.#nodes, at }, workload, pods, pod);
    if (why !== undefined) {
      const { namespace = '', name, resourceVersion } = pod.metadata;
      const message = `pod ${namespace}/${name} at version ${resourceVersion}: ${why}`;
      this.#violations.push({ rule: 'too many on a node', namespace, pod: name, message });
    }
  }

  /** A charged write is legal if unavailable + 1 ≤ maxUnavailable in a state that it can have been planned on. */
  #charge(found: Case, write: PodWrite, before: SeenPod): boolean {
    if (!isReady(before)) {
      return false;
    }
    const nodes = new Map(this.#nodes);
    const scales: Scales = { rules: SEEN_KINDS[found.kind], nodes, at: write.at };
    const pods = new Map(found.pods);
    let { workload } = found;
    let since = 0;
    const now = tally(scales, workload, pods, before);
    if (now.cost === 0) {
      // Its successor serves already.
      return false;
    }
    this.#charged += 1;
    let legal = isLegal(now, 0);
    for (let index = found.steps.length - 1; index >= 0 && !legal; index -= 1) {
      const step = found.steps[index] as Step;
      if (step.at < write.at - this.#planAgeMs) {
        break;
      }
      workload = step.workload ?? workload;
      since += step.charged ? 1 : 0;
      if (step.uid !== undefined) {
        takeBack(pods, step.uid, step.pod);
      }
      if (step.node !== undefined) {
        takeBack(nodes, step.node.name, step.node.before);
      }
      legal = isLegal(tally(scales, workload, pods, before), since);
    }
    if (!legal) {
      const { unavailable, allowed, names, wanted } = now;
      this.#accuse(
        'budget',
        write,
        `it was Ready, ${String(unavailable)} of ${String(wanted)} were unavailable already ` +
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

function takeBack<V>(map: Map<string, V>, key: string, before: V | undefined): void {
  if (before === undefined) {
    map.delete(key);
  } else {
    map.set(key, before);
  }
}

function templateOf({ spec }: SeenWorkload): string {
  return JSON.stringify(spec.template);
}

/** `since`: pods that the writer has taken after the state that it planned on. */
function isLegal({ unavailable, allowed, cost }: Tally, since: number): boolean {
  return cost === 0 || unavailable + since + cost <= allowed;
}
