/**
 * Labels and annotations that somebody gives the old controller, or takes from it, while it is replaced. What gets its name is made of a
 * definition that was written down before: without these the rename would undo them, and nobody would be told.
 */

import { canonicalJson } from './canonical-json.ts';
import { ANNOTATION, LAST_APPLIED, isGitMark } from './names.ts';
import type {
  ChangedMetadata,
  ControllerManifest,
  PlainMetadata,
  UpdateRecord,
} from './rolling-update-record.ts';

/** Characters: the record has them in an annotation, and a write that is refused for its size would hold the rename for good. */
const LONGEST = 100_000;

type Field = keyof PlainMetadata;
type Values = ReadonlyMap<string, string>;

/** What changes of metadata are found from. */
export interface MetadataAtEnd {
  /** What the old controller has as it goes. */
  readonly now: PlainMetadata;
  /** What `kubectl apply` has written on it, by which it finds what a file has left out since. */
  readonly lastApplied: string | undefined;
}

/**
 * What the old controller has got since the update began, and what it has lost, as a merge patch. What the update itself rolls out comes
 * first. Marks of git are another commit's, which waits for the end; but a repository that has let the controller go has taken them all.
 * Undefined where the record does not say how the update began (earlier versions), and where it is more than a record can hold.
 */
export function changedMetadata(
  { replaced, controller, key }: Pick<UpdateRecord, 'replaced' | 'controller' | 'key'>,
  { now, lastApplied }: MetadataAtEnd,
): ChangedMetadata | undefined {
  const before = replaced?.metadata;
  if (before === undefined) return undefined;
  const isFromGit = ({ annotations = {} }: PlainMetadata) => annotations[ANNOTATION.repository] !== undefined;
  const isLetGo = isFromGit(before) && !isFromGit(now);
  const changeOf = (field: Field) => {
    const valuesOf = (each: PlainMetadata): Values => new Map(Object.entries(each[field] ?? {}));
    const [base, present, rolledOut] = [valuesOf(before), valuesOf(now), valuesOf(controller.metadata)];
    const names = [...new Set([...base.keys(), ...present.keys(), ...rolledOut.keys()])];
    const changed = names.filter((name) => {
      if (name === key) return false;
      if (isGitMark(name)) return isLetGo && !present.has(name);
      return present.get(name) !== base.get(name) && rolledOut.get(name) === base.get(name);
    });
    return Object.fromEntries(changed.map((name) => [name, present.get(name) ?? null]));
  };
  const changes = { labels: changeOf('labels'), annotations: changeOf('annotations') };
  const all = {
    ...changes,
    annotations: {
      ...changes.annotations,
      ...(lastApplied !== undefined && { [LAST_APPLIED]: lastApplied }),
    },
  };
  return [all, changes].find((one) => JSON.stringify(one).length <= LONGEST);
}

/** Whether two say the same. */
export function areSameChanges(one: ChangedMetadata | undefined, other: ChangedMetadata): boolean {
  return one !== undefined && canonicalJson({ ...one }) === canonicalJson({ ...other });
}

/** The metadata of the definition with what was changed on the controller that has had its name. */
export function withChanges(
  metadata: ControllerManifest['metadata'],
  { labels, annotations }: ChangedMetadata = {},
): PlainMetadata {
  const merge = (values: PlainMetadata[Field], change: ChangedMetadata[Field]) => {
    const merged = Object.entries({ ...values, ...change });
    return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
  };
  return {
    ...((metadata.labels ?? labels) && { labels: merge(metadata.labels, labels) }),
    ...((metadata.annotations ?? annotations) && { annotations: merge(metadata.annotations, annotations) }),
  };
}
