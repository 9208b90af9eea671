/**
 * One commit of one repository: check → claim → apply in stages and waves → prune → await rollouts → record. It only sequences;
 * objects and manifests never pass through here. Failed means: nothing more happens until another commit, or until someone asks.
 */

import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

import type { CommitActivities } from '../activities/commit.ts';
import type {
  BegunCommit,
  CheckCommitResult,
  CommitOutcome,
  RecordCommitResult,
} from '../activities/commit-types.ts';
import { awaiting, mutating } from './activity-options.ts';
import { CommitDisplay } from './commit-display.ts';
import { failureMessage } from './commit-end.ts';
import { leaderTaskQueue, waitsTaskQueue } from './messages.ts';
import { cancellationOf, isHistoryLong } from './run.ts';
import type { CommitInput, CommitResult } from './sync-messages.ts';
import type { ApplyStep } from '../git/order.ts';
import {
  commitProgressQuery,
  readReason,
  readSha,
  supersededSignal,
  unfollowedSignal,
} from './sync-messages.ts';

const STAGE_NAMES = ['foundations', 'configuration', 'network', 'workloads', 'the rest'] as const;

export async function commit(input: CommitInput): Promise<CommitResult> {
  return await new CommitRun(input).execute();
}

type Ending = Extract<CommitOutcome, 'Succeeded' | 'Refused' | 'Failed' | 'Superseded'>;

class CommitRun {
  readonly #input: CommitInput;
  #reference: BegunCommit;
  readonly #display: CommitDisplay;
  readonly #taskQueue: string;
  #supersededBy: string | undefined;
  /** Problems of objects that are left out, which nothing waits for. */
  #leftOut = 0;
  /** A write is under way. */
  #isUncounted = false;

  constructor(input: CommitInput) {
    const { workflowId, runId, originalExecutionRunId, startTime } = workflowInfo();
    this.#input = input;
    this.#taskQueue = leaderTaskQueue(input.cluster);
    const { clusterUid, repository, sha, heal } = input;
    this.#reference = {
      clusterUid,
      repository,
      sha,
      workflowId,
      runId,
      startedAt: startTime.toISOString(),
      ...(heal !== undefined && { heal }),
      ...(originalExecutionRunId !== runId && { isReset: true as const }),
    };
    this.#display = new CommitDisplay(input);
    setHandler(
      supersededSignal,
      (newer) => void (this.#supersededBy = readSha(newer) ?? this.#supersededBy),
      {
        description: 'Internal, from sync: a newer commit is the reason of the cancellation that follows.',
      },
    );
    setHandler(unfollowedSignal, (message) => this.#display.unfollowed(readReason(message)), {
      description: 'Internal, from sync: why the cancellation follows.',
    });
    setHandler(commitProgressQuery, () => this.#display.view(), {
      description: 'Phase, counts, what the commit waits for and what is wrong with it.',
    });
  }

  async execute(): Promise<CommitResult> {
    let ending: Ending;
    try {
      ending = await this.#run();
    } catch (error) {
      const cancellation = cancellationOf(error);
      if (cancellation !== undefined) {
        const outcome = this.#supersededBy === undefined ? 'Canceled' : 'Superseded';
        if (outcome === 'Canceled') this.#display.cancelled();
        await CancellationScope.nonCancellable(() => this.#record(outcome));
        throw cancellation;
      }
      if (error instanceof ActivityFailure || error instanceof ApplicationFailure) {
        this.#display.failed((error.cause ?? error).message);
        await CancellationScope.nonCancellable(() => this.#record('Failed'));
      }
      throw error;
    }
    const recorded = await this.#recordEnd(ending);
    if (ending === 'Refused' || ending === 'Failed') {
      const { problems } = this.#display;
      const { total, first } = problems;
      throw ApplicationFailure.create({
        type: ending === 'Refused' ? 'CommitRefused' : 'CommitFailed',
        nonRetryable: true,
        message: failureMessage(this.#input, ending, problems),
        details: [
          { total, first },
          { mayPassLater: recorded?.mayPassLater === true, endedAt: Date.now() },
        ],
      });
    }
    return {
      outcome: ending,
      ...this.#display.counts,
      rollouts: this.#display.rollouts,
      endedAt: Date.now(),
    };
  }

  async #run(): Promise<Ending> {
    const checked = await this.#check(false);
    if (this.#isSuperseded(checked)) return 'Superseded';
    if (checked.problems.total > 0 && !this.#leavesOut(checked)) return 'Refused';
    if (checked.changes > 0 || checked.prunes > 0 || checked.unlisted > 0) {
      const written = await this.#write(checked);
      if (written !== undefined) return written;
    }
    await this.#awaitRollouts();
    if (this.#display.problems.total > 0) return 'Failed';
    // What earlier revisions needed goes with them; while they may come back, as after a failure, it stays.
    const isPruned = this.#display.inUse === 0 || (await this.#prune(this.#display.inUse, true));
    if (!isPruned) return 'Superseded';
    return this.#display.problems.total > 0 ? 'Failed' : 'Succeeded';
  }

  /**
   * Objects that are put back are independent of each other: those that the check has refused are reported and left out of all that
   * follows. False: nothing would be left, or what is wrong is not about single objects.
   */
  #leavesOut({ problems, refused, changes }: CheckCommitResult): boolean {
    const { heal } = this.#reference;
    if (heal === undefined || refused === undefined || changes === 0 || !patched('heals-the-rest'))
      return false;
    this.#reference = { ...this.#reference, heal: heal.filter((key) => !refused.includes(key)) };
    this.#leftOut += problems.total;
    return true;
  }

  /** Of a run that was reset: another commit was tried since. */
  #isSuperseded({ supersededBy }: { readonly supersededBy?: string }): boolean {
    this.#supersededBy ??= supersededBy;
    return supersededBy !== undefined;
  }

  /** Undefined: everything was written. */
  async #write(checked: CheckCommitResult): Promise<Ending | undefined> {
    const { claimInventory } = this.#mutate('claim the inventory');
    if (this.#isSuperseded(await claimInventory(this.#reference))) return 'Superseded';
    this.#display.enter('Applying');
    const steps = stepsOf(checked);
    const waved = new Set(steps.flatMap(({ stage, inWaves }) => (inWaves === true ? [stage] : [])));
    /** Stages with waves that something has waited for. */
    const awaited = new Set<number>();
    let isDeferred = checked.deferred > 0;
    for (const [index, step] of steps.entries()) {
      if (isDeferred && step.stage > 0) {
        isDeferred = false;
        if (await this.#checkDeferred()) return 'Failed';
      }
      // Nothing is held up by an earlier wave where there is nothing to change.
      const isLater = steps[index - 1]?.stage === step.stage;
      const behind = step.changes === 0 ? [] : earlierStages(step, waved, awaited);
      const mustWait = isLater || step.dependent === true || behind.length > 0;
      if (mustWait && step.changes > 0) {
        if (!(await this.#awaitWave(step, behind))) return 'Failed';
        for (const stage of behind) awaited.add(stage);
      }
      if (!(await this.#applyStep(step, isLater || steps[index + 1]?.stage === step.stage)))
        return 'Superseded';
    }
    // Something could not be written: what left the commit stays, it may be what still works.
    if (this.#display.problems.total > 0) return undefined;
    return (await this.#prune(checked.prunes)) ? undefined : 'Superseded';
  }

  async #check(onlyDeferred: boolean): Promise<CheckCommitResult> {
    this.#display.enter('Checking');
    const { checkCommit } = proxyActivities<CommitActivities>({
      ...awaiting(this.#taskQueue),
      startToCloseTimeout: '15 minutes',
      summary: onlyDeferred ? 'check what needed the new kinds and namespaces' : 'check the whole commit',
    });
    const checked = await checkCommit({ ...this.#reference, onlyDeferred });
    this.#display.checked(checked);
    return checked;
  }

  async #checkDeferred(): Promise<boolean> {
    const { awaitFoundations } = proxyActivities<CommitActivities>({
      ...awaiting(waitsTaskQueue(this.#input.cluster)),
      summary: 'await new kinds and namespaces',
    });
    const unusable = await awaitFoundations(this.#reference);
    if (unusable) {
      this.#display.unusable(unusable);
      return true;
    }
    const checked = await this.#check(true);
    this.#display.enter('Applying');
    return checked.problems.total > 0 && !this.#leavesOut(checked);
  }

  /** `isPart`: there are others in its stage. */
  async #applyStep({ stage, wave, rank = 0, count, changes }: ApplyStep, isPart: boolean): Promise<boolean> {
    for (let from: number | undefined = 0; from !== undefined;) {
      const part = from === 0 ? '' : `, from ${from + 1}`;
      const name = `${stageName(stage)}${isPart ? `, ${stepName(wave, rank)}` : ''}`;
      const { applyStage } = this.#mutate(`apply ${name}: ${count} objects${part}`);
      const result: Awaited<ReturnType<typeof applyStage>> = await this.#counting(
        applyStage({ ...this.#reference, stage, ...(isPart && { wave, rank }), changes, from }),
      );
      if (result.outcome === 'superseded') return false;
      this.#display.applied(stage, result);
      from = result.next;
    }
    return true;
  }

  /** Until everything of the earlier waves of its stage, and of these earlier stages, is ready; false when that will not be. */
  async #awaitWave(
    { stage, wave, rank = 0, inWaves }: ApplyStep,
    stages: readonly number[],
  ): Promise<boolean> {
    const name = stageName(stage);
    const isWhole = stages.length > 0 && inWaves !== true;
    this.#display.enterWave(name, wave, isWhole);
    const { awaitWave } = proxyActivities<CommitActivities>({
      ...awaiting(waitsTaskQueue(this.#input.cluster)),
      startToCloseTimeout: '12 hours',
      summary: `await what is before ${isWhole ? name : `${stepName(wave, rank)} of ${name}`}`,
    });
    const since = Date.now();
    const refused = this.#display.problems.total > this.#leftOut;
    for (;;) {
      const input = { ...this.#reference, stage, wave, rank, ...(stages.length > 0 && { stages }) };
      const result = await awaitWave({ ...input, since, refused, ...this.#shown() });
      this.#display.awaited(result);
      if (result.outcome === 'waiting') continue;
      this.#display.enter('Applying');
      return result.problems.total === 0;
    }
  }

  async #prune(candidates: number, isAfterRollouts = false): Promise<boolean> {
    if (candidates === 0) return true;
    this.#display.enter('Pruning');
    this.#display.forgetInUse();
    for (let from: number | undefined = 0; from !== undefined;) {
      const what = isAfterRollouts ? 'what the rollouts needed' : `${candidates - from} objects`;
      const { pruneCommit } = this.#mutate(`prune ${what}`);
      const result: Awaited<ReturnType<typeof pruneCommit>> = await this.#counting(
        pruneCommit({
          ...this.#reference,
          from,
          known: this.#display.counts.pruned,
          ...(isAfterRollouts && { isAfterRollouts }),
        }),
      );
      if (result.outcome === 'superseded') return false;
      this.#display.pruned(result);
      from = result.next;
    }
    return true;
  }

  /** A write that is cut off says nothing of what it has written. */
  async #counting<T>(write: Promise<T>): Promise<T> {
    this.#isUncounted = true;
    const result = await write;
    this.#isUncounted = false;
    return result;
  }

  async #awaitRollouts(): Promise<void> {
    this.#display.enter('AwaitingRollouts');
    const { awaitRollouts } = proxyActivities<CommitActivities>({
      ...awaiting(waitsTaskQueue(this.#input.cluster)),
      startToCloseTimeout: '12 hours',
      summary: 'await rollouts',
    });
    const since = Date.now();
    for (;;) {
      const result = await awaitRollouts({ ...this.#reference, ...this.#shown(), since });
      this.#display.awaited(result);
      if (result.outcome === 'finished') return;
    }
  }

  /**
   * What other lines are news against. Once the history is long nothing is: told every ten seconds for days it would fill the history,
   * and the server terminates such a run. What it waits for is told every few hours then.
   */
  #shown(): { readonly shown?: readonly string[] } {
    return isHistoryLong(this.#input.historyLimit) ? {} : { shown: this.#display.waiting };
  }

  /** A cancellation that comes when all is done changes nothing of it, and must not leave it untold. */
  async #recordEnd(ending: Ending): Promise<RecordCommitResult | undefined> {
    try {
      if (!CancellationScope.current().consideredCancelled) return await this.#record(ending);
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
    return await CancellationScope.nonCancellable(() => this.#record(ending));
  }

  /** Undefined: a run that was recorded before there was an answer. */
  async #record(outcome: CommitOutcome): Promise<RecordCommitResult | undefined> {
    this.#display.closed(outcome, this.#supersededBy);
    const { recordCommit } = this.#mutate(`record: ${outcome}`);
    const isCutOff = this.#isUncounted && (outcome === 'Superseded' || outcome === 'Canceled');
    return await recordCommit({
      ...this.#reference,
      outcome,
      ...(!isCutOff && this.#display.counts),
      ...(this.#supersededBy !== undefined && { supersededBy: this.#supersededBy }),
      problems: this.#display.problems,
      notes: this.#display.notes,
      ...(this.#input.retry !== undefined && { retry: this.#input.retry }),
      ...(this.#input.asked !== undefined && { asked: this.#input.asked }),
    });
  }

  #mutate(summary: string): CommitActivities {
    return proxyActivities<CommitActivities>({
      ...mutating(this.#taskQueue),
      startToCloseTimeout: '30 seconds',
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary,
    });
  }
}

/** Those with waves that a step is the first to wait for. */
function earlierStages(
  { stage }: ApplyStep,
  waved: ReadonlySet<number>,
  awaited: ReadonlySet<number>,
): readonly number[] {
  const stages = [...waved].filter((one) => one < stage && !awaited.has(one));
  return stages.length > 0 && patched('waves-hold-stages') ? stages : [];
}

function stageName(stage: number): string {
  return STAGE_NAMES[stage] ?? `stage ${stage}`;
}

/** `wave 1`, or `wave 1, dependents 2` of what is applied after others of the wave. */
function stepName(wave: number, rank: number): string {
  return rank === 0 ? `wave ${wave}` : `wave ${wave}, dependents ${rank}`;
}

/** A check that was recorded before there were waves counted stages alone. */
function stepsOf({ steps, stages }: CheckCommitResult): readonly ApplyStep[] {
  if (steps !== undefined) return steps;
  return stages.flatMap((count, stage) => (count > 0 ? [{ stage, wave: 0, count, changes: count }] : []));
}
