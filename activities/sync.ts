/** Activities of a repository's sync. */

import type { Client } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

import { notify } from '../git/notifications.ts';
import type { Repository } from '../git/repositories.ts';
import { formatProblem } from '../git/problems.ts';
import type { Problem } from '../git/problems.ts';
import { asActivities } from './attempt.ts';
import type { LookResult, NotifyInput, RepositoryReference, StopStrayInput } from './commit-types.ts';

export interface SyncActivityDependencies {
  readonly temporal: Client;
  readonly clusterUid: string;
  /** Its name, for those who are told. */
  readonly cluster: string;
  /** By name; undefined when it is not followed. */
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

export type SyncActivities = ReturnType<typeof createSyncActivities>;

/** The activities, bound to this leader. */
export function createSyncActivities(dependencies: SyncActivityDependencies) {
  const { temporal, clusterUid, cluster, repository, look } = dependencies;

  /** Cancels every running commit of the repository and waits until it has closed. Answers their ids. */
  async function stopStrayCommits(input: StopStrayInput): Promise<readonly string[]> {
    requireCluster(input);
    const prefix = `commit/${input.cluster}/${input.repository}/`;
    const query = `WorkflowType = 'commit' AND ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '${prefix}'`;
    const stopped: string[] = [];
    for await (const { workflowId, runId } of temporal.workflow.list({ query })) {
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
    const receiver = followed?.notify?.find(({ id }) => id === input.receiver);
    if (followed === undefined || receiver === undefined) return;
    const { name, url } = followed;
    await notify(receiver, { cluster, name, url }, input.news, Context.current().cancellationSignal);
  }

  function requireCluster(input: RepositoryReference): void {
    if (input.clusterUid === clusterUid) return;
    const message = `this sync belongs to the cluster with kube-system uid ${input.clusterUid}, the worker to ${clusterUid}`;
    throw ApplicationFailure.create({ type: 'WrongCluster', nonRetryable: true, message });
  }

  async function stop(workflowId: string, runId: string): Promise<void> {
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

  return asActivities({ stopStrayCommits, lookAtRepository, notifyReceiver });
}
