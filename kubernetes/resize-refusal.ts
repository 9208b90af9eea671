/** Refusals of a resize that trying again does not change (KEP-1287). */

import { ApiError } from './api-error.ts';

/**
 * The words of the apiserver's plugins PodResize and NodeDeclaredFeatures: the node is too small, or cannot do it. They come as 403
 * without a cause, as the answers of quotas do.
 */
const OF_THE_NODE = /node didn't have enough allocatable resources|which are not available on node/;

/**
 * The pod, as it is and on its node, cannot be resized so: 422, or 403 because of its node. Not what may pass (a quota, a permission),
 * nor limits of the namespace: they would meet a new pod as well.
 */
export function isUnresizable(error: unknown): boolean {
  if (!(error instanceof ApiError) || typeof error.path === 'string') return false;
  if (error.path.subresource !== 'resize') return false;
  return error.status === 422 || (error.status === 403 && OF_THE_NODE.test(error.message));
}
