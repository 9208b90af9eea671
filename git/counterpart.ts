/** The same workload under the other workload API: the two would own the same pods. */

import { isForbidden } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { resourceId } from '../kubernetes/resource-path.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { describeHold } from '../planners/pod-reasons.ts';
import type { CommitContext } from './commit.ts';
import { patchCommand } from './patch-command.ts';
import type { PreparedObject } from './prepare.ts';
import { counterpartPath } from './prepare.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { withSignal } from './resources.ts';

export interface Counterpart {
  readonly path: ResourcePath;
  /** Undefined: it is there, and the repository's account may not read it. */
  readonly live: KubernetesObject | undefined;
}

/**
 * Looks for it as the repository's account; where that may not read the kind, the worker's own eyes tell whether there is one, and
 * nothing else: a deployer that has never heard of the other API must not need rights in it. Undefined: there is none, or its
 * kind is not served.
 * @throws ApiError, also when the worker may not look either
 */
export async function findCounterpart(
  context: CommitContext,
  object: PreparedObject,
): Promise<Counterpart | undefined> {
  const path = counterpartPath(object);
  if (path === undefined) return undefined;
  const { client, worker, discovery, signal } = context;
  const served = await discovery.find(
    `${path.group}/${path.version}`,
    object.manifest.kind,
    withSignal(signal),
  );
  // The account would get a 403 for a kind that does not exist: permissions are looked at first.
  if (served === undefined) return undefined;
  try {
    const live = await getOrUndefined(client, path, signal);
    return live && { path, live };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const isThere = (await getOrUndefined(worker, path, signal)) !== undefined;
    return isThere ? { path, live: undefined } : undefined;
  }
}

/** What the account lacks when {@link Counterpart.live} is hidden from it. */
export function hiddenCounterpart({ path }: Counterpart, account: string): string {
  const kind = `${path.resource}.${path.group}`;
  return `the same workload exists as ${kind}, which ${account} may not read; both would fight for the same pods.`;
}

/** Why a workload that is deleted without its pods is still there, and what to do; `successor` gets them. */
export function describeOrphaning(
  path: ResourcePath,
  { metadata: { finalizers = [] } }: KubernetesObject,
  successor: ResourcePath,
): string {
  const { name = '', namespace = '' } = path;
  const words = `${resourceId(path)} ${name} is still being orphaned${describeHold(finalizers)}; its pods go over to ${resourceId(successor)} ${name} when it is gone`;
  if (finalizers.length === 0) return words;
  // While the garbage collector is at it, that would delete the pods.
  if (finalizers.includes('orphan'))
    return `${words}; where that takes longer than a minute: fairlead explain ${resourceId(path)}/${name} -n ${namespace}`;
  const command = patchCommand(path, [{ op: 'remove', path: '/metadata/finalizers' }]);
  return `${words}; who has set what holds it takes it off, or, if nobody does any more: ${command}`;
}
