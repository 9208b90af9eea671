/** What a leader does about the sync of a repository, by what Temporal says of it. */

import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { QueryRejectedError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';

import { SyncRuns } from '../../../controllers/sync-runs.ts';
import { trusted } from '../../../kubernetes/values.ts';

const [OLD, NEW] = ['a', 'b'].map((digit) => digit.repeat(40)) as [string, string];

/** Temporal's, as of version 1.30. */
const PAUSED = 8;

let status: string;
let isCancelled: boolean;
/** What the sync was told, and asked. */
let calls: string[];

/** `wanted` is the commit that it says it knows; `startedIn` the cluster of its start. */
function syncRuns(wanted = NEW, startedIn = 'uid'): SyncRuns {
  const handle = {
    describe: async () =>
      await Promise.resolve({
        status: { name: status },
        runId: 'r',
        historyLength: 7,
        raw: { workflowExtendedInfo: { cancelRequested: isCancelled } },
      }),
    query: async () => {
      calls.push('query');
      return await (status === 'PAUSED'
        ? Promise.reject(new QueryRejectedError(trusted(PAUSED)))
        : Promise.resolve({ clusterUid: 'uid', wanted, waiting: [] }));
    },
    signal: async ({ name }: { readonly name: string }) => await Promise.resolve(calls.push(name)),
    cancel: async () => await Promise.resolve(calls.push('cancel')),
  };
  const workflow = { getHandle: () => handle, list: async function* () {} };
  const input = { payloads: [defaultPayloadConverter.toPayload({ clusterUid: startedIn })] };
  const events = [{ workflowExecutionStartedEventAttributes: { input } }];
  const workflowService = {
    getWorkflowExecutionHistory: async () => await Promise.resolve({ history: { events } }),
  };
  return new SyncRuns({
    temporal: trusted<Client>({ workflow, workflowService, options: { namespace: 'team' } }),
    cluster: 'c',
    clusterUid: 'uid',
    searchAttributes: async () => await Promise.resolve([]),
  });
}

beforeEach(() => {
  isCancelled = false;
  calls = [];
});

describe('the sync of a repository that is followed no more', () => {
  it.each(['RUNNING', 'PAUSED'])('is told, and cancelled: one that is %s', async (name) => {
    status = name;
    expect(await syncRuns().unfollow('shop', 'gone')).toBe(true);
    expect(calls).toEqual(['unfollowed', 'cancel']);
  });

  it('is told once: a paused one hears of it when it goes on', async () => {
    [status, isCancelled] = ['PAUSED', true];
    expect(await syncRuns().unfollow('shop', 'gone')).toBe(true);
    expect(calls).toEqual([]);
  });

  it('is left alone where it is of another cluster', async () => {
    status = 'PAUSED';
    expect(await syncRuns(NEW, 'another').unfollow('shop', 'gone')).toBe(false);
    expect(calls).toEqual([]);
  });

  it('is none where it has ended', async () => {
    status = 'TERMINATED';
    expect(await syncRuns().unfollow('shop', 'gone')).toBe(false);
    expect(calls).toEqual([]);
  });
});

describe('whether a sync knows its commit', () => {
  it.each([
    ['RUNNING', NEW, true],
    ['RUNNING', OLD, false],
    // It takes up what it was told when it is unpaused: its history does not grow until then.
    ['PAUSED', OLD, true],
    ['TERMINATED', NEW, false],
  ])('one that is %s, with %s: %s', async (name, wanted, expected) => {
    status = name;
    expect(await syncRuns(wanted).knows('shop', { sha: NEW, notify: [] })).toBe(expected);
  });
});

it('a paused sync has forgotten nothing: it is asked when it goes on', async () => {
  status = 'PAUSED';
  const isRecorded = async () => await Promise.resolve(false);
  expect(await syncRuns().isForgotten('shop', { sha: NEW }, isRecorded)).toBe(false);
  expect(calls).toEqual(['query']);
});
