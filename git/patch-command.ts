/** The command that changes one object as a JSON patch says: for messages. */

import type { ResourcePath } from '../kubernetes/client.ts';
import type { PatchOperation } from '../kubernetes/managed-fields.ts';
import { resourceId } from '../kubernetes/resource-path.ts';
import { shellWord } from '../kubernetes/shell-word.ts';

/** `kubectl patch deployments.apps web -n shop --type=json -p '[…]'`, to be pasted into a shell. */
export function patchCommand(path: ResourcePath, operations: readonly PatchOperation[]): string {
  const place = path.namespace === undefined ? '' : ` -n ${path.namespace}`;
  const name = shellWord(path.name ?? '');
  return `kubectl patch ${resourceId(path)} ${name}${place} --type=json -p ${shellWord(JSON.stringify(operations))}`;
}
