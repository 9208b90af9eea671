/** Events of executed writes: few, and none lost. */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { ActionEvents } from '../../../controllers/action-events.ts';
import type { Action, Purpose } from '../../../planners/plan.ts';
import { setOf } from '../../support/statefulset-fixtures.ts';

const told: string[] = [];
const recorder = {
  record: (_subject: unknown, type: string, reason: string, message: string) =>
    void told.push(`${type} ${reason}: ${message}`),
};
const workload = setOf();

function actions(purpose: Purpose, ...names: readonly string[]): readonly Action[] {
  const verb = purpose === 'ScaleUp' ? 'create' : 'delete';
  return names.map((name) => ({ verb, resource: 'pods', name, purpose, message: `${verb} Pod ${name}` }));
}

let events: ActionEvents;

beforeEach(() => {
  jest.useFakeTimers();
  told.length = 0;
  events = new ActionEvents(recorder as unknown as ConstructorParameters<typeof ActionEvents>[0]);
});

afterEach(() => {
  jest.useRealTimers();
});

describe('events of writes (S21)', () => {
  it('says of ReplicaSets from which size to which, of each the last', () => {
    const scaled = (name: string, from: number, to: number): Action => ({
      verb: 'patch',
      resource: 'replicasets',
      name,
      purpose: 'ShrinkReplicaSet',
      message: `Scaled down replica set ${name} from ${String(from)} to ${String(to)}`,
    });
    events.done(workload, [scaled('api-1', 4, 3), scaled('api-2', 2, 1), scaled('api-1', 3, 2)]);
    expect(told).toEqual([
      'Normal ScalingReplicaSet: Scaled down replica set api-1 from 3 to 2; Scaled down replica set api-2 from 2 to 1',
    ]);
  });

  it('tells the first at once, one event for a purpose', () => {
    events.done(workload, [...actions('Recreate', 'web-2', 'web-1'), ...actions('ScaleUp', 'web-3')]);
    expect(told).toEqual([
      'Normal SuccessfulDelete: delete 2 pods: web-2, web-1',
      'Normal SuccessfulCreate: create Pod web-3',
    ]);
  });

  it('gathers those that follow within three seconds', () => {
    events.done(workload, actions('Recreate', 'web-9'));
    events.done(workload, actions('Recreate', 'web-8'));
    jest.advanceTimersByTime(2_900);
    events.done(workload, actions('Recreate', 'web-7', 'web-6'));
    expect(told).toHaveLength(1);
    jest.advanceTimersByTime(100);
    expect(told[1]).toBe('Normal SuccessfulDelete: delete 3 pods: web-8, web-7, web-6');
    events.done(workload, actions('Recreate', 'web-5'));
    expect(told).toHaveLength(2);
    jest.advanceTimersByTime(6_000);
    expect(told[2]).toBe('Normal SuccessfulDelete: delete Pod web-5');
  });

  it('tells of a long rollout ever less often, and at least every 24 seconds', () => {
    const at: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      events.done(workload, actions('Recreate', `web-${String(second)}`));
      while (at.length < told.length) at.push(second);
      jest.advanceTimersByTime(1_000);
    }
    expect(at).toEqual([0, 3, 9, 21, 45, 69, 93, 117]);
  });

  it('tells at once again after a quiet time', () => {
    events.done(workload, actions('Recreate', 'web-9'));
    jest.advanceTimersByTime(3_000);
    events.done(workload, actions('Recreate', 'web-8'));
    expect(told).toHaveLength(2);
  });

  it('keeps workloads apart', () => {
    const other = setOf({ ref: { ...workload.ref, uid: 'other' } });
    events.done(workload, actions('Recreate', 'web-9'));
    events.done(other, actions('Recreate', 'web-9'));
    expect(told).toHaveLength(2);
  });

  it('loses nothing when it is flushed', () => {
    events.done(workload, actions('Recreate', 'web-9'));
    events.done(workload, actions('Recreate', 'web-8'));
    events.flush();
    expect(told).toHaveLength(2);
    jest.advanceTimersByTime(10_000);
    expect(told).toHaveLength(2);
  });

  it('are told before the end of their rollout, and of no other workload', () => {
    const other = setOf({ ref: { ...workload.ref, uid: 'other' } });
    for (const name of ['web-9', 'web-8']) {
      events.done(workload, actions('Recreate', name));
      events.done(other, actions('Recreate', `other-${name}`));
    }
    told.length = 0;
    events.flush(workload.ref.uid);
    expect(told).toEqual(['Normal SuccessfulDelete: delete Pod web-8']);
    jest.advanceTimersByTime(10_000);
    expect(told.slice(1)).toEqual(['Normal SuccessfulDelete: delete Pod other-web-8']);
  });

  it('says what was done, each name once', () => {
    events.done(workload, actions('Evict', 'shop-1', 'shop-2'));
    events.done(workload, actions('ScaleUp', 'web-1', 'web-2', 'web-1'));
    expect(told).toEqual([
      'Normal PodEvicted: evict 2 pods: shop-1, shop-2',
      'Normal SuccessfulCreate: create 2 pods: web-1, web-2',
    ]);
  });

  it('says nothing of bookkeeping: a node that somebody else had cordoned', () => {
    const node = (name: string, untold: boolean): Action => ({
      verb: 'patch',
      resource: 'nodes',
      name,
      purpose: 'Cordon',
      message: `cordon Node ${name}`,
      ...(untold && { untold }),
    });
    events.done(workload, [node('by-hand', true), node('ours', false)]);
    expect(told).toEqual(['Normal NodeCordoned: cordon Node ours']);
  });

  it('names twelve pods, and counts the others', () => {
    const names = Array.from({ length: 13 }, (_, index) => `web-${String(12 - index)}`);
    events.done(workload, actions('Recreate', ...names));
    expect(told[0]).toMatch(/^Normal SuccessfulDelete: delete 13 pods: web-12, .*web-3 and 3 more$/);
  });
});
