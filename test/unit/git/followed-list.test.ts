/** The list of what the leader follows: there again soon, whatever somebody makes of it. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { FollowedList, readFollowedList, readKeptEntries } from '../../../git/followed-list.ts';
import { eventually } from '../../support/eventually.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ROW = { name: 'shop', url: '/srv/shop', path: '', namespace: 'a', intervalSeconds: 30, webhook: false };

const ground = useWatchServer();
let list: FollowedList;
let errors: unknown[];
/** What the ConfigMap holds; undefined: there is none. */
let data: Record<string, string> | undefined;
let status: number | undefined;

beforeEach(() => {
  [errors, data, status] = [[], undefined, undefined];
  ground.server.intercept = ({ method, body }, response) => {
    const isThere = data !== undefined || method === 'POST';
    const code = status ?? (isThere ? 200 : 404);
    if (code === 200 && method !== 'GET') data = (JSON.parse(body) as { data: typeof data }).data;
    if (code === 200) answer(response, 200, { metadata: {}, data });
    else answer(response, code, { kind: 'Status', reason: code === 404 ? 'NotFound' : 'Forbidden' });
    return true;
  };
  const onError = (error: unknown) => void errors.push(error);
  const options = { namespace: 'system', cluster: 'c', identity: 'w-1', now: Date.now, checkMs: 1 };
  list = new FollowedList({ client: ground.client, ...options, onError });
});

afterEach(async () => {
  await list.stop();
});

const reads = (): number => ground.server.requests.filter(({ method }) => method === 'GET').length;
const writes = (): number => ground.server.requests.length - reads();

describe('the list', () => {
  it('is written again when somebody has deleted or changed it, and not otherwise', async () => {
    list.follow([ROW]);
    list.start();
    await eventually('it is written', () => data !== undefined);
    const written = data;
    const before = writes();
    const read = reads();
    await eventually('it was looked at', () => reads() > read + 3);
    expect(writes()).toBe(before);
    data = undefined;
    await eventually('it is there again', () => data !== undefined);
    expect(data).toEqual(written);
    data = { repositories: 'x', troubles: '{}' };
    await eventually('it is as it was', () => data?.['repositories'] === written?.['repositories']);
    const { rows } = (await readFollowedList(ground.client, 'system', 'c', 1_000)) ?? {};
    expect(rows).toEqual([ROW]);
    expect(errors).toEqual([]);
  });

  it('keeps what the repositories file says, where there is something', async () => {
    expect(await readKeptEntries(ground.client, 'system', 'c')).toBeUndefined();
    let kept: { file: string; entries: string } | undefined;
    const options = { namespace: 'system', cluster: 'c', identity: 'w-1', now: Date.now };
    const keeping = new FollowedList({
      ...options,
      client: ground.client,
      kept: () => kept,
      onError: (error) => errors.push(error),
    });
    keeping.follow([ROW]);
    await keeping.stop();
    expect(data).not.toHaveProperty('kept');
    expect(await readKeptEntries(ground.client, 'system', 'c')).toBeUndefined();
    kept = { file: '/etc/repositories.yaml', entries: '[]' };
    keeping.follow([ROW]);
    await keeping.stop();
    expect(await readKeptEntries(ground.client, 'system', 'c')).toEqual(kept);
    data = { kept: '{"file": 1}' };
    expect(await readKeptEntries(ground.client, 'system', 'c')).toBeUndefined();
    data = { kept: '{' };
    expect(await readKeptEntries(ground.client, 'system', 'c')).toBeUndefined();
    expect(errors).toEqual([]);
  });

  it('tells why drift cannot be looked at until it can, whatever else is seen', async () => {
    const told = async () => (await readFollowedList(ground.client, 'system', 'c', 1_000))?.rows ?? [];
    list.follow([ROW]);
    list.driftLooked('shop', 'CommitGone: it is gone.');
    list.driftLooked('left', 'CommitGone: it is gone.');
    list.looked({ ...ROW, sha: 'a' });
    await list.stop();
    expect(await told()).toEqual([{ ...ROW, sha: 'a', driftProblem: 'CommitGone: it is gone.' }]);
    list.follow([{ ...ROW, intervalSeconds: 60 }]);
    await list.stop();
    expect((await told())[0]?.driftProblem).toBe('CommitGone: it is gone.');
    list.driftLooked('shop', undefined);
    await list.stop();
    expect(await told()).toEqual([{ ...ROW, intervalSeconds: 60, sha: 'a' }]);
  });

  it('tells why a commit cannot be read yet until it is, whatever else is seen', async () => {
    const told = async () => (await readFollowedList(ground.client, 'system', 'c', 1_000))?.rows ?? [];
    const unread = { sha: 'a', problem: 'SourceTimeout: too slow.' };
    list.follow([ROW]);
    list.commitRead('shop', unread.sha, unread.problem);
    list.commitRead('left', unread.sha, unread.problem);
    list.looked({ ...ROW, sha: 'a' });
    list.follow([ROW]);
    await list.stop();
    expect(await told()).toEqual([{ ...ROW, sha: 'a', unread }]);
    list.commitRead('shop', 'a', undefined);
    await list.stop();
    expect(await told()).toEqual([{ ...ROW, sha: 'a' }]);
  });

  it('is left alone while it cannot be read, and once nobody keeps it', async () => {
    list.follow([ROW]);
    await eventually('it is written', () => data !== undefined);
    status = 403;
    list.start();
    const [before, read] = [writes(), reads()];
    await eventually('it was asked for', () => reads() > read + 3);
    await list.stop();
    const asked = ground.server.requests.length;
    [status, data] = [undefined, undefined];
    await list.stop();
    expect([writes(), ground.server.requests.length]).toEqual([before, asked]);
  });

  it('is not written over before what the leader before followed is known', async () => {
    data = { repositories: JSON.stringify([ROW]), troubles: '{}' };
    status = 403;
    list.follow([]);
    await eventually('it was asked for', () => errors.length === 1);
    await expect(list.before()).rejects.toMatchObject({ status: 403 });
    expect(writes()).toBe(0);
    status = undefined;
    list.follow([{ ...ROW, name: 'shop2' }]);
    await eventually('it is written', () => data?.['repositories']?.includes('shop2') === true);
    expect(await list.before()).toEqual([ROW]);
  });

  it('tells nothing of the leader before where somebody has damaged it, and is written all the same', async () => {
    data = { repositories: '[', troubles: '{}' };
    list.follow([ROW]);
    await eventually('it is written', () => data?.['repositories']?.includes('shop') === true);
    expect(await list.before()).toEqual([]);
  });
});
