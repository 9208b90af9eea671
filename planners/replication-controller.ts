/** ReplicationControllers as they come over the wire, and what a rolling update has left on them (seed 001, K1). */

import { controllerOf } from './controller-ref.ts';
import {
  ANNOTATION,
  FIELD_MANAGER,
  RENAME_FINALIZER,
  ROLLING_UPDATE,
  SHIPPED_ROLLING_UPDATE,
  UPDATE_FIELD_MANAGER,
} from './names.ts';
import type { Condition, KubernetesObject, Pod, PodTemplate } from './objects.ts';
import { asFields, asText } from './values.ts';

/** The fields that a rolling update reads; whatever else there is, is kept. */
export interface ReplicationController extends KubernetesObject {
  readonly spec: ReplicationControllerSpec;
  readonly status?: {
    readonly replicas?: number;
    /** Pods with all the labels of the template. */
    readonly fullyLabeledReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
    /** `ReplicaFailure`: why it could make, or delete, no pod. */
    readonly conditions?: readonly Condition[];
  };
}

export interface ReplicationControllerSpec {
  readonly replicas?: number;
  readonly minReadySeconds?: number;
  readonly selector?: Readonly<Record<string, string>>;
  readonly template?: PodTemplate;
}

/** What the apiserver takes as `spec.replicas`: a whole number of 32 bits, none below 0. */
export const MOST_REPLICAS = 2_147_483_647;

/** Whether a value that nobody has validated (a file, a record that was edited by hand) is a number of replicas. */
export function isReplicas(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_REPLICAS;
}

/** `spec.replicas`; the apiserver makes 1 of an absent one. */
export function sizeOf({ spec }: ReplicationController): number {
  return spec.replicas ?? 1;
}

/** `1 replica`, `3 replicas` */
export function inReplicas(size: number): string {
  return `${String(size)} ${size === 1 ? 'replica' : 'replicas'}`;
}

/**
 * Field manager that gave it its size later than `since` (RFC 3339), unless that was a rolling update; undefined too where nothing
 * tells. Of `kubectl scale` the apiserver keeps no time: that was later if the size is another than `before`. Of one to 0 it keeps no
 * manager either, and takes the field from who had it.
 */
export function scaledBy(
  controller: ReplicationController,
  since: string | undefined,
  before: number,
): string | undefined {
  let isOwned = controller.metadata.managedFields === undefined;
  for (const entry of controller.metadata.managedFields ?? []) {
    const { manager, time, fieldsV1 } = asFields(entry) ?? {};
    const isOfSize = asFields(asFields(fieldsV1)?.['f:spec'])?.['f:replicas'] !== undefined;
    const at = asText(time);
    const isLater = at === undefined ? sizeOf(controller) !== before : since !== undefined && at > since;
    if (isOfSize && isLater && manager !== UPDATE_FIELD_MANAGER) return asText(manager);
    isOwned ||= isOfSize;
  }
  return isOwned || sizeOf(controller) !== 0 ? undefined : 'somebody';
}

/**
 * Field managers, but rolling updates, that own a part of its template; undefined where the apiserver tells no managers. Whoever has
 * only made the controller owns a part as well, and is named where nobody has written it since.
 * @param since Only those that have written it then or later (RFC 3339).
 */
export function templateEditors(
  { metadata }: ReplicationController,
  since = '',
): readonly string[] | undefined {
  const { creationTimestamp = '', managedFields } = metadata;
  const owners = managedFields?.flatMap((entry) => {
    const { manager, time, fieldsV1 } = asFields(entry) ?? {};
    const isOfTemplate = asFields(asFields(fieldsV1)?.['f:spec'])?.['f:template'] !== undefined;
    const name = asText(manager);
    const at = asText(time) ?? '';
    if (!isOfTemplate || name === undefined || name === UPDATE_FIELD_MANAGER || at < since) return [];
    return [{ name, isLater: at > creationTimestamp }];
  });
  if (owners === undefined) return undefined;
  const later = owners.filter(({ isLater }) => isLater);
  return [...new Set((later.length > 0 ? later : owners).map(({ name }) => name))];
}

/**
 * ` by kubectl-set`, for a sentence about a template that was changed; empty where only Fairlead itself did, for a commit: that is no
 * intruder, and where nobody has since then, for that was a webhook.
 */
export function byTemplateEditors(controller: ReplicationController, since: string | undefined): string {
  const others = templateEditors(controller, since)?.filter((name) => name !== FIELD_MANAGER) ?? ['somebody'];
  return others.length === 0 ? '' : ` by ${others.join(', ')}`;
}

/** Whether a rolling update has made it, as far as field managers tell: nobody else then has given it its selector. */
export function isMadeByUpdate({ metadata }: ReplicationController): boolean {
  return (metadata.managedFields ?? []).some((entry) => {
    const { manager, fieldsV1 } = asFields(entry) ?? {};
    return (
      manager === UPDATE_FIELD_MANAGER &&
      asFields(asFields(fieldsV1)?.['f:spec'])?.['f:selector'] !== undefined
    );
  });
}

/** How many replicas the update wants of this controller; undefined without the mark, the seed's or the shipped one (K1). */
export function desiredOf({ metadata }: ReplicationController): number | undefined {
  const { annotations } = metadata;
  return (
    count(annotations?.[ROLLING_UPDATE.desiredReplicas]) ??
    count(annotations?.[SHIPPED_ROLLING_UPDATE.desiredReplicas])
  );
}

/** Size of the old controller before the update, where kubectl wrote it down (K1, K9). */
export function originalSizeOf({ metadata }: ReplicationController): number | undefined {
  return count(metadata.annotations?.[SHIPPED_ROLLING_UPDATE.originalReplicas]);
}

/** Name of the other half of the update that this controller is part of (seed 001, K1); one that names itself names none. */
export function partnerOf({ metadata }: Pick<ReplicationController, 'metadata'>): string | undefined {
  const { annotations, name } = metadata;
  const named = [
    annotations?.[ROLLING_UPDATE.partner],
    annotations?.[SHIPPED_ROLLING_UPDATE.nextController],
    sourceOf({ metadata }),
  ];
  return named.find((one) => one !== undefined && one !== name);
}

/** Name of the old controller, where kubectl made this one as the next one of it (K1). */
export function sourceOf({ metadata }: Pick<ReplicationController, 'metadata'>): string | undefined {
  const source = metadata.annotations?.[SHIPPED_ROLLING_UPDATE.sourceId];
  // `<name>:<uid>`
  return source?.slice(0, source.includes(':') ? source.indexOf(':') : undefined);
}

/** Marks that only an old controller gets (K1); one that gets its pods back is marked as a next one is, beside them. */
export function isMarkedOld({ metadata: { annotations } }: ReplicationController): boolean {
  const { originalReplicas, nextController } = SHIPPED_ROLLING_UPDATE;
  return [originalReplicas, nextController, ANNOTATION.turned].some(
    (mark) => annotations?.[mark] !== undefined,
  );
}

/**
 * Whether an update has begun to take pods from it. What kubectl wrote on an old controller it left there after a rollback: then
 * it has its size again.
 */
export function isPartlyReplaced(controller: ReplicationController): boolean {
  const original = originalSizeOf(controller);
  const isOurs =
    controller.metadata.annotations?.[ROLLING_UPDATE.partner] !== undefined || desiredOf(controller) === 0;
  return isOurs || (original !== undefined && sizeOf(controller) < original);
}

/** In the controller manager's words, why it can make no pod (a quota, an admission plugin); without the name of the pod, new at each try. */
export function whyNoPod(controller: ReplicationController): string | undefined {
  const failure = refusalOf(controller);
  return failure && (failure.message?.replace(/^pods "[^"]*" is /, 'pods are ') ?? failure.reason);
}

/** Since when its pods are refused, RFC 3339, empty where that is not told. Undefined: they are not. */
export function refusedSince(controller: ReplicationController): string | undefined {
  const failure = refusalOf(controller);
  return failure && (failure.lastTransitionTime ?? '');
}

function refusalOf({ status }: ReplicationController): Condition | undefined {
  const failure = status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
  return failure?.status === 'True' && failure.reason === 'FailedCreate' ? failure : undefined;
}

/** Whether it is held until its pods are handed over. */
export function isHeldForRename({ metadata }: ReplicationController): boolean {
  return metadata.finalizers?.includes(RENAME_FINALIZER) === true;
}

/** The pods that it controls, by uid and never by name (C4). */
export function podsOf(controller: ReplicationController, pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => controllerOf(pod)?.uid === controller.metadata.uid);
}

/** The annotations that a finished update takes away, the shipped ones included; `null` removes in a merge patch. */
export function strippedMarks(controller: ReplicationController): Readonly<Record<string, null>> {
  const present = controller.metadata.annotations ?? {};
  return Object.fromEntries(MARKS.filter((name) => present[name] !== undefined).map((name) => [name, null]));
}

/** Every annotation of an update: not part of what a controller is. */
export const MARKS: readonly string[] = [
  ROLLING_UPDATE.desiredReplicas,
  ROLLING_UPDATE.partner,
  SHIPPED_ROLLING_UPDATE.desiredReplicas,
  SHIPPED_ROLLING_UPDATE.sourceId,
  SHIPPED_ROLLING_UPDATE.originalReplicas,
  SHIPPED_ROLLING_UPDATE.nextController,
  ANNOTATION.turned,
  ANNOTATION.editedImages,
  ANNOTATION.podsAskedAt,
  ANNOTATION.fieldOwners,
];

function count(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) && isReplicas(Number(text)) ? Number(text) : undefined;
}
