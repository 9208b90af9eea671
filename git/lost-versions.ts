/**
 * Versions that a CustomResourceDefinition of a commit has, or serves, no more, though objects of the commit need them. An apiserver applies
 * nothing to an object, under whatever version, while `metadata.managedFields` names one that the definition lacks; and the definition is
 * written before its objects.
 */

import { isForbidden, isUnreached } from '../kubernetes/api-error.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { ManagedFields } from '../kubernetes/managed-fields.ts';
import { entriesUnder, lettingGoOf } from '../kubernetes/managed-fields.ts';
import { asRecord } from '../kubernetes/values.ts';
import { FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContent, CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import { isDefinition } from './definitions.ts';
import { findFieldLine } from './field-line.ts';
import { patchCommand } from './patch-command.ts';
import type { PreparedObject } from './prepare.ts';
import { problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { keeperOf } from './refusals.ts';
import { firstOf } from '../planners/first-of.ts';

/** An object of the commit, of the kind that a definition defines. */
export interface Member {
  readonly object: PreparedObject;
  /** What is there; undefined: nothing, or it was not asked for. */
  readonly live: KubernetesObject | undefined;
}

/** Objects that one problem names. */
const MOST_NAMED = 3;

/** Of the definitions that the commit changes, which are `changes`. @throws ApiError when the apiserver cannot be asked */
export async function checkVersions(
  context: CommitContext,
  { texts }: CommitContent,
  objects: readonly PreparedObject[],
  changes: ReadonlySet<PreparedObject>,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  for (const definition of objects) {
    if (!isDefinition(definition.manifest) || !changes.has(definition)) continue;
    const present = await getOrUndefined(context.client, definition.path, context.signal);
    if (present === undefined) continue;
    const text = texts.get(definition.manifest.file);
    const line = text && findFieldLine(text, definition.manifest.line, 'spec.versions');
    const members = await readMembers(context, definition, present, objects);
    problems.push(
      ...lostVersions(definition, present, members).map((item) => ({ ...item, ...(line && { line }) })),
    );
  }
  return problems;
}

/** Those of the commit; what is there is read only where a version is taken out. @throws ApiError */
async function readMembers(
  { client, signal }: CommitContext,
  { manifest }: PreparedObject,
  present: KubernetesObject,
  objects: readonly PreparedObject[],
): Promise<readonly Member[]> {
  const { group, names } = asRecord(asRecord(manifest.body)['spec']);
  const { kind } = asRecord(names);
  const own = objects.filter((one) => one.manifest.group === group && one.manifest.kind === kind);
  const [before, after] = [versionsOf(present), versionsOf(manifest.body)];
  const [any] = before.served;
  if (any === undefined || before.all.every((version) => after.all.includes(version)))
    return own.map((object) => ({ object, live: undefined }));
  const members: Member[] = [];
  await forEachLimited(
    own,
    PARALLEL,
    async (object) => {
      // Its own may come with this commit.
      const version = before.served.includes(object.path.version) ? object.path.version : any;
      const live = await getOrUndefined(client, { ...object.path, version }, signal).catch(
        (error: unknown) => {
          // The check of the object itself tells.
          if (isForbidden(error) || isUnreached(error)) return undefined;
          throw error;
        },
      );
      members.push({ object, live });
    },
    signal,
  );
  return members;
}

/** One problem for each version that is needed. Pure. */
export function lostVersions(
  definition: PreparedObject,
  present: KubernetesObject,
  members: readonly Member[],
): readonly Problem[] {
  const after = versionsOf(definition.manifest.body);
  // It is refused for that itself.
  if (after.all.length === 0) return [];
  return versionsOf(present).all.flatMap((version) => {
    if (after.served.includes(version)) return [];
    const isGone = !after.all.includes(version);
    const named = members.filter(({ object }) => object.manifest.version === version);
    const written = isGone ? members.filter((member) => entriesOf(member, version).length > 0) : [];
    if (written.length > 0) return [writtenUnder(definition, version, written)];
    return named.length > 0 ? [namedUnder(definition, version, named, isGone)] : [];
  });
}

function writtenUnder(definition: PreparedObject, version: string, written: readonly Member[]): Problem {
  const why = `spec.versions lacks ${version}, and metadata.managedFields of ${listed(written)} names it: the apiserver could apply nothing there any more.`;
  const isOwn = written.some((member) => entriesOf(member, version).some(isSync));
  const moves = isOwn
    ? `Leave ${version} in, and first only move the objects to another version; when that commit is applied, take ${version} out with the next.`
    : `Leave ${version} in until nothing is written under it.`;
  const next = [moves, ...written.flatMap((member) => releaseOf(member, version) ?? []).slice(0, 1)].join(
    ' ',
  );
  return { ...problemOf(definition, 'VersionInUse', why), next };
}

/** What takes out what others have written, which no commit moves; undefined: they have written nothing. */
function releaseOf({ object, live }: Member, version: string): string | undefined {
  const { manifest, path, label } = object;
  const operations = live && lettingGoOf(live, `${manifest.group}/${version}`, keeperOf(manifest));
  if (operations === undefined) return undefined;
  return `What others than git have written to ${label} under ${version} no commit moves; this lets go of it and changes no value: ${patchCommand(path, operations)}`;
}

function namedUnder(
  definition: PreparedObject,
  version: string,
  named: readonly Member[],
  isGone: boolean,
): Problem {
  const how = isGone ? 'lacks' : 'does not serve';
  const why = `spec.versions ${how} ${version}, and the commit has ${listed(named)} under it.`;
  const next = `Write these under a version that is served, or leave ${version} served.`;
  return { ...problemOf(definition, 'VersionInUse', why), next, isInFile: true };
}

function entriesOf({ object, live }: Member, version: string): readonly ManagedFields[] {
  return live === undefined ? [] : entriesUnder(live, `${object.manifest.group}/${version}`);
}

/** What the next commit applies it moves. */
function isSync({ manager, operation }: ManagedFields): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply';
}

function listed(members: readonly Member[]): string {
  return firstOf(members.map(({ object }) => object.label).toSorted(), MOST_NAMED);
}

/** Names of the versions of a CustomResourceDefinition. */
export function versionsOf(definition: unknown): {
  readonly all: readonly string[];
  readonly served: readonly string[];
} {
  const { versions } = asRecord(asRecord(definition)['spec']);
  const found = (Array.isArray(versions) ? versions : []).map(asRecord);
  const names = (some: typeof found) => some.map(({ name }) => String(name));
  return { all: names(found), served: names(found.filter(({ served }) => served === true)) };
}
