/** What other repositories want, where a source is silent: nobody waits for it, and what is not known is told. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CommitReader } from '../../../git/commit.ts';
import { packEntries } from '../../../git/inventory-content.ts';
import { InventoryStore } from '../../../git/inventory.ts';
import { openMirror } from '../../../git/mirror.ts';
import type { FollowedSources } from '../../../git/other-commits.ts';
import { OtherCommits } from '../../../git/other-commits.ts';
import { problem } from '../../../git/problems.ts';
import type { Repository } from '../../../git/repositories.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { commitContext } from '../../support/commit-context.ts';
import { TestRepository } from '../../support/git-repository.ts';
import { patient } from '../../support/patience.ts';
import { silentServer } from '../../support/silent-server.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n';
const KEY = '/ConfigMap/ns/mine';
const SILENT = problem('SourceTimeout', 'it does not answer.');

let server: WatchServer;
let client: KubernetesClient;
let silent: Awaited<ReturnType<typeof silentServer>>;
let git: TestRepository;
let cache: string;
let local: Repository;
let remote: Repository;

beforeEach(async () => {
  server = await WatchServer.start();
  server.intercept = ({ url: { pathname } }, response) => {
    const kind = { name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: [] };
    if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (pathname === '/apis') answer(response, 200, { groups: [] });
    else if (pathname === '/api/v1') answer(response, 200, { resources: [kind] });
    // Nobody has tried a commit.
    else answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
  silent = await silentServer();
  git = await TestRepository.create();
  cache = await mkdtemp(join(tmpdir(), 'fairlead-others-'));
  local = repositoryFromFlags({ repo: git.path, name: 'local', namespace: 'ns' });
  remote = repositoryFromFlags({ repo: silent.url, name: 'remote', namespace: 'ns' });
});

afterEach(async () => {
  client.close();
  await silent[Symbol.asyncDispose]();
  await server.stop();
  await git.remove();
  await rm(cache, { recursive: true, force: true });
});

function sources(more: Partial<FollowedSources> = {}): FollowedSources {
  const mirror = (repository: Repository) => openMirror({ ...repository, cacheDirectory: cache });
  return { followed: () => [remote, local], mirror, reader: new CommitReader(mirror), ...more };
}

describe('what others want', () => {
  it('is not asked of a source whose last look has failed, which is named; the others are', async () => {
    await git.commit({ 'a.yaml': CONFIG_MAP });
    const seen = ({ name }: Repository) => (name === 'remote' ? { problem: SILENT } : undefined);
    const { by, unread } = await new OtherCommits(commitContext(client), sources({ seen })).wanted();
    expect([...by].map(([key, claims]) => [key, claims.map(({ repository }) => repository.name)])).toEqual([
      [KEY, ['local']],
    ]);
    expect(unread).toEqual(['remote (it does not answer.)']);
    expect(silent.connections()).toBe(0);
    const others = new OtherCommits(commitContext(client), sources({ seen }));
    // Nor who looks whether something has left it.
    expect(await others.newest('remote')).toBeUndefined();
    expect(silent.connections()).toBe(0);
  });

  it('is not waited for longer than the bound where nobody has looked yet, once for all activities of a run', async () => {
    await git.commit({ 'a.yaml': CONFIG_MAP });
    const shared = {};
    const all = sources({ lookMs: patient(1_000) });
    const wanted = async () => await new OtherCommits(commitContext(client), all, shared).wanted(60_000);
    const first = await wanted();
    expect(first.unread).toEqual(['remote (it did not answer in time)']);
    expect([...first.by.keys()]).toEqual([KEY]);
    const asked = silent.connections();
    expect(asked).toBeGreaterThan(0);
    const again = await wanted();
    expect([...again.by.keys()]).toEqual([KEY]);
    expect(again.unread).toEqual(first.unread);
    expect(silent.connections()).toBe(asked);
  });

  it('is of the newest commit that is here, told where a newer one is known and is not', async () => {
    const sha = await git.commit({ 'a.yaml': CONFIG_MAP });
    const missing = 'd'.repeat(40);
    const ofSeen = async (seen: { readonly sha: string }) => {
      const looks = sources({ followed: () => [local], seen: () => ({ ...seen, problem: SILENT }) });
      return await new OtherCommits(commitContext(client), looks).wanted();
    };
    const known = await ofSeen({ sha });
    expect([[...known.by.keys()], known.unread]).toEqual([[KEY], []]);
    const unknown = await ofSeen({ sha: missing });
    expect([[...unknown.by.keys()], unknown.unread]).toEqual([[], ['local (it does not answer.)']]);
    const inventory = { status: JSON.stringify({ commit: { sha, outcome: 'Refused', runId: 'r' } }) };
    const { intercept } = server;
    server.intercept = (request, response) => {
      if (!request.url.pathname.endsWith('/fairlead-local')) return intercept?.(request, response) === true;
      const labels = { 'fairlead.dev/inventory': 'local' };
      const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
      answer(response, 200, { metadata: { name: 'x', uid: 'u', labels, annotations }, data: inventory });
      return true;
    };
    const older = await ofSeen({ sha: missing });
    expect([[...older.by.keys()], older.unread]).toEqual([
      [KEY],
      ['local (its newest commit, dddddddd, is not here yet)'],
    ]);
  });

  it('is of no account where a commit that has to be signed is not', async () => {
    await git.commit({ 'a.yaml': CONFIG_MAP });
    const signers = join(git.path, 'signers');
    await git.commit({ signers: 'ada@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\n' });
    const signed = { ...local, allowedSignersFile: signers };
    const { by } = await new OtherCommits(
      commitContext(client),
      sources({ followed: () => [signed] }),
    ).wanted();
    expect(by.get(KEY)).toMatchObject([{ unsigned: { code: 'CommitUnsigned' } }]);
  });
});

describe('the last commit that another repository has tried', () => {
  it.each([
    ['prod', 'b'],
    // Its inventory is theirs: of this one's entry of that name nothing was tried.
    ['elsewhere', undefined],
  ])('of an inventory of the workers %s', async (cluster, expected) => {
    const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1', 'fairlead.dev/cluster': cluster };
    const { data } = packEntries(
      new Map([['k', { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'ns', name: 'mine' }]]),
    );
    const status = { commit: { sha: 'b', outcome: 'Succeeded', workflowId: 'w', runId: 'r' } };
    server.intercept = (_request, response) => {
      answer(response, 200, {
        metadata: { uid: 'u', annotations },
        data: { ...data, status: JSON.stringify(status) },
      });
      return true;
    };
    const store = new InventoryStore(client, 'system', 'own', 'prod');
    const others = new OtherCommits({ ...commitContext(client), store }, sources());
    expect((await others.lastTried('remote'))?.sha).toBe(expected);
  });
});
