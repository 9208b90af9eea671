/** One thing that may not be created, and the words in which it is refused. */

import type { WorkloadApi } from '../../../kubernetes/workload-api.ts';
import type { Description } from './workload-manifest.ts';

export interface CreationCase {
  readonly name: string;
  readonly apis: readonly WorkloadApi[];
  readonly given: Description;
  /** All of these are in the message; `{maxUnavailable}` stands for the setting's place in the API. */
  readonly refused: readonly string[];
}

export const OURS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1'];
export const NATIVE: readonly WorkloadApi[] = ['apps/v1'];
