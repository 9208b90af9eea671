/** Manifests to objects with a place in the cluster: kind, namespace, order, and the body that is sent. */

import { isUnreached } from '../kubernetes/api-error.ts';
import type { Unreached } from '../kubernetes/unreached.ts';
import { ANNOTATION, COUNTED_ANNOTATIONS, GROUP } from '../planners/names.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import type { JsonObject } from '../planners/objects.ts';
import { APPLYSET } from './inventory.ts';
import type { InventoryEntry } from './inventory-content.ts';
import type { Manifest } from './manifests.ts';
import { objectLabel } from './manifests.ts';
import { isMapping } from './value-kind.ts';
import { customKinds } from './definitions.ts';
import { resolveDependencies } from './depends-on.ts';
import { compareObjects, compareSteps, stageOf } from './order.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';
import { objectPath } from './resources.ts';
import type { ServedKind } from './resources.ts';
import { unreachedProblem } from './unreached.ts';

/** An object of a commit that the cluster has a place for. */
export interface PreparedObject {
  readonly manifest: Manifest;
  /** Of namespaced kinds: as written, or the repository's default. */
  readonly namespace: string | undefined;
  readonly path: ResourcePath;
  /** `Kind.group namespace/name`. */
  readonly label: string;
  readonly stage: number;
  readonly wave: number;
  /** Within its wave, after those that it depends on. */
  readonly rank: number;
  /** Labels of the objects that must be ready before it is applied. */
  readonly dependsOn: readonly string[];
  /** The kind comes with a CustomResourceDefinition of this commit and is not served yet, or no longer, or as another one's. */
  readonly deferred: boolean;
}

export interface Prepared {
  /** In the order in which they are applied. */
  readonly objects: readonly PreparedObject[];
  readonly problems: readonly Problem[];
}

export interface PrepareContext {
  readonly defaultNamespace: string;
  /** Looks a kind up in the cluster. */
  readonly find: (apiVersion: string, kind: string) => Promise<ServedKind | undefined>;
  /** Versions of a group that are served, for the message when a kind is not found. */
  readonly versions: (group: string) => Promise<readonly string[]>;
}

/**
 * Finds every object's place; duplicates, kinds that nobody knows, and those of an API that is away become problems.
 * @throws ApiError of the look-ups
 */
export async function prepareObjects(
  manifests: readonly Manifest[],
  context: PrepareContext,
): Promise<Prepared> {
  const problems: Problem[] = [];
  const objects: Placed[] = [];
  const own = customKinds(manifests);
  const looked = new Map<string, ServedKind | Away | undefined>();
  for (const manifest of manifests) {
    const { group, version, kind } = manifest;
    const type = `${manifest.apiVersion} ${kind}`;
    const served = looked.has(type) ? looked.get(type) : await lookUp(manifest.apiVersion, kind, context);
    looked.set(type, served);
    if (served !== undefined && 'away' in served) {
      const { file, line } = manifest;
      problems.push(
        unreachedProblem(served.away, served.message, { file, line, object: objectLabel(manifest) }),
      );
      continue;
    }
    const defined = own.get(`${group}/${version}/${kind}`);
    // It is served as the other's whose names they are, until that is gone.
    const isOfOther = defined !== undefined && served !== undefined && served.resource !== defined.resource;
    const known = isOfOther ? defined : (served ?? defined);
    if (known === undefined) {
      problems.push(await unknownKind(manifest, context));
      continue;
    }
    const { verbs = [] } = known;
    // Some tell nothing.
    const isKept = verbs.length === 0 || verbs.includes('patch');
    // So it is served while its CustomResourceDefinition is being deleted.
    const isLeaving = !isKept && verbs.includes('deletecollection');
    const isMadeAgain = isLeaving && defined !== undefined;
    if (isLeaving && !isMadeAgain) {
      problems.push(leavingKind(manifest));
      continue;
    }
    if (!isKept && !isMadeAgain) {
      const why = `the apiserver keeps no ${kind} that it is sent: there is nothing to be applied.`;
      problems.push(problemAt(manifest, 'KindNotKept', why));
      continue;
    }
    if (!known.namespaced && manifest.namespace !== undefined) {
      problems.push(
        problemAt(
          manifest,
          'NamespaceMismatch',
          `${kind} has no namespaces, the manifest says ${manifest.namespace}.`,
        ),
      );
      continue;
    }
    const namespace = known.namespaced ? (manifest.namespace ?? context.defaultNamespace) : undefined;
    const place = { group, version, kind, namespace, name: manifest.name };
    objects.push({
      manifest,
      namespace,
      path: objectPath(known, place),
      label: objectLabel(place),
      stage: stageOf(manifest),
      wave: manifest.wave,
      deferred: served === undefined || isMadeAgain || isOfOther,
    });
  }
  objects.sort((a, b) => compareObjects(ordered(a), ordered(b)));
  const dependencies = resolveDependencies(objects);
  const ranked = objects.map((object): PreparedObject => {
    const dependsOn = (dependencies.of.get(object) ?? []).map(({ label }) => label);
    return { ...object, rank: dependencies.ranks.get(object) ?? 0, dependsOn };
  });
  return {
    // Stable: within a rank the order is as before.
    objects: ranked.toSorted(compareSteps),
    problems: [...problems, ...findDuplicates(ranked), ...dependencies.problems],
  };
}

/** It would be taken again by a new definition alone. */
function leavingKind(manifest: Manifest): Problem {
  const why = `the CustomResourceDefinition of ${manifest.kind} is being deleted, and it takes no objects any more.`;
  const next = `Commit the CustomResourceDefinition too, which is then made again as soon as it is gone, or remove the object from the commit.`;
  return { ...problemAt(manifest, 'UnknownKind', why), next };
}

/** The API of a kind, which the apiserver could not reach. */
interface Away {
  readonly away: Unreached;
  readonly message: string;
}

/** @throws ApiError when the apiserver cannot be asked */
async function lookUp(
  apiVersion: string,
  kind: string,
  { find }: PrepareContext,
): Promise<ServedKind | Away | undefined> {
  try {
    return await find(apiVersion, kind);
  } catch (error) {
    if (!isUnreached(error)) throw error;
    return { away: error.unreached, message: `what ${kind} is cannot be asked: ${error.message}.` };
  }
}

type Placed = Omit<PreparedObject, 'rank' | 'dependsOn'>;

/** What is sent: the manifest, its namespace, and who it comes from. `commit` changes only with the manifest's hash. */
export function applyBody(
  object: PreparedObject,
  origin: { readonly repository: string; readonly sha: string; readonly applySetId: string },
): JsonObject {
  const { status: _status, ...body } = object.manifest.body;
  const metadata = isMapping(body['metadata']) ? body['metadata'] : {};
  const cleaned = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
  return {
    ...body,
    metadata: {
      ...cleaned,
      ...(object.namespace === undefined ? {} : { namespace: object.namespace }),
      labels: {
        ...(isMapping(metadata['labels']) ? metadata['labels'] : {}),
        [APPLYSET.partOf]: origin.applySetId,
      },
      annotations: {
        ...annotationsOf(object.manifest, metadata),
        [ANNOTATION.repository]: origin.repository,
        [ANNOTATION.manifestHash]: object.manifest.hash,
        [ANNOTATION.commit]: origin.sha,
      },
    },
  };
}

/** Without what the cluster counts: it writes another number than an export has, and that were drift for ever. */
function annotationsOf({ kind }: Manifest, { annotations }: JsonObject): JsonObject {
  if (!isMapping(annotations)) return {};
  const counted = COUNTED_ANNOTATIONS.get(kind);
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== counted));
}

/** What an apply of this body says of the fields of an object, which is what it owns then: all but what makes it this object. */
export function namedFields(body: JsonObject): JsonObject {
  const { apiVersion: _, kind: __, metadata, ...rest } = body;
  const { name: ___, namespace: ____, ...named } = isMapping(metadata) ? metadata : {};
  return { ...rest, metadata: named };
}

export function inventoryEntry(object: PreparedObject): InventoryEntry {
  const { apiVersion, kind, name } = object.manifest;
  return {
    apiVersion,
    kind,
    name,
    ...(object.namespace === undefined ? {} : { namespace: object.namespace }),
  };
}

/** Kinds that both workload APIs have: under the same name they mean the same pods. */
const WORKLOAD_KINDS = new Set(['StatefulSet', 'DaemonSet', 'Deployment']);

/** The same workload under the other API, or undefined for any other kind. */
export function counterpartPath(object: PreparedObject): ResourcePath | undefined {
  const { group, kind } = object.manifest;
  if (!WORKLOAD_KINDS.has(kind) || (group !== GROUP && group !== 'apps')) return undefined;
  return group === GROUP
    ? { ...object.path, group: 'apps', version: 'v1' }
    : { ...object.path, group: GROUP, version: 'v1beta1' };
}

export function isWorkload(manifest: Pick<Manifest, 'group' | 'kind'>): boolean {
  return WORKLOAD_KINDS.has(manifest.kind) && (manifest.group === GROUP || manifest.group === 'apps');
}

/** A ReplicationController: its pods are replaced by a rolling update. */
export function isController({ group, kind }: Pick<Manifest, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'ReplicationController';
}

function ordered(object: Placed) {
  const { group, kind, name, wave } = object.manifest;
  return { group, kind, name, wave, namespace: object.namespace };
}

function findDuplicates(objects: readonly PreparedObject[]): Problem[] {
  const problems: Problem[] = [];
  const seen = new Map<string, PreparedObject>();
  const workloads = new Map<string, PreparedObject>();
  for (const object of objects) {
    const { group, kind } = object.manifest;
    const key = `${group}/${kind}/${object.namespace ?? ''}/${object.manifest.name}`;
    const first = seen.get(key);
    if (first !== undefined) {
      problems.push(
        problemOf(object, 'DuplicateObject', `it is also in ${first.manifest.file}:${first.manifest.line}.`),
      );
      continue;
    }
    seen.set(key, object);
    if (!isWorkload(object.manifest)) continue;
    const workloadKey = `${kind}/${object.namespace ?? ''}/${object.manifest.name}`;
    const other = workloads.get(workloadKey);
    if (other === undefined) workloads.set(workloadKey, object);
    else
      problems.push(
        problemOf(
          object,
          'WorkloadTwice',
          `${other.label} in ${other.manifest.file}:${other.manifest.line} would fight for the same pods.`,
        ),
      );
  }
  return problems;
}

async function unknownKind(manifest: Manifest, context: PrepareContext): Promise<Problem> {
  const { group, version, kind, apiVersion } = manifest;
  const versions = await context.versions(group);
  for (const other of versions) {
    const right = group === '' ? other : `${group}/${other}`;
    const served = other === version ? undefined : await lookUp(right, kind, context);
    if (served !== undefined && !('away' in served)) {
      return problemAt(
        manifest,
        'UnknownKind',
        `the cluster has no ${kind} in ${apiVersion}, but in ${right}.`,
      );
    }
  }
  const about = versions.length === 0 ? `no API group ${group}` : `no kind ${kind} in ${apiVersion}`;
  return problemAt(manifest, 'UnknownKind', `the cluster has ${about}.`);
}

function problemAt(manifest: Manifest, code: Problem['code'], message: string): Problem {
  return problem(code, message, { file: manifest.file, line: manifest.line, object: objectLabel(manifest) });
}

/** A problem of one object, at its place in the repository. */
export function problemOf(
  object: PreparedObject,
  code: Problem['code'],
  message: string,
  line?: number,
): Problem {
  return problem(code, message, {
    file: object.manifest.file,
    line: line ?? object.manifest.line,
    object: object.label,
  });
}
