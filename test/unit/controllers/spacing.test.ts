/** Reconciles of one workload coalesce (design "Kubernetes client"). */

import { describe, expect, it } from '@jest/globals';

import { Spacing } from '../../../controllers/spacing.ts';

const KEY = 'StatefulSet/default/web';

describe('spacing of reconciles', () => {
  it('is 10 ms for what was never planned and for what is planned cheaply', () => {
    const spacing = new Spacing();
    expect(spacing.of(KEY)).toBe(10);
    spacing.planned(KEY, 0.4);
    expect(spacing.of(KEY)).toBe(10);
  });

  it('is twenty times the cost of a plan above that, at most a second', () => {
    const spacing = new Spacing();
    spacing.planned(KEY, 10);
    expect(spacing.of(KEY)).toBe(200);
    spacing.planned(KEY, 1_000);
    expect(spacing.of(KEY)).toBe(1_000);
  });

  it('follows the cost, but not a single slow plan', () => {
    const spacing = new Spacing();
    spacing.planned(KEY, 10);
    spacing.planned(KEY, 20);
    expect(spacing.of(KEY)).toBe(240);
    for (let plan = 0; plan < 40; plan += 1) spacing.planned(KEY, 20);
    expect(spacing.of(KEY)).toBeCloseTo(400, 0);
    spacing.forget(KEY);
    expect(spacing.of(KEY)).toBe(10);
  });
});
