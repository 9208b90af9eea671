/** The inventory's ConfigMap over real HTTP: what Fairlead did not make stays as it is. */

import { describe, expect, it } from '@jest/globals';

import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { earlierAttempt } from '../../git/earlier-attempt.ts';
import { packEntries } from '../../git/inventory-content.ts';
import type { InventoryEntry } from '../../git/inventory-content.ts';
import type { CommitAttempt } from '../../git/inventory-status.ts';
import { DamagedInventory, InventoryStore, foreignSource, nobodyWroteSince } from '../../git/inventory.ts';
import { formatProblem, problem } from '../../git/problems.ts';
import { SourceReporter } from '../../git/source-report.ts';
import { sourceIdentity } from '../../git/source-url.ts';
import { answer } from '../support/watch-server.ts';
import { useWatchServer } from '../support/watch-server-ground.ts';

const ground = useWatchServer();

/** Answers every request with that ConfigMap. */
function holds(annotations: Readonly<Record<string, string>> | undefined): void {
  ground.server.intercept = (_request, response) => {
    const metadata = { name: 'fairlead-repositories', uid: 'u', resourceVersion: '7', annotations };
    answer(response, 200, { metadata, data: { 'repositories.yaml': '- url: https://git.example.com/web' } });
    return true;
  };
}

const methods = (): readonly string[] => ground.server.requests.map(({ method }) => method);

describe('a ConfigMap that Fairlead did not make', () => {
  it.each([
    [
      'without annotations',
      undefined,
      'the inventory of repository repositories would be ConfigMap system/fairlead-repositories, which exists and is no inventory: give the repository another `name`.',
    ],
    [
      'of another tool',
      { 'applyset.kubernetes.io/tooling': 'kubectl/v1.36' },
      'the inventory of repository repositories would be ConfigMap system/fairlead-repositories, which is the inventory of another tool (kubectl/v1.36): give the repository another `name`.',
    ],
  ])('%s is neither read as an inventory nor written', async (_what, annotations, message) => {
    holds(annotations);
    const store = new InventoryStore(ground.client, 'system', 'repositories');
    const refusal = { problem: { code: 'InventoryForeign', message } };
    await expect(store.read()).rejects.toMatchObject(refusal);
    await expect(store.update((present) => ({ ...present, status: {} }))).rejects.toMatchObject(refusal);
    expect(methods()).toEqual(['GET', 'GET']);
  });

  it('is not written by a look at the source either, which says so once', async () => {
    holds({});
    const reporter = new SourceReporter({
      client: ground.client,
      inventoryNamespace: 'system',
      cluster: 'prod',
      now: Date.now,
    });
    const broken = { problem: problem('RepositoryNotFound', '/srv/x does not exist.') };
    await expect(reporter.report('repositories', broken)).rejects.toThrow('which exists and is no inventory');
    await reporter.report('repositories', broken);
    expect(methods()).toEqual(['GET']);
  });
});

describe('a damaged inventory', () => {
  it.each([
    [
      'status',
      'x',
      'status: Unexpected token \'x\', "x" is not valid JSON): nothing is applied or pruned until it is mended: ' +
        `kubectl patch configmap fairlead-shop -n system --type merge -p '{"data":{"status":null}}' (forgets what became of earlier commits)`,
    ],
    ['status', 'null', 'status: Invalid input: expected object, received null): nothing'],
    [
      'status',
      '{"history":42,"commit":[]}',
      'status: commit: Invalid input: expected object, received array): nothing',
    ],
    [
      'status',
      '{"history":[null]}',
      'status: history.0: Invalid input: expected object, received null): nothing',
    ],
    ['run', '"x"', 'run: Invalid input: expected object, received string): nothing'],
    [
      'objects',
      'x',
      'objects: line 1 of the inventory cannot be read): nothing is applied or pruned until it is mended: ' +
        'kubectl edit configmap fairlead-shop -n system, or kubectl delete configmap fairlead-shop -n system (forgets what could be pruned)',
    ],
  ])('says which key, and how to mend it: %s %s', async (key, text, told) => {
    ground.server.intercept = (_request, response) => {
      const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
      answer(response, 200, { metadata: { uid: 'u', annotations }, data: { [key]: text } });
      return true;
    };
    const error = await new InventoryStore(ground.client, 'system', 'shop')
      .read()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DamagedInventory);
    expect(String(error)).toContain(`the inventory ConfigMap system/fairlead-shop cannot be read (${told}`);
  });
});

describe('the source of an inventory', () => {
  const store = new InventoryStore(ground.client, 'system', 'shop', 'prod');
  const entry: InventoryEntry = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'a', name: 'x' };
  const entries = new Map([['key', entry]]);

  it('another one of the same name is refused, with the command that hands it over', () => {
    const found = foreignSource({ entries, source: '/home/ada/a/shop' }, "/home/ada/b's/shop", store);
    expect(found && formatProblem(found)).toBe(
      "InventoryOfOther: another repository of this name has one object in the cluster: /home/ada/a/shop. This one is /home/ada/b's/shop. " +
        'Give this repository a `name` of its own. If it is the same one at a new place, or shall replace it (what it lacks is then deleted): ' +
        `kubectl annotate configmap fairlead-shop -n system --overwrite fairlead.dev/source='/home/ada/b'\\''s/shop' ` +
        '(then commit again, or `fairlead sync shop`).',
    );
  });

  it.each([
    ['the same', { entries, source: '/b' }],
    ['none yet: from before sources were kept', { entries }],
    ['another one that has nothing here', { entries: new Map(), source: '/a' }],
    ['no inventory', undefined],
  ])('%s: may be used', (_what, inventory) => {
    expect(foreignSource(inventory, '/b', store)).toBeUndefined();
  });

  const runOf = (cluster: string) => ({ sha: 's', workflowId: `commit/${cluster}/shop/s`, runId: 'r' });

  it.each([
    ['as it says', { cluster: 'other' }],
    ['as its run tells, where it does not say', { run: runOf('other') }],
    ['handed over to those', { cluster: 'other', run: runOf('prod') }],
  ])(
    'of the workers of another cluster name, %s: refused, with the command that hands it over',
    (_, whose) => {
      const found = foreignSource({ entries, source: '/b', ...whose }, '/b', store);
      expect(found && formatProblem(found)).toBe(
        'InventoryOfOther: the workers with FAIRLEAD_CLUSTER=other apply a repository of this name, and have one object in the cluster. ' +
          'These have FAIRLEAD_CLUSTER=prod. Give this repository a `name` of its own. If these workers shall take the place of those ' +
          '(what this repository lacks is then deleted): kubectl annotate configmap fairlead-shop -n system --overwrite fairlead.dev/cluster=prod ' +
          '(then commit again, or `fairlead sync shop`).',
      );
    },
  );

  it.each([
    ['its own', { entries, run: runOf('prod') }],
    ['handed over to these', { entries, cluster: 'prod', run: runOf('other') }],
    ['of others who have nothing here', { entries: new Map(), cluster: 'other' }],
  ])('%s: may be used', (_, inventory) => {
    expect(foreignSource({ source: '/b', ...inventory }, '/b', store)).toBeUndefined();
  });

  it('nothing is written into that of other workers', async () => {
    ground.server.intercept = (_request, response) => {
      const annotations = {
        'applyset.kubernetes.io/tooling': 'fairlead/v1',
        'fairlead.dev/cluster': 'other',
      };
      const { data } = packEntries(entries);
      answer(response, 200, { metadata: { uid: 'u', annotations }, data });
      return true;
    };
    const own = new InventoryStore(ground.client, 'system', 'shop', 'prod');
    expect(await own.update((present) => ({ ...present, status: {} }))).toBeUndefined();
    expect(methods()).toEqual(['GET']);
  });

  it('is kept on the ConfigMap', async () => {
    ground.server.intercept = ({ method, body }, response) => {
      if (method === 'GET') answer(response, 404, { kind: 'Status', reason: 'NotFound' });
      else answer(response, 201, { ...JSON.parse(body), data: { objects: '', status: '{}' } });
      return true;
    };
    const written = await new InventoryStore(ground.client, 'system', 'shop').update((present) => ({
      ...present,
      source: 'https://git.example.com/shop',
    }));
    expect(written?.source).toBe('https://git.example.com/shop');
    expect(JSON.parse(ground.server.requests.at(-1)?.body ?? '')).toMatchObject({
      metadata: { annotations: { 'fairlead.dev/source': 'https://git.example.com/shop' } },
    });
  });

  it('is a URL without what does not matter, or a canonical path', async () => {
    expect(await sourceIdentity('https://git.example.com/team/shop.git')).toBe(
      'https://git.example.com/team/shop',
    );
    for (const url of ['git@git.example.com:team/shop.git', 'ssh://git@git.example.com/team/shop/'])
      expect(await sourceIdentity(url)).toBe('ssh://git@git.example.com/team/shop');
    expect(await sourceIdentity('https://git.example.com/team/shop/')).toBe(
      'https://git.example.com/team/shop',
    );
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'fairlead-source-')));
    await symlink(directory, join(directory, 'link'));
    expect(await sourceIdentity(join(directory, 'link'))).toBe(directory);
    await rm(directory, { recursive: true });
    expect(await sourceIdentity(directory)).toBe(directory);
  });
});

describe('what an attempt applied whose answer was lost', () => {
  const entry = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' };
  const entries = new Map<string, InventoryEntry>([
    ['known', { ...entry, uid: 'u-1' }],
    ['new', entry],
  ]);
  const attempt = { startedAt: '', finishedAt: '', outcome: 'Failed', unchanged: 0, pruned: 0 } as const;
  const run = { sha: 'b', runId: 'r-2' };
  const at = (uid: string, commit: string | undefined, appliedAt?: string) => ({ uid, commit, appliedAt });

  it('is told by the commit on the object, and by the uids that the inventory knows', () => {
    const before = earlierAttempt({ entries, status: {} }, run);
    expect(before('new', at('u-9', 'b'))).toBe('created');
    expect(before('known', at('u-9', 'b'))).toBe('created');
    expect(before('known', at('u-1', 'b'))).toBe('changed');
    expect(before('known', at('u-1', 'a'))).toBe('unchanged');
    expect(before('known', at('u-1', undefined))).toBe('unchanged');
  });

  it('is not claimed where an earlier run of the same commit may have done it', () => {
    const history = [{ ...attempt, sha: 'b', runId: 'r-1', applied: 3 }];
    const before = earlierAttempt({ entries, status: { history } }, run);
    expect(before('known', at('u-1', 'b'))).toBe('unchanged');
    expect(before('new', at('u-9', 'b'))).toBe('created');
    // Of one that was terminated nobody knows.
    const terminated = [{ ...attempt, outcome: 'Terminated', sha: 'b', runId: 'r-1' } as const];
    const uncounted = earlierAttempt({ entries, status: { history: terminated } }, run);
    expect(uncounted('known', at('u-1', 'b'))).toBe('unchanged');
    const refused = [{ ...attempt, sha: 'b', runId: 'r-1', applied: 0 }];
    const after = earlierAttempt({ entries, status: { history: refused } }, run);
    expect(after('known', at('u-1', 'b'))).toBe('changed');
  });

  it('nor is it lost there: the time tells which run it was', () => {
    const history = [{ ...attempt, sha: 'b', runId: 'r-1', applied: 3 }];
    const commit = {
      ...run,
      outcome: 'Progressing',
      workflowId: 'w',
      startedAt: '2026-01-01T00:00:10.500Z',
    } as const;
    const before = earlierAttempt({ entries, status: { history, commit } }, run);
    expect(before('known', at('u-1', 'b', '2026-01-01T00:00:09Z'))).toBe('unchanged');
    // It may have been either.
    expect(before('known', at('u-1', 'b', '2026-01-01T00:00:10Z'))).toBe('unchanged');
    expect(before('known', at('u-1', 'b', '2026-01-01T00:00:11Z'))).toBe('changed');
    const another = { ...commit, runId: 'r-1' };
    const other = earlierAttempt({ entries, status: { history, commit: another } }, run);
    expect(other('known', at('u-1', 'b', '2026-01-01T00:00:11Z'))).toBe('unchanged');
  });
});

describe('whether nobody has written since a commit was applied as a whole', () => {
  const attempt = (runId: string, outcome: CommitAttempt['outcome']): CommitAttempt => ({
    sha: 'a',
    outcome,
    startedAt: '2026-01-01T00:00:00Z',
    finishedAt: '2026-01-01T00:00:01Z',
    runId,
  });
  const run = { sha: 'a', workflowId: 'w', runId: 'r' };
  const lastSucceeded = { sha: 'a', at: '2026-01-01T00:00:01Z' };

  it.each<[string, Parameters<typeof nobodyWroteSince>[0], boolean]>([
    [
      'its run is the last that has claimed',
      { run, status: { lastSucceeded, history: [attempt('r', 'Succeeded')] } },
      true,
    ],
    [
      'others were tried since, and have claimed nothing',
      { run, status: { lastSucceeded, history: [attempt('r', 'Succeeded'), attempt('s', 'Superseded')] } },
      true,
    ],
    [
      'another run of the same commit has claimed, and failed',
      {
        run: { ...run, runId: 's' },
        status: { lastSucceeded, history: [attempt('r', 'Succeeded'), attempt('s', 'Failed')] },
      },
      false,
    ],
    [
      'another commit has claimed',
      { run: { ...run, sha: 'b' }, status: { lastSucceeded, history: [] } },
      false,
    ],
    ['its attempt has left the history', { run, status: { lastSucceeded, history: [] } }, false],
    ['nobody has claimed', { status: {} }, false],
  ])('%s', (_, inventory, expected) => {
    expect(nobodyWroteSince(inventory)).toBe(expected);
  });
});
