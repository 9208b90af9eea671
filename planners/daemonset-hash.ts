/** How the pods of a DaemonSet name their revision. */

import { LABEL } from './names.ts';
import type { ControllerRevision } from './objects.ts';

/** What the label of the revision's pods says: the hash, not the name (D4); one without a label is known by its name (D19). */
export function hashOf({ metadata }: ControllerRevision): string {
  return metadata.labels?.[LABEL.revisionHash] ?? metadata.name;
}
