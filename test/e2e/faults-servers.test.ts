/** Faults of the servers that a worker needs: kube-apiserver and Temporal, restarted and away. */

import { describe } from '@jest/globals';

import { runFaultCases, useBenches } from '../support/faults/fault-case.ts';
import { SERVER_CASES } from '../support/faults/server-cases.ts';

describe('servers in trouble', () => {
  runFaultCases(SERVER_CASES, useBenches({ owner: 'servers' }), { timeoutMs: 180_000, atOnce: 1 });
});
