/** Activities of a repository's sync. */

import type { Client } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

import { InventoryStore } from '../git/inventory.ts';
import type { CommitNews } from '../git/notifications.ts';
import { NewsPutOffError, NewsRefusedError, NewsUnansweredError, notify } from '../git/notifications.ts';
import type { Repository } from '../git/repositories.ts';
import { ProblemError, formatProblem } from '../git/problems.ts';
import type { Problem } from '../git/problems.ts';
import { reportReceiver as report } from '../git/receiver-report.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { OPEN_RUNS } from '../planners/open-runs.ts';
import { asActivities, attemptClient } from './attempt.ts';
import type {
  LookResult,
  NotifyInput,
  ReceiverReportInput,
  RepositoryReference,
  StopStrayInput,
} from './commit-types.ts';

export interface SyncActivityDependencies {
  readonly temporal: Client;
  /** As the worker itself: inventories are its own. */
  readonly client: KubernetesClient;
  readonly inventoryNamespace: string;
  readonly now: () => number;
  readonly clusterUid: string;
  /** Its name, for those who are told. */
  readonly cluster: string;
  /** By name, also of those that this leader has followed until they left the file; undefined: it has never seen it. */
  readonly repository: (name: string) => Repository | undefined;
  /** Looks at a repository now; undefined: it is not followed. */
  readonly look: (
    repository: string,
  ) => Promise<
    | { readonly ok: true; readonly sha: string }
    | { readonly ok: false; readonly problem: Problem }
    | undefined
  >;
}

/**
 * Milliseconds. A post that is under way when this worker is stopped may end within it: cut off, it is made once more by the next leader,
 * and not every receiver knows it again. Less than activities get to end in.
 */
const PARTING_MS = 3_000;

/** Aborts when the activity is cancelled; when that is because its worker is stopped, a little later. */
function untilParting(): { readonly signal: AbortSignal; readonly clear: () => void } {
  const { cancellationSignal: cancelled } = Context.current();
  const parting = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const give = (): void => parting.abort(cancelled.reason);
  const begin = (): void => {
    // By its name: the details say nothing where the SDK itself ends its activities.
    const isParting = toMessage(cancelled.reason) === 'WORKER_SHUTDOWN';
    timer = setTimeout(give, isParting ? PARTING_MS : 0);
  };
  if (cancelled.aborted) give();
  else cancelled.addEventListener('abort', begin, { once: true });
  return {
    signal: parting.signal,
    clear: () => {
      clearTimeout(timer);
      cancelled.removeEventListener('abort', begin);
    },
  };
}

export type SyncActivities = ReturnType<typeof createSyncActivities>;

/** The activities, bound to this leader. */
export function createSyncActivities(dependencies: SyncActivityDependencies) {
  const { temporal, client, inventoryNamespace, now, clusterUid, cluster, repository, look } = dependencies;

  /** Cancels every running commit of the repository, first the one of `sha`, and waits until it has closed. Answers their ids. */
  async function stopStrayCommits(input: StopStrayInput): Promise<readonly string[]> {
    requireCluster(input);
    const prefix = `commit/${input.cluster}/${input.repository}/`;
    const query = `WorkflowType = 'commit' AND ${OPEN_RUNS} AND WorkflowId STARTS_WITH '${prefix}'`;
    const stopped: string[] = [];
    if (input.sha !== undefined) {
      const workflowId = `${prefix}${input.sha}`;
      await stop(workflowId);
      stopped.push(workflowId);
    }
    for await (const { workflowId, runId } of temporal.workflow.list({ query })) {
      if (stopped.includes(workflowId)) continue;
      await stop(workflowId, runId);
      stopped.push(workflowId);
    }
    return stopped;
  }

  /** Asks the poller of the leader for a look, whoever was told of a push. */
  async function lookAtRepository(input: RepositoryReference): Promise<LookResult> {
    requireCluster(input);
    const found = await look(input.repository);
    if (found === undefined)
      return { problem: `the worker that leads does not follow a repository named ${input.repository}` };
    return found.ok ? { sha: found.sha } : { problem: formatProblem(found.problem) };
  }

  /** Tells one receiver; one that the repository has no more is told nothing. */
  async function notifyReceiver(input: NotifyInput): Promise<void> {
    requireCluster(input);
    const followed = repository(input.repository);
    if (followed === undefined) {
      const message = `${input.receiver} of repository ${input.repository} cannot be told: its entry, with address and credentials, is in no file that this worker has read`;
      throw ApplicationFailure.create({ message, type: 'NotFollowed', nonRetryable: input.isLast === true });
    }
    const receiver = followed.notify?.find(({ id }) => id === input.receiver);
    if (receiver === undefined) return;
    const { name, url } = followed;
    const stopping = untilParting();
    try {
      await notify(receiver, { cluster, name, url }, input.news, { signal: stopping.signal });
    } catch (error) {
      if (error instanceof NewsUnansweredError) throw unanswered(error, input.news);
      if (error instanceof NewsPutOffError) throw putOff(error);
      if (!(error instanceof NewsRefusedError)) throw error;
      const { message, name: type } = error;
      throw ApplicationFailure.create({ message, type, nonRetryable: true });
    } finally {
      stopping.clear();
    }
  }

  /** Tells operators that a receiver was given up, or that it is told again. */
  async function reportReceiver(input: ReceiverReportInput): Promise<void> {
    requireCluster(input);
    const own = attemptClient(client);
    const store = new InventoryStore(own, inventoryNamespace, input.repository, cluster);
    try {
      await report(own, store, input, now());
    } catch (error) {
      // Where the ConfigMap is somebody else's there is nowhere to report it to.
      if (!(error instanceof ProblemError && error.problem.code === 'InventoryForeign')) throw error;
    }
  }

  function requireCluster(input: RepositoryReference): void {
    if (input.clusterUid === clusterUid) return;
    const message = `this sync belongs to the cluster with kube-system uid ${input.clusterUid}, the worker to ${clusterUid}`;
    throw ApplicationFailure.create({ type: 'WrongCluster', nonRetryable: true, message });
  }

  async function stop(workflowId: string, runId?: string): Promise<void> {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    try {
      await handle.cancel();
      const closed = handle.result().catch((error: unknown) => {
        // However it ended: it has closed.
        if (!(error instanceof WorkflowFailedError)) throw error;
      });
      await Promise.race([closed, Context.current().cancelled]);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  return asActivities({ stopStrayCommits, lookAtRepository, notifyReceiver, reportReceiver });
}

/** Milliseconds for which a receiver may put a news off: newer ones wait behind it, and each has two minutes. */
const LONGEST_PUT_OFF_MS = 60_000;
/** Also where it asks for less. */
const SHORTEST_PUT_OFF_MS = 500;

/** The next try is when it has asked for it. */
function putOff({ message, name: type, retryAfterMs }: NewsPutOffError): Error {
  const nextRetryDelay = Math.max(SHORTEST_PUT_OFF_MS, Math.min(retryAfterMs, LONGEST_PUT_OFF_MS));
  return ApplicationFailure.create({ message, type, nextRetryDelay });
}

/** Milliseconds between tries without an answer: the first pause, each next one in these times, and the longest. */
const UNANSWERED = { firstMs: 5_000, factor: 4, longestMs: 30_000 } as const;

/**
 * Each try without an answer may be a double, and newer news wait: three of them fit into the two minutes of one news. Behind news that
 * were given up there is one try, so that a receiver that is always too slow gets each once.
 */
function unanswered({ message, name: type }: NewsUnansweredError, { missed = 0 }: CommitNews): Error {
  const { firstMs, factor, longestMs } = UNANSWERED;
  const nextRetryDelay = Math.min(firstMs * factor ** (Context.current().info.attempt - 1), longestMs);
  return ApplicationFailure.create({ message, type, nextRetryDelay, nonRetryable: missed > 0 });
}
