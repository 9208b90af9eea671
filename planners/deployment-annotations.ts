/** Which annotations ReplicaSets have from their Deployment (P5). */

import { ANNOTATION, DEPLOYMENT_ANNOTATION, GROUP } from './names.ts';
import type { ObjectMeta } from './objects.ts';
import { childAnnotations } from './template-revision.ts';
import { asFields } from './values.ts';
import type { Deployment } from './workload.ts';

/** What upstream keeps to the Deployment or to the ReplicaSet. */
const NOT_CARRIED: ReadonlySet<string> = new Set(Object.values(DEPLOYMENT_ANNOTATION));

/** Annotations that ReplicaSets have from us. Nothing but `kubectl rollout undo` brings them to a Deployment. */
const OF_REPLICA_SETS = [
  ANNOTATION.attempts,
  ANNOTATION.wantedSince,
  ANNOTATION.complete,
  ANNOTATION.ofWorkload,
];

/**
 * Change-cause and the like: added to ReplicaSets or overwritten there, never removed (P5). Ours are not among them; of a native
 * Deployment they are kept in one, for {@link lostAnnotations}.
 */
export function carriedAnnotations(deployment: Deployment): Record<string, string> {
  const own = ownAnnotations(deployment);
  return {
    ...Object.fromEntries(Object.entries(childAnnotations(deployment)).filter(isCarried)),
    ...(deployment.ref.group === 'apps' &&
      own.length > 0 && { [ANNOTATION.ofWorkload]: JSON.stringify(Object.fromEntries(own)) }),
  };
}

/** What a Deployment gets back from the ReplicaSet that it goes back to (P6): its change-cause and the like. */
export function annotationsOfReplicaSet({ annotations = {} }: ObjectMeta): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => goesBack(key)));
}

/** Whether going back gives a Deployment this annotation of the ReplicaSet, or takes it from the Deployment (P6). */
export function goesBack(key: string): boolean {
  return isCarried([key, '']) && !key.startsWith(`${GROUP}/`);
}

function isCarried([key]: readonly [string, string]): boolean {
  return !NOT_CARRIED.has(key);
}

function ownAnnotations({ metadata }: Deployment): readonly (readonly [string, string])[] {
  return Object.entries(metadata.annotations ?? {})
    .filter(([key]) => key.startsWith(`${GROUP}/`) && !OF_REPLICA_SETS.some((one) => one === key))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * `kubectl rollout undo` gives a Deployment all annotations of the ReplicaSet that it goes back to, and leaves it none else: what
 * git, an operator or a setting of ours had written there is lost, and what we wrote on the ReplicaSet is there instead. Answers
 * what mends it, from `before`, the ReplicaSet that was the newest until then; null = to be removed.
 */
export function lostAnnotations(
  { metadata }: Deployment,
  before: ObjectMeta | undefined,
): Readonly<Record<string, string | null>> {
  const strays = straysOf(metadata);
  if (strays.length === 0) return {};
  return {
    ...readKept(before?.annotations?.[ANNOTATION.ofWorkload]),
    ...Object.fromEntries(strays.map((name) => [name, null])),
  };
}

/** Whether `kubectl rollout undo` has replaced the annotations of a Deployment, and they are not back yet ({@link lostAnnotations}). */
export function hasLostAnnotations(metadata: Pick<ObjectMeta, 'annotations'>): boolean {
  return straysOf(metadata).length > 0;
}

function straysOf({ annotations }: Pick<ObjectMeta, 'annotations'>): readonly string[] {
  return OF_REPLICA_SETS.filter((name) => annotations?.[name] !== undefined);
}

/** None if somebody spoilt it. */
function readKept(text: string | undefined): Record<string, string> {
  if (text === undefined) return {};
  try {
    const kept = Object.entries(asFields(JSON.parse(text)) ?? {});
    return Object.fromEntries(
      kept.flatMap(([key, value]) =>
        typeof value === 'string' && key.startsWith(`${GROUP}/`) ? [[key, value] as const] : [],
      ),
    );
  } catch {
    return {};
  }
}

/** For which size of the Deployment a ReplicaSet has its size: what tells a scaling from a rollout (P5, P7). */
export function sizeAnnotations(replicas: number, maxSurge: number): Record<string, string> {
  return {
    [DEPLOYMENT_ANNOTATION.desiredReplicas]: String(replicas),
    [DEPLOYMENT_ANNOTATION.maxReplicas]: String(replicas + maxSurge),
  };
}

/** A number in an annotation; undefined if there is none, or somebody wrote something else. */
export function numberIn(
  annotations: Readonly<Record<string, string>> | undefined,
  name: string,
): number | undefined {
  const text = annotations?.[name];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
