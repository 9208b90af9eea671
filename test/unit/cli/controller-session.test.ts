/** What becomes of a wish that is written where its run cannot be told. */

import { expect, it } from '@jest/globals';
import { ServiceError, WorkflowNotFoundError } from '@temporalio/client';

import { tellUpdate } from '../../../cli/controller-session.ts';
import type { OpenTemporal } from '../../../cli/temporal.ts';
import { trusted } from '../../../kubernetes/values.ts';

async function tell(signal: () => Promise<void>) {
  const client = { workflow: { getHandle: () => ({ signal }) } };
  const call = async (work: () => Promise<unknown>) => await work();
  const temporal = trusted<OpenTemporal>({ client, address: 'temporal:7233', call });
  return await tellUpdate(temporal, 'w', 'abort', { by: 'ann' });
}

it('a Temporal that stumbles does not take it back', async () => {
  const cause = new Error('14 UNAVAILABLE: restarting');
  const stumbles = () => Promise.reject(new ServiceError('Failed to signal Workflow', { cause }));
  expect(await tell(stumbles)).toEqual({
    outcome: 'unreachable',
    address: 'temporal:7233',
    message: 'Temporal at temporal:7233 does not answer: 14 UNAVAILABLE: restarting',
  });
});

it('a run that has ended has seen it for itself; one that is open has heard', async () => {
  const over = () =>
    Promise.reject(new WorkflowNotFoundError('workflow not found for ID: w', 'w', undefined));
  expect(await tell(over)).toEqual({ outcome: 'noRun' });
  expect(await tell(() => Promise.resolve())).toEqual({ outcome: 'signalled', workflowId: 'w' });
});

it('anything else is no trouble of Temporal', async () => {
  await expect(tell(() => Promise.reject(new Error('no such verb')))).rejects.toThrow('no such verb');
});
