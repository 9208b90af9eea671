/** Runs that do not go on, for their workflow task fails or times out again and again, or they, or an activity of theirs, were paused: only Temporal knows. */

import type { Client, WorkflowExecutionDescription } from '@temporalio/client';

import { shellWord } from '../kubernetes/shell-word.ts';
import { OPEN_RUNS } from '../planners/open-runs.ts';
import { PAUSED_ACTIVITY } from '../planners/rolling-update-run.ts';

/** Tries of one workflow task. A worker that is killed costs one; of as many as these Temporal answers no queries and no updates. */
const MANY_TRIES = 3;
/** What comes after the end of a task that is tried again: signals, and results of activities. */
const NEWEST_EVENTS = 100;

/**
 * What becomes of the workflow task of a run: it fails, so that no worker of the version that runs can go on with it, or it times out, so
 * that a worker takes longer than it may, and another try may be quicker.
 */
export type TaskTrouble = 'fails' | 'timesOut';

/** temporal.api.enums.v1.WORKFLOW_EXECUTION_STATUS_PAUSED */
const PAUSED_RUN = 8;

interface Pauser {
  readonly identity?: string | null;
  readonly reason?: string | null;
}

/** How a run is described, as far as it is needed here. */
type Described = Pick<WorkflowExecutionDescription, 'raw' | 'workflowId' | 'runId'>;

/**
 * What keeps a run from going on; undefined: nothing that is known. Temporal counts failures and timeouts alike, and writes only the first
 * of them into the history until something else happens: that one tells. Needs no worker.
 * @throws what Temporal refuses, or that it is away
 */
export async function taskTrouble(
  { workflowService, options: { namespace } }: Client,
  { raw, workflowId, runId }: Described,
): Promise<TaskTrouble | undefined> {
  if ((raw.pendingWorkflowTask?.attempt ?? 0) < MANY_TRIES) return undefined;
  const { history } = await workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: NEWEST_EVENTS,
  });
  for (const {
    workflowTaskFailedEventAttributes: failed,
    workflowTaskTimedOutEventAttributes: timedOut,
  } of history?.events ?? []) {
    if (failed != null) return 'fails';
    if (timedOut != null) return 'timesOut';
  }
  return undefined;
}

/** What is wrong with a run whose workflow task fails. */
export function describeStuck(workflowId: string): string {
  return `the run ${workflowId} cannot go on: its workflow task fails again and again with this version of the worker, whose log says why`;
}

/** What is wrong with a run whose workflow task times out. */
export function describeSlow(workflowId: string): string {
  return `the run ${workflowId} does not get on: its workflow task has timed out several times, for the worker is too slow for its history`;
}

/** What to do about a run whose workflow task times out. */
const MEND_SLOW =
  'give the worker more CPU; a run that is only slow goes on by itself, and is not to be terminated (its log says if something else is wrong)';

/** The command that ends such a run. What it has done stays; the next run of a repository looks at the cluster before it writes. */
export function endStuck(namespace: string, workflowId: string): string {
  return `temporal workflow terminate --namespace ${shellWord(namespace)} --workflow-id ${shellWord(workflowId)}`;
}

/** What keeps a run from going on, and what to do about it. */
export interface RunTrouble {
  /** `paused`: an activity is, and the run hears signals all the same; `held`: the workflow itself is, which hears none until then. */
  readonly kind: TaskTrouble | 'paused' | 'held';
  /** One clause. */
  readonly text: string;
  readonly next: string;
}

/**
 * What keeps the open run of a workload from going on; undefined: nothing that is known. Needs no worker.
 * @param who The workload in a command: `statefulset.fairlead.dev/web -n shop`
 * @throws what Temporal refuses, or that it is away
 */
export async function rolloutTrouble(
  client: Client,
  described: Described,
  who: string,
): Promise<RunTrouble | undefined> {
  const { namespace } = client.options;
  const { workflowId } = described;
  const paused = pausedInTemporal(described, namespace);
  if (paused !== undefined) return paused;
  switch (await taskTrouble(client, described)) {
    case 'fails': {
      const end = `\`${endStuck(namespace, workflowId)}\``;
      const next = `another version may go on with it; else ${end}, then \`fairlead rollout retry ${who}\``;
      return { kind: 'fails', text: describeStuck(workflowId), next };
    }
    case 'timesOut':
      return { kind: 'timesOut', text: describeSlow(workflowId), next: MEND_SLOW };
    case undefined:
      return undefined;
  }
}

function pausedInTemporal(described: Described, namespace: string): RunTrouble | undefined {
  return describeHeld(described, namespace) ?? describePaused(described, namespace);
}

/** A run that somebody has paused in Temporal as a whole; undefined: it is not. */
export function describeHeld({ raw, workflowId }: Described, namespace: string): RunTrouble | undefined {
  if (Number(raw.workflowExecutionInfo?.status) !== PAUSED_RUN) return undefined;
  return {
    kind: 'held',
    text: `the run ${workflowId} does not go on: it was paused in Temporal${whoAndWhy(raw.workflowExtendedInfo?.pauseInfo)}`,
    next: `temporal workflow unpause --namespace ${shellWord(namespace)} --workflow-id ${shellWord(workflowId)}`,
  };
}

/** ` by ann@vm: db alarm`, as far as it is known. */
function whoAndWhy(info: Pauser | null | undefined): string {
  const { identity, reason } = info ?? {};
  return [identity ? ` by ${identity}` : '', reason ? `: ${reason}` : ''].join('');
}

/** The activity of a run that somebody, or a rule, has paused in Temporal, and that runs no more; undefined where none is. */
function describePaused({ raw, workflowId }: Described, namespace: string): RunTrouble | undefined {
  const paused = (raw.pendingActivities ?? []).find(({ state }) => Number(state) === PAUSED_ACTIVITY);
  if (paused === undefined) return undefined;
  const { activityId, activityType, pauseInfo } = paused;
  const by = whoAndWhy(pauseInfo?.manual ?? pauseInfo?.rule);
  return {
    kind: 'paused',
    text: `the run ${workflowId} does not go on: its activity ${activityType?.name ?? ''} was paused in Temporal${by}`,
    next: `temporal activity unpause --namespace ${shellWord(namespace)} --workflow-id ${shellWord(workflowId)} --activity-id ${shellWord(activityId ?? '')}`,
  };
}

/**
 * The runs of repositories and of commits of a cluster that do not go on, by id, and for each the command that lets it, or ends it. One visibility query, and a look at each that is open.
 * @throws what Temporal refuses, or that it is away
 */
export async function troubledRuns(client: Client, cluster: string): Promise<readonly RunTrouble[]> {
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  const { workflow, options } = client;
  const ofCluster = ['sync', 'commit'].map((kind) => `WorkflowId STARTS_WITH '${kind}/${cluster}/'`);
  const query = `${OPEN_RUNS} AND (${ofCluster.join(' OR ')})`;
  const open: { readonly workflowId: string; readonly runId: string }[] = [];
  for await (const { workflowId, runId } of workflow.list({ query })) open.push({ workflowId, runId });
  open.sort((one, other) => (one.workflowId < other.workflowId ? -1 : 1));
  const troubled = await Promise.all(
    open.map(async ({ workflowId, runId }): Promise<readonly RunTrouble[]> => {
      try {
        const description = await workflow.getHandle(workflowId, runId).describe();
        const paused = pausedInTemporal(description, options.namespace);
        if (paused !== undefined) return [paused];
        switch (await taskTrouble(client, description)) {
          case 'fails':
            return [
              {
                kind: 'fails',
                text: describeStuck(workflowId),
                next: endStuck(options.namespace, workflowId),
              },
            ];
          case 'timesOut':
            return [{ kind: 'timesOut', text: describeSlow(workflowId), next: MEND_SLOW }];
          case undefined:
            return [];
        }
      } catch (error) {
        // It has ended meanwhile.
        if (error instanceof WorkflowNotFoundError) return [];
        throw error;
      }
    }),
  );
  return troubled.flat();
}
