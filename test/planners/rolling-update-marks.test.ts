/**
 * Recovered from the objects alone (seed 001 "Recovery"): every subset of the marks of an update that may be left, on both controllers,
 * without any record; of the seed's names and of those that kubectl shipped (K1).
 */

import { describe, expect, it } from '@jest/globals';

import { explain } from '../../cli/explain-update.ts';
import { isUnderWay } from '../../cli/update-state.ts';
import { ANNOTATION, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from '../../planners/names.ts';
import { nameByHash } from '../../planners/rolling-update-record.ts';
import { nextManifest } from '../../planners/rolling-update-definition.ts';
import { trusted } from '../../planners/values.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideStart } from '../../planners/rolling-update-start.ts';
import { updateNameOf, viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, STATE, foo, run, stepOf, turn } from '../support/simulated-update.ts';

type Marks = Readonly<Record<string, string>>;
type Direction = 'forward' | 'back';

interface Kind {
  readonly old: Marks;
  readonly next: (name: string) => Marks;
  /** What is left of them says which way. */
  readonly direction: (old: Marks, next: Marks) => Direction;
}

const { desiredReplicas: WANTED, partner: PARTNER } = ROLLING_UPDATE;
const SHIPPED = SHIPPED_ROLLING_UPDATE;

const KINDS: Readonly<Record<string, Kind>> = {
  forward: {
    old: { [WANTED]: '0', [PARTNER]: 'NEXT' },
    next: () => ({ [WANTED]: '4', [PARTNER]: 'foo' }),
    direction: () => 'forward',
  },
  'on the way back': {
    old: { [WANTED]: '4', [PARTNER]: 'NEXT' },
    next: () => ({ [WANTED]: '0', [PARTNER]: 'foo' }),
    direction: (old, next) => (WANTED in old || WANTED in next ? 'back' : 'forward'),
  },
  'being turned round': {
    old: { [WANTED]: '4', [PARTNER]: 'NEXT' },
    next: () => ({ [WANTED]: '4', [PARTNER]: 'foo' }),
    direction: (old) => (WANTED in old ? 'back' : 'forward'),
  },
  'by kubectl': {
    old: { [SHIPPED.originalReplicas]: '4', [SHIPPED.nextController]: 'NEXT' },
    next: () => ({ [SHIPPED.desiredReplicas]: '4', [SHIPPED.sourceId]: 'foo:uid-1' }),
    direction: () => 'forward',
  },
};

function subsets(marks: Marks): readonly Marks[] {
  return Object.entries(marks).reduce<readonly Marks[]>(
    (all, [name, value]) => [...all, ...all.map((one) => ({ ...one, [name]: value }))],
    [{}],
  );
}

/** What an update would have given the pods of the next one, and the name that it forms of it; others somebody has chosen. */
const HASH = '0123456789abcdef'.repeat(2);
const FORMED = nameByHash('foo', HASH);

/** One of four pods is new. */
function world(key: string, next: string, labelled: boolean, marks: readonly [Marks, Marks]) {
  const all = new SimulatedControllers();
  const labels = (value: string | undefined) => ({
    app: 'foo',
    ...(value !== undefined && { [key]: value }),
  });
  const add = (name: string, replicas: number, image: string, value: string | undefined, own: Marks) => {
    const selector = labels(value);
    all.controller(name, { replicas, selector, template: IMAGE_TEMPLATE(image, selector) }, { ...own });
  };
  add('foo', 3, 'app:1', labelled ? 'abc-orig' : undefined, marks[0]);
  add(next, 1, 'app:2', HASH, marks[1]);
  // Nobody's: of the same team, but not of the same update.
  all.controller('other', {
    replicas: 1,
    selector: { app: 'other' },
    template: IMAGE_TEMPLATE('x', { app: 'other' }),
  });
  all.settle();
  return all;
}

const CASES = Object.entries(KINDS).flatMap(([what, kind]) =>
  ['foo-next', 'zoo', FORMED].flatMap((next) =>
    [true, false].flatMap((labelled) =>
      subsets(kind.old).flatMap((old) =>
        subsets(kind.next(next)).flatMap((ofNext) =>
          Object.keys({ ...old, ...ofNext }).length === 0
            ? []
            : [{ what, kind, next, labelled, old, ofNext }],
        ),
      ),
    ),
  ),
);

describe('marks of an update, each subset', () => {
  it.each(
    CASES.map((one) => {
      const named = [one.old, one.ofNext].map((marks) =>
        Object.keys(marks).map((mark) => mark.split('/')[1]),
      );
      const label = one.labelled ? 'labelled' : 'not yet labelled';
      return [
        `${one.what}, ${one.next}, ${label}: ${named.map((list) => `[${list.join(' ')}]`).join(' ')}`,
        one,
      ] as const;
    }),
  )('%s', (_, { what, kind, next, labelled, old, ofNext }) => {
    const named = Object.fromEntries(
      Object.entries(old).map(([name, value]) => [name, value === 'NEXT' ? next : value]),
    );
    const key = what === 'by kubectl' ? SHIPPED.deployment : KEY;
    const all = world(key, next, labelled, [named, ofNext]);
    const direction = kind.direction(old, ofNext);
    // "If the user does specify a name": one that no update has formed was given (seed 001).
    const kept = next === FORMED ? undefined : next;
    for (const asked of ['foo', next]) {
      const whole = updateNameOf(all, asked);
      expect(whole).toBe('foo');
      const plan = planRollingUpdate(all.snapshot(whole), NOW);
      expect(plan.view).toMatchObject({ isRollback: direction === 'back', state: { desired: 4 } });
      const told = explain(plan, { run: { state: 'none' }, nobody: undefined, git: undefined });
      expect(told).toMatchObject({
        verdict: 'NoRun',
        next: `fairlead rolling-update foo${kept === undefined ? '' : ` ${kept}`} -n default`,
      });
    }
    expect(isUnderWay(planRollingUpdate(all.snapshot('other'), NOW))).toBe(false);
    // What it has printed.
    const nothing = { change: { kind: 'none' }, newName: kept, key: KEY } as const;
    expect(decideStart(viewUpdate(all.snapshot('foo', kept)), nothing)).toEqual({ do: 'attach' });
    const image = { ...nothing, change: { kind: 'image', image: 'app:3' } } as const;
    expect(decideStart(viewUpdate(all.snapshot('foo', kept)), image)).toMatchObject({
      code: direction === 'back' ? 'RollingBack' : 'OtherChange',
    });
    const seen: number[] = [];
    const { outcome } = run(all, {
      until: () => {
        seen.push(all.activePods.length);
        return false;
      },
    });

    expect(outcome).toBe(direction === 'back' ? 'Aborted' : 'Succeeded');
    const last = direction === 'back' ? 'foo' : (kept ?? 'foo');
    expect(all.controllers.map(({ metadata }) => metadata.name).sort()).toEqual([last, 'other'].sort());
    const own = all.activePods.filter(({ metadata }) => metadata.labels?.['app'] === 'foo');
    expect(own.map(({ spec }) => spec.containers[0]?.image)).toEqual(
      Array.from({ length: 4 }, () => (direction === 'back' ? 'app:1' : 'app:2')),
    );
    // One of them is the other's.
    expect([Math.min(...seen) - 1, Math.max(...seen) - 1]).toEqual([4, 5]);
  });
});

describe('a number of replicas that is none', () => {
  /** As an earlier version began it with `-f`: the file said so. */
  const begun = (replicas: unknown, created: boolean) => {
    const all = foo();
    const decision = decideStart(viewUpdate(all.snapshot('foo')), IMAGE);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    const { controller } = decision.data;
    const wrong = trusted<number>(replicas);
    const data = {
      ...decision.data,
      controller: { ...controller, spec: { ...controller.spec, replicas: wrong } },
    };
    all.record(data, { ...STATE, desired: wrong });
    if (!created) return all;
    const { metadata, spec } = nextManifest(data, wrong);
    all.controller(data.next, spec, { ...metadata.annotations });
    const mark = { [WANTED]: '0', [PARTNER]: data.next, [SHIPPED.originalReplicas]: String(replicas) };
    all.edit('foo', (one) => ({ ...one, metadata: { ...one.metadata, annotations: mark } }));
    return all;
  };

  it.each(
    [2.5, -2, 'lots', '3', 99_999_999_999, true].flatMap((replicas) =>
      [true, false].map((created) => [replicas, created] as const),
    ),
  )('%p, next one there: %p: the size is that of what is there, forward and back', (replicas, created) => {
    const forward = begun(replicas, created);
    expect(planRollingUpdate(forward.snapshot('foo'), NOW).view.state.desired).toBe(3);
    expect(run(forward).outcome).toBe('Succeeded');
    expect(forward.controllers).toMatchObject([{ metadata: { name: 'foo' }, spec: { replicas: 3 } }]);

    const back = begun(replicas, created);
    turn(back);
    expect(run(back).outcome).toBe('Aborted');
    expect(back.controllers).toMatchObject([{ metadata: { name: 'foo' }, spec: { replicas: 3 } }]);
  });

  it('in the middle of a rename: as many as there are pods', () => {
    const all = begun(2.5, true);
    run(all, { until: ({ purpose }) => purpose === 'Create' });
    const [revision] = all.revisions;
    if (revision === undefined) throw new Error('no record');
    const { name, uid, resourceVersion } = revision.metadata;
    const annotations = {
      [ANNOTATION.rollingUpdateState]: JSON.stringify({ phase: 'Renaming', desired: 2.5 }),
    };
    const body = { metadata: { annotations } };
    const about = { resource: 'controllerrevisions', purpose: 'Phase', message: '' } as const;
    expect(all.apply({ ...about, verb: 'patch', name, uid, resourceVersion, body })).toBe('done');

    expect(stepOf(all)).toMatchObject({ write: { purpose: 'Create', body: { spec: { replicas: 3 } } } });
  });
});

describe('marks of one controller alone', () => {
  it('none: nothing tells that there is an update', () => {
    const all = world(KEY, 'foo-next', true, [{}, {}]);
    for (const name of ['foo', 'foo-next']) {
      expect(isUnderWay(planRollingUpdate(all.snapshot(name), NOW))).toBe(false);
    }
  });

  it('a desired size that is left on the old one: its marks go, and nothing else happens', () => {
    const all = new SimulatedControllers();
    const spec = { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') };
    all.controller('foo', spec, { [WANTED]: '4' });
    all.settle();
    const view = viewUpdate(all.snapshot('foo'));

    expect(decideStart(view, { change: { kind: 'none' }, key: KEY })).toEqual({ do: 'attach' });
    expect(decideRollback(view, {})).toEqual({ do: 'attach' });
    expect(run(all).written).toEqual(['ScaleUp', 'Strip']);
    expect(all.find('foo')?.metadata.annotations).toEqual({});
    expect(all.find('foo')?.spec.replicas).toBe(4);
  });

  it('that name the controller itself as its partner: they name none', () => {
    const all = new SimulatedControllers();
    const spec = { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') };
    all.controller('foo', spec, { [ROLLING_UPDATE.partner]: 'foo' });
    all.settle();
    const view = viewUpdate(all.snapshot('foo'));
    expect(view.nextController).toBeUndefined();
    expect(decideStart(view, IMAGE)).toMatchObject({ do: 'begin', desired: 3 });
    turn(all);
    run(all);
    expect(all.find('foo')?.metadata.annotations).toEqual({});
    expect(all.find('foo')?.spec.replicas).toBe(3);
  });

  it('that do not name the next one, where two could be it: neither is taken, and it has to be named', () => {
    const all = world(KEY, 'foo-next', true, [{ [WANTED]: '0' }, {}]);
    const selector = { app: 'foo', [KEY]: 'third' };
    all.controller('foo-third', { replicas: 1, selector, template: IMAGE_TEMPLATE('app:3', selector) });
    const plan = planRollingUpdate(all.snapshot('foo'), NOW);

    expect(plan.step).toMatchObject({
      code: 'NextLost',
      message: 'foo is marked as one that is replaced, but nothing tells by which controller; 3 wanted',
    });
    const told = explain(plan, { run: { state: 'none' }, nobody: undefined, git: undefined });
    expect(told.next).toContain('fairlead rolling-update foo NEXT -n default');
    const request = { change: { kind: 'none' }, newName: 'foo-next', key: KEY } as const;
    expect(decideStart(viewUpdate(all.snapshot('foo', 'foo-next')), request)).toEqual({ do: 'attach' });
  });
});
