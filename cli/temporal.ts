/** What verbs ask of Temporal. Its libraries take a fifth of a second to load, so they are loaded here only. */

import type { Client } from '@temporalio/client';

import type { BadStatus } from '../controllers/run-endings.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { isOpenRun } from '../planners/open-runs.ts';
import type { Session } from './session.ts';
import type { RunTrouble } from './stuck-runs.ts';
import { rolloutTrouble } from './stuck-runs.ts';
import { formatTarget } from './workload-argument.ts';

/** What Temporal knows of the rollout of a workload. Times are RFC 3339. */
export type RunState =
  | { readonly state: 'unreachable'; readonly address: string; readonly message: string }
  | { readonly state: 'none' }
  | {
      readonly state: 'running' | 'closed';
      /** Temporal's own word: RUNNING, PAUSED, COMPLETED, CANCELLED, FAILED, TERMINATED, TIMED_OUT. */
      readonly status: string;
      readonly workflowId: string;
      readonly runId: string;
      readonly startedAt: string;
      readonly closedAt?: string;
      /** Of an open one: what keeps it from going on. */
      readonly trouble?: RunTrouble;
    };

export type SignalOutcome =
  | { readonly outcome: 'signalled'; readonly workflowId: string }
  | { readonly outcome: 'noRun' }
  /** Temporal was not asked: the cluster does not say which it is. */
  | { readonly outcome: 'notTold'; readonly message: string }
  | { readonly outcome: 'unreachable'; readonly address: string; readonly message: string };

type Environment = Readonly<Record<string, string | undefined>>;

type Duration = `${number} seconds`;

const CONNECT_TIMEOUT: Duration = '2 seconds';
/** For verbs that are nothing without Temporal. */
export const PATIENT_CONNECT_TIMEOUT: Duration = '5 seconds';
const CALL_TIMEOUT_MS = 3_000;
/** For what has no second try: a run of something that is written already. A server that is busy answers late. */
export const START_TIMEOUT_MS = 15_000;

export interface Temporal {
  readonly client: Client;
  readonly address: string;
  readonly namespace: string;
}

/** Temporal did not answer (or its configuration is wrong): `address` is where it was looked for. */
export class TemporalUnreachable extends Error {
  override name = 'TemporalUnreachable';
  readonly address: string;
  /** The message without its subject, Temporal. */
  readonly predicate: string;

  constructor(address: string, cause: unknown) {
    const says = isNamespaceMissing(cause) ? 'has not what is asked for' : 'does not answer';
    const hint = isNamespaceMissing(cause) ? ' (TEMPORAL_NAMESPACE)' : '';
    const predicate = `at ${address} ${says}: ${toMessage(cause)}${hint}`;
    super(`Temporal ${predicate}`, { cause });
    this.address = address;
    this.predicate = predicate;
  }
}

/** The client's own error of a namespace that Temporal does not have; by name, for verbs that need no Temporal do not load it. */
function isNamespaceMissing(error: unknown): boolean {
  return error instanceof Error && error.name === 'NamespaceNotFoundError';
}

/** The error as one of {@link TemporalUnreachable}, if that is what a call failed with: Temporal went away, or has no such namespace. */
export async function unreachableBy(
  error: unknown,
  address: string,
): Promise<TemporalUnreachable | undefined> {
  const { ServiceError } = await import('@temporalio/client');
  if (isNamespaceMissing(error)) return new TemporalUnreachable(address, error);
  return error instanceof ServiceError ? new TemporalUnreachable(address, error.cause ?? error) : undefined;
}

/** A connection to Temporal for longer than one call. */
export interface OpenTemporal extends Temporal {
  /** Runs one call; none takes longer than `limitMs`, in milliseconds. @default three seconds */
  readonly call: <T>(work: () => Promise<T>, limitMs?: number) => Promise<T>;
  /**
   * Runs calls of any length with a client that tries none again by itself; they are given up when the signal is aborted, and would else
   * hold up {@link close}.
   */
  readonly until: <T>(signal: AbortSignal, work: (client: Client) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

/**
 * Connects as Temporal's own environment configuration says; to be closed.
 * @throws TemporalUnreachable
 */
export async function openTemporal(
  environment: Environment,
  connectTimeout: Duration = CONNECT_TIMEOUT,
): Promise<OpenTemporal> {
  const [{ Client, Connection }, { loadClientConnectConfig }, { openConnection }] = await Promise.all([
    import('@temporalio/client'),
    import('@temporalio/envconfig'),
    import('../controllers/temporal-client.ts'),
  ]);
  const variables = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  let address = environment['TEMPORAL_ADDRESS'] ?? 'localhost:7233';
  try {
    const config = loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(variables) });
    address = withPort(config.connectionOptions.address ?? address);
    const options = { ...config.connectionOptions, connectTimeout } as const;
    const connection = await openConnection(options);
    const namespace = config.namespace ?? 'default';
    const client = new Client({ connection, namespace });
    // The library's retries know of no signal: a call that waits for its next one would hear of the abort only then.
    const patient = Connection.lazy({ ...options, interceptors: [] });
    const patientClient = new Client({ connection: patient, namespace });
    return {
      client,
      address,
      namespace: client.options.namespace,
      call: async (work, limitMs = CALL_TIMEOUT_MS) =>
        await connection.withDeadline(Date.now() + limitMs, work),
      until: async (signal, work) =>
        await patient.withAbortSignal(signal, async () => await work(patientClient)),
      close: async () => {
        await Promise.all([connection.close(), patient.close()]);
      },
    };
  } catch (error) {
    throw new TemporalUnreachable(address, error);
  }
}

/** As the SDK reads an address: told with the port, for a forgotten one is the commonest mistake. */
function withPort(address: string): string {
  return /:\d+$/.test(address) ? address : `${address}:7233`;
}

/**
 * Connects, runs `work`, closes.
 * @throws TemporalUnreachable, or what `work` throws
 */
export async function withTemporal<T>(
  environment: Environment,
  work: (temporal: Temporal) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(environment);
  try {
    return await temporal.call(async () => await work(temporal));
  } finally {
    await temporal.close();
  }
}

/** What runs, or ran last, for the workload. Never throws for want of a run or of Temporal. */
export async function describeRun(session: Session, target: WorkloadTarget): Promise<RunState> {
  return await reachable(session.io.environment, { state: 'none' } as const, async ({ client }) => {
    const workflowId = await workflowIdOf(session, target);
    const described = await client.workflow.getHandle(workflowId).describe();
    const { runId, status, startTime, closeTime } = described;
    const isOpen = isOpenRun(status.name);
    const trouble = isOpen ? await rolloutTrouble(client, described, formatTarget(target)) : undefined;
    return {
      state: isOpen ? 'running' : 'closed',
      status: status.name,
      workflowId,
      runId,
      startedAt: startTime.toISOString(),
      ...(closeTime !== undefined && { closedAt: closeTime.toISOString() }),
      ...(trouble !== undefined && { trouble }),
    } satisfies RunState;
  }).then((result) => ('outcome' in result ? { ...result, state: 'unreachable' as const } : result));
}

const BAD_ENDS: Readonly<Record<BadStatus, true>> = { FAILED: true, TERMINATED: true, TIMED_OUT: true };

/** Whether the last run of a workload is over and nothing goes on with it by itself. */
export function hasRunEndedBadly(run: RunState): boolean {
  return run.state === 'closed' && run.status in BAD_ENDS;
}

/**
 * What keeps the open run from going on; undefined where nothing does, none is open, or Temporal cannot be reached. While no worker leads
 * (`isLed`), that its tasks time out says nothing more.
 */
export function troubleOf(run: RunState, isLed = true): RunTrouble | undefined {
  const trouble = run.state === 'running' ? run.trouble : undefined;
  return !isLed && trouble?.kind === 'timesOut' ? undefined : trouble;
}

/** Tells the running run. Never throws for want of a run or of Temporal: the object has the wish already. */
export async function signalRun(
  session: Session,
  target: WorkloadTarget,
  signal: 'pause' | 'resume' | 'abort',
  message: { readonly by?: string; readonly reason?: string },
): Promise<SignalOutcome> {
  return await reachable(session.io.environment, { outcome: 'noRun' } as const, async ({ client }) => {
    const workflowId = await workflowIdOf(session, target);
    await client.workflow.getHandle(workflowId).signal(signal, { ...message, onObject: true });
    return { outcome: 'signalled', workflowId } as const;
  });
}

interface Unreachable {
  readonly outcome: 'unreachable';
  readonly address: string;
  readonly message: string;
}

/** Runs `work`; answers `none` for want of a run, and why where Temporal cannot be reached. */
export async function reachable<T, N>(
  environment: Environment,
  none: N,
  work: (temporal: Temporal) => Promise<T>,
): Promise<T | N | Unreachable> {
  const { WorkflowNotFoundError } = await import('@temporalio/client');
  try {
    return await withTemporal(environment, async (temporal) => {
      try {
        return await work(temporal);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return none;
        throw (await unreachableBy(error, temporal.address)) ?? error;
      }
    });
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    return { outcome: 'unreachable', address: error.address, message: error.message };
  }
}

async function workflowIdOf(session: Session, target: WorkloadTarget): Promise<string> {
  const { rolloutWorkflowId } = await import('../workflows/messages.ts');
  return rolloutWorkflowId(session.cluster, target);
}
