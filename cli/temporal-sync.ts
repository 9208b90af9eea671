/** What the verbs of repositories ask of Temporal: the sync of a repository, and the run of one of its commits. */

import { randomUUID } from 'node:crypto';

import type { Client } from '@temporalio/client';

import type { LookResult } from '../activities/commit-types.ts';
import type { CommitStatus } from '../git/inventory-status.ts';
import { pause } from '../kubernetes/backoff.ts';
import { isOpenRun } from '../planners/open-runs.ts';
import type { CommitView, SyncRequest, SyncView } from '../workflows/sync-messages.ts';
import { readClusterUid } from './cluster-uid.ts';
import { CliError } from './exit-codes.ts';
import type { Session } from './session.ts';
import { describeHeld, describeSlow, describeStuck, endStuck, taskTrouble } from './stuck-runs.ts';
import type { OpenTemporal, SignalOutcome } from './temporal.ts';
import { reachable } from './temporal.ts';

/** Until an update that Temporal did not take is sent again, milliseconds. */
const ASK_AGAIN_MS = 500;

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
 * a CliError where no worker can go on with its run, or somebody has paused it in Temporal.
 */
export interface SyncCalls {
  /** Starts the sync where it does not run: no commit could be read yet. */
  readonly start: () => Promise<void>;
  /**
   * Looks at the repository and tries what is found; as long as that takes, or until the signal. Undefined: its sync does not run.
   * @param message made anew for each try: Temporal takes none while the workflow task of the run times out
   */
  readonly sync: (message: () => SyncRequest, signal: AbortSignal) => Promise<LookResult | undefined>;
  /** Undefined: Temporal answers, and no worker does. */
  readonly status: () => Promise<SyncView | undefined>;
  /** Why the last of these calls got no answer, where it is known: a worker is there, and is too slow. */
  readonly slow: () => string | undefined;
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
  const { isTemporalAway, isUnanswered, isWorthRetrying } =
    await import('../controllers/temporal-failure.ts');
  const { workflow } = temporal.client;
  const workflowId = syncWorkflowId(cluster, repository);
  const handle = workflow.getHandle(workflowId);
  let slow: string | undefined;
  /** What an answer is missing for. This needs no worker, and fails where Temporal is away. */
  const lookAtTask = async () => {
    const { held, trouble } = await temporal.call(async () => {
      const described = await handle.describe();
      return {
        held: describeHeld(described, temporal.namespace),
        trouble: await taskTrouble(temporal.client, described),
      };
    });
    if (held !== undefined)
      throw new CliError(`${held.text}\n  \`${held.next}\`, then \`fairlead sync ${repository}\``);
    slow = trouble === 'timesOut' ? describeSlow(workflowId) : undefined;
    if (trouble !== 'fails') return;
    const end = `\`${endStuck(temporal.namespace, workflowId)}\``;
    throw new CliError(
      `${describeStuck(workflowId)}\n  another version may go on with it; else ${end}, then \`fairlead sync ${repository}\`: the next run tries the newest commit`,
    );
  };
  return {
    start: async () => {
      const [{ SyncRuns }, { ensureSearchAttributes }] = await Promise.all([
        import('../controllers/sync-runs.ts'),
        import('../controllers/search-attributes.ts'),
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
      // The same for all tries: one that was taken although its answer was lost is not made twice.
      const updateId = randomUUID();
      for (;;) {
        try {
          const options = { args: [message()] as [SyncRequest], updateId };
          return await temporal.until(
            signal,
            async (client) => await client.workflow.getHandle(workflowId).executeUpdate(syncUpdate, options),
          );
        } catch (error) {
          if (error instanceof WorkflowNotFoundError) return undefined;
          if (signal.aborted || !(isUnanswered(error) || isWorthRetrying(error))) throw error;
          await lookAtTask();
          // Temporal is there, and has not taken it: for the task, which may have gone on since, or for a moment.
          if (!isWorthRetrying(error) && isTemporalAway(error) && slow === undefined) throw error;
          await pause(ASK_AGAIN_MS, signal);
        }
      }
    },
    status: async () => {
      try {
        const view = await temporal.call(async () => await handle.query(syncStatusQuery));
        slow = undefined;
        return view;
      } catch (error) {
        if (!isUnanswered(error)) throw error;
        await lookAtTask();
        return undefined;
      }
    },
    slow: () => slow,
    progress: async (sha) => {
      const run = { workflowId: commitWorkflowId(cluster, repository, sha) };
      return await temporal.call(async () => await readCommitView(temporal.client, run));
    },
  };
}

/** As the inventory tells of it, or, before that does, the latest of a commit, as long as it is open. */
export type CommitRun =
  Pick<CommitStatus, 'workflowId' | 'runId'> | { readonly repository: string; readonly sha: string };

/** Where a commit is, and how its run has ended where it has, which the inventory does not tell. */
export interface Whereabouts extends CommitView {
  readonly ended?: 'Failed' | 'Canceled' | 'Terminated';
}

/** Where a commit is that is under way. Never throws for want of a run, of a worker or of Temporal: undefined. */
export async function askWhereItIs(session: Session, run: CommitRun): Promise<Whereabouts | undefined> {
  return (await askWhereTheyAre(session, [run]))[0];
}

/** {@link askWhereItIs}, for all at once, in their order. */
export async function askWhereTheyAre(
  session: Session,
  runs: readonly CommitRun[],
): Promise<readonly (Whereabouts | undefined)[]> {
  if (runs.length === 0) return [];
  const found = await reachable(session.io.environment, [], async ({ client }) => {
    const { commitWorkflowId } = await import('../workflows/sync-messages.ts');
    return await Promise.all(
      runs.map(async (run) => {
        if ('runId' in run) return await readCommitView(client, run);
        const workflowId = commitWorkflowId(session.cluster, run.repository, run.sha);
        return await readCommitView(client, { workflowId });
      }),
    );
  });
  return 'outcome' in found ? [] : found;
}

/** How far a commit is that is under way, and what it waits for first. */
export function describeProgress({
  phase,
  applied,
  unchanged,
  pruned,
  waiting,
  held,
}: Pick<CommitView, 'phase' | 'applied' | 'unchanged' | 'pruned' | 'waiting' | 'held'>): string {
  const counts = [
    [applied, 'applied'],
    [unchanged, 'unchanged'],
    [pruned, 'pruned'],
  ] as const;
  // Of one that has written nothing there is nothing to count.
  const said = (phase === 'Refused' ? [] : counts).flatMap(([count, what]) =>
    count > 0 ? [`${String(count)} ${what}`] : [],
  );
  const before = held === undefined ? [] : [held.text];
  const why = waiting.length > 0 ? waiting.slice(0, 1) : before;
  return [[phase, ...said].join(', '), ...why].join(': ');
}

/** A run is recorded before it ends: what was read of the inventory may be so much older than its end. Milliseconds. */
const UNRECORDED_MS = 10_000;
/** One that is completed has been recorded. */
const ENDED: Readonly<Record<string, Whereabouts['ended']>> = {
  FAILED: 'Failed',
  TIMED_OUT: 'Failed',
  CANCELLED: 'Canceled',
  TERMINATED: 'Terminated',
};

/** The view of a run; without `runId` the latest, as long as it is open. Undefined: it cannot say. */
async function readCommitView(
  { workflow }: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId?: string },
): Promise<Whereabouts | undefined> {
  const { commitProgressQuery } = await import('../workflows/sync-messages.ts');
  const handle = workflow.getHandle(workflowId, runId);
  try {
    const { raw, status, closeTime } = await handle.describe();
    if (runId === undefined && !isOpenRun(status.name)) return undefined;
    const isUnrecorded = closeTime !== undefined && Date.now() - closeTime.getTime() >= UNRECORDED_MS;
    const end = isUnrecorded ? ENDED[status.name] : undefined;
    const view = { ...(await handle.query(commitProgressQuery)), ...(end !== undefined && { ended: end }) };
    if (view.waiting.length > 0) return view;
    // The run itself is told of a wait when it has lasted a while, and not of a step that is tried again; the activity says so at once.
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
