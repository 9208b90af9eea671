/** Connections to Temporal from its own environment configuration (TEMPORAL_ADDRESS, profiles, TLS, API keys). */

import { Client, Connection } from '@temporalio/client';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';

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

/** A client that connects at its first call: steady state starts without Temporal. */
export function createTemporalClient(settings: TemporalSettings): Client {
  const connection = Connection.lazy({
    ...settings.connectionOptions,
    connectTimeout: '3 seconds',
    channelArgs: RECONNECT,
  });
  return new Client({ connection, namespace: settings.namespace });
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

/** A connection for workers. Rejects when Temporal does not answer: call again. */
export async function connectWorker(settings: TemporalSettings): Promise<NativeConnection> {
  return await NativeConnection.connect(settings.connectionOptions);
}
