/** The revisions of a workload, and which of them is the present one, the last complete one, the one before. */

import type { ControllerRevision, PodTemplate } from '../planners/objects.ts';
import { compareRevisions, hasSucceeded, lastCompleteOf } from '../planners/revision.ts';
import { wayBack } from '../planners/way-back.ts';
import type { WayBack } from '../planners/way-back.ts';
import type { KubernetesClient } from './client.ts';
import { revisionPath } from './revision-store.ts';
import { asRecord, trusted } from './values.ts';
import { readPinned } from './wish-annotations.ts';
import { parseWorkloadApi } from './workload-api.ts';
import type { WorkloadObject, WorkloadTarget } from './workload-edit.ts';
import { WORKLOAD_KINDS } from './workload-kinds.ts';

/** What the workload's uid controls, oldest first (S7, P4); never from a cache. */
export async function listRevisions(
  client: KubernetesClient,
  workload: WorkloadObject,
  { kind }: Pick<WorkloadTarget, 'kind'>,
): Promise<readonly ControllerRevision[]> {
  const { namespace, uid } = workload.metadata;
  const { history } = WORKLOAD_KINDS[kind];
  const { items } = await client.list(revisionPath(history, namespace));
  return items
    .filter((one) =>
      one.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid),
    )
    .map((one) => history.read(one))
    .sort(compareRevisions);
}

/** The revision that stands for the present template; undefined until the rollout has created it. */
export function presentRevision(
  object: WorkloadObject,
  target: Pick<WorkloadTarget, 'group' | 'version' | 'kind'>,
  revisions: readonly ControllerRevision[],
): ControllerRevision | undefined {
  const definition = WORKLOAD_KINDS[target.kind];
  const workload = definition.read(object, parseWorkloadApi(`${target.group}/${target.version}`));
  const plan = definition.planRevision(workload, revisions);
  return plan.outcome === 'create' ? undefined : plan.revision;
}

/** Where `undo` goes without a number: the newest revision but the present one, as kubectl does. */
export function revisionBefore(
  present: ControllerRevision | undefined,
  revisions: readonly ControllerRevision[],
): ControllerRevision | undefined {
  return revisions.findLast((one) => one.metadata.name !== present?.metadata.name);
}

/** Where `abort` and a deadline go, see {@link wayBack}. `revisions` are in order. */
export function wayBackOf(
  object: WorkloadObject,
  present: ControllerRevision | undefined,
  revisions: readonly ControllerRevision[],
): WayBack {
  const pin = readPinned(object.metadata.annotations);
  return wayBack({ revisions, present, current: currentRevision(object), pin });
}

/**
 * The last revision that was complete, the present one among them; of that one only what is noted on it counts, never the benefit
 * of the doubt. `revisions` are in order, `present` is a name.
 */
export function lastComplete(
  object: WorkloadObject,
  present: string | undefined,
  revisions: readonly ControllerRevision[],
): ControllerRevision | undefined {
  const known = revisions.filter((one) => one.metadata.name !== present || hasSucceeded(one));
  return lastCompleteOf(known, currentRevision(object));
}

/** `status.currentRevision`, of kinds that have it. */
export function currentRevision({ status }: WorkloadObject): string | undefined {
  const name = status?.['currentRevision'];
  return typeof name === 'string' ? name : undefined;
}

/**
 * The complete pod template that a revision keeps.
 * @throws Error when the revision's data is not ours or kube-controller-manager's
 */
export function templateOfData(revision: ControllerRevision): PodTemplate {
  const template = completeTemplate(revision);
  if (template === undefined) {
    throw new Error(
      `${revision.kind ?? 'ControllerRevision'} ${revision.metadata.namespace ?? ''}/${revision.metadata.name} holds no complete pod template: ` +
        'it was not written by Fairlead or kube-controller-manager; choose another with --to-revision',
    );
  }
  return template;
}

/** The same; undefined where it holds none, and nothing can go back to it. */
export function completeTemplate({ data }: ControllerRevision): PodTemplate | undefined {
  const { $patch: patch, ...template } = asRecord(asRecord(data['spec'])['template']);
  return patch === 'replace' ? trusted<PodTemplate>(template) : undefined;
}
