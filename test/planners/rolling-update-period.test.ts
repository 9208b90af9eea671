/** The update period: what it holds, and what is left of it after a wish has broken it off. */

import { describe, expect, it } from '@jest/globals';

import type { Pod } from '../../planners/objects.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { periodAfter, periodFromPods, restOfPeriod } from '../../planners/rolling-update-period.ts';
import { NOW, STATE, begin, foo, run, turn } from '../support/simulated-update.ts';

const PERIOD_MS = 60_000;

function grown(updatePeriodMs = PERIOD_MS) {
  const world = foo();
  begin(world, undefined, { ...STATE, updatePeriodMs });
  const plan = () => planRollingUpdate(world.snapshot('foo'), NOW);
  run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
  const period = periodAfter(plan(), NOW);
  run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
  return { world, period, plan };
}

describe('the update period', () => {
  it('begins with a growth, and holds what shrinks the other until it is over', () => {
    const { period, plan } = grown();

    expect(period).toEqual({ until: NOW + PERIOD_MS, isRollback: false });
    expect(periodAfter(plan(), NOW)).toBeUndefined();
    expect(restOfPeriod(plan(), period, NOW + 20_000)).toBe(40_000);
    expect(restOfPeriod(plan(), period, NOW + PERIOD_MS)).toBe(0);
    // A clock that was put back, or that of another worker: never longer than it is.
    expect(restOfPeriod(plan(), period, NOW - 3_600_000)).toBe(PERIOD_MS);
    expect(restOfPeriod(plan(), undefined, NOW)).toBe(0);
  });

  it('holds neither a pause nor the way back', () => {
    const { world, period } = grown();
    const wish = { by: 'ann' };
    const paused = planRollingUpdate({ ...world.snapshot('foo'), paused: wish }, NOW);
    expect([paused.step.do, restOfPeriod(paused, period, NOW)]).toEqual(['paused', 0]);
    turn(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const back = planRollingUpdate(world.snapshot('foo'), NOW);

    expect(back.step).toMatchObject({ write: { purpose: 'ScaleDown' } });
    expect(restOfPeriod(back, period, NOW)).toBe(0);
    expect(restOfPeriod(back, { until: NOW + 1, isRollback: true }, NOW)).toBe(1);
  });

  it('is none by default', () => {
    const { period, plan } = grown(0);

    expect(period).toBeUndefined();
    expect(restOfPeriod(plan(), { until: NOW + 1, isRollback: false }, NOW)).toBe(0);
  });

  it('of a growth that another run has written ends so long after the youngest of its pods was made', () => {
    const { world, plan } = grown();
    const next = plan().view.nextController?.metadata.uid;
    const isOfNext = ({ metadata }: Pod) => metadata.ownerReferences?.[0]?.uid === next;
    const at = (milliseconds: number) => new Date(NOW + milliseconds).toISOString();
    const snapshot = world.snapshot('foo');
    const pods = snapshot.pods.map((pod) => ({
      ...pod,
      // Those of the other one are no growth, however young.
      metadata: { ...pod.metadata, creationTimestamp: at(isOfNext(pod) ? -20_000 : -1_000) },
    }));
    const [older] = pods.filter(isOfNext);
    const another = {
      ...older,
      metadata: { ...older?.metadata, name: 'older', creationTimestamp: at(-90_000) },
    };
    const found = planRollingUpdate({ ...snapshot, pods: [...pods, another as Pod] }, NOW);

    expect(periodFromPods(found)).toEqual({ until: NOW + 40_000, isRollback: false });
    expect(restOfPeriod(found, periodFromPods(found), NOW)).toBe(40_000);
    expect(restOfPeriod(found, periodFromPods(found), NOW + 40_000)).toBe(0);
  });

  it('is not made up for one that grew before anybody asked for it, on the way back, or without any', () => {
    const { world, plan } = grown();
    expect(periodFromPods(grown(0).plan())).toBeUndefined();
    const bare = planRollingUpdate({ ...world.snapshot('foo'), pods: [] }, NOW);
    expect(periodFromPods(bare)).toBeUndefined();
    turn(world);
    expect(plan().view.isRollback).toBe(true);
    expect(periodFromPods(plan())).toBeUndefined();
  });
});
