/** Faults around one StatefulSet, all at the same time: rollovers, broken revisions, clicks, a node. */

import { describe, expect, it } from '@jest/globals';

import { WORKLOAD_APIS } from '../../kubernetes/workload-api.ts';
import { BROKEN_CASES } from '../support/faults/broken-cases.ts';
import { CLICK_CASES } from '../support/faults/click-cases.ts';
import { runFaultCases, useBenches } from '../support/faults/fault-case.ts';
import { NODE_CASES } from '../support/faults/node-cases.ts';
import { ROLLOVER_CASES } from '../support/faults/rollover-cases.ts';

describe('a StatefulSet in trouble', () => {
  const bench = useBenches({ owner: 'faults' });

  // Those that wait for the garbage collector first: they take the longest.
  runFaultCases([...NODE_CASES, ...ROLLOVER_CASES, ...BROKEN_CASES, ...CLICK_CASES], bench, {
    timeoutMs: 150_000,
  });

  it.each(WORKLOAD_APIS)(
    'a good commit supersedes a stuck one in less than 5 s (%s)',
    async (api) => {
      const scene = await bench(api).deployed('superseded');
      await scene.apply({ image: 'app:bad' });
      await scene.untilHeldAt('app:bad', [4, 5]);
      const since = await scene.apply({ image: 'app:2' });
      expect(await scene.untilFirstPodAt('app:2', since)).toBeLessThan(5_000);
      await scene.untilDone();
      await scene.judge();
    },
    60_000,
  );
});
