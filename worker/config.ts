/** Configuration of a worker process: flags, then environment, then defaults. Nothing below reads the environment. */

import { hostname } from 'node:os';

import { toMessage } from '../kubernetes/api-error.ts';
import { cacheHome } from '../kubernetes/base-directories.ts';
import { checkClusterName } from '../kubernetes/cluster-name.ts';
import { ConfigurationError } from '../kubernetes/configuration-error.ts';
import { isNamespaceName } from '../kubernetes/namespace-name.ts';
import { nonEmpty } from '../kubernetes/values.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { WORKLOAD_APIS, parseWorkloadApi } from '../kubernetes/workload-api.ts';

/** Flags of `fairlead worker`; each has an environment variable of the same meaning. */
export interface WorkerFlags {
  readonly cluster?: string | undefined;
  readonly workloadApi?: string | undefined;
  /** Comma-separated. */
  readonly namespaces?: string | undefined;
  readonly metricsAddress?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** File with the list of repositories. */
  readonly repositories?: string | undefined;
  readonly leaseNamespace?: string | undefined;
  /** Where mirrors of repositories are kept. */
  readonly cacheDirectory?: string | undefined;
  readonly logLevel?: string | undefined;
}

export interface WorkerConfig {
  readonly cluster: string;
  readonly workloadApi: WorkloadApi;
  /** Absent: all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  readonly metricsAddress: { readonly host: string; readonly port: number } | undefined;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly repositoriesFile: string | undefined;
  readonly leaseNamespace: string;
  readonly cacheDirectory: string;
  readonly identity: string;
  readonly logLevel: string;
  /** For tests of continue-as-new: events after which a run continues as new. */
  readonly historyLimit: number | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'];

/**
 * Merges flags over the environment; an empty variable is one that is not set.
 * @throws ConfigurationError that names the flag, the variable and what is accepted
 */
export function readConfig(flags: WorkerFlags, environment: Environment): WorkerConfig {
  const variable = (name: string) => nonEmpty(environment[name]);
  const cluster = flags.cluster ?? variable('FAIRLEAD_CLUSTER') ?? 'default';
  checkClusterName(cluster);
  const logLevel = flags.logLevel ?? variable('FAIRLEAD_LOG_LEVEL') ?? 'info';
  if (!LOG_LEVELS.includes(logLevel)) {
    throw new ConfigurationError(
      `--log-level (FAIRLEAD_LOG_LEVEL) "${logLevel}": expected ${LOG_LEVELS.join(', ')}`,
    );
  }
  const metrics = flags.metricsAddress ?? variable('FAIRLEAD_METRICS_ADDRESS');
  const historyLimit = variable('FAIRLEAD_HISTORY_LIMIT');
  return {
    cluster,
    workloadApi: workloadApi(flags.workloadApi ?? variable('FAIRLEAD_WORKLOAD_API')),
    namespaces: namespaceList(flags.namespaces ?? environment['FAIRLEAD_NAMESPACES']),
    metricsAddress: metrics === undefined || metrics === '' ? undefined : parseAddress(metrics),
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    repositoriesFile: flags.repositories ?? variable('FAIRLEAD_REPOSITORIES'),
    leaseNamespace: flags.leaseNamespace ?? variable('FAIRLEAD_LEASE_NAMESPACE') ?? 'fairlead-system',
    cacheDirectory: flags.cacheDirectory ?? variable('FAIRLEAD_CACHE_DIRECTORY') ?? cacheHome(environment),
    identity: `${hostname()}-${String(process.pid)}-${Date.now().toString(36)}`,
    logLevel,
    historyLimit: historyLimit === undefined ? undefined : Number(historyLimit),
  };
}

function workloadApi(text: string | undefined): WorkloadApi {
  if (text === undefined) return WORKLOAD_APIS[0];
  try {
    return parseWorkloadApi(text);
  } catch (error) {
    throw new ConfigurationError(`${toMessage(error)} (--workload-api or FAIRLEAD_WORKLOAD_API)`, {
      cause: error,
    });
  }
}

function namespaceList(text: string | undefined): readonly string[] | undefined {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const wrong = names.find((name) => !isNamespaceName(name));
  if (wrong !== undefined) {
    throw new ConfigurationError(
      `--namespaces (FAIRLEAD_NAMESPACES) "${wrong}" is no name of a namespace: expected names with commas between them`,
    );
  }
  return names.length === 0 ? undefined : names;
}

/** `:9090`, `127.0.0.1:9090`, `[::1]:9090`. */
function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new ConfigurationError(
      `--metrics-address (FAIRLEAD_METRICS_ADDRESS) "${text}": expected HOST:PORT or :PORT`,
    );
  }
  const host = match[1] ?? match[2] ?? '';
  return { host: host === '' ? '0.0.0.0' : host, port };
}
