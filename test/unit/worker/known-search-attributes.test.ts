/** When it is asked again which search attributes are registered, and what is said of those that are not. */

import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';

import { trusted } from '../../../kubernetes/values.ts';
import { KnownSearchAttributes } from '../../../worker/known-search-attributes.ts';
import { SEARCH_ATTRIBUTES } from '../../../workflows/search-attributes.ts';

let now: number;
let listed: readonly string[];
let asked: number;
/** What the server answers instead, by call. */
let failures: { list?: Error; add?: Error };
let said: string[];
let known: KnownSearchAttributes;

function failure(code: number, details: string): Error {
  return Object.assign(new Error(details), { code, details, metadata: {} });
}

beforeEach(() => {
  [now, asked, listed, failures, said] = [0, 0, [], {}, []];
  const operatorService = {
    listSearchAttributes: async () => {
      asked += 1;
      if (failures.list !== undefined) throw failures.list;
      return await Promise.resolve({
        customAttributes: Object.fromEntries(listed.map((name) => [name, 2])),
      });
    },
    addSearchAttributes: async () => {
      if (failures.add !== undefined) throw failures.add;
      await Promise.resolve();
    },
  };
  const tell = (fields: object | string, message?: string) =>
    void said.push(`${message ?? ''} ${JSON.stringify(fields)}`);
  known = new KnownSearchAttributes({
    client: trusted<Client>({ connection: { operatorService } }),
    namespace: 'default',
    log: { info: tell, warn: tell },
    now: () => now,
  });
});

describe('search attributes that are not registered', () => {
  it('are asked for again after a minute: somebody may have run the command', async () => {
    failures = { add: failure(7, 'Request unauthorized.') };
    expect([await known.registered(), await known.registered()]).toEqual([[], []]);
    expect(asked).toBe(1);
    now += 60_000;
    expect(await known.registered()).toEqual([]);
    expect(said).toEqual([
      expect.stringMatching(/^search attributes are not registered: .*search-attribute create.*unauthorized/),
    ]);
    listed = SEARCH_ATTRIBUTES;
    now += 60_000;
    expect(await known.registered()).toEqual(SEARCH_ATTRIBUTES);
    expect(said[1]).toMatch(/registered now/);
    now += 3_600_000;
    await known.registered();
    expect(asked).toBe(3);
    known.forget();
    await known.registered();
    expect(asked).toBe(4);
    expect(said).toHaveLength(2);
  });

  it('are said to be so without a refusal where the server has taken them and does not list them yet', async () => {
    expect(await known.registered()).toEqual([]);
    expect(said).toEqual([expect.stringMatching(/^search attributes are not registered: (?!.*"error")/)]);
  });

  it('are none where they may not be listed, and no run is held up for it', async () => {
    failures = { list: failure(7, 'Request unauthorized.') };
    expect(await known.registered()).toEqual([]);
    expect(said).toEqual([
      expect.stringMatching(/^search attributes may not be listed: .*ListSearchAttributes.*unauthorized/),
    ]);
  });

  it('are not known while Temporal is away', async () => {
    failures = { list: failure(14, 'connection refused') };
    await expect(known.registered()).rejects.toThrow('connection refused');
    expect(said).toEqual([]);
  });
});
