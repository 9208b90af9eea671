/** Which records `rollout history rc/NAME` shows, and which of them is the present one. */

import { describe, expect, it } from '@jest/globals';

import { commandsBack, viewRecords, withRun } from '../../../cli/controller-history.ts';
import { ANNOTATION, ROLLING_UPDATE } from '../../../planners/names.ts';
import type { ControllerRevision } from '../../../planners/objects.ts';
import type { RecordPhase, UpdateRecord } from '../../../planners/rolling-update-record.ts';
import { DEFAULT_STATE, readRecords, recordManifest } from '../../../planners/rolling-update-record.ts';
import { trusted } from '../../../planners/values.ts';
import { planRollingUpdate } from '../../../planners/rolling-update.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE } from '../../support/simulated-controllers.ts';
import { NOW, STATE, begin, foo, run } from '../../support/simulated-update.ts';

/** One update after another: from, to, its end. */
function recordsOf(
  ...updates: readonly (readonly [string, string, RecordPhase?])[]
): readonly UpdateRecord[] {
  const revisions: ControllerRevision[] = [];
  for (const [from, to, phase = 'Done'] of updates) {
    const spec = { replicas: 2, selector: { app: to }, template: IMAGE_TEMPLATE('app:1') };
    const metadata = { name: to, namespace: 'default' };
    const controller = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec } as const;
    const data = { from, next: `${from}-next`, to, key: ROLLING_UPDATE.deployment, hash: 'abc', controller };
    const body = recordManifest(data, { ...DEFAULT_STATE, phase, desired: 2 }, readRecords(revisions));
    revisions.push(trusted<ControllerRevision>(body));
  }
  return readRecords(revisions);
}

function shown(name: string, records: readonly UpdateRecord[]): string[] {
  return viewRecords({ name, records }).map((view) => [view.name, ...view.roles].join(' '));
}

describe('rollout history rc/NAME', () => {
  const moved = recordsOf(['foo', 'foo'], ['foo', 'foo-v2']);

  it('has nothing present of a controller whose place another has taken', () => {
    expect(shown('foo', moved)).toEqual(['foo-1', 'foo-2']);
  });

  it('goes on under the new name', () => {
    expect(shown('foo-v2', moved)).toEqual(['foo-1', 'foo-2 present complete']);
  });

  it('knows a name that was used anew from the one before, and both from others', () => {
    const records = recordsOf(
      ['foo', 'foo'],
      ['foo', 'foo-v2'],
      ['foo', 'foo'],
      ['bar', 'bar'],
      ['foo-v2', 'foo-v2', 'Aborted'],
    );
    expect(shown('foo', records)).toEqual(['foo-1', 'foo-2', 'foo-3 present complete']);
    expect(shown('foo-v2', records)).toEqual(['foo-1', 'foo-2 present complete', 'foo-v2-3']);
  });

  it('has the update under way as the present one', () => {
    const records = recordsOf(['foo', 'foo'], ['foo', 'foo', 'Rolling']);
    expect(shown('foo', records)).toEqual(['foo-1 complete', 'foo-2 present']);
    expect(shown('foo', recordsOf(['foo', 'foo'], ['foo', 'foo', 'Aborted']))).toEqual([
      'foo-1 present complete',
      'foo-2',
    ]);
  });
});

describe('an update that runs', () => {
  it('is told with the commit that began it, and not with that of the controller it replaces', () => {
    const commitOf = (old: string, begun?: { readonly by: string }) => {
      const world = foo();
      const annotate = (commit: string) => {
        world.edit('foo', (one) => ({
          ...one,
          metadata: { ...one.metadata, annotations: { [ANNOTATION.commit]: commit } },
        }));
      };
      annotate('c2');
      begin(world, undefined, { ...STATE, ...(begun && { begun }) });
      annotate(old);
      return viewRecords(viewUpdate(world.snapshot('foo')))[0]?.commit;
    };
    expect([commitOf('c1'), commitOf('c2'), commitOf('c1', { by: 'ann' })]).toEqual([
      'c2',
      undefined,
      undefined,
    ]);
  });

  it('is told with who began it', () => {
    const world = foo();
    begin(world, undefined, { ...STATE, begun: { by: 'ann', reason: 'new' } });
    const [view] = viewRecords(viewUpdate(world.snapshot('foo')));
    expect(view).toMatchObject({ underWay: 'Running', begun: { by: 'ann', reason: 'new' } });
    run(world);
    expect(viewRecords(viewUpdate(world.snapshot('foo')))[0]).not.toHaveProperty('underWay');
  });
});

describe('what rollout undo rc/NAME names instead', () => {
  const backOf = (world: ReturnType<typeof foo>, name = 'foo') =>
    commandsBack(planRollingUpdate(world.snapshot(name), NOW));

  it('an abort while the update is under way, then the image that no record has rolled out', () => {
    const world = foo();
    expect(backOf(world)).toEqual(['fairlead rolling-update foo -f FILE -n default']);
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    expect(backOf(world)).toEqual(['fairlead rollout abort rc/foo -n default']);
    run(world);
    expect(backOf(world)).toEqual(['fairlead rolling-update foo --image=app:1 -n default']);
  });

  it('under the name that the controller has now', () => {
    const world = foo();
    begin(world, 'foo-v2');
    run(world, { next: 'foo-v2' });
    for (const name of ['foo', 'foo-v2']) {
      expect(backOf(world, name)).toEqual(['fairlead rolling-update foo-v2 --image=app:1 -n default']);
    }
  });
});

describe('the run of what is under way', () => {
  const views = viewRecords({ name: 'foo', records: recordsOf(['foo', 'foo'], ['foo', 'foo', 'Rolling']) });
  const times = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:01:00Z' };
  const closed = (status: string) =>
    ({ state: 'closed', status, workflowId: 'w', runId: 'r', ...times }) as const;
  const newest = (...[view, last]: readonly [Parameters<typeof withRun>[1], Parameters<typeof withRun>[2]]) =>
    withRun(views, view, last).at(-1);

  it('is told as it ended: where it was terminated nothing is running', () => {
    expect(newest({}, undefined)).toMatchObject({ underWay: 'Running', attempts: [] });
    for (const [status, outcome] of [
      ['TERMINATED', 'Terminated'],
      ['TIMED_OUT', 'Failed'],
    ] as const) {
      const told = newest({}, closed(status));
      const endedBecause = expect.stringContaining('');
      expect(told).toMatchObject({ attempts: [{ runId: 'r', outcome, ...times, endedBecause }] });
      expect(told?.attempts[0]).not.toHaveProperty('reason');
      expect(told).not.toHaveProperty('underWay');
    }
    expect(newest({}, { state: 'none' })).not.toHaveProperty('underWay');
  });

  it('is told once, and those that are over have none', () => {
    const [over, own] = withRun(views, {}, closed('TERMINATED'));
    expect(over).toEqual(views[0]);
    const again = [over, { ...own, underWay: 'Running' }].flatMap((one) => one ?? []);
    expect(withRun(trusted(again), {}, closed('TERMINATED')).at(-1)?.attempts).toHaveLength(1);
  });

  it('is not that of the update before, which has the same workflow id', () => {
    expect(newest({}, closed('COMPLETED'))?.attempts).toEqual([]);
    const later = views.map((one) => ({ ...one, createdAt: '2026-01-02T00:00:00Z' }));
    expect(withRun(later, {}, closed('TERMINATED')).at(-1)?.attempts).toEqual([]);
  });

  it('a pause is told first', () => {
    expect(newest({ paused: { by: 'ann' } }, undefined)).toMatchObject({ underWay: 'Paused' });
  });
});
