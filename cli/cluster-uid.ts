/** The uid of namespace kube-system, which tells clusters apart (design "Two clusters, one Temporal"). */

import { isForbidden } from '../kubernetes/api-error.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { commandToAllow, refusedUser } from './failures.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

/** @throws CliError with the missing permission, ApiError for anything else */
export async function readClusterUid({ client }: Session): Promise<string> {
  const path = { group: '', version: 'v1', resource: 'namespaces', name: 'kube-system' };
  try {
    return (await client.get(path, { timeoutMs: REQUEST_TIMEOUT_MS })).metadata.uid;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const user = refusedUser(error) ?? 'NAME';
    const permission = { user, verb: 'get', resource: 'namespaces', group: '', name: 'kube-system' };
    throw new CliError(
      'you may not read namespace kube-system, whose uid tells clusters apart\n' +
        `  add it: ${commandToAllow(permission)}`,
      EXIT.failed,
      { cause: error },
    );
  }
}
