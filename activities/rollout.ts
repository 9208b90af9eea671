/**
 * The steps of a rollout run, as activities and as they are for runs in process. They plan and write on the leader only, each
 * idempotent, each under the workload's mutex.
 */

import { ApplicationFailure } from '@temporalio/common';

import type { EventRecorder } from '../controllers/events.ts';
import type { Executor } from '../controllers/executor.ts';
import type { KeyedMutex } from '../controllers/keyed-mutex.ts';
import type { PlanFeed } from '../controllers/plan-feed.ts';
import type { Reconciler } from '../controllers/reconciler.ts';
import type { ClusterView } from '../controllers/cluster-view.ts';
import { isNotFound, isRefusal, toMessage } from '../kubernetes/api-error.ts';
import type { AttemptOutcome } from '../kubernetes/attempts.ts';
import { endOf, hasFinished, recordAttempt } from '../kubernetes/attempts.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Wisher } from '../kubernetes/wish-edits.ts';
import { TakenBackError } from '../kubernetes/taken-back-error.ts';
import { WishRefusedError } from '../kubernetes/wish-refused-error.ts';
import { pauseWorkload, resumeWorkload, undoWorkload } from '../kubernetes/wishes.ts';
import type { WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { WORKLOAD_RESOURCES, describeWorkload, workloadPath } from '../kubernetes/workload-api.ts';
import { templateTarget, workloadKey } from '../kubernetes/workload-key.ts';
import { withRefusal } from '../planners/deadline-reason.ts';
import { DEADLINE_WISHER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { Workload, WorkloadRef } from '../planners/workload.ts';
import { asActivities, attemptClient, currentAttempt, onceInAllAttempts } from './attempt.ts';
import { awaitObservation, stateOf } from './await-ready.ts';
import type { WrittenBefore } from './next-batch.ts';
import { awaitNextBatch } from './next-batch.ts';
import type {
  AwaitReadyInput,
  AwaitReadyResult,
  CloseInput,
  CloseResult,
  CreateRevisionResult,
  RunReference,
  Superseded,
  UpdateBatchResult,
  WishInput,
  WishResult,
} from './rollout-types.ts';

export interface RolloutStepDependencies {
  readonly client: KubernetesClient;
  readonly clusterUid: string;
  readonly cache: WatchCache;
  readonly view: ClusterView;
  readonly executor: Executor;
  readonly mutex: KeyedMutex;
  readonly feed: PlanFeed;
  readonly reconciler: Reconciler;
  readonly events: EventRecorder;
  readonly now: () => number;
  /** A run has closed, for the log. */
  readonly onClosed: (workload: WorkloadRef, runId: string, result: CloseResult) => void;
}

/** One batch as it was written. */
interface Written extends WrittenBefore {
  readonly result: UpdateBatchResult;
}

export type RolloutSteps = ReturnType<typeof createRolloutSteps>;
export type RolloutActivities = ReturnType<typeof createRolloutActivities>;

/** Of a large batch so many are written, if the executor's turn is not over before, until pause, pin and template are read again. */
const WRITES_BETWEEN_LOOKS = 100;

/** A batch that met only objects that had changed is planned again so often: ReplicaSets change with each pod that gets ready. */
const STALE_TRIES = 4;

/** At most this many names in a result; histories stay small. */
const NAME_LIMIT = 100;

/** The steps as activities. */
export function createRolloutActivities(steps: RolloutSteps) {
  return asActivities({ ...steps });
}

/** The steps, bound to this leader. Each is to be called within an attempt (attempt.ts). */
export function createRolloutSteps(dependencies: RolloutStepDependencies) {
  const { cache, view, executor, mutex, feed, reconciler, events, now } = dependencies;

  /** S6, C8: idempotent, the name follows from the template. */
  async function createRevision(input: RunReference): Promise<CreateRevisionResult> {
    const key = keyOf(input);
    return await mutex.run(key, async () => {
      const live = await readLive(input);
      if ('outcome' in live) {
        return live;
      }
      const created = await reconciler.createRevision(attemptClient(dependencies.client), key, live.workload);
      const { workload, plan } = reconciler.plan(key, live.object);
      await reconciler.publish(key, live.object, workload, plan);
      return {
        outcome: 'ready',
        revision: created.name,
        created: created.outcome === 'created',
        desired: plan.progress.desired,
      };
    });
  }

  /**
   * Plans just before its writes and writes only what is legal at that moment; a retry plans again. Slots that come free while
   * it is at it, or soon after, belong to the same batch: each is planned and written in the same way.
   */
  async function updateBatch(input: RunReference): Promise<UpdateBatchResult> {
    const key = keyOf(input);
    let { result, seen, more } = await writeBatch(input);
    while (result.outcome === 'written' && (await awaitNextBatch(feed, key, input, { seen, more }))) {
      const next = await writeBatch(input);
      if (next.result.outcome === 'written') {
        const pods = [...result.pods, ...next.result.pods].slice(0, NAME_LIMIT);
        result = { ...next.result, pods, refused: result.refused + next.result.refused };
      } else if (next.result.outcome !== 'nothing') {
        // The wait that follows finds out by itself.
        return result;
      }
      ({ seen, more } = next);
    }
    return result;
  }

  /** Writes what is legal now. */
  async function writeBatch(input: RunReference): Promise<Written> {
    const key = keyOf(input);
    return await mutex.run(key, async () => {
      const live = await readLive(input);
      if ('outcome' in live) {
        return { result: live, seen: undefined, more: false };
      }
      const client = attemptClient(dependencies.client);
      const { object, workload, plan } = await settleWithRevision(client, key, live.object);
      if (plan.batch.length === 0) {
        const seen = await reconciler.publish(key, object, workload, plan);
        const result = { ...verdict(workload, plan.finished), ...stateOf(seen) };
        return { result, seen, more: false };
      }
      const part = plan.batch.slice(0, WRITES_BETWEEN_LOOKS);
      let { done, refused, stale } = await executor.execute(client, workload, part);
      for (let tries = 1; tries < STALE_TRIES && done.length === 0 && stale.length > 0; tries += 1) {
        // What was newer is in the cache by now: whatever is legal then is written at once.
        const again = await reconciler.settle(client, key, view.object(key) ?? object);
        const next = again.plan.batch.slice(0, WRITES_BETWEEN_LOOKS);
        if (next.length === 0) break;
        ({ done, refused, stale } = await executor.execute(client, again.workload, next));
      }
      const after = reconciler.plan(key, view.object(key) ?? object);
      const seen = await reconciler.publish(key, view.object(key) ?? object, after.workload, after.plan);
      const result: UpdateBatchResult = {
        outcome: 'written',
        pods: done.slice(0, NAME_LIMIT).map(({ label, name }) => label ?? name),
        refused: refused.length,
        ...stateOf(seen),
      };
      // Slots that came free while it was written. A plan that is too old would only be too old again.
      const more = after.plan.batch.length > 0 && stale.length === 0;
      return { result, seen, more };
    });
  }

  /** The run has made the revision; it is made again where somebody has deleted it since. */
  async function settleWithRevision(client: KubernetesClient, key: string, object: KubernetesObject) {
    const settled = await reconciler.settle(client, key, object);
    const { workload, plan } = settled;
    if (plan.updateRevision !== undefined || workload.paused !== undefined) return settled;
    await reconciler.createRevision(client, key, workload);
    return await reconciler.settle(client, key, view.object(key) ?? settled.object);
  }

  /** Waits, without touching the apiserver, for the next thing to do (design "The loop and its window"). */
  async function awaitReady(input: AwaitReadyInput): Promise<AwaitReadyResult> {
    refuseOtherCluster(input);
    const key = keyOf(input);
    if (view.object(key) === undefined) {
      return { outcome: 'superseded', message: `${describeWorkload(input.workload)} was deleted` };
    }
    return await awaitObservation(feed, key, input);
  }

  /**
   * Writes onto the object what came as a signal, or what a deadline does; verbs of the CLI have written it already. What a person
   * holds or lets go is the object; a deadline and an abort are about the template of this run, and end with it.
   */
  async function recordWish(input: WishInput): Promise<WishResult> {
    const live = await readLive(input);
    const by = input.by ?? 'signal';
    const isOfObject = input.verb === 'resume' || (input.verb === 'pause' && by !== DEADLINE_WISHER);
    if ('outcome' in live && (live.gone === true || !isOfObject)) return comesTooLate(live.message);
    const asked = { by, ...(input.reason !== undefined && { reason: input.reason }) };
    const wish = withRefusal(asked, feed.latest(keyOf(input))?.plan.waiting ?? []);
    const target = isOfObject ? input.workload : ownTarget(input);
    try {
      return await writeWish(target, input.verb, wish);
    } catch (error) {
      if (error instanceof TakenBackError) {
        tellTakenBack(input, error);
        return { changed: false, message: error.message, rolledBack: false };
      }
      if (!isOfAnother(error)) throw error;
      return comesTooLate(error.message);
    }
  }

  /** Nobody reads the answer of a signal. */
  function tellTakenBack({ workload: ref }: RunReference, { message }: TakenBackError): void {
    events.record({ ref }, 'Warning', 'FailedUpdate', message);
  }

  async function writeWish(
    target: WorkloadTarget,
    verb: WishInput['verb'],
    wish: Wisher,
  ): Promise<WishResult> {
    const client = attemptClient(dependencies.client);
    switch (verb) {
      case 'pause':
        return { ...(await pauseWorkload(client, target, wish, now())), rolledBack: false };
      case 'resume':
        return { ...(await resumeWorkload(client, target)), rolledBack: false };
      case 'abort':
      case 'rollback': {
        const request = { ...wish, verb: verb === 'abort' ? verb : 'deadline' } as const;
        const { changed, message, effect } = await undoWorkload(client, target, request, now());
        // Back already, and this run is the one that brings it there: it goes on.
        return { changed, message, rolledBack: changed && effect === 'rolledBack' };
      }
    }
  }

  /**
   * Last activity of every run: finds out from the object what the end means (a cancellation without a word of the controller
   * is a click and means pause, a newer template is supersession, a pin is an abort or a rollback) and records the attempt on
   * the revision.
   */
  async function closeRun(input: CloseInput): Promise<CloseResult> {
    refuseOtherCluster(input);
    const result = await judgeEnd(input);
    await noteAttempt(input, result);
    dependencies.onClosed(input.workload, input.runId, result);
    const type = result.outcome === 'Succeeded' || result.outcome === 'Superseded' ? 'Normal' : 'Warning';
    events.record(
      { ref: input.workload },
      type,
      `Rollout${result.outcome === 'Succeeded' ? 'Completed' : result.outcome}`,
      `rollout of revision ${input.revision ?? '(not created)'}: ${result.outcome}` +
        (result.reason === undefined ? '' : ` (${result.reason})`),
    );
    return result;
  }

  /** On the revision. It is a note about the end: one that the apiserver refuses makes none of a rollout that is done a failure. */
  async function noteAttempt(input: CloseInput, result: CloseResult): Promise<void> {
    const { workload, revision, runId, workflowId, startedAt, cause, commit } = input;
    if (revision === undefined) return;
    const attempt = {
      runId,
      workflowId,
      startedAt,
      endedAt: new Date(now()).toISOString(),
      outcome: result.outcome satisfies AttemptOutcome,
      ...cause,
      ...endOf(result),
      ...(commit !== undefined && { commit }),
    };
    try {
      await recordAttempt(attemptClient(dependencies.client), workload, revision, attempt);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const message = `the attempt is not in the history: ${toMessage(error)}`;
      events.record({ ref: workload }, 'Warning', 'FailedUpdate', message);
    }
  }

  async function judgeEnd(input: CloseInput): Promise<CloseResult> {
    switch (input.ending) {
      case 'finished':
        return { outcome: 'Succeeded' };
      case 'aborted':
        return { outcome: 'Aborted', ...who(input) };
      case 'rolledBack':
        return { outcome: 'RolledBack', ...who(input) };
      case 'failed':
        return { outcome: 'Failed', ...who(input) };
      case 'superseded':
      case 'cancelled':
        return await judgeCancel(input);
    }
  }

  async function judgeCancel(input: CloseInput): Promise<CloseResult> {
    const live = await readLive(input);
    if ('outcome' in live) {
      const pin = live.pinned;
      // One that was there when the run began is about an earlier one of the same revision.
      const isNew = pin !== undefined && (pin.at === undefined || pin.at !== input.pinnedBefore);
      const isOut = isNew && pin.revision !== undefined && pin.revision === input.revision;
      // An undo may be of a rollout that was over, a moment before its run wrote that down.
      if ((!isOut || pin.verb === 'undo') && (await wasFinished(input))) return { outcome: 'Succeeded' };
      if (isOut) return { outcome: pin.verb === 'deadline' ? 'RolledBack' : 'Aborted', ...who(pin) };
      return { outcome: 'Superseded', reason: live.message };
    }
    if (input.ending === 'superseded') {
      // Another template was wanted, and this one is again by now: the run that comes next brings it about.
      return { outcome: 'Superseded', reason: 'its template was taken back and is wanted again' };
    }
    // Nobody asked for a newer revision: a click on Cancel in the UI. It means pause (design "Rollover").
    const wish = { by: 'Temporal UI', reason: 'the rollout run was cancelled' };
    const client = attemptClient(dependencies.client);
    // Whoever resumes it while the rest is tried again is not overruled.
    const pause = async () => await pauseWorkload(client, ownTarget(input), wish, now());
    try {
      await onceInAllAttempts('paused', pause);
    } catch (error) {
      // Tried again it would be taken back again, and the run could not end.
      if (error instanceof TakenBackError) {
        tellTakenBack(input, error);
        return { outcome: 'Canceled', ...wish, reason: `${wish.reason}; it is not paused: ${error.message}` };
      }
      if (!isOfAnother(error)) throw error;
      return await judgeCancel(input);
    }
    return { outcome: 'Canceled', ...wish };
  }

  async function wasFinished({ workload, revision, runId }: CloseInput): Promise<boolean> {
    if (revision === undefined) return false;
    return await hasFinished(attemptClient(dependencies.client), workload, revision, runId);
  }

  type Live = { readonly object: KubernetesObject; readonly workload: Workload };
  type Over = Superseded & {
    readonly pinned?: Workload['pinned'];
    /** There is no object any more, or another one has its name. */
    readonly gone?: true;
  };

  /** A quorum read, so that a pause or a new template that the cache has not seen yet is honoured. */
  async function readLive(input: RunReference): Promise<Live | Over> {
    refuseOtherCluster(input);
    const { workload: ref } = input;
    const name = describeWorkload(ref);
    let object: KubernetesObject;
    try {
      object = await dependencies.client.get(workloadPath(ref), {
        signal: currentAttempt().cancelled,
      });
    } catch (error) {
      if (isNotFound(error)) {
        return { outcome: 'superseded', message: `${name} was deleted`, gone: true };
      }
      throw error;
    }
    if (object.metadata.uid !== ref.uid) {
      return { outcome: 'superseded', message: `${name} was deleted and made again`, gone: true };
    }
    cache.observeWrite(WORKLOAD_RESOURCES[ref.kind], object);
    const workload = view.read(keyOf(input), object);
    const { pinned } = workload;
    if (workload.deleting) {
      return { outcome: 'superseded', message: `${name} is being deleted` };
    }
    if (templateTarget(workload) !== input.target) {
      return {
        outcome: 'superseded',
        message: `${name} has another template now`,
        ...(pinned && { pinned }),
      };
    }
    return { object, workload };
  }

  function refuseOtherCluster(input: RunReference): void {
    if (input.clusterUid !== dependencies.clusterUid) {
      throw ApplicationFailure.create({
        type: 'WrongCluster',
        nonRetryable: true,
        message:
          `this run belongs to the cluster with kube-system uid ${input.clusterUid}, the worker to ` +
          `${dependencies.clusterUid}: give each cluster its own FAIRLEAD_CLUSTER`,
      });
    }
  }

  return { createRevision, updateBatch, awaitReady, recordWish, closeRun };
}

function keyOf({ workload }: RunReference): string {
  return workloadKey(workload.kind, workload.namespace, workload.name);
}

/** The workload, as long as it has the template of the run. */
function ownTarget({ workload, target }: RunReference): WorkloadTarget {
  return { ...workload, template: target };
}

/** Between the look and the write the object, or its template, has become another. */
function isOfAnother(error: unknown): error is WishRefusedError {
  return error instanceof WishRefusedError && (error.code === 'Replaced' || error.code === 'Superseded');
}

/** The run is over, and must not try for ever. What an earlier attempt has written, a pin, is read when it closes. */
function comesTooLate(why: string): WishResult {
  return { changed: false, message: `nothing to do: ${why}`, rolledBack: false };
}

function verdict(
  workload: Workload,
  finished: boolean,
):
  | { readonly outcome: 'finished' | 'nothing' }
  | { readonly outcome: 'paused'; readonly paused: { readonly by?: string; readonly reason?: string } } {
  if (finished) {
    return { outcome: 'finished' };
  }
  return workload.paused === undefined
    ? { outcome: 'nothing' }
    : { outcome: 'paused', paused: who(workload.paused) };
}

function who(source: { readonly by?: string; readonly reason?: string }): {
  readonly by?: string;
  readonly reason?: string;
} {
  return {
    ...(source.by !== undefined && { by: source.by }),
    ...(source.reason !== undefined && { reason: source.reason }),
  };
}
