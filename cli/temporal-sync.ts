/** What the verbs of repositories ask of Temporal: the sync of a repository, and the run of one of its commits. */

import type { Client } from '@temporalio/client';

import type { LookResult } from '../activities/commit-types.ts';
import type { CommitStatus } from '../git/inventory.ts';
import type { CommitView, SyncRequest, SyncView } from '../workflows/sync-messages.ts';
import { readClusterUid } from './cluster-uid.ts';
import { CliError } from './exit-codes.ts';
import type { Session } from './session.ts';
import { describeStuck, endStuck, isStuck } from './stuck-runs.ts';
import type { OpenTemporal, SignalOutcome } from './temporal.ts';
import { reachable } from './temporal.ts';

/** Has the leader look at a repository now. Never throws for want of a run or of Temporal: it looks by itself, too. */
export async function askForLook(session: Session, repository: string): Promise<SignalOutcome> {
  return await reachable(session.io.environment, { outcome: 'noRun' } as const, async ({ client }) => {
    const { lookSignal, syncWorkflowId } = await import('../workflows/sync-messages.ts');
    const workflowId = syncWorkflowId(session.cluster, repository);
    await client.workflow.getHandle(workflowId).signal(lookSignal);
    return { outcome: 'signalled', workflowId } as const;
  });
}

/**
 * The sync of one repository over a connection that stays open. Each call rejects when Temporal does not answer; `sync` and `status` with
 * a CliError where no worker can go on with its run.
 */
export interface SyncCalls {
  /** Starts the sync where it does not run: no commit could be read yet. */
  readonly start: () => Promise<void>;
  /** Looks at the repository and tries what is found; as long as that takes, or until the signal. Undefined: its sync does not run. */
  readonly sync: (message: SyncRequest, signal: AbortSignal) => Promise<LookResult | undefined>;
  /** Undefined: Temporal answers, and no worker does. */
  readonly status: () => Promise<SyncView | undefined>;
  /** Undefined: the run cannot say (yet, or any more). */
  readonly progress: (sha: string) => Promise<CommitView | undefined>;
}

/** @param temporal closed by whoever opened it */
export async function syncCalls(
  temporal: OpenTemporal,
  session: Session,
  repository: string,
): Promise<SyncCalls> {
  const { cluster } = session;
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  const { commitWorkflowId, syncStatusQuery, syncUpdate, syncWorkflowId } =
    await import('../workflows/sync-messages.ts');
  const { isUnanswered } = await import('../controllers/temporal-failure.ts');
  const { workflow } = temporal.client;
  const workflowId = syncWorkflowId(cluster, repository);
  const handle = workflow.getHandle(workflowId);
  /** This needs no worker, and fails where Temporal is away. */
  const refuseStuck = async () => {
    if (!isStuck(await temporal.call(async () => await handle.describe()))) return;
    const end = `\`${endStuck(temporal.namespace, workflowId)}\``;
    throw new CliError(
      `${describeStuck(workflowId)}\n  another version may go on with it; else ${end}, then \`fairlead sync ${repository}\`: the next run tries the newest commit`,
    );
  };
  return {
    start: async () => {
      const [{ SyncRuns }, { ensureSearchAttributes }] = await Promise.all([
        import('../controllers/sync-runs.ts'),
        import('../worker/search-attributes.ts'),
      ]);
      const clusterUid = await readClusterUid(session);
      await temporal.call(async () => {
        const { registered } = await ensureSearchAttributes(temporal.client, temporal.namespace);
        const runs = new SyncRuns({
          temporal: temporal.client,
          cluster,
          clusterUid,
          searchAttributes: async () => registered,
        });
        await runs.start(repository);
      });
    },
    sync: async (message, signal) => {
      try {
        return await temporal.until(
          signal,
          async () => await handle.executeUpdate(syncUpdate, { args: [message] }),
        );
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        if (isUnanswered(error) && !signal.aborted) await refuseStuck();
        throw error;
      }
    },
    status: async () => {
      try {
        return await temporal.call(async () => await handle.query(syncStatusQuery));
      } catch (error) {
        if (!isUnanswered(error)) throw error;
        await refuseStuck();
        return undefined;
      }
    },
    progress: async (sha) => {
      const run = { workflowId: commitWorkflowId(cluster, repository, sha) };
      return await temporal.call(async () => await readCommitView(temporal.client, run));
    },
  };
}

/** Where a commit is that is under way. Never throws for want of a run, of a worker or of Temporal: undefined. */
export async function askWhereItIs(
  session: Session,
  run: Pick<CommitStatus, 'workflowId' | 'runId'>,
): Promise<CommitView | undefined> {
  const found = await reachable(
    session.io.environment,
    undefined,
    async ({ client }) => await readCommitView(client, run),
  );
  return found === undefined || 'outcome' in found ? undefined : found;
}

/** The view of a run; the latest one of the workflow without `runId`. Undefined: it cannot say. */
async function readCommitView(
  { workflow }: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId?: string },
): Promise<CommitView | undefined> {
  const { commitProgressQuery } = await import('../workflows/sync-messages.ts');
  const handle = workflow.getHandle(workflowId, runId);
  try {
    const view = await handle.query(commitProgressQuery);
    if (view.waiting.length > 0) return view;
    // The run itself is told of a wait when it has lasted a while, and not of a step that is tried again; the activity says so at once.
    const { raw } = await handle.describe();
    const { defaultPayloadConverter } = await import('@temporalio/common');
    const pending = raw.pendingActivities ?? [];
    const beats = pending.flatMap(({ heartbeatDetails }) =>
      (heartbeatDetails?.payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload(payload)),
    );
    const failures = pending.flatMap(({ lastFailure }) => lastFailure?.message ?? []);
    return { ...view, waiting: [...waitingIn(beats), ...failures] };
  } catch {
    return undefined;
  }
}

/** What is not done, of the heartbeats of activities that wait: lists of `label: state`. */
export function waitingIn(beats: readonly unknown[]): readonly string[] {
  return beats
    .flatMap((beat): readonly unknown[] => (Array.isArray(beat) ? beat : []))
    .filter((line) => typeof line === 'string')
    .filter((line) => !line.endsWith(': done'));
}
