/**
 * The bounds of a Deployment's rollout, judged from outside at every event: never fewer ready than replicas − maxUnavailable, never
 * more than replicas + maxSurge. That planners keep them is in deployment.test.ts, in both workload APIs; here, that the judge can convict.
 */

import { describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { allAt, extremes, useDeploymentGround } from '../support/deployment-ground.ts';

const MUTANTS: readonly {
  readonly what: string;
  readonly api: WorkloadApi;
  readonly from: string;
  readonly to: string;
  readonly convicted: { readonly tooFew: boolean; readonly tooMany: boolean };
}[] = [
  {
    what: 'takes one pod more',
    api: 'fairlead.dev/v1beta1',
    from: '? 1 : asked, replicas);',
    to: '? 1 : asked, replicas) + 1;',
    convicted: { tooFew: true, tooMany: false },
  },
  {
    what: 'makes one pod more',
    api: 'apps/v1',
    from: "amount('maxSurge', 'up');",
    to: "amount('maxSurge', 'up') + 1;",
    convicted: { tooFew: false, tooMany: true },
  },
];

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

describe.each(MUTANTS)('P10, P11: a planner that $what ($api)', ({ api, from, to, convicted }) => {
  const ground = useDeploymentGround(api, controlPlaneOf(api), {
    file: 'planners/deployment-budget.js',
    from,
    to,
  });

  it('is convicted', async () => {
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
    const wanted = await ground.deploy({ strategy });
    const before = await ground.untilPods(wanted, 'four', allAt('api:1', 4));
    const record = await ground.cluster().recordPods(wanted.namespace);
    await ground.apply({ ...wanted, image: 'api:2' });
    await ground.untilPods(wanted, 'all new', allAt('api:2', 4));
    record.stop();
    const { fewest, most } = extremes(before, record.events);
    expect({ tooFew: fewest < 3, tooMany: most > 5 }).toEqual(convicted);
  }, 120_000);
});
