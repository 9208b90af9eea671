/** A DaemonSet on 200 nodes while nodes come and go, in both workload APIs, judged from outside. */

import { describe, expect, it } from '@jest/globals';

import { addNodes, removeNode } from '../../local/nodes.ts';
import type { Pod } from '../../planners/objects.ts';
import { BudgetChecker } from '../support/budget-checker-process.ts';
import { allAt, imageOf, nodesOf, uidOf, useGrounds } from '../support/daemonset-ground.ts';

const NODES = 200;
const BUDGET = 50;
/** Two clusters of that size keep a small machine busy: a plan of fifty writes takes seconds to be written. */
const PLAN_AGE_MS = 5_000;

describe('a DaemonSet on 200 nodes', () => {
  const { inApis } = useGrounds(NODES, 'fairlead.dev/v1beta1');

  it(
    'seed 000 "at most one daemon pod per node; adding or deleting nodes won’t break that": ten join and ten leave during a rollout',
    inApis(async (ground) => {
      const { client } = ground.cluster();
      const checker = await BudgetChecker.start(ground.controlPlane());
      try {
        const description = await ground.deploy({ maxUnavailable: '25%' });
        const before = await ground.untilPods(description, 'all', allAt('agent:1', NODES));
        await ground.apply({ ...description, image: 'agent:2' });
        const atNew = (pods: readonly Pod[]) => pods.filter((pod) => imageOf(pod) === 'agent:2').length;
        await ground.untilPods(description, 'some are new', (pods) => atNew(pods) >= BUDGET / 2);
        // One that was updated already, one in its middle, others that wait: names are updated from the last to the first.
        const leaving = ['node-99', 'node-98', 'node-50', 'node-30', 'node-10'];
        await Promise.all(leaving.map(async (name) => await removeNode(client, name)));
        const joined = await addNodes(client, 5);
        await ground.untilPods(description, 'half is new', (pods) => atNew(pods) >= NODES / 2);
        const alsoLeaving = [joined[0] ?? '', 'node-0', 'node-1', 'node-20', 'node-40'];
        await Promise.all(alsoLeaving.map(async (name) => await removeNode(client, name)));
        const alsoJoined = await addNodes(client, 5);

        const gone = new Set([...leaving, ...alsoLeaving]);
        const names = Array.from({ length: NODES }, (_, index) => `node-${String(index)}`);
        const wanted = [...names, ...joined, ...alsoJoined].filter((name) => !gone.has(name)).sort();
        // Pods of nodes that are gone are the garbage collector's, which takes its time.
        const present = (pods: readonly Pod[]) => pods.filter(({ spec }) => !gone.has(spec.nodeName ?? ''));
        const after = await ground.untilPods(
          description,
          'new ones on the nodes that there are',
          (pods) => allAt('agent:2', wanted.length)(present(pods)),
          60_000,
        );
        expect(nodesOf(present(after))).toEqual(wanted);
        const old = new Set(before.map(uidOf));
        expect(present(after).filter((pod) => old.has(uidOf(pod)))).toEqual([]);
        expect((await ground.untilReady(description, 60_000)).status).toMatchObject({
          desiredNumberScheduled: wanted.length,
          updatedNumberScheduled: wanted.length,
          numberAvailable: wanted.length,
        });
        const report = await checker.report(description.namespace, { planAgeMs: PLAN_AGE_MS });
        expect(report.violations.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
        expect(report.charged).toBeGreaterThan(NODES / 2);
      } finally {
        await checker.stop();
      }
    }),
    120_000,
  );
});
