/** Adopting and releasing the children of a workload (C4, C5). */

import { adoptAction, releaseAction } from './controller-ref.ts';
import type { Member } from './member.ts';
import type { ControllerRevision, Pod } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import type { Workload } from './workload.ts';

/** Who is whose, as a kind's view has found it. */
interface Children {
  readonly workload: Workload;
  /** Pods to be released: owned, but they no longer match. */
  readonly released: readonly Pod[];
  /** Own revisions, and orphans that match. */
  readonly revisions: readonly ControllerRevision[];
}

/** Releases what no longer matches, adopts members that are orphans, and orphaned revisions. */
export function claimChildren(
  { workload, released, revisions }: Children,
  members: Iterable<Member>,
  plan: PlanBuilder,
): void {
  for (const pod of released) plan.addSteady(releaseAction(workload, 'pods', pod));
  for (const member of members) {
    if (!member.owned) plan.addSteady(adoptAction(workload, 'pods', member.pod));
  }
  for (const revision of revisions) {
    const owned = revision.metadata.ownerReferences?.some(({ controller }) => controller === true);
    if (owned !== true) plan.addSteady(adoptAction(workload, 'controllerrevisions', revision));
  }
}
