/** Whose turn it is to run git: nobody waits for long because of those who hang. */

import { describe, expect, it } from '@jest/globals';

import { RemoteTurns, Turns } from '../../../git/git-turns.ts';
import { eventually } from '../../support/eventually.ts';

/** Work that goes on until it is told to end. */
function work(turns: RemoteTurns, source: string, host: string) {
  const state = { begun: false, end: () => undefined as void, done: Promise.resolve() };
  const isOver = new Promise<void>((resolve) => {
    state.end = resolve;
  });
  state.done = turns.run('look', { source, host }, async () => {
    state.begun = true;
    await isOver;
  });
  return state;
}

describe('turns', () => {
  it('are so many, and so many for each sharer, in the order of asking', async () => {
    const turns = new Turns({ most: 3, each: 2 });
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const take = async (sharer: string, name: string): Promise<void> => {
      const end = await turns.take(sharer);
      begun.push(name);
      ends.set(name, end);
    };
    const all = [take('a', 'a1'), take('a', 'a2'), take('a', 'a3'), take('b', 'b1'), take('c', 'c1')];
    await eventually('three have begun', () => begun.length === 3);
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    ends.get('a1')?.();
    // Ending twice frees nothing twice.
    ends.get('a1')?.();
    await eventually('another one has begun', () => begun.length === 4);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
    ends.get('b1')?.();
    await Promise.all(all);
    expect(begun.at(-1)).toBe('c1');
  });

  it('are not waited for any more once the signal aborts', async () => {
    const turns = new Turns({ most: 1, each: 1 });
    const end = await turns.take('a');
    const left = new AbortController();
    const waiting = turns.take('b', left.signal);
    left.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    await expect(turns.take('b', left.signal)).rejects.toThrow('left');
    end();
    // The one who left has not been given the turn.
    expect(turns.takeNow('c')).toBeDefined();
  });
});

describe('turns of commands that talk to servers', () => {
  const lanes = { quick: { most: 4, each: 2 }, slow: { most: 2, each: 1 } };
  const limits = { look: lanes, fetch: lanes };

  it('are held by those who hang for a moment, and not at all the next time', async () => {
    const slowMs = 200;
    const turns = new RemoteTurns(limits, slowMs);
    const hanging = ['1', '2', '3', '4'].map((name) => work(turns, `hangs ${name}`, name));
    await eventually('they have begun', () => hanging.every(({ begun }) => begun));
    const since = performance.now();
    const good = work(turns, 'good', 'good');
    // The slow lane has two turns: two of them go there.
    await eventually('the good one has begun', () => good.begun);
    // The last of them may have begun a moment after the first two.
    await eventually('each of them has been slow', () => performance.now() - since > slowMs);
    good.end();
    for (const { end } of hanging) end();
    await Promise.all([good.done, ...hanging.map(({ done }) => done)]);

    const again = ['1', '2', '3', '4'].map((name) => work(turns, `hangs ${name}`, name));
    const others = ['a', 'b', 'c', 'd'].map((name) => work(turns, name, name));
    await eventually('all the others have begun', () => others.every(({ begun }) => begun));
    expect(again.filter(({ begun }) => begun)).toHaveLength(2);
    for (const { end } of [...again, ...others]) end();
    await Promise.all([...again, ...others].map(({ done }) => done));
    // What is quick again has its place among the quick ones.
    await Promise.all(
      ['1', '2', '3', '4'].map(async (name) => {
        const quick = work(turns, `hangs ${name}`, name);
        quick.end();
        await quick.done;
      }),
    );
    const quick = ['1', '2', '3', '4'].map((name) => work(turns, `hangs ${name}`, name));
    await eventually('all have begun', () => quick.every(({ begun }) => begun));
    for (const { end } of quick) end();
  });

  it('of one server are not all there are', async () => {
    const turns = new RemoteTurns(limits, 60_000);
    const crowd = ['1', '2', '3'].map((name) => work(turns, name, 'crowd'));
    const other = work(turns, 'other', 'other');
    await eventually('the other server is asked', () => other.begun);
    expect(crowd.map(({ begun }) => begun)).toEqual([true, true, false]);
    for (const { end } of [...crowd, other]) end();
    await Promise.all(crowd.map(({ done }) => done));
  });

  it('are free after a failure, and after one that ends while it waits for another turn', async () => {
    const turns = new RemoteTurns(limits, 20);
    for (let round = 0; round < 5; round += 1) {
      const several = ['1', '2', '3', '4'].map((name) => work(turns, `${String(round)} ${name}`, name));
      await eventually('all have begun', () => several.every(({ begun }) => begun));
      await new Promise((resolve) => {
        setTimeout(resolve, 20 + round);
      });
      for (const { end } of several) end();
      await Promise.all(several.map(({ done }) => done));
      const failing = turns.run('look', { source: 'x', host: 'x' }, async () => {
        throw new Error('as it does');
      });
      await expect(failing).rejects.toThrow('as it does');
    }
  });
});
