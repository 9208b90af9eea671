/** Revisions of a StatefulSet: data, name, number (S6–S8, C8, C9). */

import { canonicalJson } from './canonical-json.ts';
import { controllerReference } from './controller-ref.ts';
import { fnv1, safeEncode } from './hash.ts';
import { GROUP, LABEL } from './names.ts';
import type { ControllerRevision, JsonObject, PodTemplate } from './objects.ts';
import { findRevision, nextRevisionNumber, revisionsOf, sameBytes, storedTemplate } from './revision.ts';
import type { RevisionPlan } from './revision.ts';
import { normaliseTemplate } from './template-defaults.ts';
import { trusted } from './values.ts';
import type { StatefulSet, Workload } from './workload.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Longer set names are cut in revision names, so that these fit into 253 characters (C8). */
const LONGEST_PREFIX = 223;
/** Name clashes in a row that are looked through. */
const COLLISION_LIMIT = 100;

const dataOfTemplate = new WeakMap<PodTemplate, JsonObject>();
const templateOfData = new WeakMap<JsonObject, PodTemplate>();
const hashOfData = new WeakMap<JsonObject, number>();
const countOfRevision = new WeakMap<
  ControllerRevision,
  { readonly stored: number; readonly count: number }
>();

/** The data of the revision of a template: a strategic merge patch that replaces `spec.template` (C9). */
export function revisionData(template: PodTemplate): JsonObject {
  let data = dataOfTemplate.get(template);
  if (data === undefined) {
    data = { spec: { template: { ...template, $patch: 'replace' } } };
    dataOfTemplate.set(template, data);
  }
  return data;
}

/**
 * The pod template that a revision holds, as it is stored.
 * @throws {Error} if the revision holds none
 */
export function templateOfRevision(revision: ControllerRevision): PodTemplate {
  let template = templateOfData.get(revision.data);
  if (template === undefined) {
    const stored = storedTemplate(revision);
    if (stored === undefined) {
      throw new Error(
        `ControllerRevision ${revision.metadata.namespace ?? 'default'}/${revision.metadata.name} holds no spec.template: ` +
          'it was not made for this kind; delete it',
      );
    }
    const { $patch: _, ...rest } = stored;
    template = trusted<PodTemplate>(rest);
    templateOfData.set(revision.data, template);
  }
  return template;
}

/** The name of a revision: `<set>-<hash of data and collision count>` (C8). */
export function revisionName(setName: string, data: JsonObject, collisionCount: number): string {
  return `${setName.slice(0, LONGEST_PREFIX)}-${revisionHash(data, collisionCount)}`;
}

function revisionHash(data: JsonObject, collisionCount: number): string {
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
 * `revisions` may hold foreign ones; they are ignored, but for their names.
 */
export function planStatefulSetRevision(
  set: StatefulSet,
  revisions: readonly ControllerRevision[],
): RevisionPlan {
  const sorted = revisionsOf(set, revisions);
  const data = revisionData(set.template);
  const found = findRevision(sorted, data, (revision) => meansTheSame(revision, set.template));
  if (found !== undefined) {
    const newest = sorted.at(-1);
    return newest === undefined || newest === found || sameBytes(newest.data, found.data)
      ? { outcome: 'exists', revision: newest ?? found }
      : { outcome: 'renumber', revision: found, to: nextRevisionNumber(sorted) };
  }
  const taken = new Set(revisions.map((revision) => revision.metadata.name));
  let collisionCount = set.status.collisionCount ?? 0;
  const last = collisionCount + COLLISION_LIMIT;
  while (taken.has(revisionName(set.ref.name, data, collisionCount)) && collisionCount < last) {
    collisionCount += 1;
  }
  return { outcome: 'create', manifest: manifest(set, data, nextRevisionNumber(sorted), collisionCount) };
}

/** Whether the revision's template and this one differ in nothing but spelling, order of keys and defaults (S6). */
function meansTheSame(revision: ControllerRevision, template: PodTemplate): boolean {
  return (
    storedTemplate(revision) !== undefined &&
    canonicalJson(normaliseTemplate(templateOfRevision(revision))) ===
      canonicalJson(normaliseTemplate(template))
  );
}

/** The collision count that reproduces the revision's name, searched upwards from the stored one; else the stored one. */
export function collisionCountOf(set: StatefulSet, revision: ControllerRevision): number {
  const stored = set.status.collisionCount ?? 0;
  const known = countOfRevision.get(revision);
  if (known?.stored === stored) return known.count;
  let count = stored;
  while (
    count < stored + COLLISION_LIMIT &&
    revisionName(set.ref.name, revision.data, count) !== revision.metadata.name
  ) {
    count += 1;
  }
  count = count === stored + COLLISION_LIMIT ? stored : count;
  countOfRevision.set(revision, { stored, count });
  return count;
}

function manifest(
  set: StatefulSet,
  data: JsonObject,
  revision: number | bigint,
  collisionCount: number,
): JsonObject {
  const hash = revisionHash(data, collisionCount);
  const annotations = childAnnotations(set);
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: revisionName(set.ref.name, data, collisionCount),
      namespace: set.ref.namespace,
      labels: { ...set.template.metadata?.labels, [LABEL.controllerHash]: hash },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [controllerReference(set.ref)],
    },
    data,
    revision,
  };
}

/** The workload's annotations (change-cause and the like, S7) without our wishes and kubectl's bulky record. */
function childAnnotations(workload: Workload): Record<string, string> {
  return Object.fromEntries(
    Object.entries(workload.metadata.annotations ?? {}).filter(
      ([key]) => key !== LAST_APPLIED && !key.startsWith(`${GROUP}/`),
    ),
  );
}
