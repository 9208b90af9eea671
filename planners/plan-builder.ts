/** Collects writes and reasons while a planner runs: one place for refusals, "scaling first" and "one write a pod". */

import { isNote } from './complete-mark.ts';
import type { Action, Purpose, Reason, ReasonCode, Refusal, WritableResource } from './plan.ts';
import { LONGEST_REFUSAL_MS, actionKey, isAhead } from './plan.ts';
import { MOST_NAMES, compareReasons, describePin, reasonMessage } from './reasons.ts';
import type { Workload } from './workload.ts';

/** A refused write stops holding the rollout back after this time, milliseconds (design "One planner per kind"). */
const REFUSAL_PATIENCE_MS = 10_000;

/**
 * Steady writes that the rollout waits for, because they change which pods there are ("scaling before updating", D11, S9).
 * Steps of in-place updates, gates and history do not: their pods count as unavailable anyway, and in a large set some pod
 * is always in one of these steps.
 */
const HOLDS_BATCH: Readonly<Record<Purpose, boolean>> = {
  ScaleUp: true,
  ScaleDown: true,
  ReplaceFinished: true,
  FixIdentity: true,
  Adopt: true,
  Release: true,
  CreateClaim: true,
  RetainClaim: true,
  TrimHistory: false,
  OpenGate: false,
  InPlaceBegin: false,
  InPlaceApply: false,
  InPlaceFinish: false,
  InPlaceWithdraw: false,
  Recreate: false,
  Surge: false,
  Cordon: false,
  Evict: false,
  Uncordon: false,
  PrePull: false,
  PrePullDone: false,
  ScaleReplicaSet: true,
  GrowReplicaSet: false,
  ShrinkReplicaSet: false,
  AnnotateReplicaSet: false,
  MarkComplete: false,
};

interface Collected {
  readonly names: string[];
  total: number;
  detail?: string;
  until?: number;
}

export class PlanBuilder {
  readonly steady: Action[] = [];
  readonly batch: Action[] = [];
  readonly #refusals: ReadonlyMap<string, Refusal>;
  readonly #now: number;
  readonly #reasons = new Map<ReasonCode, Collected>();
  readonly #written = new Set<string>();
  #requeueAt = Infinity;
  #holding = false;
  #settled = true;
  /** The apiserver takes no revision for the present template. */
  #revisionRefused = false;

  constructor(refusals: ReadonlyMap<string, Refusal>, now: number) {
    this.#refusals = refusals;
    this.#now = now;
  }

  /** Adds a write of the steady state. False if it is in back-off after a refusal, which is then given as the reason. */
  addSteady(action: Action): boolean {
    const refusal = this.#refusal(action);
    // Also when it is due again: that it will be taken this time is not known.
    if (refusal !== undefined && !isNote(action)) this.#settled = false;
    if (refusal !== undefined && isAhead(refusal.retryAt, this.#now, LONGEST_REFUSAL_MS)) {
      this.#refused(action, refusal);
      return false;
    }
    const patienceEnds = refusal === undefined ? Infinity : refusal.since + REFUSAL_PATIENCE_MS;
    if (HOLDS_BATCH[action.purpose] && patienceEnds > this.#now) {
      this.#holding = true;
    }
    this.#written.add(resourceKey(action));
    this.steady.push(action);
    return true;
  }

  /** Adds a write of the rollout. False if it is in back-off after a refusal. */
  addBatch(action: Action): boolean {
    const refusal = this.#refusal(action);
    if (refusal !== undefined && isAhead(refusal.retryAt, this.#now, LONGEST_REFUSAL_MS)) {
      this.#refused(action, refusal);
      return false;
    }
    this.#written.add(resourceKey(action));
    this.batch.push(action);
    return true;
  }

  /** Whether the plan already writes to that pod: one plan writes to a pod once. */
  writesPod(name: string): boolean {
    return this.writes('pods', name);
  }

  /** The same of any object. */
  writes(resource: WritableResource, name: string): boolean {
    return this.#written.has(`${resource}/${name}`);
  }

  /** A step of scaling that was begun is waited for: the rollout comes after it (S9). */
  holdBatch(): void {
    this.#holding = true;
  }

  /** Whether a step of the steady state, to be written now or waited for, comes before the rollout. */
  get holdsBatch(): boolean {
    return this.#holding;
  }

  /** A pod is left over from a larger size, be it on its way out. */
  unsettle(): void {
    this.#settled = false;
  }

  /** See {@link Plan.settled}. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Gives a reason why something waits: for one pod, or for the workload. `until` is when it ends by itself. */
  wait(
    code: ReasonCode,
    options: { readonly pod?: string; readonly detail?: string; readonly until?: number } = {},
  ): void {
    let collected = this.#reasons.get(code);
    if (collected === undefined) {
      collected = { names: [], total: 0 };
      this.#reasons.set(code, collected);
    }
    const { pod, detail, until } = options;
    if (pod !== undefined) {
      collected.total += 1;
      if (collected.names.length < MOST_NAMES) collected.names.push(pod);
    }
    if (detail !== undefined) collected.detail ??= detail;
    if (until !== undefined && Number.isFinite(until)) {
      collected.until = Math.min(collected.until ?? Infinity, until);
      this.requeue(until);
    }
  }

  /** The template has no revision yet; `refused` is why the apiserver takes none, in its words. */
  waitForRevision(kind: 'ControllerRevision' | 'ReplicaSet', refused: string | undefined): void {
    this.#revisionRefused = refused !== undefined;
    if (refused === undefined) this.wait('RevisionMissing');
    else this.wait('CreateRefused', { pod: `the new ${kind}`, detail: refused });
  }

  /** A pod that would be of that revision. Why there is none has been said, if the apiserver takes none. */
  waitForRevisionOf(pod: string): void {
    if (!this.#revisionRefused) this.wait('RevisionMissing', { pod });
  }

  /** Says that somebody went back, as long as that is so. */
  waitForPin({ pinned, isPinSpent }: Pick<Workload, 'pinned' | 'isPinSpent'>): void {
    if (pinned !== undefined && isPinSpent !== true) this.wait('Pinned', { detail: describePin(pinned) });
  }

  /** The plan changes by time alone at that moment, milliseconds. */
  requeue(at: number): void {
    if (at > this.#now && at !== Infinity) this.#requeueAt = Math.min(this.#requeueAt, at);
  }

  get requeueAt(): number | undefined {
    return Number.isFinite(this.#requeueAt) ? this.#requeueAt : undefined;
  }

  /** One reason for each code, the most urgent first. */
  get waiting(): readonly Reason[] {
    const sorted = [...this.#reasons].sort(([a], [b]) => compareReasons(a, b));
    return sorted.map(([code, { names, total, detail, until }]) => ({
      code,
      message: reasonMessage(code, names, total, detail),
      ...(names.length > 0 && { pods: names }),
      ...(until !== undefined && { until }),
    }));
  }

  #refusal(action: Action): Refusal | undefined {
    if (this.#refusals.size === 0) return undefined;
    const refusal = this.#refusals.get(actionKey(action));
    if (refusal === undefined || refusal.revision !== action.revision) return undefined;
    this.requeue(refusal.since + REFUSAL_PATIENCE_MS);
    return refusal;
  }

  #refused(action: Action, refusal: Refusal): void {
    const isEviction = action.purpose === 'Evict';
    if (refusal.unresizable !== undefined) {
      this.wait('ResizeRefused', { pod: action.name, detail: refusal.message, until: refusal.retryAt });
      return;
    }
    if (refusal.taken !== undefined && action.resource === 'pods') {
      const taken = refusal.taken === 'leaves' ? 'NameLeaving' : 'NameTaken';
      this.wait(taken, { pod: action.name, detail: refusal.message, until: refusal.retryAt });
      return;
    }
    const code = action.verb === 'create' ? 'CreateRefused' : 'WriteRefused';
    this.wait(isEviction ? 'DrainBlocked' : code, {
      ...(action.resource === 'pods' && { pod: action.name }),
      detail: `${isEviction ? 'eviction' : action.verb} of ${resourceKey(action)}: ${refusal.message}`,
      until: refusal.retryAt,
    });
  }
}

function resourceKey({ resource, namespace, name }: Action): string {
  return [resource, namespace, name].filter((part) => part !== undefined).join('/');
}
