/** Which repositories the workers follow, for verbs that only want to know more of what they say. */

import type { FollowedRow } from '../git/followed-list.ts';
import { readFollowedList } from '../git/followed-list.ts';
import { isForbidden } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

/** What the leader follows; undefined where that cannot be seen. @throws ApiError */
export async function followedRows(
  client: KubernetesClient,
  { leaseNamespace, cluster }: Pick<Session, 'leaseNamespace' | 'cluster'>,
): Promise<readonly FollowedRow[] | undefined> {
  try {
    return (await readFollowedList(client, leaseNamespace, cluster, REQUEST_TIMEOUT_MS))?.rows;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
