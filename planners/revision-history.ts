/** Which revisions are kept (S8, D22). */

import type { Member } from './member.ts';
import type { ControllerRevision } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import type { UpdateView } from './pod-updates.ts';
import { surplusRevisions } from './revision.ts';

/**
 * Deletes what is beyond revisionHistoryLimit. What pods, the rollout, updates in place and `kept` refer to is live. As long as the
 * rollout is not `complete`, abort may go back to the last one that was: that one is spared.
 */
export function trimHistory<M extends Member>(
  view: UpdateView<M> & { readonly revisions: readonly ControllerRevision[] },
  members: Iterable<M>,
  {
    kept,
    complete,
  }: { readonly kept: readonly (ControllerRevision | undefined)[]; readonly complete: boolean },
  plan: PlanBuilder,
): void {
  const { workload, revisions, byLabel } = view;
  const live = new Set<string>();
  const keep = (label: string) => live.add(byLabel.get(label)?.metadata.name ?? label);
  for (const revision of [view.update, ...kept]) {
    if (revision !== undefined) live.add(revision.metadata.name);
  }
  for (const member of members) {
    keep(member.revision);
    if (member.inPlace !== undefined) keep(member.inPlace.revision);
  }
  const { kind, name: owner } = workload.ref;
  for (const { metadata } of surplusRevisions(revisions, live, workload.revisionHistoryLimit, complete)) {
    plan.addSteady({
      verb: 'delete',
      resource: 'controllerrevisions',
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      purpose: 'TrimHistory',
      message: `delete ControllerRevision ${metadata.name} of ${kind} ${owner}: beyond revisionHistoryLimit ${String(workload.revisionHistoryLimit)}`,
    });
  }
}
