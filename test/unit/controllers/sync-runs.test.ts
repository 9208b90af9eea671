/** What a leader does about the sync of a repository, by what Temporal says of it. */

import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';

import { SyncRuns } from '../../../controllers/sync-runs.ts';
import { trusted } from '../../../kubernetes/values.ts';

const [OLD, NEW] = ['a', 'b'].map((digit) => digit.repeat(40)) as [string, string];

let status: string;
/** What the sync was told, and asked. */
let calls: string[];

/** `wanted` is the commit that it says it knows. */
function syncRuns(wanted = NEW): SyncRuns {
  const handle = {
    describe: async () => await Promise.resolve({ status: { name: status }, runId: 'r', historyLength: 7 }),
    query: async () => {
      calls.push('query');
      return await Promise.resolve({ clusterUid: 'uid', wanted, waiting: [] });
    },
    signal: async ({ name }: { readonly name: string }) => await Promise.resolve(calls.push(name)),
    cancel: async () => await Promise.resolve(calls.push('cancel')),
  };
  const workflow = { getHandle: () => handle, list: async function* () {} };
  return new SyncRuns({
    temporal: trusted<Client>({ workflow }),
    cluster: 'c',
    clusterUid: 'uid',
    searchAttributes: async () => await Promise.resolve([]),
  });
}

beforeEach(() => {
  calls = [];
});

describe('the sync of a repository that is followed no more', () => {
  it.each(['RUNNING', 'PAUSED'])('is told, and cancelled: one that is %s', async (name) => {
    status = name;
    expect(await syncRuns().unfollow('shop', 'gone')).toBe(true);
    expect(calls).toEqual(['query', 'unfollowed', 'cancel']);
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
