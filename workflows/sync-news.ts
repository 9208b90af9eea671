/** What becomes of a repository's commits, told to its receivers: beside what goes on, to each in order, and none holds another. */

import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  patched,
  proxyActivities,
  uuid4,
} from '@temporalio/workflow';

import type { NotifyInput } from '../activities/commit-types.ts';
import type { SyncActivities } from '../activities/sync.ts';
import { awaiting, mutating } from './activity-options.ts';
import { leaderTaskQueue } from './messages.ts';
import type { BegunNews } from './news-queue.ts';
import { NewsQueue } from './news-queue.ts';
import type { SyncInput, UntoldNews } from './sync-messages.ts';
import { whyUntold } from './why-untold.ts';

type News = NotifyInput['news'];

/** Milliseconds for which one news is tried. */
const PATIENCE_MS = 2 * 60_000;
/** Milliseconds after which the last news of a repository that left are given up in any case. */
const LEAVE_MS = PATIENCE_MS + 30_000;
/** Milliseconds of one try: more than one post may take. */
const TRY_MS = 40_000;
/** Milliseconds that continue-as-new waits for answers that are under way: a post that is broken off is made twice. */
const GRACE_MS = 35_000;

export class SyncNews {
  readonly #input: SyncInput;
  readonly #isLast: boolean;
  /** Ids of those who are told. */
  receivers: readonly string[];
  /** Receivers of which it is known that they were told the last time. */
  readonly heard: Set<string>;
  readonly #queues = new Map<string, NewsQueue>();
  /** Receivers that are being told. */
  readonly #telling = new Set<string>();
  readonly #scope = new CancellationScope();
  /** Runs of before operators were told of receivers that are given up go on as they were. */
  #reports = false;

  /** @param isLast the repository is not followed any more, and nothing is told after what is carried */
  constructor(input: SyncInput, isLast = false) {
    this.#input = input;
    this.#isLast = isLast;
    this.receivers = input.carried?.notify ?? [];
    this.heard = new Set(input.carried?.heard);
    for (const [receiver, untold] of Object.entries(input.carried?.untold ?? {})) {
      this.#queues.set(receiver, new NewsQueue(untold));
      this.#reports = patched('receiver-reports');
      this.#begin(receiver);
    }
  }

  /** Tells every receiver; a server that does not answer is given up after a while, and nothing hangs on it. */
  tell(news: Omit<News, 'delivery' | 'missed'>): void {
    for (const receiver of this.receivers) {
      const queue = this.#queues.get(receiver) ?? new NewsQueue();
      this.#queues.set(receiver, queue);
      queue.add({ ...news, delivery: uuid4() });
      this.#reports = patched('receiver-reports');
      this.#begin(receiver);
    }
  }

  /** Nobody is being told anything. */
  get isIdle(): boolean {
    return this.#telling.size === 0;
  }

  /** By receiver, how many news it has not been told yet. */
  get waiting(): readonly (readonly [receiver: string, count: number])[] {
    return [...this.#queues].flatMap(([receiver, { length }]) => (length > 0 ? [[receiver, length]] : []));
  }

  /** Resolves when nothing is left to be told. */
  async settled(): Promise<void> {
    await condition(() => this.isIdle);
  }

  /** By receiver, what the next execution has to tell. */
  get untold(): Readonly<Record<string, UntoldNews>> {
    const queues = [...this.#queues].filter(([, queue]) => !queue.isEmpty);
    return Object.fromEntries(queues.map(([receiver, { untold }]) => [receiver, untold]));
  }

  /**
   * For continue-as-new: waits a moment for answers that are under way, unless there is something to do, then ends what is left.
   * An answer that comes meanwhile counts: what was told is not told again.
   */
  async interrupt(isUrgent: () => boolean): Promise<void> {
    await condition(() => this.isIdle || isUrgent(), GRACE_MS);
    this.#scope.cancel();
    await this.settled();
  }

  /** For the end of a run that was cancelled, and what it told with it: tells what is left, or has it reported that it could not. */
  async takeLeave(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      await this.settled();
      const { receivers: notify, untold } = this;
      const carried = { version: 1, notify, heard: [...this.heard], untold } as const;
      const rest = new SyncNews({ ...this.#input, carried }, true);
      await condition(() => rest.isIdle, LEAVE_MS);
      await rest.interrupt(() => true);
    });
  }

  #begin(receiver: string): void {
    if (this.#telling.has(receiver) || this.#scope.consideredCancelled) return;
    this.#telling.add(receiver);
    void Promise.resolve()
      .then(async () => await this.#scope.run(async () => await this.#tellAll(receiver)))
      .catch(() => undefined);
  }

  async #tellAll(receiver: string): Promise<void> {
    const queue = this.#queues.get(receiver);
    if (queue === undefined) return;
    try {
      for (let news = queue.begin(Date.now()); news !== undefined; news = queue.begin(Date.now())) {
        const problem = await this.#tellOne(receiver, news);
        // What was told in time is told, also by one that is on its way out.
        if (problem === undefined) queue.told();
        else if (!this.#scope.consideredCancelled) queue.givenUp();
        if (this.#scope.consideredCancelled) return;
        if (this.#reports) await this.#report(receiver, news, problem);
      }
    } finally {
      // In the same moment: what is told from now on begins anew.
      this.#telling.delete(receiver);
    }
  }

  /** Only what is news to operators is reported to them: a receiver that was given up, or is told again. */
  async #report(receiver: string, news: BegunNews, problem: string | undefined): Promise<void> {
    const wasHeard = this.heard.has(receiver);
    if (problem === undefined) this.heard.add(receiver);
    else this.heard.delete(receiver);
    if (problem === undefined && wasHeard) return;
    const { cluster, clusterUid, repository } = this.#input;
    const { reportReceiver } = proxyActivities<SyncActivities>({
      ...mutating(leaderTaskQueue(cluster)),
      summary: `${receiver} ${problem === undefined ? 'was told' : 'was given up'}`,
    });
    const what = `${news.sha.slice(0, 8)} ${news.outcome}`;
    await reportReceiver({
      clusterUid,
      repository,
      receiver,
      ...(problem !== undefined && { problem: `${problem}: not told of ${what}` }),
      ...(this.#isLast && { isLast: true }),
    });
  }

  /** Resolves with why it was not told. */
  async #tellOne(receiver: string, { since, ...news }: BegunNews): Promise<string | undefined> {
    const left = since + PATIENCE_MS - Date.now();
    if (left <= 0) return `${receiver} of repository ${this.#input.repository} did not answer in time`;
    const { cluster, clusterUid, repository } = this.#input;
    const { notifyReceiver } = proxyActivities<SyncActivities>({
      ...awaiting(leaderTaskQueue(cluster)),
      startToCloseTimeout: TRY_MS,
      scheduleToCloseTimeout: left,
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: `tell ${receiver}: ${news.sha.slice(0, 8)} ${news.outcome}`,
    });
    try {
      const isLast = this.#isLast && { isLast: true };
      await notifyReceiver({ clusterUid, repository, receiver, news, ...isLast });
      return undefined;
    } catch (error) {
      return whyUntold(`${receiver} of repository ${repository}`, error);
    }
  }
}
