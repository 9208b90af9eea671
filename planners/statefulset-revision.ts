/** The revision of a StatefulSet's template (S6, S7). */

import { LABEL } from './names.ts';
import type { ControllerRevision } from './objects.ts';
import { planRevision } from './revision-plan.ts';
import type { RevisionPlan } from './revision.ts';
import type { StatefulSet } from './workload.ts';

/** See {@link planRevision}; its hash is in the label `controller.kubernetes.io/hash` (S7). */
export function planStatefulSetRevision(
  set: StatefulSet,
  revisions: readonly ControllerRevision[],
  taken?: ReadonlySet<string>,
): RevisionPlan {
  return planRevision(set, revisions, LABEL.controllerHash, taken);
}
