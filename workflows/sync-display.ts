/** What a repository's sync shows of itself in the Temporal UI. */

import { markdown } from './markdown.ts';
import type { LastCommit, Suspension } from './sync-messages.ts';

/** What is known of the repository now. */
export interface SyncShown {
  /** Commits, in full. */
  readonly running: string | undefined;
  readonly wanted: string | undefined;
  readonly last: LastCommit | undefined;
  readonly suspended: Suspension | undefined;
  /** Why no worker follows it any more. */
  readonly unfollowed: string | undefined;
  /** By receiver, how many news it has not been told yet. */
  readonly news: readonly (readonly [receiver: string, count: number])[];
}

/** The current details of the run, as Markdown. Pure. */
export function describeSync({ running, wanted, last, suspended, unfollowed, news }: SyncShown): string {
  const by = suspended?.by === undefined ? '' : ` by ${suspended.by}`;
  const why = suspended?.reason === undefined ? '' : `: ${suspended.reason}`;
  return markdown([
    unfollowed === undefined ? '' : `**Not followed any more**: ${unfollowed}`,
    suspended === undefined ? '' : `**Suspended${by}**${why}`,
    `**${running === undefined ? 'Waiting for a commit' : `Applying \`${running.slice(0, 8)}\``}**`,
    wanted === undefined ? '' : `next: \`${wanted.slice(0, 8)}\``,
    last === undefined ? '' : `last: \`${last.sha.slice(0, 8)}\` **${last.outcome}** at ${last.finishedAt}`,
    last?.message ?? '',
    running !== undefined || suspended !== undefined || last?.retryAt === undefined
      ? ''
      : `It is tried again at ${new Date(last.retryAt).toISOString()}${last.retryFor === undefined ? '' : ` (${last.retryFor})`}; signal \`sync\` for at once.`,
    news.map(([receiver, count]) => `${receiver}: ${count} news to be told`).join(', '),
  ]);
}
