/** What a query that nobody answers says of Temporal, and of the workers. */

import { describe, expect, it } from '@jest/globals';
import { QueryRejectedError, ServiceError } from '@temporalio/client';

import type { Session } from '../../../cli/session.ts';
import { syncCalls } from '../../../cli/temporal-sync.ts';
import type { OpenTemporal } from '../../../cli/temporal.ts';
import { EXIT } from '../../../cli/exit-codes.ts';
import { trusted } from '../../../kubernetes/values.ts';

const [DEADLINE_EXCEEDED, PERMISSION_DENIED, FAILED_PRECONDITION, UNAVAILABLE] = [4, 7, 9, 14];

/** Temporal's, as of version 1.30. */
const PAUSED = 8;

const failure = (code: number): ServiceError =>
  new ServiceError('Failed to query Workflow', {
    cause: Object.assign(new Error(`code ${code}`), { code, details: '', metadata: {} }),
  });

const FAILED = { workflowTaskFailedEventAttributes: {} };
const TIMED_OUT = { workflowTaskTimedOutEventAttributes: {} };
/** Newest first, with what came after the first failure. */
const FAILING = [{ workflowExecutionSignaledEventAttributes: {} }, FAILED, TIMED_OUT];
const TIMING_OUT = [TIMED_OUT, FAILED];

interface Task {
  readonly describing?: number;
  readonly tries?: number;
  readonly events?: readonly object[];
  /** The run is paused in Temporal. */
  readonly isPaused?: boolean;
  /** Answers, after it has failed so often. */
  readonly answersAfter?: number;
}

/** The calls to a sync whose queries and updates fail so, and whose descriptions, if at all, so; its workflow task is tried so often. */
async function calls(
  code: number,
  {
    describing,
    tries = 1,
    events = FAILING,
    isPaused = false,
    answersAfter = Number.POSITIVE_INFINITY,
  }: Task = {},
) {
  const description = {
    workflowId: 'sync/c/shop',
    runId: 'r',
    raw: {
      pendingWorkflowTask: { attempt: tries },
      ...(isPaused && { workflowExecutionInfo: { status: PAUSED } }),
    },
  };
  let asked = 0;
  const fails = async () =>
    await ((asked += 1) > answersAfter ? Promise.resolve({ sha: 'a' }) : Promise.reject(failure(code)));
  const handle = {
    query: isPaused ? async () => await Promise.reject(new QueryRejectedError(trusted(PAUSED))) : fails,
    executeUpdate: fails,
    describe: async () =>
      await (describing === undefined ? description : Promise.reject(failure(describing))),
  };
  const client = {
    workflow: { getHandle: () => handle },
    workflowService: { getWorkflowExecutionHistoryReverse: async () => ({ history: { events } }) },
    options: { namespace: 'team' },
  };
  const temporal = trusted<OpenTemporal>({
    client,
    namespace: 'team',
    call: async <T>(work: () => Promise<T>) => await work(),
    until: async <T>(_: AbortSignal, work: (given: unknown) => Promise<T>) => await work(client),
  });
  return await syncCalls(temporal, trusted<Session>({ cluster: 'c' }), 'shop');
}

/** Asks for the status of a sync whose queries fail so, and whose descriptions, if at all, so. */
async function ask(query: number, describing?: number): Promise<unknown> {
  const { status } = await calls(query, describing === undefined ? {} : { describing });
  return await status();
}

describe('a query that nobody answers', () => {
  it.each([FAILED_PRECONDITION, DEADLINE_EXCEEDED])(
    'is the want of a worker while Temporal answers: %i',
    async (code) => {
      expect(await ask(code)).toBeUndefined();
    },
  );

  it.each([
    [DEADLINE_EXCEEDED, UNAVAILABLE, UNAVAILABLE],
    [UNAVAILABLE, undefined, UNAVAILABLE],
    [PERMISSION_DENIED, undefined, PERMISSION_DENIED],
  ])('is not, with %i, where Temporal says %s itself', async (query, describing, code) => {
    await expect(ask(query, describing)).rejects.toMatchObject({ cause: { code } });
  });
});

describe('a sync whose workflow task fails again and again', () => {
  const told = {
    name: 'CliError',
    exitCode: EXIT.failed,
    message: expect.stringContaining(
      '`temporal workflow terminate --namespace team --workflow-id sync/c/shop`, then `fairlead sync shop`',
    ) as unknown,
  };
  const { signal } = new AbortController();

  it('is told as such, and as no absence of Temporal', async () => {
    const { sync, status } = await calls(FAILED_PRECONDITION, { tries: 3 });
    await expect(sync(() => ({}), signal)).rejects.toMatchObject(told);
    await expect(status()).rejects.toMatchObject(told);
  });

  it.each([
    [DEADLINE_EXCEEDED, 2],
    [PERMISSION_DENIED, 3],
  ])('is not, with %i and %i tries, what an update failed for', async (code, tries) => {
    const { sync } = await calls(code, { tries });
    await expect(sync(() => ({}), signal)).rejects.toMatchObject({ cause: { code } });
  });
});

describe('a sync whose workflow task times out again and again, of a slow worker', () => {
  const SLOW: unknown = expect.stringContaining(
    'sync/c/shop does not get on: its workflow task has timed out',
  );
  it.each([
    [FAILED_PRECONDITION, 3, SLOW],
    [DEADLINE_EXCEEDED, 3, SLOW],
    // It has got on meanwhile.
    [FAILED_PRECONDITION, 1, undefined],
    [UNAVAILABLE, 1, undefined],
  ])(
    'is asked again, with %i after %i tries, and told as slow, never as what is to be terminated',
    async (code, tries, said) => {
      const { sync, slow } = await calls(code, { tries, events: TIMING_OUT, answersAfter: 2 });
      let made = 0;
      const found = sync(() => ({ wayMs: (made += 1) }), new AbortController().signal);
      await expect(found).resolves.toEqual({ sha: 'a' });
      expect(made).toBe(3);
      expect(slow()).toEqual(said);
    },
  );

  it('has a status when it answers again', async () => {
    const { status, slow } = await calls(FAILED_PRECONDITION, {
      tries: 4,
      events: TIMING_OUT,
      answersAfter: 1,
    });
    expect(await status()).toBeUndefined();
    expect(slow()).toContain('too slow for its history');
    expect(await status()).toEqual({ sha: 'a' });
    expect(slow()).toBeUndefined();
  });
});

it('a sync that is paused in Temporal is told as such at once, with what lets it go on', async () => {
  const told = {
    name: 'CliError',
    message:
      'the run sync/c/shop does not go on: it was paused in Temporal\n' +
      '  `temporal workflow unpause --namespace team --workflow-id sync/c/shop`, then `fairlead sync shop`',
  };
  const { sync, status } = await calls(FAILED_PRECONDITION, { isPaused: true });
  await expect(sync(() => ({}), AbortSignal.timeout(2_000))).rejects.toMatchObject(told);
  await expect(status()).rejects.toMatchObject(told);
});
