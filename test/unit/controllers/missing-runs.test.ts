/** Which rolling updates a leader starts a run for. */

import { expect, it } from '@jest/globals';

import type { RunlessUpdate } from '../../../controllers/missing-runs.ts';
import { MissingRuns } from '../../../controllers/missing-runs.ts';
import type { UpdateRun } from '../../../planners/rolling-update-run.ts';
import type { UpdateRecord } from '../../../planners/rolling-update-record.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { eventually } from '../../support/eventually.ts';

const BEGUN = '2026-01-01T00:00:10Z';

function record(from: string, begun?: object, outcomes: readonly string[] = []): UpdateRecord {
  const attempts = outcomes.map((outcome, at) => ({
    runId: String(at),
    workflowId: 'w',
    startedAt: BEGUN,
    outcome,
  }));
  const metadata = {
    namespace: 'shop',
    name: `${from}-1`,
    uid: `uid-${from}`,
    creationTimestamp: BEGUN,
    annotations: { [ANNOTATION.attempts]: JSON.stringify(attempts) },
  };
  return trusted<UpdateRecord>({ from, state: { phase: 'Renaming', begun }, revision: { metadata } });
}

const OPEN: UpdateRun = { state: 'running', status: 'RUNNING', workflowId: 'w' };

const closed = (status: string, endedAt: string): UpdateRun => ({
  state: 'closed',
  status,
  workflowId: 'w',
  endedAt,
});

/** What Temporal and the cluster hold, and what was started; five looks or more are made. */
async function play(world: {
  records: readonly UpdateRecord[];
  runs?: Record<string, UpdateRun>;
  refused?: string;
  onLook?: (look: number, runs: Map<string, UpdateRun>) => void;
}) {
  const runs = new Map(Object.entries(world.runs ?? {}));
  const [started, failed, noted]: [RunlessUpdate[], string[], UpdateRun[]] = [[], [], []];
  let looks = 0;
  const missing = new MissingRuns({
    records: () => {
      looks += 1;
      world.onLook?.(looks, runs);
      return world.records;
    },
    temporalAnswers: () => true,
    readRun: async ({ name }) => await Promise.resolve(runs.get(name) ?? { state: 'none' }),
    start: async (update) => {
      if (update.name === world.refused) throw new Error('no such search attribute');
      started.push(update);
      runs.set(update.name, OPEN);
      return await Promise.resolve(undefined);
    },
    noteEnd: async (_, run) => await Promise.resolve(noted.push(run)),
    onStarted: () => undefined,
    onError: ({ name }) => failed.push(name),
    lookMs: 5,
    graceMs: 5,
  });
  missing.start();
  await eventually('there are five looks', () => looks >= 5);
  await missing.stop();
  return { started, failed, noted };
}

it('one that Temporal knows no run of, once, with who began it; the others go on where one is refused', async () => {
  const { started, failed } = await play({
    records: [record('bad'), record('foo', { by: 'ann', reason: 'fix', at: '2026' })],
    refused: 'bad',
  });
  expect(started).toEqual([{ namespace: 'shop', name: 'foo', by: 'ann', reason: 'fix' }]);
  expect(new Set(failed)).toEqual(new Set(['bad']));
  // It is tried again.
  expect(failed.length).toBeGreaterThan(1);
});

it.each(['FAILED', 'TERMINATED', 'CANCELLED', 'TIMED_OUT'])(
  'none whose own run is %s: that is for a person',
  async (status) => {
    const runs = { foo: closed(status, '2026-01-01T00:00:11Z') };
    const { started, noted } = await play({ records: [record('foo')], runs });
    expect(started).toEqual([]);
    expect(noted).toContainEqual(runs.foo);
  },
);

it.each(['Failed', 'Terminated', 'Canceled'])(
  'none whose last run was %s, as its record says, when Temporal has forgotten it',
  async (outcome) => {
    const records = [record('foo', undefined, ['Failed', outcome])];
    expect((await play({ records })).started).toEqual([]);
    // One that was tried again since, and was open when this leader looked.
    const onLook = (look: number, runs: Map<string, UpdateRun>) => {
      if (look === 2) runs.delete('foo');
    };
    expect((await play({ records, runs: { foo: OPEN }, onLook })).started).toHaveLength(1);
  },
);

it.each([closed('COMPLETED', '2026-01-01T00:00:11Z'), closed('TERMINATED', '2026-01-01T00:00:09Z')])(
  'one whose last run is that of the update before: $status',
  async (run) => {
    const { started, noted } = await play({ records: [record('foo')], runs: { foo: run } });
    expect(started).toHaveLength(1);
    expect(noted).toEqual([]);
  },
);

it('none whose run is started by whoever has just written its record', async () => {
  const onLook = (look: number, runs: Map<string, UpdateRun>) => {
    if (look === 2) runs.set('foo', OPEN);
  };
  expect((await play({ records: [record('foo')], onLook })).started).toEqual([]);
});

it('nothing is asked while Temporal is away; when it is back, at once', async () => {
  let isBack = false;
  let looks = 0;
  const missing = new MissingRuns({
    records: () => {
      looks += 1;
      return [];
    },
    temporalAnswers: () => isBack,
    readRun: async () => await Promise.resolve({ state: 'none' }),
    start: async () => await Promise.resolve(undefined),
    noteEnd: async () => await Promise.resolve(undefined),
    onStarted: () => undefined,
    onError: () => undefined,
    lookMs: 60_000,
  });
  missing.start();
  await new Promise((resolve) => setImmediate(resolve));
  expect(looks).toBe(0);
  isBack = true;
  missing.lookNow();
  await eventually('it is looked', () => looks === 1);
  await missing.stop();
});
