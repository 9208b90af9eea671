/**
 * The next controller and the record of its update deleted together: what was to be rolled out is known no more, but the old controller
 * still says how many are wanted, and pods that were left tell by their label that they are of that update. They are named, never deleted.
 */

import { isActive } from './availability.ts';
import { controllerOf } from './controller-ref.ts';
import { ANNOTATION, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from './names.ts';
import type { Pod } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { isPartlyReplaced, partnerOf, podsOf, sizeOf } from './replication-controller.ts';
import { ORIGINAL, isHashValue, labelValue, selectsSame } from './rolling-update-definition.ts';
import type { UpdateRecord } from './rolling-update-record.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { matchesSelector } from './selector.ts';

type Halves = Pick<UpdateView, 'old' | 'nextController' | 'record' | 'pods'>;

/**
 * Nothing says what was to be rolled out, but the old controller is marked as one that is replaced. Where an earlier update is known to
 * be over, the marks may be those of its last writes: then the controller has its size.
 */
export function isNextLost(view: UpdateView): boolean {
  const { old, nextController, record, isRollback, state } = view;
  if (old === undefined || nextController !== undefined || record !== undefined || isRollback) return false;
  if (!isPartlyReplaced(old)) return false;
  return !isEarlierOver(view) || sizeOf(old) < state.desired || lostPods(view).length > 0;
}

/** Whether the last update that is known is over, and the old controller as that has left it. */
function isEarlierOver({ old, last }: UpdateView): boolean {
  return last?.state.phase === 'Aborted' || isRolledOut(old, last);
}

/** Whether the controller is what the last update has rolled out. */
export function isRolledOut(old: ReplicationController | undefined, last: UpdateRecord | undefined): boolean {
  return old !== undefined && last?.state.phase === 'Done' && selectsSame(old.spec, last.controller.spec);
}

/** Pods with the label of an update of `old`, but of neither half of the one that is known, and with no controller. */
export function lostPods({ old, nextController, record, pods }: Halves): readonly Pod[] {
  if (old === undefined) return [];
  return updateLabels(old).flatMap(({ key, value, others }) => {
    const known = [
      value,
      ...[nextController?.spec.selector, record?.controller.spec.selector, record?.replaced?.selector].map(
        (selector) => labelValue(selector, key),
      ),
    ];
    return pods.filter((pod) => {
      const own = labelValue(pod.metadata.labels, key);
      return (
        own !== undefined &&
        isHashValue(own) &&
        !known.includes(own) &&
        isActive(pod) &&
        controllerOf(pod) === undefined &&
        matchesSelector({ matchLabels: others }, pod.metadata.labels)
      );
    });
  });
}

/** What such pods are looked for by. */
export function lostSelectors({ old }: Halves): readonly Readonly<Record<string, string>>[] {
  return old === undefined ? [] : updateLabels(old).map(({ others }) => others);
}

/**
 * Where no mark says how many are wanted (an earlier version wrote none on the old controller): what it has, and what the lost one left.
 * In the middle that may be more by the surge, but never one that is healthy is taken.
 */
export function guessedSize(halves: Halves & { readonly old: ReplicationController }): number {
  const { old, pods } = halves;
  const active = podsOf(old, pods).filter(isActive).length;
  return Math.max(sizeOf(old), active) + lostPods(halves).length;
}

/** `3 pods have no controller: foo-9f3a was deleted without them, and no record says what it was`; undefined where there are none. */
export function describeLost(view: UpdateView): string | undefined {
  const { length } = lostPods(view);
  if (length === 0 || view.old === undefined) return undefined;
  const [have, them] = length === 1 ? ['pod has', 'it'] : ['pods have', 'them'];
  // Of another update that has begun since, the partner is the next controller of that.
  const isKnown = view.nextController !== undefined || view.record !== undefined;
  const whose = (isKnown ? undefined : partnerOf(view.old)) ?? `what was to replace ${view.name}`;
  return `${String(length)} ${have} no controller: ${whose} was deleted without ${them}, and no record says what it was`;
}

/** The image of the pods that were left, where it is one: what to roll out for the update to go on. */
export function lostImage(view: UpdateView): string | undefined {
  const images = lostPods(view).map(({ spec: { containers } }) =>
    containers.length === 1 ? containers[0]?.image : undefined,
  );
  return new Set(images).size === 1 ? images[0] : undefined;
}

/** Labels of `old` that an update has given it: by their key, or by the form that only an update gives a value. */
function updateLabels({ metadata, spec }: ReplicationController) {
  const keys: readonly (string | undefined)[] = [
    ROLLING_UPDATE.deployment,
    SHIPPED_ROLLING_UPDATE.deployment,
    metadata.annotations?.[ANNOTATION.deploymentLabelKey],
  ];
  const { selector = {} } = spec;
  return Object.entries(selector).flatMap(([key, value]) => {
    const { [key]: _, ...others } = selector;
    const isOfUpdate = isHashValue(value) && (keys.includes(key) || value.endsWith(ORIGINAL));
    // Without anything else it would be every pod of the namespace.
    return isOfUpdate && Object.keys(others).length > 0 ? [{ key, value, others }] : [];
  });
}
