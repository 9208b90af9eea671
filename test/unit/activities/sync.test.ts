/** How often a receiver is told that may have taken the news already: each further try may be a double; and how earlier commits are stopped. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';

import { createSyncActivities } from '../../../activities/sync.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { eventually } from '../../support/eventually.ts';
import { ReceivingServer } from '../../support/receiving-server.ts';

type Dependencies = Parameters<typeof createSyncActivities>[0];

let folder: string;
let server: ReceivingServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-told-'));
  await writeFile(join(folder, 'secret'), 'secret');
  server = await ReceivingServer.start();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The activity, and the environment that it runs in. */
function telling(attempt: number, missed?: number) {
  const notify = [
    { id: 'webhook', type: 'webhook', url: server.url(), secretFile: join(folder, 'secret') } as const,
  ];
  const shop = { ...repositoryFromFlags({ repo: folder, name: 'shop', namespace: 'default' }), notify };
  const known = { clusterUid: 'uid', cluster: 'blue', repository: () => shop };
  // Neither cluster nor Temporal is asked for anything.
  const { notifyReceiver } = createSyncActivities(trusted<Dependencies>(known));
  const news = { sha: 'a'.repeat(40), outcome: 'Succeeded', delivery: 'd-1' } as const;
  const environment = new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') });
  const run = environment.run(notifyReceiver, {
    clusterUid: 'uid',
    repository: 'shop',
    receiver: 'webhook',
    news: { ...news, ...(missed !== undefined && { missed }) },
  });
  return { environment, run };
}

async function failureAt(attempt: number, missed?: number): Promise<ApplicationFailure> {
  const { run } = telling(attempt, missed);
  const error: unknown = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw new Error(`no failure of an activity: ${String(error)}`);
  return error;
}

it('a post without an answer is made again after pauses that grow', async () => {
  server.answers[0] = 'reset';
  const failures = [await failureAt(1), await failureAt(2), await failureAt(3), await failureAt(9)];
  expect(failures.map(({ nextRetryDelay }) => nextRetryDelay)).toEqual([5_000, 20_000, 30_000, 30_000]);
  expect(failures.map(({ nonRetryable }) => nonRetryable)).toEqual([false, false, false, false]);
});

it('is made once behind news that were given up: what comes after them does not wait for ever', async () => {
  server.answers[0] = 'reset';
  expect(await failureAt(1, 1)).toMatchObject({ nonRetryable: true, type: 'NewsUnansweredError' });
});

it('one that was answered is made again soon', async () => {
  server.answers[0] = 503;
  expect(await failureAt(1, 1)).toMatchObject({ nonRetryable: false, nextRetryDelay: undefined });
});

it.each([
  [429, '20', 20_000],
  [503, '20', 20_000],
  [503, '0', 500],
  [429, '86400', 60_000],
  [429, 'Wed, 21 Oct 2015 07:28:00 GMT', 500],
  [429, 'soon', undefined],
  // Only these two say so.
  [500, '20', undefined],
])('one that is put off (%d, Retry-After: %s) is made again after %p ms', async (status, after, delay) => {
  server.answers[0] = status;
  server.retryAfter = after;
  try {
    expect(await failureAt(1)).toMatchObject({ nonRetryable: false, nextRetryDelay: delay });
  } finally {
    server.retryAfter = undefined;
  }
});

describe('a post that is under way', () => {
  beforeEach(() => {
    server.answers[0] = 200;
    server.received.length = 0;
    server.answerAfterMs = 300;
  });
  afterEach(() => {
    server.answerAfterMs = 0;
  });

  it('when its worker is stopped ends: it would be made again', async () => {
    const { environment, run } = telling(1);
    await eventually('it is made', () => server.received.length === 1);
    environment.cancel('WORKER_SHUTDOWN');
    await expect(run).resolves.toBeUndefined();
  });

  it('but is not waited for when nobody wants it any more', async () => {
    const { environment, run } = telling(1);
    await eventually('it is made', () => server.received.length === 1);
    environment.cancel('CANCELLED');
    await expect(run).rejects.toThrow('given up');
  });
});

it('a commit that is known to run is stopped also while visibility does not tell of it yet', async () => {
  const asked: string[] = [];
  const workflow = {
    list: async function* () {},
    getHandle: (id: string) => ({
      cancel: async () => await Promise.resolve(void asked.push(`cancel ${id}`)),
      result: async () => await Promise.resolve(void asked.push(`await ${id}`)),
    }),
  };
  const known = { clusterUid: 'uid', cluster: 'blue', temporal: { workflow } };
  const { stopStrayCommits } = createSyncActivities(trusted<Dependencies>(known));
  const input = { clusterUid: 'uid', cluster: 'blue', repository: 'shop', sha: 'a1' };
  const stopped = await new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(
    stopStrayCommits,
    input,
  );

  expect(asked).toEqual(['cancel commit/blue/shop/a1', 'await commit/blue/shop/a1']);
  expect(stopped).toEqual(['commit/blue/shop/a1']);
});
