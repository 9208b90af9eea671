/** Which collections the leader watches. */

import type { Logger } from 'pino';

import { toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../kubernetes/workload-api.ts';
import type { WorkerConfig } from './config.ts';

/** A cache of the workloads of the configured API, their children, and the nodes. Not started. */
export function createWorkloadCache(client: KubernetesClient, config: WorkerConfig, log: Logger): WatchCache {
  const { namespaces } = config;
  const workloads = Object.values(WORKLOAD_RESOURCES).map((resource) => ({
    ...groupVersion(config.workloadApi),
    resource,
    namespaces,
  }));
  return new WatchCache({
    client,
    sources: [
      ...workloads,
      { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespaces },
      { group: 'apps', version: 'v1', resource: 'replicasets', namespaces },
      { group: '', version: 'v1', resource: 'pods', namespaces },
      { group: '', version: 'v1', resource: 'persistentvolumeclaims', namespaces },
      { group: '', version: 'v1', resource: 'nodes' },
    ],
    onError: (error, where) => log.warn({ where, error: toMessage(error) }, 'watch'),
  });
}
