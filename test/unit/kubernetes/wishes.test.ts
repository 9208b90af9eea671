import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { retryWorkload } from '../../../kubernetes/wishes.ts';
import { ActivityGround } from '../../support/activity-ground.ts';
import { workloadObject } from '../../support/workload-objects.ts';

let ground: ActivityGround;

beforeEach(async () => {
  ground = await ActivityGround.start();
});

afterEach(async () => {
  await ground.stop();
});

it.each<['True' | 'False', string, boolean]>([
  ['True', 'RunTerminated', true],
  ['True', 'RunFailed', true],
  // Its run is under way: another is neither needed nor possible, and the wish would stand until that one ends.
  ['True', 'ProgressDeadlineExceeded', false],
  ['False', 'NotStalled', false],
])('`retry` of a rollout with Stalled %s, %s: written %s', async (status, reason, written) => {
  ground.object = workloadObject({ conditions: [{ type: 'Stalled', status, reason }] });
  const { client, reference } = ground;
  const { changed } = await retryWorkload(client, reference.workload, { by: 'alice' }, Date.now());
  expect(changed).toBe(written);
  expect(ground.writes).toHaveLength(written ? 1 : 0);
});

it('`retry` with nothing to do names what to ask, with the namespace', async () => {
  ground.object = workloadObject({ conditions: [{ type: 'Stalled', status: 'False' }] });
  const { client, reference } = ground;
  const { message } = await retryWorkload(client, reference.workload, { by: 'alice' }, Date.now());
  expect(message).toContain('`fairlead explain statefulset/web -n default`');
});
