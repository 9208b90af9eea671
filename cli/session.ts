/** What most verbs start from: a connection to the cluster, and the settings of flags and environment. */

import { checkClusterName } from '../kubernetes/cluster-name.ts';
import { KubernetesClient } from '../kubernetes/client.ts';
import type { Connection } from '../kubernetes/kubeconfig.ts';
import { loadConnection } from '../kubernetes/kubeconfig.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { isNamespaceName } from '../kubernetes/namespace-name.ts';
import { nonEmpty } from '../kubernetes/values.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { groupVersion, parseWorkloadApi } from '../kubernetes/workload-api.ts';
import type { WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call, GlobalOptions, Io } from './io.ts';
import { checkTemporalAddress } from './variables.ts';
import type { WorkloadArgument } from './workload-argument.ts';
import { parseWorkloadArgument } from './workload-argument.ts';

export interface Session {
  readonly io: Io;
  readonly options: GlobalOptions;
  readonly client: KubernetesClient;
  readonly connection: Connection;
  readonly namespace: string;
  readonly api: WorkloadApi;
  /** Name of the cluster in workflow ids and of the Lease. */
  readonly cluster: string;
  readonly leaseNamespace: string;
}

/** Requests of one verb are few: a silent apiserver is reported rather than waited for. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** An apiserver that has much to do is given so long, milliseconds, whatever `--timeout` says. */
const SHORTEST_REQUEST_MS = 3_000;

/**
 * Runs `work` with a session that is closed afterwards, also on Ctrl-C.
 * @throws ConfigurationError or CliError (usage) for settings that are wrong, CliError (Kubernetes unreachable) for no cluster
 */
export async function withSession<T>(call: Call, work: (session: Session) => Promise<T>): Promise<T> {
  const settings = readSettings(call);
  const connection = await connectionOf(call);
  const client = new KubernetesClient(connection, { longestRequestMs: longestRequest(call.options) });
  const stop = () => {
    client.close();
  };
  call.io.interrupted.addEventListener('abort', stop, { once: true });
  try {
    return await work({
      io: call.io,
      options: call.options,
      client,
      connection,
      namespace: namespaceOf(call.options.namespace ?? connection.namespace),
      ...settings,
    });
  } finally {
    call.io.interrupted.removeEventListener('abort', stop);
    client.close();
  }
}

/** Whoever waits no longer than so waits no longer for an answer either; `0` is no limit. */
function longestRequest({ timeout = 0 }: GlobalOptions): number | undefined {
  return timeout === 0 ? undefined : Math.max(timeout, SHORTEST_REQUEST_MS);
}

/**
 * Settings that need no cluster.
 * @throws CliError (usage), ConfigurationError that name the flag, the variable and what is accepted
 */
export function readSettings({ io, options }: Call): Pick<Session, 'api' | 'cluster' | 'leaseNamespace'> {
  const { environment } = io;
  checkTemporalAddress(environment);
  const cluster = options.cluster ?? nonEmpty(environment['FAIRLEAD_CLUSTER']) ?? 'default';
  checkClusterName(cluster);
  const api = options.workloadApi ?? nonEmpty(environment['FAIRLEAD_WORKLOAD_API']) ?? 'fairlead.dev/v1beta1';
  try {
    return {
      api: parseWorkloadApi(api),
      cluster,
      leaseNamespace:
        options.leaseNamespace ?? nonEmpty(environment['FAIRLEAD_LEASE_NAMESPACE']) ?? 'fairlead-system',
    };
  } catch (error) {
    throw new CliError(`${toMessage(error)} (--workload-api or FAIRLEAD_WORKLOAD_API)`, EXIT.usage, {
      cause: error,
    });
  }
}

/** The connection that kubectl would use. @throws CliError (Kubernetes unreachable) saying what is wrong where */
export async function connectionOf({ io, options }: Call): Promise<Connection> {
  try {
    return await loadConnection(io.environment, { context: options.context, kubeconfig: options.kubeconfig });
  } catch (error) {
    throw new CliError(toMessage(error), EXIT.kubernetesUnreachable, { cause: error });
  }
}

/** The workload that an operand means, in the session's namespace. @throws CliError (usage) */
export function targetOf(
  session: Session,
  operand: string,
): { argument: WorkloadArgument; target: WorkloadTarget } {
  const argument = parseWorkloadArgument(operand, session.api);
  return {
    argument,
    target: {
      ...groupVersion(argument.api),
      kind: argument.kind,
      namespace: session.namespace,
      name: argument.name,
    },
  };
}

/** @throws CliError (usage) for what no namespace can be called */
function namespaceOf(text: string): string {
  if (isNamespaceName(text)) return text;
  throw new CliError(
    `"${text}" cannot be the name of a namespace: lower-case letters, digits and dashes`,
    EXIT.usage,
  );
}
