/** Faults of worker processes: killed, frozen, cut off, started twice. */

import { describe } from '@jest/globals';

import { runFaultCases, useBenches } from '../support/faults/fault-case.ts';
import { WORKER_CASES } from '../support/faults/worker-cases.ts';

describe('workers in trouble', () => {
  runFaultCases(WORKER_CASES, useBenches(), { timeoutMs: 120_000, atOnce: 3 });
});
