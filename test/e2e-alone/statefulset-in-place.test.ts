/** Updates in place: seed 003's example to the order and the time, in both workload APIs. */

import { describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import {
  at,
  firsts,
  identityOf,
  imageOf,
  isGateClosed,
  isReady,
  restartsOf,
  useInPlaceGround,
} from '../support/in-place-ground.ts';

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];
const RESTART_DELAY = 'sim.fairlead.dev/restart-delay';

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

describe.each(APIS)('order and time of an in-place update of a StatefulSet (%s)', (api) => {
  const { cluster, deploy, update } = useInPlaceGround('in-place-pace', controlPlaneOf(api));

  it('seed 003: partition 4 updates P4; partition 0 updates P3, P2, P1 at once, and P0 within 0.2 s after the first of them', async () => {
    const description = await deploy({ replicas: 5, partition: 4 });
    const { namespace, name } = description;
    const before = await cluster().pods(namespace, name);
    await update(description, { image: 'app:2' });
    expect((await cluster().pods(namespace, name)).map(imageOf)).toEqual([
      'app:1',
      'app:1',
      'app:1',
      'app:1',
      'app:2',
    ]);

    // P1, P2 and P3 are ready again after 2, 4 and 6 s.
    for (const [pod, delay] of [
      ['web-1', '2s'],
      ['web-2', '4s'],
      ['web-3', '6s'],
    ] as const) {
      await cluster().annotate(
        { group: '', version: 'v1', resource: 'pods', namespace, name: pod },
        { [RESTART_DELAY]: delay },
      );
    }
    const recording = await cluster().recordPods(namespace);
    await update(description, { image: 'app:2', partition: 0 });
    recording.stop();

    const begun = firsts(recording.events, isGateClosed);
    const ready = firsts(
      recording.events,
      (pod) => pod.metadata.name !== 'web-4' && imageOf(pod) === 'app:2' && isReady(pod),
    );
    expect([...begun.keys()].slice(0, 3).sort()).toEqual(['web-1', 'web-2', 'web-3']);
    const starts = ['web-1', 'web-2', 'web-3'].map((pod) => at(begun, pod));
    expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(250);
    expect([...ready.keys()][0]).toBe('web-1');
    const gap = at(begun, 'web-0') - at(ready, 'web-1');
    expect(gap).toBeGreaterThanOrEqual(0);
    expect(gap).toBeLessThanOrEqual(200);
    expect(at(ready, 'web-0')).toBeLessThan(at(ready, 'web-2'));

    const after = await cluster().pods(namespace, name);
    expect(after.map(identityOf)).toEqual(before.map(identityOf));
    expect(after.map((pod) => restartsOf(pod))).toEqual([1, 1, 1, 1, 1]);
  }, 60_000);
});
