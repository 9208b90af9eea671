/**
 * Which two controllers are the halves of one update, and which of them is replaced: by their marks, of which some may be missing
 * (seed 001 "Recovery"), and where those do not name the other, by the label that tells their pods apart.
 */

import { ANNOTATION, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import { desiredOf, isMarkedOld, isPartlyReplaced, partnerOf, sourceOf } from './replication-controller.ts';
import { ORIGINAL, labelValue, selectsSame } from './rolling-update-definition.ts';
import { hashInName } from './rolling-update-record.ts';

/** The other half of the update that this one is part of, among those that are there; undefined too where it could be several. */
export function otherHalf(
  one: ReplicationController,
  controllers: readonly ReplicationController[],
): ReplicationController | undefined {
  const { name } = one.metadata;
  const named = livePartnerOf(one, controllers);
  const others = controllers.filter(({ metadata }) => metadata.name !== name);
  if (named !== undefined) return others.find(({ metadata }) => metadata.name === named);
  const naming = others.filter((other) => livePartnerOf(other, controllers) === name);
  const fitting =
    naming.length > 0
      ? naming
      : others.filter(
          (other) =>
            partnerOf(other) === undefined && (isMarked(one) || isMarked(other)) && areSiblings(one, other),
        );
  return fitting.length === 1 ? fitting[0] : undefined;
}

/**
 * Name of the other half as the marks have it, unless that is a mark of an update of before: kubectl left the name of the next controller
 * on the old one after a rollback, and whoever has made one of that name since has nothing to do with it.
 */
export function livePartnerOf(
  one: ReplicationController,
  controllers: readonly ReplicationController[],
): string | undefined {
  const named = partnerOf(one);
  const other = controllers.find(({ metadata }) => metadata.name === named);
  return other !== undefined && isLeftName(one, other) ? sourceOf(one) : named;
}

/** Whether nothing but what kubectl left behind ties the two: neither a mark of the other, nor its selector, nor a size that has begun to move. */
function isLeftName(one: ReplicationController, other: ReplicationController): boolean {
  const { annotations } = one.metadata;
  const isShipped =
    annotations?.[ROLLING_UPDATE.partner] === undefined &&
    annotations?.[SHIPPED_ROLLING_UPDATE.nextController] === other.metadata.name;
  if (!isShipped || isPartlyReplaced(one) || areSiblings(one, other)) return false;
  const partner = partnerOf(other);
  return partner === undefined ? !isMarked(other) : partner !== one.metadata.name;
}

/** Whether the selectors are one, but for the label that a rolling update gives the two. */
export function areSiblings(one: ReplicationController, other: ReplicationController): boolean {
  return siblingKey(one, other) !== undefined;
}

/** Marks that only an update in progress leaves: of those that kubectl wrote, one stays after it. */
function isMarked(one: ReplicationController): boolean {
  return desiredOf(one) !== undefined || isTurned(one) || isPartlyReplaced(one);
}

/** Whether somebody has turned the update round, in which this one was to go. */
export function isTurned({ metadata }: ReplicationController): boolean {
  return metadata.annotations?.[ANNOTATION.turned] !== undefined;
}

/** Key of the label by which the two selectors differ, where they differ in nothing else. */
export function siblingKey(one: ReplicationController, other: ReplicationController): string | undefined {
  const keys = [one, other].map(({ metadata }) => metadata.annotations?.[ANNOTATION.deploymentLabelKey]);
  return [...keys, ROLLING_UPDATE.deployment, SHIPPED_ROLLING_UPDATE.deployment].find((key) => {
    if (key === undefined || valueIn(one, key) === valueIn(other, key)) return false;
    const [a, b] = [one, other].map(({ spec: { selector = {} } }) => {
      const { [key]: _, ...rest } = selector;
      return rest;
    });
    return Object.keys(a ?? {}).length > 0 && selectsSame({ selector: a ?? {} }, { selector: b ?? {} });
  });
}

function valueIn({ spec }: ReplicationController, key: string): string | undefined {
  return labelValue(spec.selector, key);
}

/**
 * Whether `one` is replaced by `other`; undefined where nothing tells. What only one of them can have comes first, then the label
 * and the names that an update gives, and last the desired sizes: both ways leave them on both.
 */
export function isReplacedBy(one: ReplicationController, other: ReplicationController): boolean | undefined {
  const key = siblingKey(one, other);
  const signs: readonly ((a: ReplicationController, b: ReplicationController) => boolean)[] = [
    isMarkedOld,
    (_, b) => b.metadata.annotations?.[SHIPPED_ROLLING_UPDATE.sourceId] !== undefined,
    (a) => key !== undefined && valueIn(a, key)?.endsWith(ORIGINAL) === true,
    (a) => key !== undefined && valueIn(a, key) === undefined,
    (a, b) => isNamedAfter(b.metadata.name, a.metadata.name),
    (a, b) => (desiredOf(a) ?? 0) === 0 && (desiredOf(b) ?? 0) > 0,
    (a, b) => desiredOf(a) === 0 && desiredOf(b) === undefined,
  ];
  for (const sign of signs) {
    const [forth, back] = [sign(one, other), sign(other, one)];
    if (forth !== back) return forth;
  }
  return undefined;
}

/** `<name>-<hash>` (seed 001), or whatever else somebody called it. */
export function isNamedAfter(next: string, old: string): boolean {
  return next.startsWith(`${old}-`);
}

/**
 * Whether an update has formed the name of its next controller itself, which is then to get the old one's: of that and the hash by which
 * the pods are told apart (seed 001, K2). Any other somebody has chosen, and it stays (seed 001).
 */
export function isNameFormed({ metadata, spec }: ReplicationController, old: string): boolean {
  const hash = hashInName(metadata.name, old);
  return hash !== undefined && Object.values(spec.selector ?? {}).some((value) => value.startsWith(hash));
}

function isLabelledOld({ spec: { selector } }: ReplicationController): boolean {
  const keys = [ROLLING_UPDATE.deployment, SHIPPED_ROLLING_UPDATE.deployment];
  return keys.some((key) => selector?.[key]?.endsWith(ORIGINAL) === true);
}

/**
 * The old name that the name of a next controller was formed of (`<old>-<hash>`, seed 001, K2), where the mark that would say it is missing
 * and another says that it is still to be more than that; undefined otherwise.
 */
export function formedFrom(controller: ReplicationController): string | undefined {
  const [, old = ''] = /^(.+)-[0-9a-f]+$/.exec(controller.metadata.name) ?? [];
  if (partnerOf(controller) !== undefined || (desiredOf(controller) ?? 0) === 0) return undefined;
  const isOld = isMarkedOld(controller) || isLabelledOld(controller) || isTurned(controller);
  return !isOld && isNameFormed(controller, old) ? old : undefined;
}

/** Whether the marks of one whose other half is gone say that it takes the place of `name`. */
export function isNextOf(controller: ReplicationController, name: string): boolean {
  const own = controller.metadata.name;
  if (partnerOf(controller) === undefined) return formedFrom(controller) === name;
  if (partnerOf(controller) !== name || own === name || isNamedAfter(name, own)) return false;
  if (isMarkedOld(controller) || isLabelledOld(controller)) return false;
  const isShipped = controller.metadata.annotations?.[SHIPPED_ROLLING_UPDATE.sourceId] !== undefined;
  // The old one points at its partner too, but wants no replicas.
  return isShipped || desiredOf(controller) !== 0 || isNamedAfter(own, name);
}
