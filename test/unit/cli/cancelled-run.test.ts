import { describe, expect, it } from '@jest/globals';

import { CancelledRun } from '../../../cli/cancelled-run.ts';
import { RUN_GRACE_MS } from '../../../planners/rolling-update-run.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import { begin, foo } from '../../support/simulated-update.ts';

describe('a run that was cancelled', () => {
  const world = foo();
  const over = viewUpdate(world.snapshot('foo'));
  begin(world);
  const resumed = viewUpdate(world.snapshot('foo'));
  const paused = { ...resumed, paused: { by: 'ann' } };

  it('is followed by another while the update is paused, and for a moment after it was resumed', () => {
    const run = new CancelledRun();
    expect(run.isFollowed(paused, 0)).toBe(true);
    expect(run.isFollowed(paused, 1_000_000)).toBe(true);
    expect(run.isFollowed(resumed, 1_000_001)).toBe(true);
    expect(run.isFollowed(resumed, 1_000_000 + RUN_GRACE_MS)).toBe(true);
    expect(run.isFollowed(resumed, 1_000_001 + RUN_GRACE_MS)).toBe(false);
  });

  it('each time anew: another run, or another pause, was seen in between', () => {
    const run = new CancelledRun();
    expect(run.isFollowed(resumed, 0)).toBe(true);
    run.reset();
    expect(run.isFollowed(resumed, RUN_GRACE_MS)).toBe(true);
    expect(run.isFollowed(paused, 2 * RUN_GRACE_MS)).toBe(true);
    expect(run.isFollowed(resumed, 3 * RUN_GRACE_MS)).toBe(true);
  });

  it('is the end of one that is over', () => {
    expect(new CancelledRun().isFollowed(over, 0)).toBe(false);
  });
});
