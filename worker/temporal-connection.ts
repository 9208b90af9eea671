/** Connections to Temporal from its own environment configuration (TEMPORAL_ADDRESS, profiles, TLS, API keys). */

import { Client, Connection } from '@temporalio/client';
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

/** A connection for workers. Rejects when Temporal does not answer: call again. */
export async function connectWorker(settings: TemporalSettings): Promise<NativeConnection> {
  return await NativeConnection.connect(settings.connectionOptions);
}
