/** What is learnt of the run of a rolling update. */

import { beforeEach, expect, it } from '@jest/globals';

import { readRollingUpdateRun, whyRunEnded } from '../../../controllers/rolling-update-runs.ts';
import { rollingUpdateWorkflowId } from '../../../workflows/rolling-update-messages.ts';
import type { SmallRun } from '../../support/small-temporal.ts';
import { SmallTemporal } from '../../support/small-temporal.ts';

const UPDATE = { namespace: 'shop', name: 'foo' };

let temporal: SmallTemporal;
let opened: SmallRun;

beforeEach(async () => {
  temporal = new SmallTemporal();
  opened = await temporal.open(rollingUpdateWorkflowId('c', UPDATE), {});
});

const read = async () => await readRollingUpdateRun(temporal.client, 'c', UPDATE);

it('one that is paused in Temporal is open: it goes on when somebody unpauses it', async () => {
  temporal.pause(opened);
  expect(await read()).toMatchObject({ state: 'running', status: 'PAUSED' });
});

it('why one ended is known by its last execution: its first one may be forgotten by then', async () => {
  opened.firstRunId = 'long-gone';
  temporal.terminate(opened);
  const run = await read();
  expect(run).toMatchObject({ state: 'closed', status: 'TERMINATED', runId: 'long-gone' });
  expect(await whyRunEnded(temporal.client, run)).toBe('clicked');
});

it('why one ended that Temporal has forgotten meanwhile is not known, and no error', async () => {
  temporal.terminate(opened);
  const run = await read();
  temporal.runs.length = 0;
  expect(await whyRunEnded(temporal.client, run)).toBeUndefined();
});
