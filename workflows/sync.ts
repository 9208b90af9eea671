/**
 * One repository: the leader signals each new commit, of many only the newest is applied. A running commit is cancelled by a
 * newer one, and the next starts only when the cancelled one has closed, so two never write at once.
 */

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import {
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

import type { LookResult } from '../activities/commit-types.ts';
import type { SyncActivities } from '../activities/sync.ts';
import { awaiting } from './activity-options.ts';
import type { CommitEnd } from './commit-end.ts';
import { describeEnd, hasFailed, leftAsApplied, mendedAt, puttingBack, retryDelay } from './commit-end.ts';
import type { commit } from './commit.ts';
import type { OperatorMessage } from './messages.ts';
import { leaderTaskQueue, readOperatorMessage } from './messages.ts';
import { isHistoryLong } from './run.ts';
import type {
  DriftFound,
  LastCommit,
  RolledOut,
  SeenCommit,
  Suspension,
  SyncInput,
  SyncState,
  WantedCommit,
} from './sync-messages.ts';
import { recordTerminated } from './record-terminated.ts';
import { startCommit } from './start-commit.ts';
import { describeSync } from './sync-display.ts';
import { SyncNews } from './sync-news.ts';
import { isRetryOf, readWay, wasTriedSince } from './sync-request.ts';
import {
  commitSeenSignal,
  driftSignal,
  isSameCommit,
  lookSignal,
  readDriftFound,
  readReason,
  readRolledOut,
  readSeenCommit,
  rolledOutSignal,
  supersededSignal,
  syncSignal,
  syncStatusQuery,
  syncUpdate,
  unfollowedSignal,
} from './sync-messages.ts';

export async function sync(input: SyncInput): Promise<never> {
  return await new SyncRun(input).execute();
}

class SyncRun {
  #input: SyncInput;
  #wanted: WantedCommit | undefined;
  #last: LastCommit | undefined;
  #running: WantedCommit | undefined;
  #child: ChildWorkflowHandle<typeof commit> | undefined;
  /** The running one is on its way out: what it was to apply has to be started anew if it is wanted after all. */
  #isCancelling = false;
  /** The newest commit that was seen, for `sync`, which names none. */
  #newest: Pick<SeenCommit, 'sha' | 'settings'> | undefined;
  #suspended: Suspension | undefined;
  /** Why no worker follows the repository any more. */
  #unfollowed: string | undefined;
  /** How many runs were begun, and the number of the one that `last` is about. */
  #begun = 0;
  #lastBegun = 0;
  /** Events of the history when that one was over. */
  #lastEvents: number | undefined;
  /** Nobody had asked for the run that `last` is about: it was the same commit again, by itself. */
  #lastWasRetry = false;
  /** Who asked while it was tried again by itself. */
  #askedMeanwhile: OperatorMessage | undefined;
  readonly #news: SyncNews;
  /** Looks that were asked for: one that is under way, and one after it for all who came since. */
  #looking: Promise<LookResult> | undefined;
  #nextLook: Promise<LookResult> | undefined;

  constructor(input: SyncInput) {
    this.#input = input;
    this.#wanted = input.carried?.wanted;
    this.#last = input.carried?.last;
    this.#newest = input.carried?.wanted ?? input.carried?.last;
    this.#suspended = input.carried?.suspended;
    this.#news = new SyncNews(input);
    setHandler(syncSignal, (message) => this.#askedFor(readOperatorMessage(message)), {
      description: 'Try the newest commit again. Optional payload: {"by": "…", "reason": "…"}',
    });
    setHandler(commitSeenSignal, (message) => this.#told(readSeenCommit(message)), {
      description: 'Internal, from the leader: the ref of the repository names this commit now. {"sha": "…"}',
    });
    setHandler(driftSignal, (message) => this.#drifted(readDriftFound(message)), {
      description: 'Internal, from the leader: objects of the commit are to be put back.',
    });
    setHandler(rolledOutSignal, (message) => this.#rolledOut(readRolledOut(message)), {
      description: 'Internal, from the leader: the rollouts that the last commit failed for have ended well.',
    });
    setHandler(unfollowedSignal, (message) => void (this.#unfollowed = readReason(message)), {
      description:
        'Internal, from the leader: the repository is not followed any more; a cancellation follows.',
    });
    setHandler(lookSignal, async () => void (await this.#look().catch(() => undefined)), {
      description: 'Look at the repository now, as after a push.',
    });
    setHandler(syncUpdate, async (message) => await this.#lookAndTry(message), {
      description:
        'Look at the repository now and try what is found. Optional payload: {"by": "…", "reason": "…"}',
    });
    setHandler(
      syncStatusQuery,
      () => ({
        repository: input.repository,
        clusterUid: input.clusterUid,
        ...(this.#running !== undefined && { running: this.#running.sha }),
        ...(this.#wanted !== undefined && { wanted: this.#wanted.sha }),
        ...(this.#last !== undefined && { last: this.#last }),
        ...(this.#suspended !== undefined && { suspended: this.#suspended }),
        notify: this.#news.receivers,
        searchAttributes: this.#input.searchAttributes,
      }),
      { description: 'What is running, what is wanted, what became of the last commit.' },
    );
  }

  async execute(): Promise<never> {
    try {
      return await this.#follow();
    } catch (error) {
      if (this.#hasLeft()) await this.#news.takeLeave();
      // Who asked for a look hears of it before the end: Temporal refuses an end that an answer follows.
      await CancellationScope.nonCancellable(async () => await condition(allHandlersFinished));
      throw error;
    } finally {
      // Who looks at a run that was cancelled wants to know why.
      if (this.#unfollowed !== undefined) this.#show();
    }
  }

  /** Whose commit was told to be pending would stay so for ever. */
  #hasLeft(): boolean {
    return this.#unfollowed !== undefined && patched('unfollowed-told');
  }

  async #follow(): Promise<never> {
    if (this.#input.carried === undefined) await this.#stopStrays();
    for (;;) {
      this.#show();
      await this.#somethingToDo();
      if (this.#mustContinueAsNew()) {
        await this.#interruptNews();
        await condition(allHandlersFinished);
        return await continueAsNew<typeof sync>({ ...this.#input, carried: this.#carry() });
      }
      const next = this.#wanted;
      if (next === undefined || this.#suspended !== undefined) continue;
      this.#wanted = undefined;
      await this.#apply(next);
    }
  }

  /** A receiver that hangs must not hold the repository: what is left goes on in the next execution. */
  async #interruptNews(): Promise<void> {
    if (this.#news.isIdle) return;
    if (patched('news-carried')) await this.#news.interrupt(() => this.#isWanted());
    else await this.#news.settled();
  }

  /** Whether another commit is to be begun, which ends the one that is running. */
  #isWanted(): boolean {
    return this.#wanted !== undefined && this.#suspended === undefined;
  }

  /** Until a commit is wanted: a new one, or the last one again when its time has come. */
  async #somethingToDo(): Promise<void> {
    const last = this.#last;
    const isNext = () => this.#isWanted() || this.#mustContinueAsNew() || this.#last !== last;
    if (this.#suspended !== undefined) {
      await condition(() => isNext() || this.#suspended === undefined);
    } else if (last?.retryAt === undefined) {
      await condition(() => isNext() || this.#suspended !== undefined);
    } else if (!(await condition(isNext, Math.max(1, last.retryAt - Date.now())))) {
      const { sha, settings, retryFor: reason } = last;
      const why = reason !== undefined && { reason };
      this.#wanted = { sha, again: true, ...(settings !== undefined && { settings }), ...why };
    }
  }

  #told(seen: SeenCommit | undefined): void {
    if (seen === undefined) return;
    this.#suspended = seen.suspended;
    this.#news.receivers = seen.notify ?? [];
    const { searchAttributes } = seen;
    if (searchAttributes !== undefined) this.#input = { ...this.#input, searchAttributes };
    this.#seen(seen);
    if (seen.unrecorded === true) this.#tryUnrecorded(seen);
  }

  /** What was tried is in no inventory any more: the commit makes it anew. One that is under way does so anyway. */
  #tryUnrecorded({ sha }: SeenCommit): void {
    const last = this.#last;
    const isBusy = this.#running !== undefined || this.#wanted !== undefined;
    if (isBusy || last?.sha !== sha || !patched('unrecorded-tried')) return;
    const { settings } = last;
    const reason = 'its inventory was deleted';
    this.#wanted = { sha, ...(settings !== undefined && { settings }), again: true, reason };
  }

  #seen({ sha, settings }: Pick<SeenCommit, 'sha' | 'settings'>): void {
    const seen = { sha, ...(settings !== undefined && { settings }) };
    this.#newest = seen;
    // Back to what is running already (or was tried): nothing is wanted any more.
    const running = this.#running?.heal === undefined ? this.#running : undefined;
    const known = this.#isCancelling ? undefined : (running ?? this.#last);
    const isKnown = known !== undefined && isSameCommit(known, seen);
    if (isKnown && this.#wanted?.again !== true) this.#wanted = undefined;
    else if (!isKnown) this.#wanted = { ...seen, again: false };
  }

  #askedFor(message: OperatorMessage): void {
    const newest = this.#newest;
    if (newest === undefined) return;
    const running = this.#running;
    const isUnderWay = running !== undefined && isSameCommit(running, newest) && !this.#isCancelling;
    // What puts some objects back is about these alone: who asks for the commit wants all of it.
    if (isUnderWay && (running.heal === undefined || !patched('asked-while-healing'))) {
      if (isRetryOf(running, this.#last) && patched('asked-while-retried')) this.#askedMeanwhile = message;
      return;
    }
    this.#tryAgain(newest, message);
  }

  #tryAgain({ sha, settings }: Pick<SeenCommit, 'sha' | 'settings'>, message: OperatorMessage): void {
    this.#wanted = { sha, ...(settings !== undefined && { settings }), again: true, ...message };
  }

  /** What it was refused for may have been mended after it had looked: one that began before somebody asked is no answer. */
  #answerMeanwhile({ outcome }: Pick<CommitEnd, 'outcome'>): void {
    const [asked, newest] = [this.#askedMeanwhile, this.#newest];
    this.#askedMeanwhile = undefined;
    if (asked === undefined || newest === undefined || !hasFailed(outcome)) return;
    if (this.#wanted === undefined) this.#tryAgain(newest, asked);
  }

  /** The leader finds it again, and says so, if something else is to be done first. */
  #drifted(found: DriftFound | undefined): void {
    const last = this.#last;
    const isBusy = this.#running !== undefined || this.#wanted !== undefined || this.#suspended !== undefined;
    if (found === undefined || isBusy) return;
    const known = last?.outcome === 'Succeeded' ? last : last?.applied;
    const applied = known ?? this.#toldApplied(found);
    if (applied?.sha !== found.sha) return;
    // Earlier runs waited for a commit that is not refused.
    if (applied !== last && !patched('heals-what-is-applied')) return;
    this.#wanted = puttingBack(applied, found);
  }

  /** A commit that was superseded before its first write has left all as it was, and its run cannot say so. */
  #toldApplied({ sha, wholeWith: settings }: DriftFound): Pick<LastCommit, 'sha' | 'settings'> | undefined {
    if (settings === undefined || !patched('heals-what-nobody-wrote')) return undefined;
    return { sha, settings };
  }

  /** The commit is tried again: only that tells whether all is as it wants it. The leader says so again, where it comes too early. */
  #rolledOut(found: RolledOut | undefined): void {
    const last = this.#last;
    if (found === undefined || this.#running !== undefined || last?.sha !== found.sha) return;
    const retryAt = mendedAt(last, Date.now());
    if (last.retryAt === undefined || last.retryAt > retryAt)
      this.#last = { ...last, retryAt, retryFor: found.reason };
  }

  /** A look at the repository by the leader. Of many that are asked for meanwhile one more is made. */
  async #look(): Promise<LookResult> {
    if (this.#looking === undefined) {
      this.#looking = this.#lookOnce().finally(() => {
        this.#looking = undefined;
      });
      return await this.#looking;
    }
    this.#nextLook ??= this.#looking
      .catch(() => undefined)
      .then(async () => {
        this.#nextLook = undefined;
        return await this.#look();
      });
    return await this.#nextLook;
  }

  async #lookOnce(): Promise<LookResult> {
    const { lookAtRepository } = proxyActivities<SyncActivities>({
      ...awaiting(leaderTaskQueue(this.#input.cluster)),
      startToCloseTimeout: '1 minute',
      scheduleToCloseTimeout: '2 minutes',
      summary: 'look at the repository',
    });
    const { clusterUid, repository } = this.#input;
    const found = await lookAtRepository({ clusterUid, repository });
    const seen = readSeenCommit(found);
    if (seen !== undefined && seen.sha !== this.#newest?.sha) this.#seen(seen);
    return found;
  }

  async #lookAndTry(message: unknown): Promise<LookResult> {
    const { historyLength: events } = workflowInfo();
    const asked = { begun: this.#begun, at: Date.now() - readWay(message), events };
    const found = await this.#look().catch((error: unknown) => {
      if (!isCancellation(error) || this.#unfollowed === undefined) throw error;
      return { problem: this.#unfollowed };
    });
    const [begun, isRetry] = [this.#lastBegun, this.#lastWasRetry];
    const run = { last: this.#last, begun, isRetry, events: this.#lastEvents };
    if ('sha' in found && !wasTriedSince(asked, run, this.#newest))
      this.#askedFor(readOperatorMessage(message));
    return found;
  }

  /** Runs one commit to its end, or until a newer one is wanted and this one has closed. */
  async #apply(wanted: WantedCommit): Promise<void> {
    this.#running = wanted;
    this.#begun += 1;
    this.#show();
    const before = this.#last;
    const startedAt = new Date().toISOString();
    // What is tried again by itself is news when it ends otherwise.
    const isRetry = isRetryOf(wanted, before);
    if (!isRetry && wanted.heal === undefined) this.#news.tell({ sha: wanted.sha, outcome: 'Pending' });
    // A cancellation of this run ends it too, but not before it was told why.
    const scope = new CancellationScope({
      cancellable: true,
      parent: new CancellationScope({ cancellable: false }),
    });
    const settled = { yet: false };
    const ending = scope
      .run(async () => await this.#runChild(wanted))
      .finally(() => {
        settled.yet = true;
      });
    ending.catch(() => undefined);
    const stop = async () => {
      this.#isCancelling = true;
      await CancellationScope.nonCancellable(async () => await this.#tellWhy());
      scope.cancel();
    };
    try {
      await condition(() => settled.yet || this.#isWanted());
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await stop();
      const { outcome } = await ending;
      const message = outcome === 'Canceled' ? this.#unfollowed : undefined;
      if (!isRetry && wanted.heal === undefined && this.#hasLeft())
        this.#news.tell({ sha: wanted.sha, outcome, ...(message !== undefined && { message }) });
      throw error;
    }
    if (!settled.yet) await stop();
    const { mayPassLater, endedAt, ...end } = await ending;
    const runId = this.#child?.firstExecutionRunId;
    if (end.outcome === 'Terminated' && runId !== undefined && patched('terminated-recorded'))
      await recordTerminated(this.#input, wanted, { runId, startedAt });
    this.#running = undefined;
    this.#child = undefined;
    this.#isCancelling = false;
    // The commit was applied, whatever becomes of single objects later; the leader says again what is still to be put back.
    if (wanted.heal !== undefined) return;
    if (!isRetry || end.outcome !== before?.outcome) this.#news.tell({ sha: wanted.sha, ...end });
    this.#lastBegun = this.#begun;
    this.#lastEvents = workflowInfo().historyLength;
    this.#lastWasRetry = isRetry;
    const tries = this.#last?.sha === wanted.sha ? (this.#last.tries ?? 1) + 1 : 1;
    this.#last = {
      sha: wanted.sha,
      ...(wanted.settings !== undefined && { settings: wanted.settings }),
      ...end,
      finishedAt: new Date().toISOString(),
      ...(endedAt !== undefined && { endedAt }),
      tries,
      ...leftAsApplied(end.outcome, before),
      ...(mayPassLater && { retryAt: Date.now() + retryDelay(tries) }),
    };
    this.#answerMeanwhile(end);
  }

  async #runChild(wanted: WantedCommit): Promise<CommitEnd> {
    try {
      const child = await this.#startChild(wanted);
      this.#child = child;
      const { outcome, endedAt } = await child.result();
      return { outcome, mayPassLater: false, ...(endedAt !== undefined && { endedAt }) };
    } catch (error) {
      return describeEnd(error, this.#wanted !== undefined);
    }
  }

  /** An earlier run of the commit that somebody has reset is ended first: its id is taken until it has closed. */
  async #startChild(wanted: WantedCommit): Promise<ChildWorkflowHandle<typeof commit>> {
    for (;;) {
      try {
        return await startCommit(this.#input, wanted);
      } catch (error) {
        const isTaken = error instanceof WorkflowExecutionAlreadyStartedError;
        if (!isTaken || !patched('reset-commit-stopped')) throw error;
        await this.#stopStrays(wanted.sha);
      }
    }
  }

  /** A cancellation has no reason of its own; without one it means a click in the UI. */
  async #tellWhy(): Promise<void> {
    const [sha, reason] = [this.#wanted?.sha, this.#unfollowed];
    try {
      if (reason !== undefined) await this.#child?.signal(unfollowedSignal, { reason });
      else if (sha !== undefined) await this.#child?.signal(supersededSignal, { sha });
    } catch (error) {
      // It has closed in this very moment; the cancellation finds that out.
      if (!(error instanceof ApplicationFailure)) throw error;
    }
  }

  /** Commits of an earlier sync that was terminated or cancelled would write beside ours. @param sha of one that is known to run */
  async #stopStrays(sha?: string): Promise<void> {
    const { stopStrayCommits } = proxyActivities<SyncActivities>({
      ...awaiting(leaderTaskQueue(this.#input.cluster)),
      startToCloseTimeout: '10 minutes',
      summary: 'make sure that no earlier commit is still running',
    });
    const { cluster, clusterUid, repository } = this.#input;
    await stopStrayCommits({ cluster, clusterUid, repository, ...(sha !== undefined && { sha }) });
  }

  /** Only between commits, so that no child is ever left without its parent. */
  #mustContinueAsNew(): boolean {
    return isHistoryLong(this.#input.historyLimit);
  }

  #carry(): SyncState {
    const { untold } = this.#news;
    return {
      version: 1,
      ...(this.#wanted !== undefined && { wanted: this.#wanted }),
      ...(this.#last !== undefined && { last: this.#last }),
      ...(this.#suspended !== undefined && { suspended: this.#suspended }),
      ...(this.#news.receivers.length > 0 && { notify: this.#news.receivers }),
      ...(this.#news.heard.size > 0 && { heard: [...this.#news.heard] }),
      ...(Object.keys(untold).length > 0 && { untold }),
    };
  }

  #show(): void {
    setCurrentDetails(
      describeSync({
        running: this.#running?.sha,
        wanted: this.#wanted?.sha,
        last: this.#last,
        suspended: this.#suspended,
        unfollowed: this.#unfollowed,
        news: this.#news.waiting,
      }),
    );
  }
}
