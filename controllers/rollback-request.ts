/** The annotation `deprecated.deployment.rollback.to`: a rollback that is asked for on the object, as extensions/v1beta1 had it (P6). */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, isRefusal, toMessage } from '../kubernetes/api-error.ts';
import { dropRollbackRequest, undoWorkload } from '../kubernetes/wishes.ts';
import type { Workload } from '../planners/workload.ts';
import type { EventReason } from './reported-reasons.ts';

/** What has become of a request, for an event. */
export interface RollbackAnswer {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/**
 * Does what the annotation asks for, and takes it away in any case; undefined if nothing is asked for. A paused workload waits
 * with it, as upstream. `workload` may be older than the object: what that does not ask for any more was granted, and granted
 * again it would be undone. `now` in milliseconds since the epoch.
 *
 * @throws ApiError as the apiserver answers
 */
export async function grantRollback(
  client: KubernetesClient,
  { ref, rollbackTo, paused, deleting }: Workload,
  now: number,
): Promise<RollbackAnswer | undefined> {
  if (rollbackTo === undefined || paused !== undefined || deleting) return undefined;
  const decline = async (reason: EventReason, message: string): Promise<RollbackAnswer | undefined> => {
    const { changed } = await dropRollbackRequest(client, ref, rollbackTo);
    return changed ? { type: 'Warning', reason, message } : undefined;
  };
  try {
    if (!/^\d{1,19}$/.test(rollbackTo)) throw new Error(`"${rollbackTo}" is not the number of a revision`);
    const toRevision = BigInt(rollbackTo);
    const request = { by: 'annotation', verb: 'undo', toRevision, asked: rollbackTo } as const;
    const { changed, message } = await undoWorkload(client, ref, request, now);
    if (changed) return { type: 'Normal', reason: 'DeploymentRollback', message };
    return await decline('DeploymentRollbackTemplateUnchanged', message);
  } catch (error) {
    if (error instanceof ApiError && !isRefusal(error)) throw error;
    if (isRefusal(error)) {
      const message = `revision ${rollbackTo} is refused by the apiserver: ${toMessage(error)}`;
      return await decline('FailedUpdate', message);
    }
    return await decline('DeploymentRollbackRevisionNotFound', toMessage(error));
  }
}
