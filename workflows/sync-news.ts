/** What becomes of a repository's commits, told to its receivers: beside what goes on, to each in order, and none holds another. */

import { proxyActivities, uuid4 } from '@temporalio/workflow';

import type { NotifyInput } from '../activities/commit-types.ts';
import type { SyncActivities } from '../activities/sync.ts';
import { awaiting } from './activity-options.ts';
import { leaderTaskQueue } from './messages.ts';
import type { SyncInput } from './sync-messages.ts';

export class SyncNews {
  readonly #input: SyncInput;
  /** Ids of those who are told. */
  receivers: readonly string[];
  /** By receiver: settles when all that it was to be told is over. */
  readonly #telling = new Map<string, Promise<void>>();

  constructor(input: SyncInput) {
    this.#input = input;
    this.receivers = input.carried?.notify ?? [];
  }

  /** Tells every receiver; a server that does not answer is given up after a while, and nothing hangs on it. */
  tell(news: Omit<NotifyInput['news'], 'delivery'>): void {
    for (const receiver of this.receivers) {
      const told = { ...news, delivery: uuid4() };
      const before = this.#telling.get(receiver) ?? Promise.resolve();
      this.#telling.set(
        receiver,
        before.then(() => this.#tellOne(receiver, told)).catch(() => undefined),
      );
    }
  }

  /** Resolves when nothing is left to be told. */
  async settled(): Promise<void> {
    await Promise.all(this.#telling.values());
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
