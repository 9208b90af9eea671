/**
 * Activities of a rolling update. Each reads the objects anew before every write and plans again, so that any attempt of any
 * worker goes on where the one before stopped.
 */

import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

import type { EventRecorder } from '../controllers/events.ts';
import type { KeyedMutex } from '../controllers/keyed-mutex.ts';
import { endOf, recordAttemptAt } from '../kubernetes/attempts.ts';
import { isNamespaceTerminating, isNotFound } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { pathOf, readUpdate, writeUpdate } from '../kubernetes/rolling-update-objects.ts';
import { abortUpdate, pauseUpdate, resumeUpdate } from '../kubernetes/rolling-update-wishes.ts';
import type { Wisher } from '../kubernetes/wish-edits.ts';
import type { WishResult } from '../kubernetes/workload-edit.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { seenAgain, withMemory } from '../planners/rolling-update-attempt.ts';
import { heldNext } from '../planners/rolling-update-handover.ts';
import type { UpdatePeriod } from '../planners/rolling-update-period.ts';
import { ANNOTATION } from '../planners/names.ts';
import {
  periodAfter,
  periodFromPods,
  periodReason,
  restOfPeriod,
} from '../planners/rolling-update-period.ts';
import type { UpdateRecord } from '../planners/rolling-update-record.ts';
import type { UpdateStep, UpdateWrite } from '../planners/rolling-update-steps.ts';
import { writeOf } from '../planners/rolling-update-steps.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { asActivities, attemptClient, attemptTimeLeft } from './attempt.ts';
import { newsAgainst } from './news.ts';
import { assertRenamePossible, insteadOfEnding } from './rename-refusals.ts';
import type {
  AdvanceInput,
  AdvanceResult,
  AwaitUpdateInput,
  AwaitUpdateResult,
  CloseUpdateInput,
  UpdateRunReference,
  UpdateWishInput,
} from './rolling-update-types.ts';

export interface RollingUpdateDependencies {
  readonly client: KubernetesClient;
  readonly clusterUid: string;
  /** FAIRLEAD_CLUSTER */
  readonly cluster: string;
  readonly mutex: KeyedMutex;
  readonly events: EventRecorder;
  readonly now: () => number;
  /** A run has closed, for the log. */
  readonly onClosed: (input: CloseUpdateInput) => void;
}

export type RollingUpdateActivities = ReturnType<typeof createRollingUpdateActivities>;

/** No further write is begun after this share of startToClose: the workflow asks again. */
const WRITING_SHARE = 0.5;
/** Waiting ends at this share of startToClose. */
const PATIENCE_SHARE = 0.7;
/** Between two looks while pods have no controller, milliseconds. */
const URGENT_MS = 25;
/** After this, milliseconds, whatever it waits for is stuck, and looks are as far apart as they always are. */
const URGENCY_MS = 10_000;
/** So many plans in a row that the cluster had overtaken mean that somebody works against us. */
const STALE_LIMIT = 20;
const WRITTEN_LIMIT = 30;

/** The activities, bound to this leader. */
export function createRollingUpdateActivities(dependencies: RollingUpdateDependencies) {
  const { clusterUid, cluster, mutex, events, now } = dependencies;

  /** Writes step after step until something has to be waited for. */
  async function advanceRollingUpdate(input: AdvanceInput): Promise<AdvanceResult> {
    refuseOtherCluster(input);
    const { namespace, name } = input.update;
    return await mutex.run(`ReplicationController/${namespace}/${name}`, async () => await advance(input));
  }

  async function advance(input: AdvanceInput): Promise<AdvanceResult> {
    const seen: { plan?: RollingUpdatePlan } = {};
    try {
      return await advanceFrom(input, seen);
    } catch (error) {
      throw insteadOfEnding(error, seen.plan);
    }
  }

  /** @param seen Takes what the last look has shown. */
  async function advanceFrom(
    input: AdvanceInput,
    seen: { plan?: RollingUpdatePlan },
  ): Promise<AdvanceResult> {
    const { update } = input;
    const client = attemptClient(dependencies.client);
    const { cancellationSignal: signal } = Context.current();
    const written: string[] = [];
    let stale = 0;
    let isStripped = false;
    let released: UpdateRecord | undefined;
    let created: string | undefined;
    let isEnding = false;
    let isTried = false;
    for (;;) {
      const looked = await look(client, input, signal, isEnding);
      if (released !== undefined) released = seenAgain(released, looked.view);
      const plan = withMemory(looked, { released, created });
      const { step } = plan;
      seen.plan = plan;
      if (isAboutHolding(plan) && !isTried) {
        isTried = true;
        isEnding = await refusesCreations(client, update, signal);
        if (isEnding) continue;
      }
      // Marks alone were left of an update that was given up: without them nothing tells that there was one.
      if (isStripped && step.do === 'refuse' && step.code === 'NothingToDo') {
        return {
          ...stateOf(plan),
          outcome: 'done',
          ending: 'Aborted',
          written: written.slice(-WRITTEN_LIMIT),
        };
      }
      const running = input.period ?? (input.hasGrown === false ? periodFromPods(plan) : undefined);
      const rest = restOfPeriod(plan, running, now());
      if (rest > 0 && running !== undefined) return grown(plan, running, rest, written);
      const write = writeOf(step);
      const isUrgent = step.do === 'await' && step.urgent;
      if ((write === undefined && !isUrgent) || attemptTimeLeft(WRITING_SHARE) <= 0) {
        return { ...answer(plan), written: written.slice(-WRITTEN_LIMIT) };
      }
      if (write === undefined) {
        await pause(URGENT_MS, signal);
        signal.throwIfAborted();
        continue;
      }
      const handing = write.purpose === 'ReleaseNext' ? recordOfRename(plan) : undefined;
      await assertRenamePossible(client, plan, signal);
      // From here on nothing but the record says what the pods are of; while the next one is there it is written again from that.
      if (handing !== undefined && !(await isThere(client, update.namespace, handing, signal))) continue;
      // Also where its answer is lost.
      released = handing ?? released;
      if (write.purpose === 'Supersede') await recordSuperseded(client, input, plan, write);
      const outcome = await writeUnlessEnding(client, update.namespace, write, signal);
      if (outcome === 'ending') {
        isEnding = true;
        continue;
      }
      if (outcome === 'stale') {
        stale += 1;
        if (stale > STALE_LIMIT) {
          throw new Error(`${write.message}: the cluster has changed before each of ${String(stale)} tries`);
        }
        continue;
      }
      stale = 0;
      if (write.purpose === 'Create') created = plan.view.record?.revision.metadata.uid;
      isStripped = write.purpose === 'Strip';
      written.push(write.message);
      report(plan, write.message);
      const period = periodAfter(plan, now());
      if (period !== undefined) return grown(plan, period, plan.view.state.updatePeriodMs, written);
    }
  }

  /** An update that another took the place of while its pods were awaited: the run goes on with that one, and closes as its. */
  async function recordSuperseded(
    client: KubernetesClient,
    { update }: UpdateRunReference,
    { view }: RollingUpdatePlan,
    { name, message }: UpdateWrite,
  ): Promise<void> {
    const record = view.records.find((one) => one.revision.metadata.name === name);
    const { revision, state } = record ?? {};
    const commit = record && commitOf(record);
    const { workflowExecution } = Context.current().info;
    const at = new Date(now()).toISOString();
    await recordAttemptAt(client, pathOf('controllerrevisions', update.namespace, name), undefined, {
      runId: workflowExecution?.runId ?? '',
      workflowId: workflowExecution?.workflowId ?? '',
      startedAt: revision?.metadata.creationTimestamp ?? at,
      // Without its end: written again it must be the same, or the write that follows would never find what was planned on.
      outcome: 'Superseded',
      endedBecause: message,
      ...(state?.begun?.reason !== undefined && { reason: state.begun.reason }),
      ...(commit !== undefined && { commit }),
      ...(state?.begun?.by !== undefined && { by: state.begun.by }),
    });
  }

  /** Looks at the cluster until there is something to do, or to tell. */
  async function awaitRollingUpdate(input: AwaitUpdateInput): Promise<AwaitUpdateResult> {
    refuseOtherCluster(input);
    const { cancellationSignal: signal } = Context.current();
    const isNews = newsAgainst(input.shown);
    const urgentUntil = now() + URGENCY_MS;
    for (;;) {
      const plan = await look(dependencies.client, input, signal);
      const state = stateOf(plan);
      const isSame = input.paused ? plan.step.do === 'paused' : isWaiting(plan.step);
      if (!isSame) return { ...state, outcome: 'step' };
      if (isNews(state.waiting.map(({ message }) => message))) return { ...state, outcome: 'news' };
      if (attemptTimeLeft(PATIENCE_SHARE) <= 0) return { ...state, outcome: 'later' };
      const isUrgent = plan.step.do === 'await' && plan.step.urgent && now() < urgentUntil;
      await pause(isUrgent ? URGENT_MS : plan.view.state.pollIntervalMs, signal);
      signal.throwIfAborted();
    }
  }

  /** Writes an operator's wish that came as a signal onto the controllers; verbs of the CLI have written it already. */
  async function recordUpdateWish({
    verb,
    by = 'signal',
    reason,
    ...input
  }: UpdateWishInput): Promise<WishResult> {
    refuseOtherCluster(input);
    const client = attemptClient(dependencies.client);
    switch (verb) {
      case 'pause':
        return await pauseUpdate(client, input.update, { by, reason }, now());
      case 'resume':
        return await resumeUpdate(client, input.update);
      case 'abort':
        return await abortUpdate(client, input.update, { by, reason }, now());
    }
  }

  /** Last activity of every run: its attempt on the record, an event, the log. */
  async function closeRollingUpdate(input: CloseUpdateInput): Promise<void> {
    refuseOtherCluster(input);
    const { update, outcome, record, workflowId, runId } = input;
    const client = attemptClient(dependencies.client);
    const plan = await look(client, input, Context.current().cancellationSignal);
    const { startedAt, commit } = beginningOf(plan, input);
    const { begun, end } = causesOf(plan, input, commit);
    const { by, reason } = end ?? begun;
    if (record !== undefined) {
      await recordAttemptAt(client, pathOf('controllerrevisions', update.namespace, record), undefined, {
        runId,
        workflowId,
        startedAt,
        endedAt: new Date(now()).toISOString(),
        outcome,
        ...(begun.by !== undefined && { by: begun.by }),
        ...(begun.reason !== undefined && { reason: begun.reason }),
        ...(end && endOf(end)),
        ...(commit !== undefined && { commit }),
      });
    }
    dependencies.onClosed({
      ...input,
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
    });
    const words = `rolling update of ${update.name}: ${outcome}${reason === undefined ? '' : ` (${reason})`}`;
    const eventReason = outcome === 'Succeeded' ? 'RolloutCompleted' : (`Rollout${outcome}` as const);
    report(
      plan,
      words,
      eventReason,
      outcome === 'Succeeded' || outcome === 'Superseded' ? 'Normal' : 'Warning',
    );
  }

  async function look(
    client: KubernetesClient,
    { update }: UpdateRunReference,
    signal: AbortSignal,
    isEnding = false,
  ): Promise<RollingUpdatePlan> {
    // A record that a run writes says so too.
    const settings = { cluster };
    return planRollingUpdate({ ...(await readUpdate(client, update, signal)), settings, isEnding }, now());
  }

  /** On whichever of the controllers is there; in the gap of a rename there is none, and the record tells. */
  function report(
    { view }: RollingUpdatePlan,
    message: string,
    reason: Parameters<EventRecorder['record']>[2] = 'RollingUpdate',
    type: 'Normal' | 'Warning' = 'Normal',
  ): void {
    const subject = view.old ?? view.nextController;
    if (subject === undefined) return;
    const { name, namespace = '', uid } = subject.metadata;
    const ref = { group: '', version: 'v1', kind: 'ReplicationController', namespace, name, uid };
    events.record({ ref }, type, reason, message);
  }

  function refuseOtherCluster(input: UpdateRunReference): void {
    if (input.clusterUid !== clusterUid) {
      throw ApplicationFailure.create({
        type: 'WrongCluster',
        nonRetryable: true,
        message:
          `this run belongs to the cluster with kube-system uid ${input.clusterUid}, the worker to ` +
          `${clusterUid}: give each cluster its own FAIRLEAD_CLUSTER`,
      });
    }
  }

  return asActivities({ advanceRollingUpdate, awaitRollingUpdate, recordUpdateWish, closeRollingUpdate });
}

/** Whether nothing at all is to be written for it. */
function isWaiting(step: UpdateStep): boolean {
  return step.do === 'await' && writeOf(step) === undefined;
}

/** Of a rename: on the way back the old controller is there, and needs none; in a namespace that is being deleted none can be written. */
function recordOfRename({ view: { old, record, isEnding } }: RollingUpdatePlan): UpdateRecord | undefined {
  return old === undefined && isEnding !== true ? record : undefined;
}

async function isThere(
  client: KubernetesClient,
  namespace: string,
  { revision: { metadata } }: UpdateRecord,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const found = await client.get(pathOf('controllerrevisions', namespace, metadata.name), { signal });
    return found.metadata.uid === metadata.uid;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** `ending`: the namespace is being deleted, and nothing can be created in it. @throws ApiError for everything else */
async function writeUnlessEnding(
  ...[client, namespace, write, signal]: Parameters<typeof writeUpdate>
): Promise<'done' | 'stale' | 'ending'> {
  try {
    return await writeUpdate(client, namespace, write, signal);
  } catch (error) {
    if (isNamespaceTerminating(error)) return 'ending';
    throw error;
  }
}

/** Whether it is about to hold the next controller, or holds it and cannot go on: what is held holds its namespace, too. */
function isAboutHolding({ step, view }: RollingUpdatePlan): boolean {
  return step.do === 'write' ? step.write.purpose === 'HoldNext' : heldNext(view) !== undefined;
}

/** Whether the namespace is being deleted. A worker may not read namespaces; a record that is tried, and not kept, tells. @throws ApiError */
async function refusesCreations(
  client: KubernetesClient,
  { namespace, name }: UpdateReference,
  signal: AbortSignal,
): Promise<boolean> {
  const metadata = { generateName: `${name}-` };
  const tried = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, revision: 1, data: {} };
  try {
    await client.create(pathOf('controllerrevisions', namespace), tried, { dryRun: true, signal });
    return false;
  } catch (error) {
    if (isNamespaceTerminating(error)) return true;
    throw error;
  }
}

/**
 * When the update of the record began, and of which commit: another than its run, where that had begun for one that this has taken the
 * place of. The apiserver's time has whole seconds, and is of another clock; what the record says is right in any case.
 */
function beginningOf(
  { view }: RollingUpdatePlan,
  { record: name, startedAt, commit }: CloseUpdateInput,
): { readonly startedAt: string; readonly commit?: string | undefined } {
  const record = view.records.find(({ revision }) => revision.metadata.name === name);
  const madeAt = record?.revision.metadata.creationTimestamp;
  const isOfRun = madeAt === undefined || Date.parse(madeAt) <= Date.parse(startedAt);
  if (record === undefined || isOfRun) return { startedAt, commit };
  const ofGit = commitOf(record);
  // One that nobody wrote down before is the run's own.
  return record.state.begun === undefined && ofGit === undefined
    ? { startedAt, commit }
    : { startedAt: madeAt, commit: ofGit };
}

/** Of what git rolls out; what somebody began by hand has that of the controller that is replaced. */
function commitOf({ state, controller }: UpdateRecord): string | undefined {
  return state.begun === undefined ? controller.metadata.annotations?.[ANNOTATION.commit] : undefined;
}

/** Who began a run, and who is behind its end, where it did not just succeed: of one that was turned round, who did that. */
function causesOf(
  { view }: RollingUpdatePlan,
  { outcome, by, reason, commit: ofRun }: CloseUpdateInput,
  commit: string | undefined,
): { readonly begun: Wisher; readonly end?: Wisher } {
  const { begun: written, turned } = (view.record ?? view.last)?.state ?? {};
  const begun = written ?? {};
  // Of these the input tells the end.
  if (outcome === 'Failed') return { begun, end: { reason } };
  if (outcome === 'Canceled') return { begun, end: { by, reason } };
  const isTurned = outcome !== 'Succeeded' && turned !== undefined;
  // Another run of the update (a retry) has not begun it, nor has a command that git has taken the place of.
  const first = written ?? (commit === ofRun ? { by, reason } : {});
  return { begun: first, ...(isTurned && { end: { by: turned.by, reason: turned.reason } }) };
}

function stateOf({ step, progress, view }: RollingUpdatePlan) {
  const record = (view.record ?? view.last)?.revision.metadata.name;
  return {
    progress,
    waiting: step.do === 'await' ? step.waiting : [],
    ...(record !== undefined && { record }),
  };
}

/** The other does not shrink before the period is over. */
function grown(
  plan: RollingUpdatePlan,
  period: UpdatePeriod,
  updatePeriodMs: number,
  written: readonly string[],
): AdvanceResult {
  const state = { ...stateOf(plan), waiting: [periodReason(plan)] };
  return { ...state, outcome: 'grown', updatePeriodMs, period, written: written.slice(-WRITTEN_LIMIT) };
}

function answer(plan: RollingUpdatePlan) {
  const state = stateOf(plan);
  const { step } = plan;
  switch (step.do) {
    case 'write':
      return { ...state, outcome: 'more' } as const;
    case 'await':
      return { ...state, outcome: 'waiting' } as const;
    case 'paused': {
      const { do: _, ...paused } = step;
      return { ...state, outcome: 'paused', paused } as const;
    }
    case 'done':
      return { ...state, outcome: 'done', ending: step.outcome } as const;
    case 'refuse':
      return { ...state, outcome: 'refused', code: step.code, message: step.message } as const;
  }
}
