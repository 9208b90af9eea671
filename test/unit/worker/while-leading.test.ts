/** What is told of a leadership, wherever its work ends. */

import { expect, it } from '@jest/globals';

import { Metrics } from '../../../worker/metrics.ts';
import { whileLeading } from '../../../worker/while-leading.ts';

const ENDED = 'this replica does not lead any more';

it('who loses the Lease before its caches are filled does not count as a leader', async () => {
  const metrics = new Metrics();
  const gauge = async () => (await metrics.leader.get()).values[0]?.value;
  const said: string[] = [];
  const lost = new AbortController();
  let fail = (_error: Error): void => undefined;
  const filling = new Promise<void>((_resolve, reject) => {
    fail = reject;
  });
  const log = { info: (text: string) => void said.push(text) };
  const leading = whileLeading({ metrics, log, signal: lost.signal }, async () => await filling);
  expect(await gauge()).toBe(1);

  lost.abort();
  expect(await gauge()).toBe(0);
  expect(said).not.toContain(ENDED);

  fail(new Error('aborted'));
  await expect(leading).rejects.toThrow('aborted');
  expect(said).toEqual(['this replica leads', ENDED]);
});

it('nor does one whose work has ended by itself', async () => {
  const metrics = new Metrics();
  const { signal } = new AbortController();
  await whileLeading(
    { metrics, log: { info: () => undefined }, signal },
    async () => await Promise.resolve(),
  );
  expect((await metrics.leader.get()).values[0]?.value).toBe(0);
});
