/** Workloads that are rolled without Temporal. */

import { LABEL } from './names.ts';
import type { ObjectMeta } from './objects.ts';

/** Whether a workload is rolled in process: Temporal itself needs it, so that its rollout must not need Temporal. */
export function isBootstrap({ metadata }: { readonly metadata: Pick<ObjectMeta, 'labels'> }): boolean {
  return metadata.labels?.[LABEL.bootstrap] === 'true';
}
