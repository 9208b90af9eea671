/** What a leader does about the runs of a workload while Temporal comes and goes (design "Rollover"). */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Observation } from '../../../controllers/plan-feed.ts';
import type { ToldEnding } from '../../../controllers/run-endings.ts';
import { RolloutRuns } from '../../../controllers/rollout-runs.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { Workload } from '../../../planners/workload.ts';
import { rolloutWorkflowId } from '../../../workflows/messages.ts';
import { eventually } from '../../support/eventually.ts';
import { observationOf } from '../../support/observations.ts';
import { SmallTemporal } from '../../support/small-temporal.ts';

const KEY = 'StatefulSet/default/web';
const base = observationOf({}).workload;
const ID = rolloutWorkflowId('c', base.ref);

let temporal: SmallTemporal;
let clock: number;
let runs: RolloutRuns;
let errors: unknown[];
let refusals: string[];
/** What was told of runs that ended badly, with the revision that has an attempt more. */
let badEndings: string[];
/** How often it was said that something is to be done later. */
let waits: number;
/** Happens while the call that starts a run is not over yet. */
let whenStarted: () => void;
/** What the reconciler does with its key: undefined when the workload is gone. */
let present: Observation | undefined;

/** A leader whose work queue comes at once. */
function lead(): RolloutRuns {
  const leader: RolloutRuns = new RolloutRuns({
    client: temporal.client,
    cluster: 'c',
    clusterUid: 'cluster',
    searchAttributes: async () => [],
    now: () => clock,
    onChange: (key, at = 0) => {
      // A call that failed is tried again at once here.
      if (at > clock && errors.length === 0) {
        waits += 1;
        return;
      }
      setImmediate(() => {
        if (leader === runs) reconcile(key);
      });
    },
    onStarted: () => whenStarted(),
    onTakenOver: () => undefined,
    onBadEnding: (_, revision = 'none', { message }) => badEndings.push(`${revision}: ${message}`),
    onFoundEnded: () => undefined,
    onError: (_, error) => errors.push(error),
    onRefused: (_, words) => refusals.push(words),
  });
  return leader;
}

function reconcile(key = KEY): void {
  if (present === undefined) runs.workloadGone(key);
  else runs.ensure(key, present);
}

/** The workload is so from now on. */
function see(change: Partial<Workload>, plan: Parameters<typeof observationOf>[0] = {}, target = 't'): void {
  present = observationOf(plan, { workload: { ...base, ...change }, target });
  reconcile();
}

async function untilCalled(call: string, times = 1): Promise<void> {
  await eventually(
    `${call} was called ${String(times)} times`,
    () => temporal.calls.filter((one) => one === call).length >= times,
  );
}

async function untilSignalled(signals: readonly string[]): Promise<void> {
  await eventually(
    `the newest run got ${signals.join(', ')}`,
    () => temporal.newest(ID).signals.join() === signals.join(),
  );
}

beforeEach(() => {
  clock = Date.parse('2026-01-01T00:00:00Z');
  temporal = new SmallTemporal(() => clock);
  errors = [];
  refusals = [];
  badEndings = [];
  waits = 0;
  present = undefined;
  whenStarted = () => undefined;
  runs = lead();
});

afterEach(async () => {
  await runs.stop();
});

describe('a start that Temporal refuses', () => {
  const words = 'Namespace default has no mapping defined for search attribute GitCommit';

  it('is told once, in its words, and goes through once it is not refused any more', async () => {
    temporal.refuses.set('start', words);
    see({});
    await untilCalled('start', 3);
    expect(refusals).toEqual([words]);
    expect(runs.refusal(KEY)).toBe(words);
    temporal.refuses.clear();
    await eventually('it runs', () => runs.isOpen(KEY, base.ref.uid));
    expect(runs.refusal(KEY)).toBeUndefined();
    expect(runs.unreachableSince).toBeUndefined();
  });

  it('is not confused with a server that is away', async () => {
    temporal.away.add('start');
    see({});
    await untilCalled('start', 2);
    expect(refusals).toEqual([]);
    expect(runs.refusal(KEY)).toBeUndefined();
    expect(runs.unreachableSince).toBeDefined();
  });
});

describe('a resume', () => {
  it('is told to the run once Temporal is back', async () => {
    see({});
    await untilCalled('start');
    see({ paused: { by: 'alice' } });
    temporal.away.add('signal');
    see({});
    await untilCalled('signal objectChanged');
    await eventually('it failed', () => errors.length > 0);
    expect(temporal.newest(ID).signals).toEqual([]);
    temporal.away.clear();
    await untilSignalled(['objectChanged']);
  });

  it('is told although another call was under way, and once', async () => {
    see({});
    see({ paused: { by: 'alice' } });
    // The start has not been answered yet.
    see({});
    await untilCalled('start');
    see({ paused: {} });
    see({});
    await untilSignalled(['objectChanged']);
    see({});
    await new Promise(setImmediate);
    expect(temporal.newest(ID).signals).toEqual(['objectChanged']);
  });

  it('is told by a new leader, if need be later', async () => {
    await temporal.open(ID, { uid: base.ref.uid, target: 't', clusterUid: 'cluster' });
    temporal.away.add('signal');
    see({});
    await untilCalled('signal objectChanged');
    temporal.away.clear();
    await untilSignalled(['objectChanged']);
  });
});

describe('a rollout whose run was cancelled with no pod left to replace', () => {
  const LAST_PODS = { needsRollout: false, finished: false };
  const goesOn = (change: Partial<Observation> = {}): void => {
    present = { ...observationOf(LAST_PODS, { workload: base, target: 't' }), ...change };
    reconcile();
  };

  it('has another once it is resumed, which sees its end', async () => {
    see({ paused: { by: 'alice' } }, LAST_PODS);
    await untilCalled('describe');
    goesOn();
    goesOn({ resumedMidway: true });
    // Said once alone: the status tells no more of the pause.
    goesOn();
    await untilCalled('start');
  });

  it('has none when it is over by then, or is paused again, or was never paused', async () => {
    goesOn();
    await untilCalled('describe');
    temporal.away.add('describe');
    goesOn({ resumedMidway: true, ...observationOf({ needsRollout: false, finished: true }) });
    see({ paused: { by: 'alice' } }, LAST_PODS);
    goesOn();
    await new Promise(setImmediate);
    expect(temporal.calls).not.toContain('start');
  });
});

describe('a workload that is gone', () => {
  const remove = (): void => {
    present = undefined;
    reconcile();
  };
  const memo = { uid: base.ref.uid, target: 't', clusterUid: 'cluster' };

  it('has its run cancelled once Temporal is back', async () => {
    see({});
    await untilCalled('start');
    temporal.away.add('cancel');
    remove();
    await untilCalled('cancel', 2);
    temporal.away.clear();
    await eventually('it is cancelled', () => temporal.newest(ID).cancelRequested);
  });

  it('has its run cancelled although the call that starts it was under way', async () => {
    whenStarted = remove;
    see({});
    await untilCalled('start');
    await eventually('it is cancelled', () => temporal.newest(ID).cancelRequested);
  });

  it('has its run cancelled by a leader that never saw it', async () => {
    await temporal.open(ID, memo);
    await runs.takeOver(() => true);
    await eventually('it is cancelled', () => temporal.newest(ID).cancelRequested);
  });

  it('made again while nobody led: its run is cancelled, although nothing is left to do', async () => {
    await temporal.open(ID, { ...memo, uid: 'before' });
    see({}, { finished: true, needsRollout: false });
    await runs.takeOver(() => true);
    await eventually('it is cancelled', () => temporal.newest(ID).cancelRequested);
  });

  it('is not one that another worker looks after, or that is there', async () => {
    const other = rolloutWorkflowId('c', { ...base.ref, namespace: 'not-ours' });
    await temporal.open(other, memo);
    await temporal.open(rolloutWorkflowId('c', { ...base.ref, name: 'foreign' }), {
      ...memo,
      clusterUid: 'x',
    });
    await temporal.open(ID, memo);
    see({});
    await runs.takeOver(({ namespace }) => namespace === 'default');
    await untilSignalled(['objectChanged']);
    expect(temporal.calls.filter((call) => call === 'cancel')).toEqual([]);
  });
});

describe('a run that is paused in Temporal, found by a new leader', () => {
  const memo = { uid: base.ref.uid, target: 't', clusterUid: 'cluster' };

  it('is open: no other is started', async () => {
    temporal.pause(await temporal.open(ID, memo));
    see({});
    await untilSignalled(['objectChanged']);
    expect(runs.isOpen(KEY, base.ref.uid)).toBe(true);
    expect(temporal.calls).not.toContain('start');
  });

  it('is cancelled when another template comes', async () => {
    temporal.pause(await temporal.open(ID, memo));
    see({}, {}, 'another');
    await eventually('it is cancelled', () => temporal.newest(ID).cancelRequested);
  });
});

it('a start that meets a run in a state that is not known is not tried again at once', async () => {
  const run = await temporal.open(ID, { uid: base.ref.uid, target: 't', clusterUid: 'cluster' });
  run.status = trusted<typeof run.status>(99);
  see({});
  await eventually('it waits', () => waits > 0);
  expect(temporal.calls.filter((call) => call === 'start')).toHaveLength(1);
});

describe('a run that is not wanted any more', () => {
  it('is told so before it is cancelled: a cancellation alone means pause', async () => {
    see({});
    await untilCalled('start');
    see({}, {}, 'another');
    await untilCalled('cancel');
    expect(temporal.calls.slice(-2)).toEqual(['signal superseded', 'cancel']);
  });

  it('is not cancelled before it was told', async () => {
    see({});
    await untilCalled('start');
    temporal.away.add('signal');
    see({}, {}, 'another');
    await untilCalled('signal superseded', 2);
    expect(temporal.newest(ID).cancelRequested).toBe(false);
    temporal.away.clear();
    await eventually('it is cancelled', () => temporal.newest(ID).cancelRequested);
  });

  it('makes room for a run of the same template, when that is wanted again', async () => {
    see({});
    await untilCalled('start');
    see({}, {}, 'another');
    await untilCalled('cancel');
    see({}, {}, 't');
    temporal.closeCancelled(temporal.newest(ID));
    await untilCalled('start', 2);
    expect(temporal.calls.filter((call) => call === 'cancel')).toHaveLength(1);
  });

  it('and is terminated before it has closed: no attempt of what is wanted now, which goes on by itself', async () => {
    see({}, { updateRevision: 'web-a' });
    await untilCalled('start');
    const { runId } = temporal.newest(ID);
    see({}, { updateRevision: 'web-b' }, 'another');
    await untilCalled('cancel');
    temporal.terminate(temporal.newest(ID));
    await untilCalled('start', 2);
    expect(badEndings).toEqual([
      expect.stringMatching(
        `^none: rollout run ${runId} of template t was terminated: .*; it was not wanted any more: nothing has to be done$`,
      ),
    ]);
  });
});

describe('a run that ended badly', () => {
  const longAgo = { by: 'alice', at: '1999-01-01T00:00:00Z' };
  const starts = () => temporal.calls.filter((call) => call === 'start').length;

  async function terminated(): Promise<void> {
    temporal.terminate(temporal.newest(ID));
    await eventually('it is known', () => runs.blocked(KEY, base.ref.uid, 't') !== undefined);
  }

  it('is an attempt of its revision', async () => {
    see({}, { updateRevision: 'web-a' });
    await untilCalled('start');
    await terminated();
    expect(badEndings).toEqual([
      expect.stringMatching(/^web-a: .*; change the template, or start it again with/),
    ]);
  });

  it('is started again by a wish, whatever the clock of who wished it says, and once for each wish', async () => {
    see({});
    await untilCalled('start');
    await terminated();
    see({ retried: longAgo });
    await untilCalled('start', 2);
    await terminated();
    see({ retried: longAgo });
    expect(starts()).toBe(2);
    clock += 60_000;
    see({ retried: { ...longAgo, at: '1999-01-02T00:00:00Z' } });
    await untilCalled('start', 3);
  });

  it('is not started again by a wish that an earlier leader has granted', async () => {
    see({});
    await untilCalled('start');
    await terminated();
    see({ retried: longAgo });
    await untilCalled('start', 2);
    await terminated();
    runs = lead();
    see({ retried: longAgo });
    await eventually('it is known', () => runs.blocked(KEY, base.ref.uid, 't') !== undefined);
    expect(starts()).toBe(2);
    see({ retried: { by: 'bob' } });
    await untilCalled('start', 3);
  });
});

describe('a run that ended badly, and that Temporal has forgotten', () => {
  const retriedAt = (at: string) => ({ retried: { by: 'ann', at } });

  /** What the workload says when a leader begins, a day after the end. */
  function found(change: Partial<Workload>, reason: ToldEnding['reason'] = 'RunTerminated'): void {
    const endedBadly = { reason, message: 'it was terminated', since: '2025-12-31T00:00:00Z' };
    present = observationOf({}, { workload: { ...base, ...change }, endedBadly });
    reconcile();
  }

  it.each([{}, retriedAt('2025-12-30T00:00:00Z')])('is not started again by itself', async (change) => {
    found(change);
    await eventually('it is known', () => runs.knows(KEY));
    expect(runs.blocked(KEY, base.ref.uid, 't')?.message).toBe('it was terminated');
    see(change);
    expect(temporal.calls).toEqual(['describe']);
    see(retriedAt('2026-01-01T00:00:00Z'));
    await untilCalled('start');
  });

  it('is started again by a new template', async () => {
    found({});
    await eventually('it is known', () => runs.knows(KEY));
    see({}, {}, 'another');
    await untilCalled('start');
  });

  it.each([
    ['somebody has said so since', retriedAt('2026-01-01T00:00:00Z'), 'RunTerminated'],
    ['it was none of this cluster', {}, 'RunOfAnotherCluster'],
  ] as const)('is started again where %s', async (_, change, reason) => {
    found(change, reason);
    await untilCalled('start');
  });
});

describe('runs of one template, one after the other', () => {
  const starts = () => temporal.calls.filter((call) => call === 'start').length;

  /** Runs that end like this, one after the other, until one is not started at once; at most ten. */
  async function startedAtOnce(batches: number, milliseconds: number): Promise<number> {
    see({});
    await untilCalled('start');
    for (let count = 1; count < 10; count += 1) {
      const before = temporal.calls.length;
      clock += milliseconds;
      temporal.complete(temporal.newest(ID), { outcome: 'Succeeded', revision: 'r', batches });
      await eventually('it is told when to come again, or starts', () => waits > 0 || starts() > count);
      if (starts() === count) return count;
      expect(temporal.calls.length).toBeGreaterThan(before);
    }
    return 10;
  }

  it.each([
    ['that end at once with nothing done are a loop, which is slowed down', 0, 10, 2],
    ['that each do something are the steps of a canary', 1, 10, 10],
    ['that live for a while are no loop', 0, 10_001, 10],
  ])('%s', async (_, batches, milliseconds, times) => {
    expect(await startedAtOnce(batches, milliseconds)).toBe(times);
  });
});
