/** What becomes of a repository's commits, told to its receivers: beside what goes on, to each in order, and none holds another. */

import { ActivityFailure, patched, proxyActivities, uuid4 } from '@temporalio/workflow';

import type { NotifyInput } from '../activities/commit-types.ts';
import type { SyncActivities } from '../activities/sync.ts';
import { awaiting, mutating } from './activity-options.ts';
import { leaderTaskQueue } from './messages.ts';
import type { SyncInput } from './sync-messages.ts';

export class SyncNews {
  readonly #input: SyncInput;
  /** Ids of those who are told. */
  receivers: readonly string[];
  /** Receivers of which it is known that they were told the last time. */
  readonly heard: Set<string>;
  /** By receiver: settles when all that it was to be told is over. */
  readonly #telling = new Map<string, Promise<void>>();

  constructor(input: SyncInput) {
    this.#input = input;
    this.receivers = input.carried?.notify ?? [];
    this.heard = new Set(input.carried?.heard);
  }

  /** Tells every receiver; a server that does not answer is given up after a while, and nothing hangs on it. */
  tell(news: Omit<NotifyInput['news'], 'delivery'>): void {
    for (const receiver of this.receivers) {
      const told = { ...news, delivery: uuid4() };
      const before = this.#telling.get(receiver) ?? Promise.resolve();
      // Runs of before operators were told of this go on as they were.
      const telling = patched('receiver-reports')
        ? before.then(async () => await this.#tellAndReport(receiver, told))
        : before.then(() => this.#tellOne(receiver, told));
      this.#telling.set(
        receiver,
        telling.catch(() => undefined),
      );
    }
  }

  /** Resolves when nothing is left to be told. */
  async settled(): Promise<void> {
    await Promise.all(this.#telling.values());
  }

  /** Only what is news to operators is reported to them: a receiver that was given up, or is told again. */
  async #tellAndReport(receiver: string, news: NotifyInput['news']): Promise<void> {
    const problem = await this.#tellOne(receiver, news).then(
      () => undefined,
      (error: unknown) => whyNot(error),
    );
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
    });
  }

  async #tellOne(receiver: string, news: NotifyInput['news']): Promise<void> {
    const { cluster, clusterUid, repository } = this.#input;
    const { notifyReceiver } = proxyActivities<SyncActivities>({
      ...awaiting(leaderTaskQueue(cluster)),
      startToCloseTimeout: '15 seconds',
      scheduleToCloseTimeout: '2 minutes',
      summary: `tell ${receiver}: ${news.sha.slice(0, 8)} ${news.outcome}`,
    });
    await notifyReceiver({ clusterUid, repository, receiver, news });
  }
}

/** In the words of the last try. */
function whyNot(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof Error ? cause.message.slice(0, 500) : 'no answer';
}
