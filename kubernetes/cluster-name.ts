/** What a cluster may be called: the name is part of Lease names and of workflow ids. */

import { ConfigurationError } from './configuration-error.ts';

const CLUSTER = /^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/;

/** @throws ConfigurationError that names the flag, the variable and what is accepted */
export function checkClusterName(cluster: string): void {
  if (CLUSTER.test(cluster)) return;
  throw new ConfigurationError(
    `--cluster (FAIRLEAD_CLUSTER) "${cluster}": lower-case letters, digits and dashes, at most 42 characters; it becomes part of workflow ids`,
  );
}
