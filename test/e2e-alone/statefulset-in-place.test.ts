/** Updates in place: seed 003's example to the order and the time; in both workload APIs in the full suite. */

import { describe, expect, it } from '@jest/globals';

import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { apisOf } from '../support/full-suite.ts';
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

const RESTART_DELAY = 'sim.fairlead.dev/restart-delay';

/** Seconds after which a pod is ready again. */
const RESTARTS = { 'web-1': 2, 'web-2': 4, 'web-3': 6 };
/** Events are told to the millisecond, one after the other. */
const ROUNDING_MS = 50;
const SLACK_MS = 1_000;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

describe.each(apisOf('fairlead.dev/v1beta1'))(
  'order and time of an in-place update of a StatefulSet (%s)',
  (api) => {
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

      for (const [pod, seconds] of Object.entries(RESTARTS)) {
        await cluster().annotate(
          { group: '', version: 'v1', resource: 'pods', namespace, name: pod },
          { [RESTART_DELAY]: `${String(seconds)}s` },
        );
      }
      const recording = await cluster().recordPods(namespace);
      await update(description, { image: 'app:2', partition: 0 });
      await recording.caughtUp();
      recording.stop();

      const begun = firsts(recording.events, isGateClosed);
      const ready = firsts(
        recording.events,
        (pod) => pod.metadata.name !== 'web-4' && imageOf(pod) === 'app:2' && isReady(pod),
      );
      const patched = firsts(
        recording.events,
        (pod) => pod.metadata.name !== 'web-4' && imageOf(pod) === 'app:2',
      );
      // Planned as P3, P2, P1 (test/planners), and written at the same time.
      expect([...begun.keys()].slice(0, 3).sort()).toEqual(['web-1', 'web-2', 'web-3']);
      const starts = Object.keys(RESTARTS).map((pod) => at(begun, pod));
      expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(250);
      for (const [pod, seconds] of Object.entries(RESTARTS)) {
        const took = at(ready, pod) - at(patched, pod);
        expect(took).toBeGreaterThanOrEqual(seconds * 1_000 - ROUNDING_MS);
        expect(took).toBeLessThanOrEqual(seconds * 1_000 + SLACK_MS);
      }
      expect([...ready.keys()][0]).toBe('web-1');
      const gap = at(begun, 'web-0') - at(ready, 'web-1');
      expect(gap).toBeGreaterThanOrEqual(0);
      expect(gap).toBeLessThanOrEqual(200);
      // Out of service first: its image follows when that has been seen.
      expect(at(patched, 'web-0') - at(begun, 'web-0')).toBeLessThanOrEqual(200);
      expect(at(ready, 'web-0')).toBeLessThan(at(ready, 'web-2'));

      const after = await cluster().pods(namespace, name);
      expect(after.map(identityOf)).toEqual(before.map(identityOf));
      expect(after.map((pod) => restartsOf(pod))).toEqual([1, 1, 1, 1, 1]);
    }, 60_000);
  },
);
