/** The order of a rollout's steps, whoever drives it. Each driver here answers from a script, in the script's order. */

import { describe, expect, it } from '@jest/globals';

import type { AwaitReadyResult, UpdateBatchResult } from '../../activities/rollout-types.ts';
import type { OnDeadline } from '../../planners/workload.ts';
import type { Ending, RolloutDriver } from '../../workflows/rollout-sequence.ts';
import { RolloutSequence } from '../../workflows/rollout-sequence.ts';
import { observationOf } from '../support/observations.ts';

const { progress } = observationOf({}).plan;
const state = { progress, waiting: [] };
const written = { outcome: 'written', pods: [], refused: 0, ...state } as const;
const batch = { outcome: 'batch', ...state } as const;
const finished = { outcome: 'finished', ...state } as const;
const superseded = { outcome: 'superseded', message: 'another template' } as const;

class ScriptedDriver implements RolloutDriver {
  readonly calls: string[] = [];
  readonly onDeadline: OnDeadline = 'Report';
  readonly #writes: (UpdateBatchResult | Ending)[];
  readonly #waits: (AwaitReadyResult | Ending)[];
  /** The workload has an earlier revision. */
  hasBefore = true;
  long = false;

  constructor(
    writes: readonly (UpdateBatchResult | Ending)[],
    waits: readonly (AwaitReadyResult | Ending)[],
  ) {
    this.#writes = [...writes];
    this.#waits = [...waits];
  }

  async createRevision() {
    this.calls.push('createRevision');
    return { outcome: 'ready', revision: 'web-b', created: true, desired: 3 } as const;
  }

  async interruption(): Promise<undefined> {
    // Nobody ends it between two batches.
  }

  async updateBatch() {
    this.calls.push('updateBatch');
    return next(this.#writes);
  }

  async awaitReady(deadlineReported: boolean) {
    this.calls.push(deadlineReported ? 'awaitReady, reported' : 'awaitReady');
    return next(this.#waits);
  }

  async whilePaused() {
    this.calls.push('whilePaused');
  }

  async pause({ by }: { readonly by: string }) {
    this.calls.push(`pause by ${by}`);
  }

  async rollBack() {
    this.calls.push('rollBack');
    return this.hasBefore;
  }

  renewsOnNews() {
    return this.long;
  }

  async renew() {
    this.calls.push('renew');
  }
}

function next<T>(script: T[]): T {
  const answer = script.shift();
  if (answer === undefined) throw new Error('the script is over');
  return answer;
}

describe('a rollout', () => {
  it('creates its revision, then writes and waits in turns until nothing is left', async () => {
    const driver = new ScriptedDriver([written, written], [batch, finished]);
    expect(await new RolloutSequence(driver).run(false)).toEqual({ ending: 'finished' });
    expect(driver.calls).toEqual([
      'createRevision',
      'updateBatch',
      'awaitReady',
      'renew',
      'updateBatch',
      'awaitReady',
    ]);
  });

  it('does not create the revision again where it goes on', async () => {
    const driver = new ScriptedDriver([finished], []);
    expect(await new RolloutSequence(driver).run(true)).toEqual({ ending: 'finished' });
    expect(driver.calls).toEqual(['updateBatch']);
  });

  it('waits for the object while it is paused, and looks again then', async () => {
    const paused = { outcome: 'paused', paused: { by: 'ann' }, ...state } as const;
    const driver = new ScriptedDriver([paused, written, finished], [paused]);
    await new RolloutSequence(driver).run(true);
    expect(driver.calls.filter((call) => call === 'whilePaused')).toHaveLength(2);
    expect(driver.calls.at(-1)).toBe('updateBatch');
  });

  it('ends where another template is wanted, or somebody ends it', async () => {
    const ending = { ending: 'superseded', reason: superseded.message };
    expect(await new RolloutSequence(new ScriptedDriver([superseded], [])).run(true)).toEqual(ending);
    expect(await new RolloutSequence(new ScriptedDriver([written], [superseded])).run(true)).toEqual(ending);
    const aborted = { ending: 'aborted', by: 'ann' } as const;
    expect(await new RolloutSequence(new ScriptedDriver([aborted], [])).run(true)).toEqual(aborted);
    expect(await new RolloutSequence(new ScriptedDriver([written], [aborted])).run(true)).toEqual(aborted);
  });

  it('goes back at its deadline and ends with that, or waits on where there is nothing to go back to', async () => {
    const deadline = { outcome: 'deadline', onDeadline: 'Rollback', ...state } as const;
    const back = new ScriptedDriver([written], [deadline]);
    expect(await new RolloutSequence(back).run(true)).toMatchObject({
      ending: 'rolledBack',
      by: 'progressDeadlineSeconds',
    });
    const stuck = new ScriptedDriver([written, finished], [deadline, batch]);
    stuck.hasBefore = false;
    expect(await new RolloutSequence(stuck).run(true)).toEqual({ ending: 'finished' });
    expect(stuck.calls).toEqual([
      'updateBatch',
      'awaitReady',
      'rollBack',
      'awaitReady, reported',
      'renew',
      'updateBatch',
    ]);
  });

  it('deals with a deadline once, and anew after progress', async () => {
    const deadline = { outcome: 'deadline', onDeadline: 'Pause', ...state } as const;
    const driver = new ScriptedDriver([written, written], [deadline, batch, deadline, finished]);
    const sequence = new RolloutSequence(driver);
    await sequence.run(true);
    expect(driver.calls.filter((call) => call === 'pause by progressDeadlineSeconds')).toHaveLength(2);
    expect(driver.calls.filter((call) => call.startsWith('awaitReady'))).toEqual([
      'awaitReady',
      'awaitReady, reported',
      'awaitReady',
      'awaitReady, reported',
    ]);
    expect(sequence.deadlineReported).toBe(true);
  });

  it('deals with a deadline once more where a pause has begun its clock anew, and only there', async () => {
    const deadline = { outcome: 'deadline', onDeadline: 'Pause', ...state, timedOut: true } as const;
    const paused = { outcome: 'paused', paused: {}, ...state } as const;
    const nothing = { outcome: 'nothing', ...state } as const;
    const pauses = async (resumed: UpdateBatchResult) => {
      const driver = new ScriptedDriver([written, resumed, finished], [deadline, paused, deadline, batch]);
      await new RolloutSequence(driver).run(true);
      return driver.calls.filter((call) => call.startsWith('awaitReady'));
    };
    const reported = 'awaitReady, reported';
    // The last is after the second deadline.
    expect(await pauses({ ...nothing, timedOut: false })).toEqual([
      'awaitReady',
      reported,
      'awaitReady',
      reported,
    ]);
    // P19: of a Deployment a pause does not hide that time had run out.
    expect((await pauses({ ...nothing, timedOut: true }))[2]).toBe(reported);
  });

  it('goes on in another execution for news when its history is long, and only then', async () => {
    const news = { outcome: 'news', ...state } as const;
    const short = new ScriptedDriver([written], [news, finished]);
    await new RolloutSequence(short).run(true);
    expect(short.calls).not.toContain('renew');
    const long = new ScriptedDriver([written, finished], [news]);
    long.long = true;
    await new RolloutSequence(long).run(true);
    expect(long.calls).toContain('renew');
  });
});
