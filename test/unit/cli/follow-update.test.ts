/** How `rolling-update` ends its wait. */

import { expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';

import { followUpdate } from '../../../cli/follow-update.ts';
import type { Session } from '../../../cli/session.ts';
import type { OpenTemporal } from '../../../cli/temporal.ts';
import type { ResourcePath } from '../../../kubernetes/client.ts';
import { responseError, transportError } from '../../../kubernetes/response-errors.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { STATE, begin, foo, run, stepOf } from '../../support/simulated-update.ts';

/**
 * An update that stands still where it is, with a run that is open; a second goes by with each look at the clock. Ctrl-C ends the list
 * of that number; the apiserver is away for those of the numbers `away`.
 */
async function follow(
  world: ReturnType<typeof foo>,
  next: string,
  {
    ctrlC = Infinity,
    timeout = 10_000,
    meanwhile = (_list: number): void => undefined,
    away = (_list: number): boolean => false,
    run: look = async (): Promise<unknown> => await Promise.resolve(undefined),
  } = {},
) {
  const items = (): Readonly<Record<string, readonly unknown[]>> => ({
    replicationcontrollers: world.controllers,
    controllerrevisions: world.revisions,
    pods: world.pods,
  });
  const [said, shown]: [string[], string[]] = [[], []];
  let now = 0;
  let lists = 0;
  const interrupt = new AbortController();
  const session = trusted<Session>({
    client: {
      list: async ({ resource }: ResourcePath) => {
        lists += 1;
        meanwhile(lists);
        if (lists === ctrlC) interrupt.abort();
        interrupt.signal.throwIfAborted();
        if (away(lists))
          throw transportError({ method: 'GET', path: '/', server: '' }, 'Network', 'ECONNRESET');
        return await Promise.resolve({ items: items()[resource] });
      },
      // Whoever may not see the Lease is told nothing of workers.
      get: async (path: ResourcePath) => {
        const status = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' });
        return await Promise.reject(
          responseError({ method: 'GET', path, server: '' }, 403, status, undefined),
        );
      },
    },
    namespace: 'default',
    options: { output: 'table', timeout },
    io: {
      now: () => (now += 1_000),
      interrupted: interrupt.signal,
      out: (text: string) => shown.push(text),
      err: (text: string) => said.push(text),
    },
  });
  const temporal = trusted<OpenTemporal>({ address: 'temporal:7233', call: look });
  const code = await followUpdate(session, temporal, {
    reference: { namespace: 'default', name: 'foo' },
    shownNext: next,
    record: undefined,
    workflowId: 'w',
    isRollback: false,
    pollIntervalMs: 1,
  });
  return { code, said: said.join(''), shown: shown.join(''), ended: now };
}

it('without progress: the error says what it waits for', async () => {
  const world = foo();
  const next = begin(world);
  for (let step = stepOf(world); step.do === 'write'; step = stepOf(world)) world.apply(step.write);
  expect(await follow(world, next)).toMatchObject({
    code: 3,
    said: expect.stringContaining(
      'error: no progress for 10s: the controller of the cluster has not seen the new template of foo yet\n',
    ),
  });
});

it('without progress, and nothing to wait for: the error says which step is not done', async () => {
  const world = foo();
  const next = begin(world);
  const step = stepOf(world);
  const message = step.do === 'write' ? step.write.message : '';
  expect(message).toContain(next);
  expect(await follow(world, next)).toMatchObject({
    code: 3,
    said: expect.stringContaining(`error: no progress for 10s: its next step is not done: ${message}\n`),
  });
});

it('the limit does not run while the update period does, which it says', async () => {
  const world = foo();
  const next = begin(world, undefined, { ...STATE, updatePeriodMs: 60_000 });
  run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
  const { code, said, shown, ended } = await follow(world, next);

  expect(shown).toContain('(waits for --update-period (60s after each growth))');
  expect({ code, said }).toEqual({
    code: 3,
    said: expect.stringContaining('no progress for 10s: its next step is not done: scale foo from 3 to 2'),
  });
  expect(ended).toBeGreaterThanOrEqual(70_000);
});

const HELD = '(waits for --update-period (60s after each growth))';

it('nor while it does after the first growth, before which no next controller was seen', async () => {
  const world = foo();
  const next = begin(world, undefined, { ...STATE, updatePeriodMs: 60_000 });
  // The first request of the second look.
  const grow = (list: number) => {
    if (list === 4) run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
  };
  const { code, shown, ended } = await follow(world, next, { timeout: 30_000, meanwhile: grow });

  expect(shown).toBe(
    `beginning: foo 3 (3 available); 3 wanted\nrolling: foo 3 (3 available), ${next} 1 (1 available); 3 wanted ${HELD}\n` +
      `rolling: foo 3 (3 available), ${next} 1 (1 available); 3 wanted\n`,
  );
  expect(code).toBe(3);
  expect(ended).toBeGreaterThanOrEqual(90_000);
});

it('nor where it attaches while the pods of a growth are awaited', async () => {
  const world = foo();
  const next = begin(world, undefined, { ...STATE, updatePeriodMs: 60_000 });
  run(world, { until: ({ purpose }) => purpose === 'ScaleUp' });
  const step = stepOf(world);
  if (step.do === 'write') world.apply(step.write);
  const settle = (list: number) => {
    if (list === 4) world.settle();
  };
  const { shown, ended } = await follow(world, next, { meanwhile: settle });

  expect(shown).toContain(`${next} 1 (1 available); 3 wanted ${HELD}\n`);
  expect(ended).toBeGreaterThanOrEqual(60_000);
});

it.each([1, 5])(
  'Ctrl-C in the middle of request %i: the update goes on, and how to attach to it is said',
  async (ctrlC) => {
    const world = foo();
    const next = begin(world);
    expect(await follow(world, next, { ctrlC })).toMatchObject({
      code: 130,
      said: expect.stringContaining('note: the update goes on; the same command attaches to it again'),
    });
  },
);

it('its run is missing in Temporal, which answers: that is said, and ends the wait also without a limit', async () => {
  const world = foo();
  const next = begin(world);
  const gone = () =>
    Promise.reject(new WorkflowNotFoundError('workflow not found for ID: w', 'w', undefined));
  const { code, said } = await follow(world, next, { timeout: 0, run: gone });

  const missing = 'its run is missing in Temporal at temporal:7233';
  expect(said).toContain(`note: ${missing}: a worker that leads starts another from the record\n`);
  expect(said).not.toContain('does not answer');
  expect(said).toContain(`failed: ${missing}, and no worker has started another\n`);
  expect(said).toContain('`fairlead rollout retry rc/foo -n default` starts it again');
  expect(code).toBe(1);
});

it('a run that is missing for a moment: it goes on', async () => {
  const world = foo();
  const next = begin(world);
  let looks = 0;
  const lost = new WorkflowNotFoundError('workflow not found for ID: w', 'w', undefined);
  const look = async () => {
    looks += 1;
    if (looks === 2) throw lost;
    return await Promise.resolve(looks < 4 ? undefined : { outcome: 'Succeeded', message: '' });
  };
  const { code, said } = await follow(world, next, { timeout: 0, run: look });
  expect(said).toMatch(/its run is missing .*\nnote: it has a run again\n/);
  expect(code).toBe(0);
});

it('outlives an apiserver that is away for a moment, and says so once', async () => {
  const world = foo();
  const next = begin(world);
  let looks = 0;
  const look = async () => {
    looks += 1;
    return await Promise.resolve(looks < 4 ? undefined : { outcome: 'Succeeded', message: '' });
  };
  const { code, said } = await follow(world, next, {
    timeout: 0,
    run: look,
    away: (list) => list > 3 && list < 7,
  });
  expect(said).toMatch(
    /^note: the cluster cannot be looked at now: .*ECONNRESET\nnote: the cluster can be looked at again\n$/,
  );
  expect(code).toBe(0);
});

it('an apiserver that stays away: only the limit ends the wait, and the error says why', async () => {
  const world = foo();
  const next = begin(world);
  expect(await follow(world, next, { away: (list) => list > 3 })).toMatchObject({
    code: 3,
    said: expect.stringMatching(
      /error: no progress for 10s: the cluster cannot be looked at now: .*ECONNRESET\n {2}the same command attaches/,
    ),
  });
});

it('an apiserver that stays away when the run has ended: the limit ends the wait all the same', async () => {
  const world = foo();
  const next = begin(world);
  let looks = 0;
  const look = async () => {
    looks += 1;
    return await Promise.resolve(looks < 2 ? undefined : { outcome: 'Succeeded', message: '' });
  };
  const { code, said } = await follow(world, next, { away: (list) => list > 6, run: look });
  expect(said).toContain('error: no progress for 10s: the cluster cannot be looked at now: ');
  expect(code).toBe(3);
});

it('an apiserver that has not answered at all ends it', async () => {
  const world = foo();
  await expect(follow(world, begin(world), { away: () => true })).rejects.toThrow('ECONNRESET');
});
