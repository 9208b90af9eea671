import { describe, expect, it } from '@jest/globals';

import { wishEvents } from '../../../controllers/wish-events.ts';
import { readStatefulSet } from '../../../kubernetes/statefulset-adapter.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { Workload } from '../../../planners/workload.ts';

function workload(annotations: Readonly<Record<string, object>>, uid = 'uid-1'): Workload {
  const texts = Object.entries(annotations).map(([key, value]) => [key, JSON.stringify(value)]);
  const set = {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid,
      resourceVersion: '1',
      annotations: Object.fromEntries(texts),
    },
    spec: { selector: {}, template: { spec: { containers: [{ name: 'main', image: 'app:1' }] } } },
  };
  return readStatefulSet(set, 'fairlead.dev/v1beta1');
}

const PAUSED = { [ANNOTATION.paused]: { by: 'alice', reason: 'disk alarm' } };
const pinned = (verb: string, at = '2026-01-01T00:00:00Z') => ({
  [ANNOTATION.pinned]: { verb, by: 'bob', revision: 'web-2', to: 'web-1', at },
});

describe('events of wishes on the object, whoever wrote them', () => {
  it.each([
    ['a pause', {}, PAUSED, 'RolloutPaused', 'paused by alice: disk alarm'],
    ['the end of a pause', PAUSED, {}, 'RolloutResumed', 'resumed'],
    ['an abort', {}, pinned('abort'), 'RolloutAborted', 'aborted: revision web-2 was left for web-1 by bob'],
    ['an undo', {}, pinned('undo'), 'RolloutUndone', 'undone: revision web-2 was left for web-1 by bob'],
    [
      'an undo of what was never begun, for the rollout was paused',
      PAUSED,
      {
        ...PAUSED,
        [ANNOTATION.pinned]: { verb: 'undo', by: 'bob', to: 'web-1', at: '2026-01-01T00:00:00Z' },
      },
      'RolloutUndone',
      'undone: a template that had no revision yet was left for web-1 by bob',
    ],
    [
      'a pin that was written by hand',
      {},
      { [ANNOTATION.pinned]: { reason: 'look', at: '2026-01-01T00:00:00Z' } },
      'RolloutUndone',
      'undone: the template was left for an earlier one: look',
    ],
    [
      'a deadline',
      {},
      pinned('deadline'),
      'RolledBack',
      'rolled back: revision web-2 was left for web-1 by bob',
    ],
    [
      'another undo',
      pinned('undo'),
      pinned('undo', '2026-01-02T00:00:00Z'),
      'RolloutUndone',
      'undone: revision web-2 was left for web-1 by bob',
    ],
  ])('%s is told once', (_, before, now, reason, message) => {
    const events = wishEvents(workload(before), workload(now), true);
    expect(events).toEqual([expect.objectContaining({ reason, message })]);
  });

  it('tells nothing of a state that it met first, that has not changed, or of another object of the name', () => {
    expect(wishEvents(undefined, workload(PAUSED), true)).toEqual([]);
    expect(wishEvents(workload(PAUSED), workload(PAUSED), false)).toEqual([]);
    expect(wishEvents(workload({}), workload(PAUSED, 'uid-2'), true)).toEqual([]);
  });

  it('tells of a pause that was wished while nobody led: the status does not know of it', () => {
    const told = expect.objectContaining({
      reason: 'RolloutPaused',
      message: 'paused by alice: disk alarm',
    });
    expect(wishEvents(undefined, workload(PAUSED), false)).toEqual([told]);
    expect(wishEvents(undefined, workload({}), false)).toEqual([]);
  });
});
