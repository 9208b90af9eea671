/**
 * Labels and annotations that somebody gives the old controller, or takes from it, while it is replaced. What gets its name is made of a
 * definition that was written down before: without these the rename would undo them, and nobody would be told.
 */

import { canonicalJson } from './canonical-json.ts';
import type {
  ChangedMetadata,
  ControllerManifest,
  PlainMetadata,
  UpdateRecord,
} from './rolling-update-record.ts';

/** Characters: the record has them in an annotation, and a write that is refused for its size would hold the rename for good. */
const LONGEST = 100_000;

type Field = keyof PlainMetadata;
type Values = Readonly<Record<string, string>>;

/**
 * What the old controller has got since the update began, and what it has lost, as a merge patch; `now` is what it has as it goes. What the update itself rolls out comes first. Undefined where the record does not say how it began (earlier versions), and where it is more than a record can hold.
 */
export function changedMetadata(
  { replaced, controller, key }: Pick<UpdateRecord, 'replaced' | 'controller' | 'key'>,
  now: PlainMetadata,
): ChangedMetadata | undefined {
  if (replaced?.metadata === undefined) return undefined;
  const before = replaced.metadata;
  const changeOf = (field: Field) => {
    const [base, present, rolledOut] = [
      before[field] ?? {},
      now[field] ?? {},
      controller.metadata[field] ?? {},
    ];
    const names = new Set([...Object.keys(base), ...Object.keys(present)]);
    const changed = [...names].filter(
      (name) => name !== key && present[name] !== base[name] && rolledOut[name] === base[name],
    );
    return Object.fromEntries(changed.map((name) => [name, present[name] ?? null]));
  };
  const changes = { labels: changeOf('labels'), annotations: changeOf('annotations') };
  return JSON.stringify(changes).length > LONGEST ? undefined : changes;
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
  const merge = (values: Values | undefined, change: ChangedMetadata[Field]) => {
    const merged = Object.entries({ ...values, ...change });
    return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
  };
  return {
    ...((metadata.labels ?? labels) && { labels: merge(metadata.labels, labels) }),
    ...((metadata.annotations ?? annotations) && { annotations: merge(metadata.annotations, annotations) }),
  };
}
