/**
 * What `npm run test:full` plays beyond `npm test`, which has to answer in twenty minutes on two cores (docs/decisions/two-suites.md). Whole
 * files of it are in test/e2e-full.
 */

import { it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { WORKLOAD_APIS } from '../../kubernetes/workload-api.ts';
import { leaveOut } from './lanes.ts';

/** Of what one mechanism does for several alike, `npm test` takes one, and has fewer places to crash at. */
export const IS_FULL = process.env['FAIRLEAD_TEST'] === 'full';

/** `it`, where the full suite runs; else the test is none of the run, and no lane plays it. */
export const itInFull: (...given: Parameters<typeof it>) => void = IS_FULL ? it : (_, body) => leaveOut(body);

/** Both workload APIs in the full suite, else this one. */
export function apisOf(one: WorkloadApi): readonly WorkloadApi[] {
  return WORKLOAD_APIS.filter((api) => IS_FULL || api === one);
}
