/** What a pod mounts. */

import type { Pod } from './objects.ts';

/** Names of the claims that are its volumes. */
export function claimsOf({ spec: { volumes = [] } }: Pick<Pod, 'spec'>): readonly string[] {
  return volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []);
}
