/** A collection that was listed once and can no longer be watched: what is held of it is no longer what there is. */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { DriftCollections } from '../../../controllers/drift-collections.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient, ListOptions, WatchEvent, WatchOptions } from '../../../kubernetes/client.ts';

const PATH = { group: '', version: 'v1', resource: 'configmaps', namespace: 'ns', name: 'one' };
const OBJECT = {
  path: PATH,
  manifest: { group: '', kind: 'ConfigMap', name: 'one' },
} as unknown as PreparedObject;
const LIVE = { metadata: { name: 'one', namespace: 'ns', uid: 'u', resourceVersion: '5' } };

let refusal: { readonly status: number; readonly reason: string } | undefined;
let collections: DriftCollections;
let progress: number;
let gone: number;
/** The event after a minute. */
let last: WatchEvent<object>;

const BOOKMARK: WatchEvent<object> = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '5' } } };

/** Its watches stand for two minutes, with a bookmark at the beginning and an event after a minute. */
function clientOf(): KubernetesClient {
  const check = () => {
    if (refusal === undefined) return;
    throw new ApiError({ method: 'GET', path: PATH, server: '' }, { ...refusal, text: 'no' });
  };
  const client = {
    list: async (_: unknown, { transform }: ListOptions) => {
      check();
      return await Promise.resolve({ items: [transform?.(LIVE)], resourceVersion: '5' });
    },
    async *watch(_: unknown, { onContact }: WatchOptions) {
      for (let minute = 0; minute < 2; minute += 1) {
        check();
        onContact?.();
        yield minute === 0 ? BOOKMARK : last;
        await new Promise((resolve) => {
          setTimeout(resolve, 60_000);
        });
      }
    },
  };
  return client as unknown as KubernetesClient;
}

beforeEach(() => {
  jest.useFakeTimers();
  refusal = undefined;
  progress = 0;
  gone = 0;
  last = BOOKMARK;
  collections = new DriftCollections({
    client: clientOf(),
    applySetId: 'set',
    onChange: () => undefined,
    onProgress: () => void (progress += 1),
    onGone: () => void (gone += 1),
  });
  collections.follow([OBJECT]);
});

afterEach(() => {
  collections.stop();
  jest.useRealTimers();
});

it('is told, and answers nothing, until it can be watched again', async () => {
  await jest.advanceTimersByTimeAsync(10_000);
  expect(collections.find(OBJECT)).toMatchObject(LIVE);
  expect(collections.unwatched).toEqual([]);

  refusal = { status: 403, reason: 'Forbidden' };
  await jest.advanceTimersByTimeAsync(300_000);
  expect(collections.find(OBJECT)).toBeUndefined();
  expect(collections.unwatched).toEqual([expect.stringMatching(/^ConfigMap: .*no$/)]);

  refusal = undefined;
  const before = progress;
  await jest.advanceTimersByTimeAsync(60_000);
  expect(collections.find(OBJECT)).toMatchObject(LIVE);
  expect(collections.unwatched).toEqual([]);
  expect(progress).toBeGreaterThan(before);
});

it('one failed watch is nothing to tell', async () => {
  await jest.advanceTimersByTimeAsync(125_000);
  refusal = { status: 403, reason: 'Forbidden' };
  await jest.advanceTimersByTimeAsync(30_000);
  expect(collections.find(OBJECT)).toMatchObject(LIVE);
  expect(collections.unwatched).toEqual([]);
});

describe('where the kind is served no more, it is looked for where it is now, and', () => {
  const serveNoMore = async () => {
    await jest.advanceTimersByTimeAsync(70_000);
    expect(gone).toBe(0);
    refusal = { status: 404, reason: 'NotFound' };
    await jest.advanceTimersByTimeAsync(300_000);
    expect(gone).toBeGreaterThan(1);
  };

  it('its objects are gone where all were deleted with its definition', async () => {
    last = { type: 'DELETED', object: { ...LIVE, metadata: { ...LIVE.metadata, resourceVersion: '6' } } };
    await serveNoMore();
    expect(collections.find(OBJECT)).toBe('absent');
    expect(collections.unwatched).toEqual([]);
  });

  it('nothing is known of them where only the version or the API is away', async () => {
    await serveNoMore();
    expect(collections.find(OBJECT)).toBeUndefined();
    expect(collections.unwatched).toEqual([expect.stringMatching(/^ConfigMap: .*no$/)]);
  });
});
