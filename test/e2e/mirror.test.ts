/** Repositories as they are: local ones, and an https server of git's own that also misbehaves. */

import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { MirrorOptions } from '../../git/mirror-options.ts';
import type { Mirror } from '../../git/mirror.ts';
import { openMirror } from '../../git/mirror.ts';
import { TestRepository } from '../support/git-repository.ts';
import { namedFailure } from '../support/named-failure.ts';
import { GitServer } from '../support/git-server.ts';

const MANIFEST = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n';
let cache: string;
const repositories: TestRepository[] = [];

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'fairlead-mirror-'));
});
afterAll(async () => {
  await rm(cache, { recursive: true, force: true });
  await Promise.all(repositories.map(async (one) => await one.remove()));
});

async function repository(): Promise<TestRepository> {
  const made = await TestRepository.create();
  repositories.push(made);
  return made;
}

function local(made: TestRepository, options: Partial<MirrorOptions> = {}): Mirror {
  return openMirror({ url: made.path, cacheDirectory: cache, ...options });
}

describe('a local repository', () => {
  it('is read where it is: working copy, its .git, a linked work tree, a bare one', async () => {
    const made = await repository();
    const sha = await made.commit({ 'a.yaml': MANIFEST });
    const bare = join(cache, 'bare.git');
    const linked = join(cache, 'linked');
    await made.git('clone', '--quiet', '--bare', made.path, bare);
    await made.git('worktree', 'add', '--quiet', linked);
    for (const url of [made.path, join(made.path, '.git'), linked, bare]) {
      const mirror = openMirror({ url, cacheDirectory: cache });
      expect(await mirror.resolveRef()).toBe(sha);
      expect(await mirror.readManifests(sha, '')).toEqual({
        files: [{ path: 'a.yaml', text: MANIFEST }],
        problems: [],
      });
    }
  });

  it('resolves branches, tags and shas; uncommitted changes are not seen', async () => {
    const made = await repository();
    const first = await made.commit({ 'a.yaml': MANIFEST });
    await made.git('tag', '-a', '-m', 'one', 'v1');
    await made.git('branch', 'release/1');
    const second = await made.commit({ 'b.yaml': MANIFEST });
    await writeFile(join(made.path, 'c.yaml'), MANIFEST);
    expect(await local(made).resolveRef()).toBe(second);
    expect(await local(made, { ref: 'v1' }).resolveRef()).toBe(first);
    expect(await local(made, { ref: 'release/1' }).resolveRef()).toBe(first);
    expect(await local(made, { ref: first }).resolveRef()).toBe(first);
    expect((await local(made).readManifests(second, '')).files.map(({ path }) => path)).toEqual([
      'a.yaml',
      'b.yaml',
    ]);
    expect((await local(made).readManifests(first, '')).files.map(({ path }) => path)).toEqual(['a.yaml']);
  });

  it('says what to do when there is nothing to read', async () => {
    const made = await repository();
    expect(await namedFailure(local(made).resolveRef())).toMatch(
      /^UnbornBranch: .* has no commit on branch main yet\. Make the first commit/,
    );
    const sha = await made.commit({ 'a.yaml': MANIFEST });
    expect(await namedFailure(local(made, { ref: 'nope' }).resolveRef())).toMatch(
      /^RefNotFound: .* has no branch, tag or commit nope\./,
    );
    expect(await namedFailure(local(made).ensureCommit('0'.repeat(40)))).toMatch(
      /^CommitGone: .* no longer has commit 00000000\./,
    );
    expect(await namedFailure(local(made).readManifests(sha, 'deploy/web'))).toMatch(
      /^PathVanished deploy\/web: the path deploy does not exist/,
    );
    expect(
      await namedFailure(openMirror({ url: join(cache, 'missing'), cacheDirectory: cache }).resolveRef()),
    ).toMatch(/^RepositoryNotFound: .*missing does not exist\./);
    const empty = join(cache, 'empty');
    await mkdir(empty, { recursive: true });
    expect(await namedFailure(openMirror({ url: empty, cacheDirectory: cache }).resolveRef())).toMatch(
      /^RepositoryNotFound: .*empty is not a git repository\. .*git init/,
    );
  });

  // Only root can give a repository away.
  if (process.getuid?.() === 0)
    it('of another owner is refused with the command that allows it', async () => {
      const made = await repository();
      await made.commit({ 'a.yaml': MANIFEST });
      await chown(made.path, 12_345, 12_345);
      await chown(join(made.path, '.git'), 12_345, 12_345);
      const before = process.env['GIT_CONFIG_GLOBAL'];
      try {
        process.env['GIT_CONFIG_GLOBAL'] = join(cache, 'gitconfig');
        expect(await namedFailure(local(made).resolveRef())).toMatch(
          /^ForeignOwner: .* belongs to another user \(uid 12345.*git config --global --add safe\.directory /,
        );
        await writeFile(join(cache, 'gitconfig'), `[safe]\n\tdirectory = ${made.path}\n`);
        expect(await local(made).resolveRef()).toMatch(/^[0-9a-f]{40}$/);
      } finally {
        if (before === undefined) delete process.env['GIT_CONFIG_GLOBAL'];
        else process.env['GIT_CONFIG_GLOBAL'] = before;
      }
    });

  it('runs nothing that its configuration, hooks or attributes name', async () => {
    const made = await repository();
    const witness = join(cache, 'witness');
    const script = join(cache, 'evil.sh');
    await writeFile(script, `#!/bin/sh\ntouch ${witness}\ncat\n`);
    await chmod(script, 0o755);
    const sha = await made.commit({ 'a.yaml': MANIFEST, '.gitattributes': '*.yaml filter=evil\n' });
    for (const key of [
      'core.fsmonitor',
      'filter.evil.smudge',
      'diff.external',
      'core.sshCommand',
      'core.pager',
    ]) {
      await made.git('config', key, script);
    }
    await made.git('config', 'extensions.partialClone', 'origin');
    await made.git('config', 'remote.origin.url', `ext::${script}`);
    await made.git('config', 'core.hooksPath', cache);
    expect((await local(made).readManifests(sha, '')).files).toEqual([{ path: 'a.yaml', text: MANIFEST }]);
    expect(await namedFailure(local(made).ensureCommit('1'.repeat(40)))).toMatch(/^CommitGone/);
    expect(await readdir(cache)).not.toContain('witness');
  });
});

describe('the files of a commit', () => {
  it('are those with the right extension, not hidden ones', async () => {
    const made = await repository();
    const sha = await made.commit({
      'a.yaml': MANIFEST,
      'b.yml': MANIFEST,
      'c.JSON': '{}',
      'd.txt': 'no',
      '.github/workflows/x.yml': 'on: push',
      '.hidden.yaml': 'x',
      'sub/.secret/y.yaml': 'x',
      'sub/-rf.yaml': MANIFEST,
      'sub/with\nnewline.yaml': MANIFEST,
      'sub/[a]*.yaml': MANIFEST,
      README: { link: 'd.txt' },
      'sub/notes.md': { link: '../README' },
    });
    const { files, problems } = await local(made).readManifests(sha, '');
    expect(files.map(({ path }) => path).sort()).toEqual([
      'a.yaml',
      'b.yml',
      'c.JSON',
      'sub/-rf.yaml',
      'sub/[a]*.yaml',
      'sub/with\nnewline.yaml',
    ]);
    expect(problems).toEqual([]);
    expect((await local(made).readManifests(sha, 'sub/[a]*.yaml')).files).toHaveLength(1);
    expect((await local(made).readManifests(sha, 'a.yaml')).files).toHaveLength(1);
  });

  it('are not hidden behind a symbolic link without a word', async () => {
    const made = await repository();
    const sha = await made.commit({
      'real/a.yaml': MANIFEST,
      'd.txt': 'no',
      'deploy/ok.yaml': MANIFEST,
      'deploy/chart.d': { link: '../real' },
      'deploy/web.v1': { link: 'chart.d' },
      'deploy/current': { link: '../real/a.yaml' },
      'deploy/old.bak': { link: 'ok.yaml' },
      'deploy/host.conf': { link: '/etc/hostname' },
      'deploy/up.txt': { link: '../../up.txt' },
      'deploy/gone.txt': { link: 'nothing 7.txt' },
      'deploy/loop.txt': { link: 'loop.txt' },
      'deploy/two\nlines.txt': { link: '../d.txt' },
      'deploy/fine.txt': { link: '../d.txt' },
      'deploy/x.yml': { link: '../d.txt' },
    });
    const { files, problems } = await local(made).readManifests(sha, 'deploy');
    expect(files.map(({ path }) => path)).toEqual(['deploy/ok.yaml']);
    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['SymlinkRefused']));
    expect(problems.map(({ message }) => message.replace('deploy/', '')).sort()).toEqual([
      'chart.d is a symbolic link to a folder.',
      'current is a symbolic link to a manifest.',
      'gone.txt is a symbolic link that leads nowhere in this commit.',
      'host.conf is a symbolic link out of the repository.',
      'loop.txt is a symbolic link that leads nowhere in this commit.',
      'old.bak is a symbolic link to a manifest.',
      'two lines.txt is a symbolic link.',
      'up.txt is a symbolic link out of the repository.',
      'web.v1 is a symbolic link to a folder.',
      'x.yml is a symbolic link.',
    ]);
  });

  it('are refused one by one, each with its reason', async () => {
    const made = await repository();
    const other = await repository();
    await other.commit({ x: 'y' });
    await made.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.path, 'module');
    const sha = await made.commit({
      'link.yaml': { link: '/etc/passwd' },
      directory: { link: '/etc' },
      'loop.yaml': { link: 'loop.yaml' },
      'large.yaml': `a: ${'x'.repeat(1_100_000)}`,
      'lfs.yaml': 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
      'latin.yaml': Buffer.from('a: caf\u00e9\n', 'latin1'),
      'nul.yaml': 'a: b\u0000c\n',
      'ok.yaml': MANIFEST,
    });
    const { files, problems } = await local(made).readManifests(sha, '');
    expect(files.map(({ path }) => path)).toEqual(['ok.yaml']);
    expect(problems.map(({ code, file }) => `${code} ${file ?? ''}`).sort()).toEqual([
      'FileTooLarge large.yaml',
      'LfsPointer lfs.yaml',
      'NotText latin.yaml',
      'NotText nul.yaml',
      'SubmoduleRefused module',
      'SymlinkRefused directory',
      'SymlinkRefused link.yaml',
      'SymlinkRefused loop.yaml',
    ]);
    expect(await namedFailure(local(made).readManifests(sha, 'module'))).toMatch(
      /^SubmoduleRefused module: module is a submodule\./,
    );
    expect(await namedFailure(local(made).readManifests(sha, 'directory/x'))).toMatch(
      /^SymlinkRefused directory: directory is a symbolic link\./,
    );
  });

  it('are bounded together', async () => {
    const made = await repository();
    const files = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`${index}.yaml`, `a: ${'x'.repeat(1_000_000)}${index}`]),
    );
    const sha = await made.commit(files);
    expect(await namedFailure(local(made).readManifests(sha, ''))).toMatch(
      /^CommitTooLarge: the manifests of commit \w+ have 12\d+ bytes together\./,
    );
  });
});

describe('an https repository', () => {
  let server: GitServer;
  let made: TestRepository;
  let sha: string;

  beforeAll(async () => {
    made = await repository();
    sha = await made.commit({ 'deploy/a.yaml': MANIFEST });
    await made.git('tag', '-a', '-m', 'one', 'v1');
    server = await GitServer.start(made.path);
  });
  afterAll(async () => {
    await server.stop();
  });
  afterEach(() => {
    server.behaviour = 'serve';
    server.password = undefined;
  });

  const remote = (options: Partial<MirrorOptions> = {}): Mirror =>
    openMirror({
      url: server.url('.git'),
      cacheDirectory: cache,
      caFile: server.caFile,
      lookTimeoutMs: 3_000,
      fetchTimeoutMs: 5_000,
      ...options,
    });

  it('is resolved and mirrored', async () => {
    expect(await remote().resolveRef()).toBe(sha);
    expect(await remote({ ref: 'v1' }).resolveRef()).toBe(sha);
    expect((await remote().readManifests(sha, 'deploy')).files).toEqual([
      { path: 'deploy/a.yaml', text: MANIFEST },
    ]);
    const requests = server.requests.length;
    expect((await remote().readManifests(sha, 'deploy')).files).toHaveLength(1);
    expect(server.requests).toHaveLength(requests);
    expect(await namedFailure(remote({ ref: 'nope' }).resolveRef())).toMatch(
      /^RefNotFound: .* has no branch or tag nope\./,
    );
    server.behaviour = 'garbage';
    expect(await namedFailure(remote({ ref: 'main' }).resolveRef())).toMatch(
      /^UnbornBranch: .* what answers there is not git\. .* a page for people/,
    );
    server.behaviour = 'serve';
    expect(await namedFailure(remote().ensureCommit('2'.repeat(40)))).toMatch(/^CommitGone/);
    expect(await namedFailure(remote({ url: server.url('nothing.git') }).resolveRef())).toMatch(
      /^RepositoryNotFound: https:\/\/localhost/,
    );
  });

  it('finds a commit again after its history was rewritten, as long as the server offers it', async () => {
    const gone = await made.commit({ 'deploy/b.yaml': MANIFEST });
    await made.git('reset', '--quiet', '--hard', sha);
    expect((await remote().readManifests(gone, 'deploy')).files).toHaveLength(2);
    expect(await remote().resolveRef()).toBe(sha);
  });

  it('that is empty has an unborn branch', async () => {
    const empty = await repository();
    const other = await GitServer.start(empty.path);
    try {
      expect(
        await namedFailure(
          openMirror({ url: other.url('.git'), caFile: other.caFile, cacheDirectory: cache }).resolveRef(),
        ),
      ).toMatch(/^UnbornBranch/);
    } finally {
      await other.stop();
    }
  });

  it('is given the token of its file and nobody else is', async () => {
    server.password = 'hunter2';
    expect(await namedFailure(remote().resolveRef())).toMatch(/^AuthenticationFailed: /);
    const wrong = await namedFailure(
      remote({ tokenFile: await server.tokenFile('wrong-token') }).resolveRef(),
    );
    expect(wrong).toMatch(/^AuthenticationFailed: .*Put a token/);
    expect(wrong).not.toContain('wrong-token');
    expect(await namedFailure(remote({ tokenFile: join(cache, 'no-such-file') }).resolveRef())).toMatch(
      /^AuthenticationFailed: the tokenFile .* is missing/,
    );
    expect(await remote({ tokenFile: await server.tokenFile('hunter2') }).resolveRef()).toBe(sha);
  });

  it('does not follow a redirect, least of all with a token', async () => {
    const elsewhere = await GitServer.start(made.path);
    try {
      server.behaviour = 'redirect';
      server.redirectTo = elsewhere.url('');
      const tokenFile = await server.tokenFile('hunter2');
      expect(await namedFailure(remote({ tokenFile }).resolveRef())).toMatch(/^SourceRefused: /);
      expect(elsewhere.requests).toEqual([]);
    } finally {
      await elsewhere.stop();
    }
  });

  it.each([
    ['hang', /^SourceTimeout: .*git ls-remote did not answer within 3 s/],
    ['error', /^SourceUnreachable: .*503/],
    ['garbage', /^UnbornBranch: .*or it is not a git repository/],
    ['unauthorized', /^AuthenticationFailed: /],
  ] as const)(
    'that answers with %s ends in a named error',
    async (behaviour, expected) => {
      server.behaviour = behaviour;
      expect(await namedFailure(remote().resolveRef())).toMatch(expected);
    },
    20_000,
  );

  it('that never ends is cut off', async () => {
    server.behaviour = 'endless';
    expect(await namedFailure(remote().resolveRef())).toMatch(/^Source\w+: /);
  }, 20_000);

  it('whose certificate nobody vouches for is refused', async () => {
    expect(await namedFailure(remote({ caFile: undefined }).resolveRef())).toMatch(
      /^SourceUnreachable: .*certificate/i,
    );
  });

  it('heals a mirror that was broken', async () => {
    await remote().ensureCommit(sha);
    for (const name of await readdir(cache)) {
      if (/^[0-9a-f]{24}$/.test(name)) {
        await rm(join(cache, name, 'objects', 'pack'), { recursive: true });
        await writeFile(join(cache, name, 'shallow.lock'), '');
      }
    }
    expect((await remote().readManifests(sha, 'deploy')).files).toHaveLength(1);
  });

  it('stops at once when it is told to', async () => {
    server.behaviour = 'hang';
    const begun = performance.now();
    await expect(remote().resolveRef(AbortSignal.timeout(200))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});
