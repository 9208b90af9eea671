/** What a query that nobody answers says of Temporal, and of the workers. */

import { describe, expect, it } from '@jest/globals';
import { ServiceError } from '@temporalio/client';

import type { Session } from '../../../cli/session.ts';
import { syncCalls } from '../../../cli/temporal-sync.ts';
import type { OpenTemporal } from '../../../cli/temporal.ts';
import { trusted } from '../../../kubernetes/values.ts';

const [DEADLINE_EXCEEDED, PERMISSION_DENIED, FAILED_PRECONDITION, UNAVAILABLE] = [4, 7, 9, 14];

const failure = (code: number): ServiceError =>
  new ServiceError('Failed to query Workflow', {
    cause: Object.assign(new Error(`code ${code}`), { code, details: '', metadata: {} }),
  });

/** Asks for the status of a sync whose queries fail so, and whose descriptions, if at all, so. */
async function ask(query: number, describing?: number): Promise<unknown> {
  const handle = {
    query: async () => await Promise.reject(failure(query)),
    describe: async () => await (describing === undefined ? {} : Promise.reject(failure(describing))),
  };
  const temporal = trusted<OpenTemporal>({
    client: { workflow: { getHandle: () => handle } },
    call: async <T>(work: () => Promise<T>) => await work(),
  });
  const { status } = await syncCalls(temporal, trusted<Session>({ cluster: 'c' }), 'shop');
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
