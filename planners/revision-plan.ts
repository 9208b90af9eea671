/** Which revision the present template has, or is to get: found, renumbered or made (S6–S8, D19, D20, C8, C9). */

import { canonicalJson } from './canonical-json.ts';
import { controllerReference } from './controller-ref.ts';
import { fnv1, safeEncode } from './hash.ts';
import type { ControllerRevision, JsonObject } from './objects.ts';
import { findRevision, nextRevisionNumber, revisionsOf, sameBytes } from './revision.ts';
import type { RevisionPlan } from './revision.ts';
import { childAnnotations, meansTheSame, revisionData } from './template-revision.ts';
import type { Workload } from './workload.ts';

/** A workload whose status counts clashes of revision names. */
export type Revisioned = Workload & { readonly status: { readonly collisionCount?: number } };

/** Longer workload names are cut in revision names, so that these fit into 253 characters (C8). */
const LONGEST_PREFIX = 223;
/** Name clashes in a row that are looked through. */
const COLLISION_LIMIT = 100;

const hashOfData = new WeakMap<JsonObject, number>();
const countOfRevision = new WeakMap<
  ControllerRevision,
  { readonly stored: number; readonly count: number }
>();

/** The name of a revision: `<workload>-<hash of data and collision count>` (C8). */
export function revisionName(workloadName: string, data: JsonObject, collisionCount: number): string {
  return `${workloadName.slice(0, LONGEST_PREFIX)}-${revisionHash(data, collisionCount)}`;
}

/** The part of {@link revisionName} that tells templates apart. */
export function revisionHash(data: JsonObject, collisionCount: number): string {
  let state = hashOfData.get(data);
  if (state === undefined) {
    state = fnv1(canonicalJson(data));
    hashOfData.set(data, state);
  }
  return safeEncode(String(fnv1(String(collisionCount), state)));
}

/**
 * What has to be done so that the present template has a revision with the highest number (S6): nothing, renumber an older
 * equal one (rollback), or create one. A name that is taken by other data is passed over by the next collision count.
 * `revisions` may hold foreign ones; they are ignored, but for their names. `hashLabel` is the label that a new one carries its
 * hash in (S7, D4). `others` are further names that belong to others.
 */
export function planRevision(
  workload: Revisioned,
  revisions: readonly ControllerRevision[],
  hashLabel: string,
  others: ReadonlySet<string> = new Set(),
): RevisionPlan {
  const sorted = revisionsOf(workload, revisions);
  const data = revisionData(workload.template);
  const found = findRevision(sorted, data, (revision) => meansTheSame(revision, workload.template));
  if (found !== undefined) {
    const newest = sorted.at(-1);
    return newest === undefined || newest === found || sameBytes(newest.data, found.data)
      ? { outcome: 'exists', revision: newest ?? found }
      : { outcome: 'renumber', revision: found, to: nextRevisionNumber(sorted) };
  }
  const taken = new Set([...others, ...revisions.map((revision) => revision.metadata.name)]);
  const collisionCount = freeCollisionCount(workload, data, taken);
  return {
    outcome: 'create',
    manifest: manifest(workload, data, nextRevisionNumber(sorted), collisionCount, hashLabel),
  };
}

/** The first count, from the stored one upwards (P3, S6), that gives a revision of this data a name that is not taken. */
export function freeCollisionCount(
  workload: Revisioned,
  data: JsonObject,
  taken: ReadonlySet<string>,
): number {
  let count = workload.status.collisionCount ?? 0;
  const last = count + COLLISION_LIMIT;
  while (taken.has(revisionName(workload.ref.name, data, count)) && count < last) count += 1;
  return count;
}

/** Every name that a revision of this data may have been given, whatever the stored count was then. */
export function possibleNames(workload: Revisioned, data: JsonObject): ReadonlySet<string> {
  const stored = workload.status.collisionCount ?? 0;
  const first = Math.max(0, stored - COLLISION_LIMIT);
  const counts = Array.from({ length: stored - first + COLLISION_LIMIT + 1 }, (_, index) => first + index);
  return new Set(counts.map((count) => revisionName(workload.ref.name, data, count)));
}

/** The collision count that reproduces the revision's name, searched upwards from the stored one; else the stored one. */
export function collisionCountOf(workload: Revisioned, revision: ControllerRevision): number {
  const stored = workload.status.collisionCount ?? 0;
  const known = countOfRevision.get(revision);
  if (known?.stored === stored) return known.count;
  let count = stored;
  while (
    count < stored + COLLISION_LIMIT &&
    revisionName(workload.ref.name, revision.data, count) !== revision.metadata.name
  ) {
    count += 1;
  }
  count = count === stored + COLLISION_LIMIT ? stored : count;
  countOfRevision.set(revision, { stored, count });
  return count;
}

function manifest(
  workload: Revisioned,
  data: JsonObject,
  revision: number | bigint,
  collisionCount: number,
  hashLabel: string,
): JsonObject {
  const hash = revisionHash(data, collisionCount);
  const annotations = childAnnotations(workload);
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: revisionName(workload.ref.name, data, collisionCount),
      namespace: workload.ref.namespace,
      labels: { ...workload.template.metadata?.labels, [hashLabel]: hash },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [controllerReference(workload.ref)],
    },
    data,
    revision,
  };
}
