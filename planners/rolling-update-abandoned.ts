/**
 * Pods of the old controller that somebody deleted without them (`kubectl delete --cascade=orphan`) in the middle: nothing shrinks
 * them any more. They are told, never deleted: whoever orphans pods has said that they are to stay.
 */

import { isActive } from './availability.ts';
import { controllerOf } from './controller-ref.ts';
import type { Pod } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { labelValue } from './rolling-update-definition.ts';
import type { ReplacedController, UpdateRecord } from './rolling-update-record.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { matchesSelector } from './selector.ts';

/** Code of what is waited for here. */
export const ABANDONED = 'PodsWithoutController';

/**
 * Only what provably was the old controller's: its record has written down what its pods are found by. Of an update that this one
 * began instead of, they are still there.
 */
export function abandonedPods(view: UpdateView): readonly Pod[] {
  const { record, pods } = view;
  if (record === undefined) return [];
  const coming = { matchLabels: record.controller.spec.selector ?? {} };
  return pods.filter(
    (pod) =>
      isActive(pod) &&
      controllerOf(pod) === undefined &&
      !matchesSelector(coming, pod.metadata.labels) &&
      replacing(view).some((one) => wasOf(one, pod)),
  );
}

/**
 * Pods that the next controller has left, which somebody deleted without them; where the old one is gone too, also those of that. One
 * that is made again adopts the first.
 */
export function leftPods(view: UpdateView): readonly Pod[] {
  const { record, pods, nextController, isRenamed } = view;
  if (record === undefined || nextController !== undefined || isRenamed) return [];
  const coming = { matchLabels: record.controller.spec.selector ?? {} };
  const isNext = (pod: Pod) =>
    isActive(pod) && controllerOf(pod) === undefined && matchesSelector(coming, pod.metadata.labels);
  return [...pods.filter(isNext), ...abandonedPods(view)];
}

/** Pods that are there for what a record rolls out, but for those of a controller that is none of the update's. */
export function ownPods(pods: readonly Pod[], record: UpdateRecord): readonly Pod[] {
  return comingPods(pods, record).filter((pod) => !isOfOther(pod, record));
}

/**
 * Who controls all pods that a rename has left without a controller, as `ReplicaSet web`: somebody has moved them there, or was quicker than
 * it. A reference to a controller of the update, which is gone, the garbage collector is about to take off.
 */
export function takenBy({
  old,
  nextController,
  record,
  pods,
}: Pick<UpdateView, 'old' | 'nextController' | 'record' | 'pods'>): string | undefined {
  if (record === undefined || old !== undefined || nextController !== undefined) return undefined;
  const coming = comingPods(pods, record);
  if (coming.length === 0 || !coming.every((pod) => isOfOther(pod, record))) return undefined;
  const owners = coming.flatMap((pod) => controllerOf(pod) ?? []);
  return [...new Set(owners.map(({ kind, name }) => `${kind} ${name}`))].join(', ');
}

function comingPods(pods: readonly Pod[], { controller }: UpdateRecord): readonly Pod[] {
  const coming = { matchLabels: controller.spec.selector ?? {} };
  return pods.filter((pod) => isActive(pod) && matchesSelector(coming, pod.metadata.labels));
}

function isOfOther(pod: Pod, { from, next }: UpdateRecord): boolean {
  const owner = controllerOf(pod);
  return (
    owner !== undefined && (owner.kind !== 'ReplicationController' || ![from, next].includes(owner.name))
  );
}

/**
 * Both were deleted with their pods, or another controller has them, in the middle of an update, or what was renamed while its pods were awaited: it has nothing to roll any more, and makes nothing again. A controller that
 * somebody has made of the name since is none of its business.
 */
export function isNothingLeft(view: UpdateView): boolean {
  const { old, nextController, record, isRenamed } = view;
  const isTaken = takenBy(view) !== undefined;
  const isGap = record?.state.phase === 'Renaming' && record.state.renamed !== true && !isTaken;
  if (record === undefined || isGap || nextController !== undefined || isRenamed) return false;
  if (old !== undefined && !isMadeSince(old, record)) return false;
  // Whoever makes another in place of what was renamed wants that with its pods, which it may not have adopted yet.
  const isReplaced = old !== undefined && record.state.renamed === true;
  return isReplaced || leftPods(view).length === 0;
}

/**
 * Whether a controller is another than the one that was there when the update began: names live on, objects do not. Where a record of
 * before does not say which it was, the times of creation tell.
 */
export function isMadeSince(
  { metadata }: ReplicationController,
  { replaced, revision }: UpdateRecord,
): boolean {
  if (replaced?.uid !== undefined) return metadata.uid !== replaced.uid;
  const [made, begun] = [metadata.creationTimestamp, revision.metadata.creationTimestamp];
  return made !== undefined && begun !== undefined && Date.parse(made) > Date.parse(begun);
}

/** What giving up an update means of which nothing is left. */
export function describeNothingLeft(view: UpdateView): string {
  const { name, old, record } = view;
  const taken = takenBy(view);
  if (taken !== undefined) return `the update of ${name} is given up: ${describeTaken(taken)}`;
  const since = old === undefined ? '' : `, and ${name} was made anew since: it stays as it is`;
  const gone =
    old !== undefined && record?.state.renamed === true
      ? `${name}, as it was rolled out, was deleted`
      : 'both controllers were deleted with their pods';
  return `the update of ${name} is given up: ${gone}${since}`;
}

/** `its pods are controlled by ReplicaSet web now` */
export function describeTaken(taken: string): string {
  return `its pods are controlled by ${taken} now`;
}

/** What pods that may have been abandoned are looked for by. */
export function abandonedSelectors(view: UpdateView): readonly Readonly<Record<string, string>>[] {
  return replacing(view).map(unlabelled);
}

/** `4 pods of foo have no controller: foo was deleted without them`; undefined where there are none. */
export function describeAbandoned(view: UpdateView): string | undefined {
  const { length } = abandonedPods(view);
  if (length === 0) return undefined;
  const [pods, have, them] = length === 1 ? ['pod', 'has', 'it'] : ['pods', 'have', 'them'];
  return `${String(length)} ${pods} of ${view.name} ${have} no controller: ${view.name} was deleted without ${them}`;
}

/** Until somebody has deleted them, or given them a controller or other labels, what was rolled out is not all that there is. */
export function awaitAbandoned(view: UpdateView): UpdateStep | undefined {
  const message = describeAbandoned(view);
  const names = abandonedPods(view).map(({ metadata }) => metadata.name);
  return message === undefined ? undefined : wait(ABANDONED, message, names);
}

interface Replacing extends UpdateRecord {
  readonly replaced: ReplacedController;
}

/** Records of this controller that may have left pods behind: while the one that is replaced is there, it has them. */
function replacing({ records, old, isRenamed, name }: UpdateView): readonly Replacing[] {
  if (old !== undefined && !isRenamed) return [];
  return records.flatMap((one) => {
    const { from, state, replaced } = one;
    return from === name && state.phase !== 'Done' && replaced !== undefined ? [{ ...one, replaced }] : [];
  });
}

function wasOf({ replaced, key, from }: Replacing, { metadata }: Pod): boolean {
  const { labels, generateName } = metadata;
  if (matchesSelector({ matchLabels: replaced.selector }, labels)) return true;
  // Made before the template had the label.
  return (
    labelValue(labels, key) === undefined &&
    generateName === `${from}-` &&
    matchesSelector({ matchLabels: unlabelled({ replaced, key }) }, labels)
  );
}

function unlabelled({
  replaced,
  key,
}: Pick<Replacing, 'replaced' | 'key'>): Readonly<Record<string, string>> {
  const { [key]: _, ...others } = replaced.selector;
  return others;
}
