/** The steady state of the workloads, level-triggered: observe → plan → execute → status, and runs where a rollout is due. */

import { isConflict, isForbidden, isNotFound, isRefusal, toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { trusted } from '../kubernetes/values.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { WORKLOAD_APIS, groupVersion, workloadPath } from '../kubernetes/workload-api.ts';
import { parseWorkloadKey, templateTarget } from '../kubernetes/workload-key.ts';
import { isBootstrap } from '../planners/bootstrap.ts';
import { isMarkOf, readDrainMark, uncordonAction } from '../planners/node-drain.ts';
import type { Condition, JsonObject, KubernetesObject, Node } from '../planners/objects.ts';
import { computeConditions, saysPausedMidway } from '../planners/conditions.ts';
import { isNote } from '../planners/complete-mark.ts';
import type { Plan, Reason } from '../planners/plan.ts';
import { describeNext, reasonMessage } from '../planners/reasons.ts';
import type { Workload } from '../planners/workload.ts';
import { withPreconditions } from './action-request.ts';
import type { ClusterView } from './cluster-view.ts';
import type { CreatedRevision } from './create-revision.ts';
import { RevisionNotKeptError, createRevision } from './create-revision.ts';
import type { EventRecorder } from './events.ts';
import type { Executor } from './executor.ts';
import type { KeyedMutex } from './keyed-mutex.ts';
import type { Observation, PlanFeed } from './plan-feed.ts';
import { ProgressClock } from './progress-clock.ts';
import { hasProgressed } from './has-progressed.ts';
import { grantRollback } from './rollback-request.ts';
import { BAD_ENDINGS, FAULTS } from './reported-reasons.ts';
import type { ToldEnding } from './run-endings.ts';
import { isEndOf } from './run-endings.ts';
import type { Runs } from './runs.ts';
import type { StatusWriter } from './status-writer.ts';
import { statusOf } from './status-writer.ts';
import { wishEvents } from './wish-events.ts';
import type { WriteMemory } from './write-memory.ts';

export interface ReconcilerOptions {
  readonly client: KubernetesClient;
  readonly cache: WatchCache;
  readonly view: ClusterView;
  readonly executor: Executor;
  readonly memory: WriteMemory;
  readonly mutex: KeyedMutex;
  readonly feed: PlanFeed;
  /** On Temporal. */
  readonly runs: Runs;
  /** Of workloads that Temporal needs. */
  readonly inProcess: Runs;
  readonly status: StatusWriter;
  readonly events: EventRecorder;
  readonly now: () => number;
  /** Whether Temporal answered when it was asked last. */
  readonly temporalAnswers: () => boolean;
  /** Reconcile `key` again, not before `at` (milliseconds since the epoch). */
  readonly requeue: (key: string, at?: number) => void;
  readonly onPlanned?: (workload: Workload, durationMs: number) => void;
}

/** Rounds of steady writes in one go; what is left then comes with the next reconcile. */
const SETTLE_ROUNDS = 3;

/** Temporal may be away for this long before the controller creates the first revision of a workload itself. */
const WITHOUT_TEMPORAL_MS = 5_000;

/** What is told of claims as an Event too; the first is upstream's. */
const CLAIM_EVENTS = [
  ['ClaimConflict', 'ConflictingController'],
  ['ClaimMissing', 'ClaimMissing'],
] as const;

const TEMPORAL_UNREACHABLE: Reason = {
  code: 'TemporalUnreachable',
  message: reasonMessage('TemporalUnreachable', [], 0, undefined),
};

/** What only a change of the object can mend. */
interface Fault {
  readonly reason: (typeof FAULTS)[number];
  readonly message: string;
}

/** A workload after its steady writes, with the plan that they left. */
export interface Settled {
  readonly object: KubernetesObject;
  readonly workload: Workload;
  readonly plan: Plan<object>;
  /** The last writes met a cluster that was newer than the plan. */
  readonly stale: boolean;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  /** Workload uid → since when its present template has no revision, milliseconds since the epoch. */
  readonly #revisionMissing = new Map<string, number>();
  /** Workload uid → why the apiserver does not take a revision for its template. */
  readonly #revisionRefused = new Map<string, string>();
  readonly #clock: ProgressClock;
  /** Of rollouts in process, which Temporal does not hold up. */
  readonly #inProcessClock: ProgressClock;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#clock = new ProgressClock(options);
    this.#inProcessClock = new ProgressClock({ ...options, temporalAnswers: () => true });
  }

  /** Brings one workload closer to its wanted state. Rejects if the apiserver did not answer or this process may not write. */
  async reconcile(key: string): Promise<void> {
    const { mutex, view, feed, runs, inProcess } = this.#options;
    await mutex.run(key, async () => {
      const object = view.object(key);
      const uid = feed.latest(key)?.workload.ref.uid;
      // Gone, or made again since.
      if (uid !== undefined && uid !== object?.metadata.uid) this.#forget(uid);
      if (object === undefined) {
        feed.publish(key, undefined);
        runs.workloadGone(key);
        inProcess.workloadGone(key);
        await this.#releaseNodes(key);
        return;
      }
      await this.#bringCloser(key, object);
    });
  }

  #forget(uid: string): void {
    const { memory, status } = this.#options;
    memory.forget(uid);
    status.forget(uid);
    this.#revisionMissing.delete(uid);
    this.#revisionRefused.delete(uid);
  }

  /** Nodes that were drained for a workload that is gone take pods again; what is not in the cache may be other workers'. */
  async #releaseNodes(key: string): Promise<void> {
    const { cache, client } = this.#options;
    const workload = parseWorkloadKey(key);
    for (const node of cache.list<Node>('nodes')) {
      const mark = readDrainMark(node);
      if (mark === undefined || !isMarkOf(mark, workload) || (await this.#isThere(workload, mark.uid)))
        continue;
      const action = uncordonAction(node, mark, `${mark.kind} ${mark.name} is gone`);
      try {
        const path = { group: '', version: 'v1', resource: 'nodes', name: action.name };
        cache.observeWrite('nodes', await client.patch(path, 'merge', withPreconditions(action)));
      } catch (error) {
        // Gone as well, or changed by somebody: its event brings us back.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  }

  /** Under either workload API, in whatever namespace. */
  async #isThere(workload: ReturnType<typeof parseWorkloadKey>, uid: string): Promise<boolean> {
    const { client } = this.#options;
    for (const api of WORKLOAD_APIS) {
      try {
        const found = await getOrUndefined(client, workloadPath({ ...groupVersion(api), ...workload }));
        if (found?.metadata.uid === uid) return true;
      } catch (error) {
        // Whoever may not look there shares the cluster with nobody who drains for it.
        if (!isForbidden(error)) throw error;
      }
    }
    return false;
  }

  /** Plans on what the cache holds now. */
  plan(key: string, object: KubernetesObject): { readonly workload: Workload; readonly plan: Plan<object> } {
    const { view, memory, cache, now, onPlanned } = this.#options;
    const workload = view.read(key, object);
    const started = performance.now();
    const { uid, namespace } = workload.ref;
    memory.freed(uid, (resource, name) => cache.get(resource, namespace, name)?.metadata.uid);
    const missingSince = this.#revisionMissing.get(uid);
    const refused = this.#revisionRefused.get(uid);
    const remembered = {
      ...memory.of(uid),
      ...(missingSince !== undefined && { revisionMissingSince: missingSince }),
      ...(refused !== undefined && { revisionRefused: refused }),
    };
    const plan = view.kind(key).plan(view.snapshot(key, workload, remembered), now());
    onPlanned?.(workload, performance.now() - started);
    if (plan.updateRevision !== undefined) {
      this.#revisionMissing.delete(uid);
    } else if (missingSince === undefined) {
      this.#revisionMissing.set(uid, now());
    }
    return { workload, plan };
  }

  /**
   * Executes what the steady state wants now, and what follows from it, before anything else: a batch is empty while it holds
   * a write (D11, S9). Called under the workload's mutex.
   */
  async settle(client: KubernetesClient, key: string, object: KubernetesObject): Promise<Settled> {
    const { executor, view } = this.#options;
    let current = object;
    let { workload, plan } = this.plan(key, current);
    let stale = false;
    for (let round = 0; round < SETTLE_ROUNDS && plan.steady.length > 0; round += 1) {
      const result = await executor.execute(client, workload, plan.steady);
      stale = result.stale.length > 0;
      current = view.object(key) ?? current;
      ({ workload, plan } = this.plan(key, current));
    }
    return { object: current, workload, plan, stale };
  }

  async #bringCloser(key: string, object: KubernetesObject): Promise<void> {
    const { client, requeue, now } = this.#options;
    const asked = await this.#grantRollback(key, object);
    // The object has changed: its event brings us back.
    if (asked === 'granted') return;
    const settled = await this.settle(client, key, object);
    const { workload, plan } = settled;
    if (plan.steady.length > 0) {
      // A plan that was too old: give the watch a moment.
      requeue(key, settled.stale ? now() + 20 : undefined);
    }
    await this.publish(key, settled.object, workload, plan);
    await this.#createRevisionWithoutTemporal(key, workload, plan);
    if (plan.requeueAt !== undefined) {
      requeue(key, plan.requeueAt);
    }
    // The queue tries it again: pods, sizes and the status do not wait for it.
    if (asked !== undefined) throw asked.error;
  }

  /** What an annotation asks for; undefined: nothing. */
  async #grantRollback(
    key: string,
    object: KubernetesObject,
  ): Promise<'granted' | { readonly error: unknown } | undefined> {
    const { client, now, view, events } = this.#options;
    const workload = view.read(key, object);
    try {
      const asked = await grantRollback(client, workload, now());
      if (asked === undefined) return undefined;
      events.record(workload, asked.type, asked.reason, asked.message);
      return 'granted';
    } catch (error) {
      return { error };
    }
  }

  /**
   * Writes the status, tells those who wait for the plan, and brings the runs in line. Called under the workload's mutex.
   *
   * @returns what it told
   */
  async publish(
    key: string,
    object: KubernetesObject,
    workload: Workload,
    plan: Plan<object>,
  ): Promise<Observation> {
    const { client, status, feed, requeue, now, events } = this.#options;
    const runs = this.#runsOf(key, workload);
    const target = templateTarget(workload);
    // Whoever reads that it is done may go on at once: where abort leads must be noted by then.
    const finished = plan.finished && !plan.needsRollout && !plan.steady.some(isNote);
    // A run that ended badly stands in the way only of what is left to do: a run that was reset, or steady state, may do it.
    const served = statusOf(object);
    const endedBadly = runs.knows(key) ? undefined : badEndingBefore(served, workload, target);
    const ending = endedBadly ?? runs.blocked(key, workload.ref.uid, target);
    const wrong = fault(plan);
    const blocked = finished || ending === undefined ? wrong : { ...ending, isEnd: true as const };
    const conditions = computeConditions({
      previous: conditionsOf(served),
      finished,
      rolling: plan.needsRollout || runs.isOpen(key, workload.ref.uid),
      allAvailable: plan.progress.available >= plan.progress.desired,
      settled: plan.settled,
      progressed: hasProgressed(served, plan) || isNewRevision(feed.latest(key), plan),
      paused: workload.paused,
      blocked,
      waiting: this.#whatItWaitsFor(key, workload, plan),
      next: describeNext(plan.batch),
      own: plan.conditions,
      deadlineSeconds: workload.progressDeadlineSeconds,
      ...(isBootstrap(workload) ? this.#inProcessClock : this.#clock).read(),
      now: now(),
    });
    const resumedMidway =
      workload.paused === undefined && !finished && saysPausedMidway(conditionsOf(served));
    const observation: Observation = {
      workload,
      plan,
      target,
      timedOut: conditions.timedOut,
      ...(resumedMidway && { resumedMidway }),
      ...(endedBadly && { endedBadly }),
    };
    const pauseIsTold = saysPausedMidway(conditionsOf(served)) || !saysPausedMidway(conditions.conditions);
    for (const { type, reason, message } of wishEvents(feed.latest(key)?.workload, workload, pauseIsTold)) {
      events.record(workload, type, reason, message);
    }
    this.#reportClaims(feed.latest(key), observation);
    feed.publish(key, observation);
    runs.ensure(key, observation);
    if (conditions.deadlineAt !== undefined) {
      requeue(key, conditions.deadlineAt + 1_000);
    }
    this.#reportDeadline(workload, served, conditions.timedOut);
    if (blocked === wrong) this.#reportFault(workload, served, wrong);
    try {
      const wanted = { ...plan.status, conditions: conditions.conditions };
      const due = await status.write(client, object, workload, wanted, plan);
      if (due !== undefined) {
        requeue(key, due);
      }
    } catch (error) {
      if (!isConflict(error)) {
        throw error;
      }
      requeue(key);
    }
    return observation;
  }

  /** Who rolls the workload. The other one lets go of it: the label may just have come or gone. */
  #runsOf(key: string, workload: Workload): Runs {
    const { runs, inProcess } = this.#options;
    const [mine, other] = isBootstrap(workload) ? [inProcess, runs] : [runs, inProcess];
    other.workloadGone(key);
    return mine;
  }

  /** What only this process knows comes first: the planner does not know of Temporal. */
  #whatItWaitsFor(key: string, workload: Workload, plan: Plan<object>): readonly Reason[] {
    const isWaiting = plan.needsRollout && workload.paused === undefined;
    if (!isWaiting || isBootstrap(workload)) return plan.waiting;
    if (!this.#options.temporalAnswers()) return [TEMPORAL_UNREACHABLE, ...plan.waiting];
    const detail = this.#options.runs.refusal(key);
    if (detail === undefined) return plan.waiting;
    return [
      { code: 'TemporalRefused', message: reasonMessage('TemporalRefused', [], 0, detail) },
      ...plan.waiting,
    ];
  }

  /** S3, S4: once for each change of what is said of claims. */
  #reportClaims(before: Observation | undefined, { workload, plan }: Observation): void {
    for (const [code, reason] of CLAIM_EVENTS) {
      const messageOf = (waiting: readonly Reason[] = []) =>
        waiting.find((one) => one.code === code)?.message;
      const message = messageOf(plan.waiting);
      if (message === undefined || message === messageOf(before?.plan.waiting)) continue;
      this.#options.events.record(workload, 'Warning', reason, message);
    }
  }

  #reportDeadline(workload: Workload, served: JsonObject, timedOut: boolean): void {
    const before = conditionsOf(served).find((one) => one.type === 'Progressing');
    if (timedOut && before?.reason !== 'ProgressDeadlineExceeded') {
      this.#options.events.record(
        workload,
        'Warning',
        'ProgressDeadlineExceeded',
        `no progress for ${String(workload.progressDeadlineSeconds)} s; onDeadline is ${workload.onDeadline}`,
      );
    }
  }

  /** Once for each change of what only a change of the object can mend. */
  #reportFault(workload: Workload, served: JsonObject, wrong: Fault | undefined): void {
    const before = conditionsOf(served).find(({ type }) => type === 'Stalled');
    if (wrong === undefined || (before?.status === 'True' && before.reason === wrong.reason)) return;
    this.#options.events.record(workload, 'Warning', wrong.reason, wrong.message);
  }

  /**
   * Brings about the revision of the present template, for a run. Called under the workload's mutex.
   *
   * @throws as {@link createRevision}; the words of a refusal are in the next plan, which comes at once
   */
  async createRevision(client: KubernetesClient, key: string, workload: Workload): Promise<CreatedRevision> {
    try {
      return await this.#createRevision(client, key, workload);
    } catch (error) {
      if (isRevisionRefused(error)) this.#options.requeue(key);
      throw error;
    }
  }

  async #createRevision(client: KubernetesClient, key: string, workload: Workload): Promise<CreatedRevision> {
    const { cache, view, memory, events, now } = this.#options;
    const snapshot = () => view.snapshot(key, workload, memory.of(workload.ref.uid));
    const created = await createRevision(client, cache, view.kind(key), snapshot, now).catch(
      (error: unknown) => {
        if (isRevisionRefused(error)) this.#revisionIsRefused(workload, error.message);
        throw error;
      },
    );
    this.#revisionRefused.delete(workload.ref.uid);
    if (created.outcome !== 'existed') {
      const reason = created.outcome === 'created' ? 'RevisionCreated' : 'RevisionReused';
      const message = `revision ${created.name} (number ${created.number}) ${created.outcome}`;
      events.record(workload, 'Normal', reason, message);
    }
    return created;
  }

  /** A quota, a policy: whoever looks at the workload is to read the words of the apiserver. */
  #revisionIsRefused(workload: Workload, message: string): void {
    this.#revisionRefused.set(workload.ref.uid, message);
    this.#options.events.record(workload, 'Warning', 'FailedCreateRevision', message);
  }

  /** New workloads start although Temporal is away; replacing pods waits for it (design "What a run is"). */
  async #createRevisionWithoutTemporal(key: string, workload: Workload, plan: Plan<object>): Promise<void> {
    const { runs, now, client, view, memory, requeue, events } = this.#options;
    const since = runs.unreachableSince;
    if (since === undefined || isBootstrap(workload) || !plan.needsRollout || workload.deleting) {
      return;
    }
    const { revisions } = view.snapshot(key, workload, memory.of(workload.ref.uid));
    if (revisions.some((revision) => isOwned(revision, workload.ref.uid))) {
      return;
    }
    if (now() < since + WITHOUT_TEMPORAL_MS) {
      requeue(key, since + WITHOUT_TEMPORAL_MS);
      return;
    }
    try {
      // What is refused comes back with the back-off of a reconcile that failed.
      const created = await this.#createRevision(client, key, workload);
      events.record(
        workload,
        'Warning',
        'TemporalUnreachable',
        `Temporal has not taken a rollout run for ${String(Math.round((now() - since) / 1000))} s: created revision ` +
          `${created.name} without a rollout run, so that the pods start`,
      );
      requeue(key);
    } catch (error) {
      events.record(workload, 'Warning', 'FailedCreateRevision', toMessage(error));
      throw error;
    }
  }
}

/** Why there is no revision is to be read on the workload. */
function isRevisionRefused(error: unknown): error is Error {
  return isRefusal(error) || error instanceof RevisionNotKeptError;
}

function conditionsOf(status: JsonObject): readonly Condition[] {
  return trusted<readonly Condition[]>(status['conditions'] ?? []);
}

function isOwned(object: KubernetesObject, uid: string): boolean {
  return (
    object.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true
  );
}

/** What an earlier leader has said of a run that ended badly: it holds until this one has asked Temporal, and longer if that has forgotten it. */
function badEndingBefore(
  served: JsonObject,
  { generation }: Workload,
  target: string,
): ToldEnding | undefined {
  const stalled = conditionsOf(served).find(({ type }) => type === 'Stalled');
  const reason = BAD_ENDINGS.find((one) => one === stalled?.reason);
  if (reason === undefined) return undefined;
  const since = stalled?.lastTransitionTime;
  const ending = { reason, message: stalled?.message ?? '', ...(since !== undefined && { since }) };
  // The generation is another one where the workload was scaled since, or where the template never got a revision.
  return served['observedGeneration'] === generation || isEndOf(ending, target) ? ending : undefined;
}

/** The first fault in the planner's order. */
function fault({ waiting }: Plan<object>): Fault | undefined {
  for (const { code, message } of waiting) {
    const reason = FAULTS.find((one) => one === code);
    if (reason !== undefined) return { reason, message };
  }
  return undefined;
}

/** Not every kind has the revision in its status: a new one begins the clock anew (P18). */
function isNewRevision(before: Observation | undefined, { updateRevision }: Plan<object>): boolean {
  return before?.plan.updateRevision !== undefined && before.plan.updateRevision !== updateRevision;
}
