/**
 * Names that a CustomResourceDefinition of a commit claims though another one of its group has them: it is never established then, and
 * objects of its kind would be made as the other's.
 */

import { isForbidden } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import type { ResourceType } from '../kubernetes/discovery.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { CommitContent, CommitContext } from './commit.ts';
import type { Definition } from './definitions.ts';
import { definitionOf } from './definitions.ts';
import { findFieldLine } from './field-line.ts';
import type { PreparedObject } from './prepare.ts';
import { problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { withSignal } from './resources.ts';

/** Whoever has names in a group: what the commit defines, or the cluster serves. */
export interface NameHolder {
  readonly plural: string;
  readonly kind: string;
  /** Absent: not known; it is the kind with `List` behind it, unless somebody chose another. */
  readonly listKind?: string;
  readonly aliases: readonly string[];
}

/**
 * The first name of `claim` that `holder`, of the same group, has, in words; undefined: none. As the apiserver sees it: plural, singular
 * and short names are of one set, kind and list kind of another. Pure.
 */
export function takenName(claim: NameHolder, holder: NameHolder): string | undefined {
  const { kind, listKind, names } = namesOf(holder);
  const own = namesOf(claim);
  if (own.kind === kind || own.kind === listKind) return `the kind ${own.kind}`;
  if (own.listKind === kind || own.listKind === listKind) return `the list kind ${own.listKind}`;
  const taken = own.names.find((name) => names.includes(name));
  return taken === undefined ? undefined : `the name ${taken}`;
}

function namesOf({ plural, kind, listKind = `${kind}List`, aliases }: NameHolder) {
  return { kind, listKind, names: [plural, ...aliases] };
}

/** Of the definitions that the commit changes, which are `changes`. @throws ApiError when the apiserver cannot be asked */
export async function checkNames(
  context: CommitContext,
  { texts }: CommitContent,
  objects: readonly PreparedObject[],
  changes: ReadonlySet<PreparedObject>,
): Promise<readonly Problem[]> {
  const defined = objects.flatMap((object) => {
    const definition = definitionOf(object.manifest);
    return definition === undefined ? [] : [{ object, definition }];
  });
  const served = new Map<string, readonly ResourceType[]>();
  const problems: Problem[] = [];
  for (const { object, definition } of defined) {
    if (!changes.has(object)) continue;
    const { group } = definition;
    const members = defined.filter((other) => other.definition.group === group);
    let found = takenInCommit(definition, members);
    if (found === undefined) {
      const all =
        served.get(group) ?? (await context.discovery.resourcesOfGroup(group, withSignal(context.signal)));
      served.set(group, all);
      found = await takenInCluster(context, object.path, definition, members, all);
    }
    if (found === undefined) continue;
    const { file, line } = object.manifest;
    const text = texts.get(file);
    const place = text && findFieldLine(text, line, 'spec.names');
    const told = problemOf(object, 'NotEstablished', `its names would not be accepted: ${found.why}.`, place);
    problems.push({ ...told, next: found.next });
  }
  return problems;
}

interface Taken {
  readonly why: string;
  readonly next: string;
}

interface Member {
  readonly object: PreparedObject;
  readonly definition: Definition;
}

function takenInCommit(definition: Definition, members: readonly Member[]): Taken | undefined {
  for (const { object, definition: other } of members) {
    if (other.plural === definition.plural) continue;
    const name = takenName(definition, other);
    if (name === undefined) continue;
    const { file, line } = object.manifest;
    const why = `${name} is also that of ${object.label} in ${file}:${String(line)}`;
    return { why, next: 'Choose other names in `spec.names` of one of the two.' };
  }
  return undefined;
}

/** What the commit defines too has the names that it has there. */
async function takenInCluster(
  { client, signal }: CommitContext,
  path: ResourcePath,
  definition: Definition,
  members: readonly Member[],
  served: readonly ResourceType[],
): Promise<Taken | undefined> {
  for (const { resource, kind, aliases } of served) {
    if (members.some(({ definition: { plural } }) => plural === resource)) continue;
    const name = takenName(definition, { plural: resource, kind, aliases });
    if (name === undefined) continue;
    const holder = `${resource}.${definition.group}`;
    const live = await getOrUndefined(client, { ...path, name: holder }, signal).catch((error: unknown) => {
      // What the apiserver says of the definition once it is there tells too.
      if (isForbidden(error)) return undefined;
      throw error;
    });
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) continue;
    return {
      why: `${name} is that of CustomResourceDefinition ${holder}`,
      next: `Choose other names in \`spec.names\`, or have ${holder} deleted first, with all its objects: what leaves git is deleted last, so that takes a commit of its own.`,
    };
  }
  return undefined;
}
