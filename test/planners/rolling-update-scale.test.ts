/** Upstream's transcripts of scale sequences (K5, K6, K9: TestUpdate of kubectl's rolling updater), replayed step by step. */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../support/properties.ts';

import type { ScaleStep, Sizes, UpdateBudget } from '../../planners/rolling-update-scale.ts';
import {
  budgetOf,
  putBackStep,
  resolveUpdateBudget,
  scaleStep,
} from '../../planners/rolling-update-scale.ts';

/** `[old ready, new ready, old shrinks to]`; without the last one nothing may be written then. */
type Down = readonly [oldReady: number, newReady: number, to?: number];
/** A number: the new one grows to it. */
type Event = number | Down;

interface Transcript {
  readonly name: string;
  /** Sizes at the beginning, and the desired one. */
  readonly old: number;
  readonly next?: number;
  readonly desired: number;
  readonly unavailable: number | string;
  readonly surge: number | string;
  readonly events: readonly Event[];
}

const TRANSCRIPTS: readonly Transcript[] = [
  {
    name: '10->10 30/0 fast',
    old: 10,
    desired: 10,
    unavailable: '30%',
    surge: '0%',
    events: [[10, 0, 7], 3, [7, 3, 4], 6, [4, 6, 1], 9, [1, 9, 0], 10],
  },
  {
    name: '10->10 30/0 delayed',
    old: 10,
    desired: 10,
    unavailable: '30%',
    surge: '0%',
    events: [[10, 0, 7], 3, [7, 0], [7, 1, 6], 4, [6, 4, 3], 7, [3, 7, 0], 10],
  },
  {
    name: '10->10 30/0 continued',
    old: 7,
    next: 3,
    desired: 10,
    unavailable: '30%',
    surge: '0%',
    events: [[7, 3, 4], 6, [4, 6, 1], 9, [1, 9, 0], 10],
  },
  {
    name: '10->10 30/0 stopped before the first growth',
    old: 7,
    desired: 10,
    unavailable: '30%',
    surge: '0%',
    events: [3, [7, 0], [7, 3, 4], 6, [4, 6, 1], 9, [1, 9, 0], 10],
  },
  {
    name: '10->10 0/30 fast',
    old: 10,
    desired: 10,
    unavailable: '0%',
    surge: '30%',
    events: [3, [10, 3, 7], 6, [7, 6, 4], 9, [4, 9, 1], 10, [1, 10, 0]],
  },
  {
    name: '10->10 0/30 delayed',
    old: 10,
    desired: 10,
    unavailable: '0%',
    surge: '30%',
    events: [3, [10, 0], [10, 1, 9], 4, [9, 3, 7], 6, [7, 6, 4], 9, [4, 9, 1], 10, [1, 9], [1, 10, 0]],
  },
  {
    name: '10->10 10/20 fast',
    old: 10,
    desired: 10,
    unavailable: '10%',
    surge: '20%',
    events: [2, [10, 2, 7], 5, [7, 5, 4], 8, [4, 8, 1], 10, [1, 10, 0]],
  },
  {
    name: '10->10 10/20 delayed',
    old: 10,
    desired: 10,
    unavailable: '10%',
    surge: '20%',
    events: [2, [10, 2, 7], 5, [7, 4, 5], 7, [5, 4], [5, 7, 2], 10, [2, 9, 0]],
  },
  {
    name: '10->10 10/20 stopped before the first shrinking',
    old: 10,
    next: 2,
    desired: 10,
    unavailable: '10%',
    surge: '20%',
    events: [[10, 2, 7], 5, [7, 5, 4], 8, [4, 8, 1], 10, [1, 10, 0]],
  },
  {
    name: '10->10 0/100 fast',
    old: 10,
    desired: 10,
    unavailable: '0%',
    surge: '100%',
    events: [10, [10, 10, 0]],
  },
  {
    name: '10->10 0/100 delayed',
    old: 10,
    desired: 10,
    unavailable: '0%',
    surge: '100%',
    events: [10, [10, 0], [10, 2, 8], [8, 7, 3], [3, 10, 0]],
  },
  {
    name: '10->10 100/0 fast',
    old: 10,
    desired: 10,
    unavailable: '100%',
    surge: '0%',
    events: [[10, 0, 0], 10],
  },
  {
    name: '1->1 25/25 keeps one',
    old: 1,
    desired: 1,
    unavailable: '25%',
    surge: '25%',
    events: [1, [1, 0], [1, 1, 0]],
  },
  {
    name: '1->1 0/10 delayed',
    old: 1,
    desired: 1,
    unavailable: '0%',
    surge: '10%',
    events: [1, [1, 0], [1, 1, 0]],
  },
  {
    name: '1->1 10/10 delayed',
    old: 1,
    desired: 1,
    unavailable: '10%',
    surge: '10%',
    events: [1, [1, 0], [1, 1, 0]],
  },
  {
    name: '3->3 0/1',
    old: 3,
    desired: 3,
    unavailable: 0,
    surge: 1,
    events: [1, [3, 1, 2], 2, [2, 2, 1], 3, [1, 3, 0]],
  },
  {
    name: '10->10 0/20 stopped within a growth',
    old: 6,
    next: 5,
    desired: 10,
    unavailable: '0%',
    surge: '20%',
    events: [6, [6, 6, 4], 8, [4, 8, 2], 10, [1, 10, 0]],
  },
  { name: '10->20 0/300', old: 10, desired: 20, unavailable: '0%', surge: '300%', events: [20, [10, 20, 0]] },
  {
    name: '1->1 0/1 back to a ready one',
    old: 1,
    next: 1,
    desired: 1,
    unavailable: 0,
    surge: 1,
    events: [[0, 1, 0]],
  },
  { name: '3->0 1/1', old: 3, desired: 0, unavailable: 1, surge: 1, events: [[3, 0, 0]] },
  { name: '3->0 10/10', old: 3, desired: 0, unavailable: '10%', surge: '10%', events: [[3, 0, 0]] },
  { name: '3->0 10/10 made anew', old: 3, desired: 0, unavailable: '10%', surge: '10%', events: [[3, 0, 0]] },
  { name: '0->0 1/1', old: 0, desired: 0, unavailable: 1, surge: 1, events: [[0, 0]] },
  {
    name: '30->2 50/0',
    old: 30,
    desired: 2,
    unavailable: '50%',
    surge: 0,
    events: [[30, 0, 1], 1, [1, 2, 0], 2],
  },
  {
    name: '2->2 1/0 an old one is not ready',
    old: 2,
    desired: 2,
    unavailable: 1,
    surge: 0,
    events: [[1, 0, 1], 1, [1, 1, 0], 2],
  },
  { name: '1->1 1/0', old: 1, desired: 1, unavailable: '1%', surge: 0, events: [[1, 0, 0], 1] },
  { name: '1->2 25/25', old: 1, desired: 2, unavailable: '25%', surge: '25%', events: [2, [1, 2, 0]] },
  {
    name: '2->2 25/1 surge goes first',
    old: 2,
    desired: 2,
    unavailable: '25%',
    surge: '1%',
    events: [1, [2, 1, 1], 2, [1, 2, 0]],
  },
  {
    name: '2->2 25/0 comes to 0, so one',
    old: 2,
    desired: 2,
    unavailable: '25%',
    surge: '0%',
    events: [[2, 0, 1], 1, [1, 1, 0], 2],
  },
];

describe('scale sequences of kubectl rolling-update', () => {
  it.each(TRANSCRIPTS)('$name', ({ old, next = 0, desired, events, ...asked }) => {
    const budget = resolveUpdateBudget(asked, desired);
    let [from, to, newReady] = [old, next, next];
    const step = () =>
      scaleStep(
        { desired, from, fromActive: from, to, toActive: to, toAvailable: newReady } satisfies Sizes,
        budget,
      );

    const expected: unknown[] = [];
    const seen: unknown[] = [];
    for (const event of events) {
      if (typeof event === 'number') {
        expected.push({ scale: 'up', replicas: event });
        seen.push(step());
        to = event;
        newReady = 0;
      } else {
        const [, ready, shrunk] = event;
        newReady = ready;
        expected.push(shrunk === undefined ? undefined : { scale: 'down', replicas: shrunk });
        seen.push(step());
        from = shrunk ?? from;
      }
    }
    expect(seen).toEqual(expected);

    newReady = to;
    expect([from, to, step()]).toEqual([0, desired, undefined]);
  });
});

describe('the budget', () => {
  it.each<[UpdateBudget, number, { surge: number; unavailable: number }]>([
    [{ surge: 1, unavailable: 0 }, 3, { surge: 1, unavailable: 0 }],
    // C3: surge up, unavailability down.
    [{ surge: '25%', unavailable: '25%' }, 10, { surge: 3, unavailable: 2 }],
    // C3: both 0 would never move.
    [{ surge: 0, unavailable: 0 }, 3, { surge: 0, unavailable: 1 }],
    [{ surge: '0%', unavailable: '10%' }, 3, { surge: 0, unavailable: 1 }],
    // Never more than there are.
    [{ surge: 1, unavailable: 9 }, 3, { surge: 1, unavailable: 3 }],
  ])('%j of %i', (budget, desired, expected) => {
    expect(resolveUpdateBudget(budget, desired)).toEqual(expected);
  });

  it('counts pods that are still there, not only the sizes that were asked for', () => {
    const lagging = { desired: 3, from: 2, fromActive: 3, to: 1, toActive: 1, toAvailable: 1 };

    expect(scaleStep(lagging, { surge: 1, unavailable: 0 })).toBeUndefined();
    expect(scaleStep({ ...lagging, fromActive: 2 }, { surge: 1, unavailable: 0 })).toEqual({
      scale: 'up',
      replicas: 2,
    });
  });
});

describe('what somebody has taken from the one that shrinks', () => {
  const budget = { surge: 1, unavailable: 0 };
  const sizes = { desired: 3, from: 0, fromActive: 0, to: 1, toActive: 1, toAvailable: 0 };

  it.each<[string, Partial<Sizes>, number, ScaleStep]>([
    ['all of it', {}, 3, { scale: 'back', replicas: 3 }],
    ['a part', { from: 1 }, 3, { scale: 'back', replicas: 3 }],
    ['what surge leaves room for', { to: 2, toActive: 3 }, 3, { scale: 'back', replicas: 1 }],
    ['no more than it had', { desired: 5 }, 3, { scale: 'back', replicas: 3 }],
    ['nothing: it had less than is wanted now', { desired: 5, from: 3 }, 3, undefined],
    ['nothing: the other works', { toAvailable: 1 }, 3, undefined],
    ['nothing: a step of the update leads there', { from: 2 }, 3, undefined],
  ])('%s', (_, change, size, step) => {
    expect(putBackStep({ ...sizes, ...change }, budget, size)).toEqual(step);
  });

  it('is never more than surge, and never what a step of the update has led to', () => {
    const amount = fc.integer({ min: 0, max: 12 });
    fc.assert(
      fc.property(
        amount,
        amount,
        amount,
        amount,
        amount,
        amount,
        (desired, from, to, up, down, available) => {
          const asked = resolveUpdateBudget({ surge: up, unavailable: down }, desired);
          const toAvailable = Math.min(available, to);
          const all = { desired, from, fromActive: from, to, toActive: to, toAvailable };
          const back = putBackStep(all, asked, 12);
          const { replicas = from + 1 } = back ?? {};
          const isLegal = back === undefined || replicas + to <= desired + asked.surge;
          expect([isLegal, replicas > from]).toEqual([true, true]);
          const step = scaleStep(all, asked);
          if (step?.scale !== 'down' || from + to < desired - asked.unavailable) return;
          expect(
            putBackStep({ ...all, from: step.replicas, fromActive: step.replicas }, asked, 12),
          ).toBeUndefined();
        },
      ),
    );
  });
});

describe('the budget that is asked for, by a flag or an annotation', () => {
  const [surge, unavailable] = ['fairlead.dev/max-surge', 'fairlead.dev/max-unavailable'];

  it.each<[string, Partial<UpdateBudget>, Record<string, string>, UpdateBudget]>([
    ['nothing: kubectl’s', {}, {}, { surge: 1, unavailable: 0 }],
    ['annotations', {}, { [surge]: '25%', [unavailable]: '2' }, { surge: '25%', unavailable: 2 }],
    ['a flag before an annotation', { surge: 3 }, { [surge]: '25%' }, { surge: 3, unavailable: 0 }],
    ['all', {}, { [surge]: '150%', [unavailable]: '100%' }, { surge: '150%', unavailable: '100%' }],
    ['no surge', {}, { [surge]: '0', [unavailable]: '1' }, { surge: 0, unavailable: 1 }],
  ])('%s', (_, asked, annotations, budget) => {
    expect(budgetOf(asked, annotations)).toEqual(budget);
  });

  it.each<[string, Record<string, string>, string]>([
    [surge, { [surge]: 'many' }, `annotation ${surge}: "many" is neither a number nor a percentage`],
    [unavailable, { [unavailable]: '-1' }, `annotation ${unavailable}: "-1" is neither`],
    [
      unavailable,
      { [unavailable]: '101%' },
      `annotation ${unavailable}: "101%" must not be greater than 100%`,
    ],
    [surge, { [surge]: '0%' }, 'cannot both be 0'],
  ])('%s is to blame for %j', (annotation, annotations, message) => {
    const budget = () => budgetOf({}, annotations);
    expect(budget).toThrow(message);
    expect(budget).toThrow(expect.objectContaining({ annotation }));
  });
});
