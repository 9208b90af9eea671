import { describe, expect, it } from '@jest/globals';

import {
  availableAt,
  isActive,
  isAvailable,
  isFinished,
  isReady,
  isRunningAndReady,
} from '../../planners/availability.ts';
import type { Condition, Pod, PodStatus } from '../../planners/objects.ts';

const SINCE = '2026-01-01T00:00:00Z';
const SINCE_MS = Date.parse(SINCE);

function podWith(status: PodStatus, deletionTimestamp?: string): Pod {
  return {
    metadata: {
      name: 'p',
      uid: 'u',
      resourceVersion: '1',
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec: { containers: [] },
    status,
  };
}

function ready(status: Condition['status'], lastTransitionTime?: string): Pod {
  return podWith({
    phase: 'Running',
    conditions: [{ type: 'Ready', status, ...(lastTransitionTime !== undefined && { lastTransitionTime }) }],
  });
}

describe('availability', () => {
  it.each([
    ['True', true],
    ['False', false],
    ['Unknown', false],
  ] as const)('C1: condition Ready=%s is ready: %s', (status, expected) => {
    expect(isReady(ready(status))).toBe(expected);
  });

  it('C1: ready does not look at the phase, S17 does', () => {
    const failed = podWith({ phase: 'Failed', conditions: [{ type: 'Ready', status: 'True' }] });
    expect([isReady(failed), isRunningAndReady(failed)]).toEqual([true, false]);
  });

  it.each([
    ['before the time', 9_999, false],
    ['exactly then', 10_000, true],
    ['after it', 10_001, true],
  ])('C1: minReadySeconds counts inclusively: %s', (_, after, expected) => {
    expect(isAvailable(ready('True', SINCE), 10, SINCE_MS + after)).toBe(expected);
  });

  it('C1: an unknown transition time is never available with minReadySeconds, and at once without', () => {
    expect(isAvailable(ready('True'), 1, Number.MAX_SAFE_INTEGER)).toBe(false);
    expect(isAvailable(ready('True'), 0, 0)).toBe(true);
    expect(availableAt(ready('False', SINCE), 0)).toBeUndefined();
  });

  it.each([
    ['Running', undefined, true, false],
    ['Running', SINCE, false, false],
    ['Failed', undefined, false, true],
    ['Succeeded', undefined, false, true],
    ['Pending', undefined, true, false],
  ] as const)('C2: phase %s, deleted %s', (phase, deleted, active, finished) => {
    const pod = podWith({ phase }, deleted);
    expect([isActive(pod), isFinished(pod)]).toEqual([active, finished]);
  });
});
