/** What becomes of objects that differ from the commit: put back now, later, or not, and what is told of each. */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../../support/properties.ts';

import type { Drift } from '../../../git/drift.ts';
import type { DriftSnapshot } from '../../../git/drift-plan.ts';
import { planDrift } from '../../../git/drift-plan.ts';
import type { Healings } from '../../../git/heal-pace.ts';
import { healedAll } from '../../../git/heal-pace.ts';
import { triedFor } from '../../../git/refused-retry.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z');
const BEFORE = '2026-01-01T00:00:00Z';

const driftOf = (name: string, more: Partial<Drift> = {}): Drift => ({
  object: `ConfigMap shop/${name}`,
  change: 'changed',
  fields: ['data.key'],
  fieldCount: 1,
  by: ['kubectl-edit'],
  ...more,
});

const snapshotOf = (drifts: readonly Drift[], more: Partial<DriftSnapshot> = {}): DriftSnapshot => ({
  drifts: new Map(drifts.map((drift) => [drift.object, drift])),
  known: new Map(),
  healing: new Map(),
  triedFor: new Map(),
  commit: undefined,
  mayHeal: true,
  now: NOW,
  ...more,
});

/** Put back so many times, the last time just now. */
function healings(times: number, by: readonly string[] = ['kubectl-edit']): Healings {
  let past: Healings | undefined;
  for (let time = 0; time < times; time += 1) past = healedAll(past, by, NOW);
  return past ?? new Map<string, never>();
}

describe('an object that differs', () => {
  const one = driftOf('one');
  const key = one.object;

  it('is put back at once, and is told since now', () => {
    const plan = planDrift(snapshotOf([one]));
    expect(plan.due).toEqual([{ key, drift: one, since: '2026-01-01T00:01:00.000Z' }]);
    expect(plan.drifted.get(key)).toEqual({ ...one, since: '2026-01-01T00:01:00.000Z' });
    expect(plan).toMatchObject({ fights: [], nextMs: Number.POSITIVE_INFINITY });
  });

  it('is told since when it was first seen, for as long as it differs in the same', () => {
    const known = new Map([[key, { ...one, since: BEFORE, held: 'whatever' }]]);
    expect(planDrift(snapshotOf([one], { known })).due).toMatchObject([{ since: BEFORE }]);
    const other = driftOf('one', { fields: ['data.other'] });
    expect(planDrift(snapshotOf([other], { known })).drifted.get(key)?.since).not.toBe(BEFORE);
  });

  it('is told only where the repository heals nothing now', () => {
    const plan = planDrift(snapshotOf([one], { mayHeal: false, healing: new Map([[key, healings(3)]]) }));
    expect(plan.due).toEqual([]);
    expect(plan.fights).toEqual([]);
    expect(plan.drifted.get(key)).not.toHaveProperty('putBackAt');
  });

  it('waits until its namespace, which is being deleted, is gone; then both are put back at once', () => {
    const namespace = driftOf('', {
      object: 'Namespace shop',
      change: 'deleted',
      held: 'it is being deleted',
    });
    const gone = { ...driftOf('one', { change: 'deleted' }) };
    const elsewhere = { ...driftOf('two', { change: 'deleted' }), object: 'ConfigMap tools/two' };
    const drifts = (shop: Drift) =>
      new Map([
        ['/Namespace//shop', shop],
        ['/ConfigMap/shop/one', gone],
        ['/ConfigMap/tools/two', elsewhere],
      ]);
    const before = planDrift({ ...snapshotOf([]), drifts: drifts(namespace) });
    expect(before.due.map(({ drift }) => drift.object)).toEqual(['ConfigMap tools/two']);
    expect(before.drifted.get(gone.object)).toMatchObject({ held: 'its namespace is being deleted' });
    const { held: _, ...free } = namespace;
    const after = planDrift({ ...snapshotOf([]), drifts: drifts(free) });
    expect(after.due).toHaveLength(3);
  });

  it('stays where it is held, and says why', () => {
    const held = driftOf('one', { held: 'bob has pinned it' });
    const plan = planDrift(snapshotOf([held]));
    expect(plan.due).toEqual([]);
    expect(plan.drifted.get(key)?.held).toBe('bob has pinned it');
  });

  it('stays away where it was deleted for what a refused commit makes anew', () => {
    const gone = driftOf('one', { change: 'deleted', fields: [], fieldCount: 0 });
    const commit = { sha: 'a'.repeat(40), outcome: 'Refused', workflowId: 'w', runId: 'r' } as const;
    const named = { ...commit, problems: [`Invalid a.yaml:1@aaaaaaaa: ${key}: data is immutable.`] };
    const plan = planDrift(
      snapshotOf([gone], {
        known: new Map([[key, { ...gone, since: BEFORE }]]),
        triedFor: new Map([[key, triedFor(named, gone, BEFORE)]]),
        commit: { ...commit, problems: ['Invalid b.yaml:1@aaaaaaaa: ConfigMap shop/two: no.'] },
      }),
    );
    expect(plan.due).toEqual([]);
    expect(plan.drifted.get(key)?.held).toMatch(/^commit aaaaaaaa, which was refused for it, makes it anew/);
  });

  it.each([
    [1, 10_000, 0],
    [2, 20_000, 0],
    [3, 40_000, 1],
    [20, 600_000, 1],
  ])(
    'waits after it was put back %d times for %d ms, and a fight is told %d times',
    (times, waitMs, told) => {
      const plan = planDrift(snapshotOf([one], { healing: new Map([[key, healings(times)]]) }));
      expect(plan.due).toEqual([]);
      expect(plan.nextMs).toBe(waitMs);
      expect(plan.drifted.get(key)?.putBackAt).toBe(new Date(NOW + waitMs).toISOString());
      expect(plan.fights).toHaveLength(told);
    },
  );

  it('names in a fight who insists, how often and when it goes on', () => {
    const both = driftOf('one', { by: ['kubectl-edit', 'bystander'] });
    const plan = planDrift(snapshotOf([both], { healing: new Map([[key, healings(3)]]) }));
    expect(plan.fights).toMatchObject([
      {
        type: 'Warning',
        reason: 'DriftFought',
        message: expect.stringMatching(
          /kubectl-edit.*after it was put back 3 times; it is put back again in 40 s$/,
        ),
      },
    ]);
    expect(plan.fights[0]?.message).not.toContain('bystander');
  });
});

describe('any number of objects that differ', () => {
  const drifts = fc.uniqueArray(
    fc.record({ name: fc.integer({ min: 0, max: 30 }), held: fc.boolean(), times: fc.nat(4) }),
    { selector: ({ name }) => name },
  );

  it('are each told once, and each is put back now, later, or held', () => {
    fc.assert(
      fc.property(drifts, fc.boolean(), (all, mayHeal) => {
        const found = all.map(({ name, held }) => driftOf(String(name), held ? { held: 'held' } : {}));
        const healing = new Map(
          all.map(({ name, times }) => [driftOf(String(name)).object, healings(times)]),
        );
        const plan = planDrift(snapshotOf(found, { healing, mayHeal }));
        expect([...plan.drifted.keys()]).toEqual(found.map(({ object }) => object));
        const now = new Set(plan.due.map(({ key }) => key));
        let least = Number.POSITIVE_INFINITY;
        for (const { object, held, putBackAt } of plan.drifted.values()) {
          const isLater = putBackAt !== undefined;
          if (isLater) least = Math.min(least, Date.parse(putBackAt) - NOW);
          const ways = [now.has(object), isLater, held !== undefined || !mayHeal].filter(Boolean);
          expect(ways).toHaveLength(1);
        }
        expect(plan.nextMs).toBe(least);
      }),
    );
  });
});
