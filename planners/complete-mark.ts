/**
 * That all pods of a workload were at a revision, and available, is noted on it at once. That a run succeeded says less: it ends where
 * a partition begins, and with OnDelete before any pod is replaced. And its record of attempts may come too late: superseded in the
 * very moment in which the last pod became available, it records just that, and abort would find nothing to go back to.
 */

import { controllerOf } from './controller-ref.ts';
import { ANNOTATION } from './names.ts';
import type { ControllerRevision } from './objects.ts';
import type { Action } from './plan.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { isMarkedComplete } from './revision.ts';
import type { Workload } from './workload.ts';

/** Annotations of a revision that all pods are at and available, or not all. */
export function completeMark(complete: boolean): Readonly<Record<string, string>> {
  return complete ? { [ANNOTATION.complete]: 'true' } : {};
}

/** An action that writes this down, and changes nothing of what runs. */
export function isNote({ purpose }: Action): boolean {
  return purpose === 'MarkComplete';
}

/** Notes it on the ControllerRevision that is rolled out everywhere, once; whatever else is to be written comes first. */
export function markComplete(
  { workload, update }: { readonly workload: Workload; readonly update: ControllerRevision | undefined },
  complete: boolean,
  plan: PlanBuilder,
): void {
  if (!complete || update === undefined || isMarkedComplete(update) || plan.steady.length > 0) return;
  const { name, uid, deletionTimestamp } = update.metadata;
  const isOurs = controllerOf(update)?.uid === workload.ref.uid && deletionTimestamp === undefined;
  if (!isOurs) return;
  plan.addSteady({
    verb: 'patch',
    resource: 'controllerrevisions',
    name,
    uid,
    // Not of a state that was read: what else is noted there meanwhile stands beside it.
    body: { metadata: { annotations: completeMark(complete) } },
    purpose: 'MarkComplete',
    message: `note on ControllerRevision ${name} of ${workload.ref.kind} ${workload.ref.name} that its rollout was finished`,
  });
}
