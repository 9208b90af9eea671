/** Reconciles of one workload coalesce (design "Kubernetes client"). */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../../support/properties.ts';

import { Spacing } from '../../../controllers/spacing.ts';

const KEY = 'StatefulSet/default/web';

/** A clock that only `pass` moves. */
function spacingAt(): { readonly spacing: Spacing; readonly pass: (milliseconds: number) => void } {
  let now = 1_000;
  return { spacing: new Spacing(() => now), pass: (milliseconds) => void (now += milliseconds) };
}

describe('spacing of reconciles', () => {
  it('is 5 ms for what was never planned, and as long as a quiet time has saved up for its plans', () => {
    const { spacing } = spacingAt();
    expect(spacing.of(KEY)).toBe(5);
    for (let plan = 0; plan < 150; plan += 1) {
      spacing.planned(KEY, 2);
      expect(spacing.of(KEY)).toBe(5);
    }
    spacing.planned(KEY, 2);
    expect(spacing.of(KEY)).toBe(20);
  });

  it('is ten times what is owed, at most a second', () => {
    const { spacing } = spacingAt();
    spacing.planned(KEY, 310);
    expect(spacing.of(KEY)).toBe(100);
    spacing.planned(KEY, 1_000);
    expect(spacing.of(KEY)).toBe(1_000);
  });

  it('saves up again while nothing is planned', () => {
    const { spacing, pass } = spacingAt();
    spacing.planned(KEY, 310);
    pass(1_000);
    spacing.planned(KEY, 40);
    expect(spacing.of(KEY)).toBe(5);
    spacing.planned(KEY, 60);
    expect(spacing.of(KEY)).toBe(100);
    spacing.forget(KEY);
    expect(spacing.of(KEY)).toBe(5);
  });

  it('gives planning a tenth of a core in the long run, whatever the plans cost', () => {
    const cost = fc.double({ min: 0.01, max: 50, noNaN: true });
    fc.assert(
      fc.property(fc.array(cost, { minLength: 1, maxLength: 200, size: 'max' }), (costs) => {
        const { spacing, pass } = spacingAt();
        let planned = 0;
        let passed = 0;
        for (const milliseconds of costs) {
          spacing.planned(KEY, milliseconds);
          planned += milliseconds;
          // The savings, and the plan that was due when they had just been used up.
          expect(planned).toBeLessThanOrEqual(300 + passed / 10 + milliseconds + 1e-6);
          const wait = spacing.of(KEY);
          pass(wait);
          passed += wait;
        }
      }),
    );
  });
});
