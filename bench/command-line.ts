/** How long a person waits for the command line. */

import { atMost } from './bars.ts';
import { serversOf, timeCommand } from './cli-run.ts';
import { MeasuredSet } from './measured-set.ts';
import type { Outcome, Sample, Scenario, ScenarioContext } from './scenario.ts';
import { FairleadSide } from './sides.ts';

/** Each run is so short that five of them would say little. */
const RUNS_EACH = 5;
const NAMESPACE = 'command-line-fairlead';

async function run({ arena, runs }: ScenarioContext): Promise<Outcome> {
  const side = await FairleadSide.start(arena, NAMESPACE);
  try {
    const shape = {
      kind: 'StatefulSet',
      replicas: 10,
      maxUnavailable: 1,
      inPlace: false,
      simulation: {},
    } as const;
    const set = await MeasuredSet.deploy(arena, side, shape);
    const help = () => timeCommand(['--help']);
    const get = () => timeCommand(['get', 'statefulsets', '-n', NAMESPACE], serversOf(arena, side.cluster));
    // The first reads the code from the disk.
    await help();
    await get();
    const samples: Sample[] = [];
    for (let number = 0; number < runs * RUNS_EACH; number += 1) {
      const figures = { helpMilliseconds: await help(), getMilliseconds: await get() };
      samples.push({ side: 'fairlead', figures });
    }
    await set.remove();
    return {
      conditions: 'whole process, from its start to its end; the code is in the file cache',
      samples,
      bars: [atMost(samples, 'helpMilliseconds', 150), atMost(samples, 'getMilliseconds', 500)],
    };
  } finally {
    await side.stop();
  }
}

export const COMMAND_LINE: Scenario = { name: 'command-line', title: 'The command line', run };
