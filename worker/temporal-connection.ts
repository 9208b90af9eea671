/** Connections to Temporal from its own environment configuration (TEMPORAL_ADDRESS, profiles, TLS, API keys). */

import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';

import type { SearchAttributeName } from '../workflows/messages.ts';

const SEARCH_ATTRIBUTES: readonly SearchAttributeName[] = [
  'KubeCluster',
  'WorkloadKind',
  'WorkloadNamespace',
  'WorkloadName',
  'WorkloadRevision',
  'RolloutPhase',
  'GitCommit',
];

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

export interface RegisteredSearchAttributes {
  readonly registered: readonly SearchAttributeName[];
  readonly missing: readonly SearchAttributeName[];
}

/**
 * Which of our search attributes the namespace knows; registers the missing ones where the server allows it. An attribute that
 * is not registered would wedge every workflow task, so runs go without it.
 */
export async function ensureSearchAttributes(
  client: Client,
  namespace: string,
): Promise<RegisteredSearchAttributes> {
  const missing = await missingSearchAttributes(client, namespace);
  if (missing.length > 0) {
    try {
      await client.connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
      });
    } catch {
      // Not allowed here (Temporal Cloud, authorizer): the caller warns with the command.
      return { registered: SEARCH_ATTRIBUTES.filter((name) => !missing.includes(name)), missing };
    }
  }
  const still = await missingSearchAttributes(client, namespace);
  return { registered: SEARCH_ATTRIBUTES.filter((name) => !still.includes(name)), missing: still };
}

/** `INDEXED_VALUE_TYPE_KEYWORD` of the Temporal API. */
const KEYWORD = 2;

async function missingSearchAttributes(
  client: Client,
  namespace: string,
): Promise<readonly SearchAttributeName[]> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  return SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
}

/** The command that registers search attributes by hand. */
export function searchAttributeCommand(namespace: string, missing: readonly string[]): string {
  const names = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  return `temporal operator search-attribute create --namespace ${namespace} ${names}`;
}

/** DEADLINE_EXCEEDED, UNAVAILABLE */
const AWAY: readonly number[] = [4, 14];

/** Whether a call failed because Temporal is away, rather than because it refused. */
export function isTemporalAway(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) && AWAY.includes(cause.code);
}
