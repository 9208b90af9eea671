/** Says what becomes of each commit, from what sync records in the cluster. */

import type { CommitStatus } from '../git/inventory-status.ts';
import { InventoryStore } from '../git/inventory.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';

const INVENTORY_NAMESPACE = 'fairlead-system';
const POLL_MS = 250;

/** Calls back for each outcome of each commit, and for a repository that cannot be read, until the signal aborts. */
export async function reportCommits(
  client: KubernetesClient,
  repository: string,
  say: (line: string, outcome: CommitStatus['outcome'] | 'Unknown') => void,
  signal: AbortSignal,
): Promise<void> {
  const store = new InventoryStore(client, INVENTORY_NAMESPACE, repository);
  let last = '';
  while (!signal.aborted) {
    try {
      const commit = (await store.read(signal))?.status.commit;
      const line = commit === undefined ? '' : describe(commit);
      if (line !== last && commit !== undefined) {
        last = line;
        say(line, commit.outcome);
      }
    } catch (error) {
      if (!signal.aborted) say(`the inventory of ${repository}: ${toMessage(error)}`, 'Unknown');
    }
    await pause(POLL_MS, signal);
  }
}

function describe({ sha, outcome, applied, unchanged, supersededBy, problems = [] }: CommitStatus): string {
  const counts = [
    applied === undefined ? '' : `${String(applied)} applied`,
    unchanged === undefined ? '' : `${String(unchanged)} unchanged`,
    supersededBy === undefined ? '' : `by ${supersededBy.slice(0, 8)}`,
  ].filter((part) => part !== '');
  const head = `commit ${sha.slice(0, 8)}: ${outcome}${counts.length === 0 ? '' : ` (${counts.join(', ')})`}`;
  return [head, ...problems.slice(0, 5)].join('; ');
}
