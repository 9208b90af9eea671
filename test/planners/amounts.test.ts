import { describe, expect, it } from '@jest/globals';

import { Budget, maxUnavailableOf } from '../../planners/budget.ts';
import { resolveIntOrPercent } from '../../planners/int-or-percent.ts';
import { canonicalQuantity, sameQuantity } from '../../planners/quantity.ts';
import { setOf } from '../support/statefulset-fixtures.ts';

describe('numbers and percentages (C3)', () => {
  it.each([
    [3, 10, 'down', 3],
    ['25%', 10, 'down', 2],
    ['25%', 10, 'up', 3],
    ['0%', 10, 'up', 0],
    ['100%', 7, 'down', 7],
    ['150%', 10, 'up', 15],
  ] as const)('C3: %s of %s rounded %s is %s', (value, total, rounding, expected) => {
    expect(resolveIntOrPercent(value, total, rounding)).toBe(expected);
  });

  it.each(['5', '5x%', '-5%', '2.5%', '', '%', 1.5, -1])('C3: %j is refused', (value) => {
    expect(() => resolveIntOrPercent(value, 10, 'down')).toThrow(RangeError);
  });
});

describe('maxUnavailable of a StatefulSet', () => {
  it.each([
    ['Parallel', 3, 5, 3],
    ['Parallel', '20%', 3, 1],
    ['Parallel', '50%', 5, 2],
    ['Parallel', '100%', 0, 1],
    ['OrderedReady', 3, 5, 1],
    ['OrderedReady', '100%', 5, 1],
  ] as const)(
    'C3, A2, A13: %s, %s of %s pods is %s',
    (podManagementPolicy, maxUnavailable, replicas, value) => {
      expect(maxUnavailableOf(setOf({ podManagementPolicy, maxUnavailable, replicas }))).toEqual({ value });
    },
  );

  it('design §8: what cannot be read counts as 1 and is told', () => {
    const { value, problem } = maxUnavailableOf(setOf({ maxUnavailable: '5x%' }));
    expect(value).toBe(1);
    expect(problem).toContain('5x%');
  });

  it('design "Budget": unavailable + 1 ≤ maxUnavailable, a pod that is counted already not twice', () => {
    const budget = new Budget(2, 1);
    expect(budget.allowsChargeBeside(0)).toBe(true);
    budget.charge();
    expect([budget.allowsChargeBeside(0), budget.allowsChargeBeside(1)]).toEqual([false, true]);
  });
});

describe('quantities', () => {
  it.each([
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['0.5', '500m'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['1500M', '1500M'],
    ['100000k', '100M'],
    ['1.250', '1.250'],
    ['1.25', '1250m'],
    ['0', '0'],
    ['0Mi', '0'],
    ['512', '512'],
    ['0.5Ki', '512'],
    ['1025Ki', '1025Ki'],
    ['1E', '1E'],
    // As apimachinery has it, within microseconds: an amount is never written out.
    ['1e1000001', '100e999999'],
    ['1e-1000001', '1e-9'],
    ['-5e999999999', '-5e999999999'],
    ['1e99999999999', '1e99999999999'],
    [`${'9'.repeat(300)}m`, `${'9'.repeat(300)}m`],
    ['not a quantity', 'not a quantity'],
    [2, '2'],
  ])('C9: %s is served as %s', (text, expected) => {
    expect(canonicalQuantity(text)).toBe(expected);
  });

  it.each([
    ['100u', '1m'],
    ['1500u', '2m'],
    ['1.0001', '1001m'],
  ])('C9: %s in a list of resources is rounded up to %s', (text, expected) => {
    expect(canonicalQuantity(text, true)).toBe(expected);
  });

  it.each([
    ['1', '1000m', true],
    ['1Gi', '1024Mi', true],
    ['1G', '1Gi', false],
    ['x', 'x', true],
    ['x', '1', false],
  ])('S6: %s and %s are the same amount: %s', (a, b, expected) => {
    expect(sameQuantity(a, b)).toBe(expected);
  });
});
