/** The poller on real repositories: each on its own, told once, told again when nobody remembers. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Look, RepositoryPollerOptions } from '../../controllers/repository-poller.ts';
import { RepositoryPoller } from '../../controllers/repository-poller.ts';
import { openMirror } from '../../git/mirror.ts';
import type { Repository } from '../../git/repositories.ts';
import { repositoryFromFlags } from '../../git/repositories.ts';
import { eventually } from '../support/eventually.ts';
import { TestRepository } from '../support/git-repository.ts';
import type { Behaviour } from '../support/git-server.ts';
import { GitServer } from '../support/git-server.ts';

let cache: string;
let server: GitServer;
let good: TestRepository;
let poller: RepositoryPoller | undefined;

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'fairlead-poller-'));
  good = await TestRepository.create();
  server = await GitServer.start(good.path);
});
afterEach(async () => {
  await poller?.stop();
  poller = undefined;
});
afterAll(async () => {
  await server.stop();
  await good.remove();
  await rm(cache, { recursive: true, force: true });
});

interface Seen {
  readonly commits: string[];
  readonly looks: (readonly [string, Look])[];
  readonly errors: unknown[];
}

function poll(repositories: readonly Repository[], options: Partial<RepositoryPollerOptions> = {}): Seen {
  const seen: Seen = { commits: [], looks: [], errors: [] };
  poller = new RepositoryPoller({
    repositories,
    mirror: (repository) => openMirror({ ...repository, cacheDirectory: cache, lookTimeoutMs: 20_000 }),
    suspension: async () => undefined,
    commitSeen: async (name, { sha }) => void seen.commits.push(`${name} ${sha}`),
    isKnown: async () => true,
    isForgotten: async () => false,
    onLook: ({ name }, look) => void seen.looks.push([name, look]),
    onError: (_repository, error) => void seen.errors.push(error),
    ...options,
  });
  poller.start();
  return seen;
}

describe('the poller', () => {
  it('tells each commit once, and looks at once when poked', async () => {
    const first = await good.commit({ a: '1' });
    const repository = repositoryFromFlags({ repo: good.path, name: 'good', interval: '1h' });
    const seen = poll([repository]);
    await eventually('the first commit was told', () => seen.commits.length === 1);
    expect(seen.commits).toEqual([`good ${first}`]);
    expect(poller?.poke('good')).toBe(true);
    expect(poller?.poke('unknown')).toBe(false);
    await eventually('it looked again', () => seen.looks.length === 2);
    expect(seen.commits).toHaveLength(1);
    const second = await good.commit({ a: '2' });
    poller?.poke('good');
    await eventually('the second commit was told', () => seen.commits.length === 2);
    expect(seen.commits[1]).toBe(`good ${second}`);
    expect(poller?.looks().get('good')).toMatchObject({ ok: true, sha: second, isNew: true });
  });

  it('follows others from now on; one that has not changed is not disturbed', async () => {
    const other = await TestRepository.create();
    const sha = await other.commit({ a: 'other' });
    const same = repositoryFromFlags({ repo: good.path, name: 'good', interval: '1h' });
    const gone = repositoryFromFlags({ repo: good.path, name: 'gone', interval: '1h' });
    const seen = poll([same, gone]);
    await eventually('both were looked at', () => seen.looks.length === 2);
    const late = poller?.look('gone');
    const moved = repositoryFromFlags({ repo: other.path, name: 'moved', interval: '1h' });
    await late;
    poller?.change([same, moved]);
    await eventually('the new one was told', () => seen.commits.includes(`moved ${sha}`));
    expect(poller?.poke('gone')).toBe(false);
    expect(await poller?.look('gone')).toBeUndefined();
    expect(seen.looks.map(([name]) => name).sort()).toEqual(['gone', 'gone', 'good', 'moved']);
    // The same name with other settings: told at once, whatever it was told before.
    poller?.change([same, { ...moved, path: 'deploy' }]);
    await eventually(
      'it was told anew',
      () => seen.commits.filter((line) => line === `moved ${sha}`).length === 2,
    );
    await poller?.stop();
    await expect(poller?.look('good')).rejects.toThrow('has stopped looking');
    await other.remove();
  });

  it('begins with many one after the other, and at once with one that somebody asks for', async () => {
    await good.commit({ a: 'many' });
    const names = Array.from({ length: 60 }, (_, index) => `many-${String(index)}`);
    const begun = new Map<string, number>();
    const start = performance.now();
    const seen = poll(
      names.map((name) => repositoryFromFlags({ repo: good.path, name, interval: '1h' })),
      {
        mirror: ({ name, ...repository }) => {
          const mirror = openMirror({ ...repository, cacheDirectory: cache });
          return {
            ...mirror,
            resolveRef: async (signal) => {
              begun.set(name, performance.now() - start);
              return await mirror.resolveRef(signal);
            },
          };
        },
      },
    );
    expect(begun.size).toBe(20);
    const asked = poller?.look('many-59');
    await eventually('it was begun with', () => begun.has('many-59'), 700);
    expect(begun.size).toBeLessThan(60);
    expect(await asked).toMatchObject({ ok: true });
    await eventually('all were looked at', () => seen.looks.length === 60, 30_000);
    expect(begun.get('many-58')).toBeGreaterThan(38 * 20);
  }, 40_000);

  it('is not held by a server that hangs, however many repositories are on it', async () => {
    const hanging = await GitServer.start(good.path);
    try {
      hanging.behaviour = 'hang';
      const sha = await good.commit({ a: 'held' });
      const onIt = Array.from({ length: 50 }, (_, index) =>
        repositoryFromFlags({
          repo: hanging.url(`${String(index)}.git`),
          name: `hanging-${String(index)}`,
          caFile: hanging.caFile,
          interval: '1s',
        }),
      );
      const { caFile } = server;
      const fine = repositoryFromFlags({ repo: server.url('.git'), name: 'good', caFile, interval: '1s' });
      const seen = poll([...onIt, fine]);
      const looks = () => seen.looks.filter(([name, look]) => name === 'good' && look.ok).length;
      await eventually('the good one was looked at again and again', () => looks() >= 3, 15_000);
      expect(seen.commits).toEqual([`good ${sha}`]);
      // Those that are under way: of one server, quick and slow.
      expect(hanging.requests.length).toBeGreaterThan(0);
      expect(hanging.requests.length).toBeLessThanOrEqual(12 + 6);
      await poller?.stop();
    } finally {
      await hanging.stop();
    }
  }, 40_000);

  it('is not held by repositories that hang, crawl, never end, refuse or are broken', async () => {
    const behaviours: readonly Behaviour[] = [
      'hang',
      'slow',
      'endless',
      'redirect',
      'garbage',
      401,
      429,
      503,
    ];
    const servers = await Promise.all(behaviours.map(async () => await GitServer.start(good.path)));
    for (const [index, other] of servers.entries()) {
      other.behaviour = behaviours[index] ?? 'serve';
      other.redirectTo = server.url('');
    }
    await good.commit({ a: '3' });
    const asked = server.requests.length;
    const seen = poll([
      ...servers.map((other, index) =>
        repositoryFromFlags({
          repo: other.url('.git'),
          name: `bad-${String(behaviours[index])}`,
          caFile: other.caFile,
          interval: '1s',
        }),
      ),
      repositoryFromFlags({ repo: join(cache, 'missing'), name: 'missing', interval: '1s' }),
      repositoryFromFlags({ repo: good.path, name: 'good', interval: '1s' }),
    ]);
    const looksOf = (name: string) =>
      seen.looks.filter(([one]) => one === name).map(([, look]) => (look.ok ? 'fine' : look.problem.code));
    await eventually('the good one was looked at three times', () => looksOf('good').length >= 3, 15_000);
    expect(seen.commits).toHaveLength(1);
    // Their limit is 20 s: these looks are still under way, or were cut off by their size.
    expect([...looksOf('bad-hang'), ...looksOf('bad-slow')]).toEqual([]);
    await eventually('each other one was looked at', () =>
      ['missing', 'bad-redirect', 'bad-garbage', 'bad-401', 'bad-429', 'bad-503'].every(
        (name) => looksOf(name).length > 0,
      ),
    );
    expect(
      ['missing', 'bad-redirect', 'bad-garbage', 'bad-401', 'bad-429', 'bad-503'].map(
        (name) => looksOf(name)[0],
      ),
    ).toEqual([
      'RepositoryNotFound',
      'SourceRefused',
      'UnbornBranch',
      'AuthenticationFailed',
      'SourceUnreachable',
      'SourceUnreachable',
    ]);
    expect(server.requests).toHaveLength(asked);
    const stopping = performance.now();
    await poller?.stop();
    expect(performance.now() - stopping).toBeLessThan(10_000);
    await Promise.all(servers.map(async (other) => await other.stop()));
  }, 40_000);

  it('remembers what it has found when the server is silent', async () => {
    const sha = await good.commit({ a: 'seen' });
    const followed = repositoryFromFlags({
      repo: server.url('.git'),
      name: 'fading',
      caFile: server.caFile,
      interval: '1s',
    });
    poll([followed]);
    expect(poller?.seen(followed)).toBeUndefined();
    try {
      await eventually('it was looked at', () => poller?.seen(followed) !== undefined);
      expect(poller?.seen(followed)).toEqual({ sha });
      server.behaviour = 503;
      await eventually('a look has failed', () => poller?.seen(followed)?.problem !== undefined);
      expect(poller?.seen(followed)).toMatchObject({ sha, problem: { code: 'SourceUnreachable' } });
    } finally {
      server.behaviour = 'serve';
    }
    expect(poller?.seen({ name: 'nobody' })).toBeUndefined();
  }, 30_000);

  it('looks again soon after a look that failed, however long the interval is', async () => {
    const sha = await good.commit({ a: 'announced' });
    server.behaviour = 500;
    const { caFile } = server;
    const away = repositoryFromFlags({ repo: server.url('.git'), name: 'away', caFile, interval: '1h' });
    const seen = poll([away]);
    await eventually('it was looked at', () => seen.looks.length === 1);
    server.behaviour = 'serve';
    await eventually('the commit was told', () => seen.commits.includes(`away ${sha}`));
    expect(seen.looks.map(([, { ok }]) => ok)).toEqual([false, true]);
  });

  it('keeps between 80 % and 120 % of the interval', async () => {
    for (const [random, least, most] of [
      [0, 780, 3_000],
      [1, 1_180, 3_400],
    ] as const) {
      const times: number[] = [];
      poll([repositoryFromFlags({ repo: good.path, name: 'good', interval: '1s' })], {
        random: () => random,
        onLook: () => void times.push(performance.now()),
      });
      await eventually('two looks', () => times.length === 2, 5_000);
      await poller?.stop();
      const gap = (times[1] ?? 0) - (times[0] ?? 0);
      expect(gap).toBeGreaterThan(least);
      expect(gap).toBeLessThan(most);
    }
  }, 15_000);

  it('tells again of a commit that was tried and of which the cluster knows nothing, at each look that asks', async () => {
    await good.commit({ a: 'forgotten' });
    const told: boolean[] = [];
    let isForgotten = false;
    poll([repositoryFromFlags({ repo: good.path, name: 'good', interval: '1h' })], {
      commitSeen: async (_name, { unrecorded }) => void told.push(unrecorded === true),
      isForgotten: async () => isForgotten,
    });
    await poller?.look('good');
    await poller?.look('good');
    expect(told).toEqual([false]);
    isForgotten = true;
    await poller?.look('good');
    expect(told).toEqual([false, true]);
    isForgotten = false;
    await poller?.look('good');
    expect(told).toEqual([false, true]);
  }, 10_000);

  it('tries again soon when Temporal does not take a commit, and reports it', async () => {
    const told: string[] = [];
    let failures = 1;
    const seen = poll([repositoryFromFlags({ repo: good.path, name: 'good', interval: '1h' })], {
      commitSeen: async (_name, { sha }) => {
        if (failures-- > 0) throw new Error('Temporal is away');
        told.push(sha);
      },
    });
    await eventually('the commit was told', () => told.length === 1, 5_000);
    expect(seen.errors).toHaveLength(1);
  }, 10_000);

  it('says of an error whether the round before had it', async () => {
    await good.commit({ a: 'again and again' });
    const news: string[] = [];
    let trouble: string | undefined = 'its inventory is damaged';
    const fail = async (): Promise<undefined> => {
      if (trouble !== undefined) throw new Error(trouble);
    };
    poll([repositoryFromFlags({ repo: good.path, name: 'good', interval: '1h' })], {
      suspension: fail,
      onLook: fail,
      onError: (_repository, error, isNews) =>
        void news.push(`${error instanceof Error ? error.message : ''} ${String(isNews)}`),
    });
    const round = async (): Promise<readonly string[]> => {
      news.length = 0;
      await poller?.look('good');
      // The one that is asked for next begins only when this one has been told in full.
      return [...news];
    };
    await eventually('the first round was told', () => news.length === 2);
    expect(news).toEqual(['its inventory is damaged true', 'its inventory is damaged false']);
    expect(new Set(await round())).toEqual(new Set(['its inventory is damaged false']));
    trouble = 'it is damaged otherwise';
    expect(await round()).toContain('it is damaged otherwise true');
    trouble = undefined;
    await round();
    trouble = 'it is damaged otherwise';
    expect(await round()).toContain('it is damaged otherwise true');
  }, 10_000);
});
