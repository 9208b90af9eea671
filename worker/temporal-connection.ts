/** Connections to Temporal from its own environment configuration (TEMPORAL_ADDRESS, profiles, TLS, API keys). */

import type { ChannelCredentials, ChannelOptions } from '@grpc/grpc-js';
import { Client, Connection } from '@temporalio/client';
import type { ConnectionOptions, WorkflowClientInterceptor } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';

import { retryUntilClosed } from '../controllers/temporal-client.ts';
import { pause } from '../kubernetes/backoff.ts';
import { LongPollChannel } from './long-poll-channel.ts';

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
  readonly connectionOptions: NonNullable<ReturnType<typeof loadClientConnectConfig>['connectionOptions']>;
}

/** Reads Temporal's environment configuration; the address defaults to localhost:7233. */
export function readTemporalSettings(
  environment: Readonly<Record<string, string | undefined>>,
): TemporalSettings {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars });
  return {
    address: connectionOptions.address ?? 'localhost:7233',
    namespace: namespace ?? 'default',
    connectionOptions,
  };
}

/** gRPC would wait up to two minutes after an outage before it looks again, and rollouts with it. */
const RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 500,
  'grpc.max_reconnect_backoff_ms': 2_000,
};

/** How long an answer may take, in milliseconds. */
export interface AnswerTimes {
  readonly callMs: number;
  /** Where the server itself waits, 20 s by default, for something to happen. */
  readonly longPollMs: number;
}

const ANSWER_TIMES: AnswerTimes = { callMs: 10_000, longPollMs: 60_000 };
const LONG_POLLS = /\/(GetWorkflowExecutionHistory|PollWorkflowExecutionUpdate|UpdateWorkflowExecution)$/;

/**
 * A client that connects at its first call: steady state starts without Temporal. A call that comes with no deadline of its own gets one
 * that fails with DEADLINE_EXCEEDED: the SDK sets none (its doc of `withDeadline`), and whoever asks would wait as long as the connection
 * or the server keeps it waiting.
 */
export function createTemporalClient(
  settings: TemporalSettings,
  answerTimes: AnswerTimes = ANSWER_TIMES,
): Client {
  const connection = Connection.lazy({
    ...settings.connectionOptions,
    connectTimeout: '3 seconds',
    channelArgs: { ...RECONNECT, channelFactoryOverride: channelOf },
    interceptors: answeredWithin(answerTimes),
  });
  return new Client({ connection, namespace: settings.namespace });
}

/** Calls never wait behind long polls: one is open for each run, and a connection takes only so many. */
function channelOf(address: string, credentials: ChannelCredentials, options: ChannelOptions) {
  return new LongPollChannel(address, credentials, options, (method) => LONG_POLLS.test(method));
}

/** A deadline, and the tries: all of them together have until then. */
function answeredWithin({ callMs, longPollMs }: AnswerTimes): NonNullable<ConnectionOptions['interceptors']> {
  const tryAgain = retryUntilClosed();
  return [
    (options, nextCall) => {
      const limitMs = LONG_POLLS.test(options.method_definition.path) ? longPollMs : callMs;
      return tryAgain({ ...options, deadline: options.deadline ?? Date.now() + limitMs }, nextCall);
    },
  ];
}

/**
 * The same client for one who leads: whatever would start, signal, cancel or terminate a workflow rejects with what `assertLeader` throws.
 * One that was frozen wakes with what it knew then, and would start a run that its successor has long finished. Reads go on.
 */
export function leadersTemporalClient(client: Client, assertLeader: () => void): Client {
  const { connection } = client;
  const { namespace } = client.options;
  const guarded = async <I, O>(input: I, next: (input: I) => Promise<O>): Promise<O> => {
    assertLeader();
    return await next(input);
  };
  const guard: WorkflowClientInterceptor = {
    start: guarded,
    startWithDetails: guarded,
    signal: guarded,
    signalWithStart: guarded,
    startUpdate: guarded,
    startUpdateWithStart: guarded,
    cancel: guarded,
    terminate: guarded,
  };
  return new Client({ connection, namespace, interceptors: { workflow: [guard] } });
}

/** Longer than a busy machine takes. */
const CONNECT_MS = 15_000;

/** A connection for workers. Rejects when Temporal does not answer, at the latest after `limitMs` milliseconds or at the signal: call again. */
export async function connectWorker(
  settings: TemporalSettings,
  signal: AbortSignal,
  limitMs = CONNECT_MS,
): Promise<NativeConnection> {
  // Of a server that takes the connection and says nothing the SDK hears for 30 s, and nobody could stop meanwhile.
  const connecting = NativeConnection.connect(settings.connectionOptions);
  const over = new AbortController();
  const late = pause(limitMs, over.signal, signal).then(() => 'late' as const);
  try {
    const connection = await Promise.race([connecting, late]);
    if (connection !== 'late') return connection;
    // Whatever becomes of it: nobody asks any more, and a rejection without anybody would end the process.
    void connecting.then(async (unwanted) => await unwanted.close()).catch(() => undefined);
    const why = signal.aborted
      ? 'had not answered yet when it was not wanted any more'
      : 'takes connections and does not answer';
    throw new Error(`Temporal at ${settings.address} ${why}`);
  } finally {
    over.abort();
  }
}
