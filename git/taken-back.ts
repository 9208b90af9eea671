/**
 * What somebody has set in the cluster since git applied it, and stands in the way of a commit: git's to take back where it says what git
 * had applied, and with `heal: true` in any case.
 */

import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import type { FieldConflict } from './decision.ts';
import { isTakenBySync } from './decision.ts';
import { agreedFields } from './dropped-fields.ts';
import { listing } from './former-owner.ts';
import type { Manifest } from './manifests.ts';
import type { PreparedObject } from './prepare.ts';
import { firstOf } from '../planners/first-of.ts';

/** Fields that one sentence names. */
const FIELD_LIMIT = 5;

/**
 * Says what is taken back from whom, where each of the conflicts is about a field that people have set by hand to what git had applied; or,
 * where the repository heals, is drift: a field that the manifest which was applied last had named, so that git owned it. Undefined where one is not, where that manifest cannot be read any more (who else owns a
 * field that git has never had is for people to decide), and where all of them are taken in any case.
 * @throws ApiError; ProblemError when the source is away
 */
export async function takenBack(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
  conflicts: readonly FieldConflict[],
): Promise<string | undefined> {
  const others = conflicts.filter((conflict) => !isTakenBySync(conflict));
  if (live === undefined || others.length === 0) return undefined;
  const agreed = agreedFields(live);
  const changed = others.filter(({ field }) => !agreed.has(field));
  if (changed.length > 0) {
    const applied =
      context.repository.heal === true ? await appliedManifest(context, object, live) : undefined;
    if (applied === undefined || !changed.every(({ field }) => namesField(applied.body, field)))
      return undefined;
  }
  const byManager = new Map<string, string[]>();
  for (const { field, manager } of others)
    byManager.set(manager, [...(byManager.get(manager) ?? []), field.replace(/^\./, '')]);
  const parts = [...byManager].map(
    ([manager, fields]) => `${firstOf(fields, FIELD_LIMIT)} from "${manager}"`,
  );
  return `${object.label}: git has taken back ${parts.join('; ')}`;
}

/**
 * The manifest that the object was applied with last: of the commit that it names, proved by its hash. One that was made again names
 * none; where the inventory tells that git has applied it before, it is that of the commit which was applied last as a whole. Undefined
 * where it cannot be read any more, and of what is another repository's.
 * @throws ApiError; ProblemError when the source is away
 */
export async function appliedManifest(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject,
): Promise<Manifest | undefined> {
  const { repository, earlier } = context;
  const { manifest, namespace } = object;
  const { annotations } = live.metadata;
  const owner = annotations?.[ANNOTATION.repository];
  const isNobodys = owner === undefined;
  if (!isNobodys && owner !== repository.name) return undefined;
  const hash = annotations?.[ANNOTATION.manifestHash];
  const sha = isNobodys
    ? (await listing(context, object))?.status.lastSucceeded?.sha
    : annotations?.[ANNOTATION.commit];
  // Annotations are anybody's: what is no sha is not asked for.
  if (sha === undefined || !/^[0-9a-f]{40,64}$/.test(sha)) return undefined;
  const content = await earlier?.(sha);
  return content?.manifests.find(
    (one) =>
      (isNobodys || one.hash === hash) &&
      one.group === manifest.group &&
      one.kind === manifest.kind &&
      one.name === manifest.name &&
      (namespace === undefined || (one.namespace ?? repository.namespace) === namespace),
  );
}

/**
 * Whether a manifest names a field, by the path that the apiserver gives it in a conflict:
 * `.spec.template.spec.containers[name="main"].image`. Keys may have dots in them, so all ways to read it are tried. Pure.
 */
export function namesField(body: unknown, field: string): boolean {
  if (field === '') return true;
  if (Array.isArray(body)) {
    const [bracket, inner = ''] = /^\[((?:[^"\]]|"(?:[^"\\]|\\.)*")*)\]/.exec(field) ?? [];
    if (bracket === undefined) return false;
    const rest = field.slice(bracket.length);
    return body.some((item, index) => isItem(inner, item, index) && namesField(item, rest));
  }
  return Object.entries(asRecord(body)).some(([name, value]) => {
    const rest = field.startsWith(`.${name}`) ? field.slice(name.length + 1) : undefined;
    return rest !== undefined && value !== null && /^(?:$|[.[])/.test(rest) && namesField(value, rest);
  });
}

/** `name="main"`, `containerPort=80,protocol="TCP"`, `="text"` of a set, or an index. A key that the manifest leaves out has its default. */
function isItem(inner: string, item: unknown, index: number): boolean {
  if (/^\d+$/.test(inner)) return Number(inner) === index;
  if (inner.startsWith('=')) return inner.slice(1) === JSON.stringify(item);
  if (typeof item !== 'object' || item === null) return false;
  const present = asRecord(item);
  const keys = [...inner.matchAll(/([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]*)/g)];
  return keys.every(
    ([, key = '', value]) => present[key] === undefined || JSON.stringify(present[key]) === value,
  );
}
