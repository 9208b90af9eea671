/** What a commit would do to one object, as `plan` prints it. */

import type { Difference } from '../git/differences.ts';

export interface PlannedChange {
  /** `Kind.group namespace/name` */
  readonly object: string;
  /** `move`: from one workload API to the other; `handOver`: to another repository. */
  readonly action:
    'create' | 'change' | 'move' | 'delete' | 'leave' | 'keep' | 'detach' | 'handOver' | 'later';
  /** Annotation `fairlead.dev/wave`, where it is not 0. */
  readonly wave?: number;
  /** Labels of what must be ready before it. */
  readonly dependsOn?: readonly string[];
  /** Why it is left, kept, detached, handed over or put off. */
  readonly why?: string;
  readonly differences: readonly Difference[];
  /** The pod template changes: so many pods get a new revision; `pods` is absent where nodes decide. */
  readonly rollout?: { readonly pods?: number };
}
