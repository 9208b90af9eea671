/** Repositories as they are: local ones, and an https server of git's own that also misbehaves. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MirrorOptions } from '../../git/mirror-options.ts';
import type { Mirror } from '../../git/mirror.ts';
import { openMirror } from '../../git/mirror.ts';
import { deltaBomb } from '../support/delta-bomb.ts';
import { eventually } from '../support/eventually.ts';
import { TestRepository } from '../support/git-repository.ts';
import { namedFailure } from '../support/named-failure.ts';
import { GitServer } from '../support/git-server.ts';
import { mountsRoom } from '../support/mounts.ts';
import { peakOfFetch } from '../support/peak-memory.ts';
import { plantedIn } from '../support/planted.ts';

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

async function filesUnder(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The same length, every tenth byte from `first` on turned round, the checksum at the end left as it is. */
function flipped(bytes: Buffer, first: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = first; at < copy.length - 20; at += 10) copy[at] = 255 - (copy[at] ?? 0);
  return copy;
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

  it('has a branch and a tag of one name: which is meant is asked, unless it makes no difference', async () => {
    const made = await repository();
    const tagged = await made.commit({ 'a.yaml': MANIFEST });
    await made.git('tag', '--annotate', '--message', 'x', 'both');
    await made.git('branch', 'both');
    expect(await local(made, { ref: 'both' }).resolveRef()).toBe(tagged);
    await made.git('checkout', '--quiet', 'refs/heads/both', '-B', 'both');
    const newer = await made.commit({ 'b.yaml': MANIFEST });
    expect(await namedFailure(local(made, { ref: 'both' }).resolveRef())).toBe(
      `RefAmbiguous: ${made.path} has a branch and a tag both: refs/heads/both is at ${newer.slice(0, 8)}, refs/tags/both is at ${tagged.slice(0, 8)}. ` +
        'Set `ref` to the full name of the one that is meant (`refs/heads/NAME` or `refs/tags/NAME`).',
    );
    expect(await local(made, { ref: 'refs/heads/both' }).resolveRef()).toBe(newer);
    expect(await local(made, { ref: 'refs/tags/both' }).resolveRef()).toBe(tagged);
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

  it('that are damaged are named, and the repository is left as it is', async () => {
    const made = await repository();
    const sha = await made.commit({ 'a.yaml': MANIFEST });
    const blob = await made.git('rev-parse', 'HEAD:a.yaml');
    const file = join(made.path, '.git', 'objects', blob.slice(0, 2), blob.slice(2));
    const damaged = flipped(await readFile(file), 2);
    await rm(file);
    await writeFile(file, damaged);
    expect(await namedFailure(local(made).readManifests(sha, ''))).toMatch(
      /^SourceCorrupt.*Run `git fsck` in the repository\./,
    );
    expect(await readFile(file)).toEqual(damaged);
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
    server.only = undefined;
    server.password = undefined;
    server.pack = undefined;
  });

  let own: string;
  beforeEach(async () => {
    own = await mkdtemp(join(cache, 'own-'));
  });

  const remote = (options: Partial<MirrorOptions> = {}): Mirror =>
    openMirror({
      url: server.url('.git'),
      cacheDirectory: cache,
      caFile: server.caFile,
      lookTimeoutMs: 20_000,
      fetchTimeoutMs: 60_000,
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
    expect(await namedFailure(remote().ensureCommit('2'.repeat(40)))).toMatch(
      /^CommitGone: .* The history was rewritten/,
    );
    expect(await namedFailure(remote({ ref: '2'.repeat(40) }).ensureCommit('2'.repeat(40)))).toMatch(
      /^CommitGone: .* Set `ref` to a commit/,
    );
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

  it('with an object that is not well formed is refused, and what is wrong with it is said', async () => {
    const file = join(own, 'commit');
    await writeFile(file, `tree ${await made.git('rev-parse', 'HEAD^{tree}')}\n\nnobody made this\n`);
    const broken = await made.git('hash-object', '-t', 'commit', '-w', '--literally', file);
    await made.git('update-ref', 'refs/heads/broken', broken);
    const mirror = remote({ ref: 'broken', cacheDirectory: own });
    expect(await mirror.resolveRef()).toBe(broken);
    expect(await namedFailure(mirror.ensureCommit(broken))).toMatch(
      /^SourceCorrupt: .*missingAuthor.* Run `git fsck` in the repository\.$/,
    );
    await made.git('update-ref', '-d', 'refs/heads/broken');
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
    const tokenFile = await server.tokenFile('hunter2');
    const basic = (user: string): string => `Basic ${Buffer.from(`${user}:hunter2`).toString('base64')}`;
    expect(await remote({ tokenFile }).resolveRef()).toBe(sha);
    expect(server.requests.at(-1)?.authorization).toBe(basic('x-access-token'));
    expect(await remote({ tokenFile, username: "de$ploy's" }).resolveRef()).toBe(sha);
    expect(server.requests.at(-1)?.authorization).toBe(basic("de$ploy's"));
  });

  it('that repeats the token it was sent is not quoted', async () => {
    const token = 'ghp_planted-7f3a9c';
    const tokenFile = await server.tokenFile(token);
    server.behaviour = 'echo';
    const failure = await namedFailure(remote({ tokenFile, username: 'deploy' }).resolveRef());
    // What it says is told all the same.
    expect(failure).toMatch(/^AuthenticationFailed: .*remote: invalid token \*\*\*, sent as Basic \S*\*\*\*/);
    expect(plantedIn(failure, [token])).toEqual([]);
  });

  it('is read by another entry with credentials of its own only when they are good', async () => {
    server.password = 'hunter2';
    const good = remote({ tokenFile: await server.tokenFile('hunter2'), ref: sha, cacheDirectory: own });
    expect((await good.readManifests(await good.resolveRef(), 'deploy')).files).toHaveLength(1);
    const bad = remote({ tokenFile: await server.tokenFile('revoked'), ref: sha, cacheDirectory: own });
    const none = remote({ ref: sha, cacheDirectory: own });
    for (const other of [bad, none])
      expect(await namedFailure(other.readManifests(await other.resolveRef(), 'deploy'))).toMatch(
        /^AuthenticationFailed: /,
      );
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
    ['hang', /^SourceTimeout: .*git fetch did not answer within 5 s/],
    ['slow', /^SourceTimeout: .*git fetch did not answer within 5 s/],
    [503, /^SourceUnreachable: .*503/],
    ['garbage', /^SourceUnreachable: /],
  ] as const)(
    'that answers a look, and the fetch after it with %s, ends in a named error, and is fetched when it is well',
    async (behaviour, expected) => {
      const next = await made.commit({ 'deploy/a.yaml': `${MANIFEST}data: {now: "${String(behaviour)}"}\n` });
      expect(await remote().resolveRef()).toBe(next);
      server.only = 'POST';
      server.behaviour = behaviour;
      expect(await namedFailure(remote({ fetchTimeoutMs: 5_000 }).ensureCommit(next))).toMatch(expected);
      server.behaviour = 'serve';
      const { files } = await remote().readManifests(next, 'deploy');
      expect(files[0]?.text).toContain(String(behaviour));
      await made.git('reset', '--quiet', '--hard', sha);
    },
    20_000,
  );

  it('whose certificate nobody vouches for is refused', async () => {
    expect(await namedFailure(remote({ caFile: undefined }).resolveRef())).toMatch(
      /^SourceUnreachable: .*: the server's certificate is of an authority that is not known here \(localhost\)\./,
    );
    expect(await namedFailure(remote({ caFile: '/nowhere/ca.pem' }).resolveRef())).toMatch(
      /^SourceUnreachable: .*the caFile \/nowhere\/ca\.pem is missing.* take `caFile` out/,
    );
  });

  it('whose branch was deleted, or whose tag was moved, is read as it is now', async () => {
    await made.git('branch', 'release');
    await made.git('tag', 'moving');
    expect(await remote({ ref: 'release' }).resolveRef()).toBe(sha);
    expect(await remote({ ref: 'moving' }).resolveRef()).toBe(sha);
    const next = await made.commit({ 'deploy/b.yaml': MANIFEST });
    await made.git('branch', '--delete', '--force', 'release');
    await made.git('tag', '--force', 'moving');
    expect(await namedFailure(remote({ ref: 'release' }).resolveRef())).toMatch(
      /^RefNotFound: https:\/\/localhost\S* has no branch or tag release\. Set `ref` to/,
    );
    // What the branch named last can still be read: who has to go back to it finds it.
    expect((await remote({ ref: 'release' }).readManifests(sha, 'deploy')).files).toHaveLength(1);
    expect(await remote({ ref: 'moving' }).resolveRef()).toBe(next);
    await made.git('branch', 'moving', sha);
    expect(await namedFailure(remote({ ref: 'moving' }).resolveRef())).toMatch(/^RefAmbiguous: https:/);
    expect(await remote({ ref: 'refs/heads/moving' }).resolveRef()).toBe(sha);
    await made.git('tag', '--force', '--annotate', '--message', 'x', 'moving', next);
    expect(await remote({ ref: 'refs/tags/moving' }).resolveRef()).toBe(next);
    await made.git('branch', '--delete', '--force', 'moving');
    expect((await remote({ ref: 'moving' }).readManifests(next, 'deploy')).files).toHaveLength(2);
    await made.git('reset', '--quiet', '--hard', sha);
  });

  it('with 100 MB of zeros in a few kB: they are never in memory, the others are read', async () => {
    const next = await made.commit({ 'deploy/zeros.bin': Buffer.alloc(100 * 1024 * 1024) });
    const mirror = remote({ cacheDirectory: own });
    const peak = await peakOfFetch(async () => await mirror.ensureCommit(next));
    expect(peak).toBeGreaterThan(0);
    expect(peak).toBeLessThan(60 * 1024 * 1024);
    expect((await mirror.readManifests(next, 'deploy')).files.map(({ path }) => path)).toEqual([
      'deploy/a.yaml',
    ]);
    await made.git('reset', '--quiet', '--hard', sha);
  }, 90_000);

  it('that sends a delta of 2 GB in a few kB gets no more memory than is set, and is read when it is well', async () => {
    server.pack = deltaBomb(2 * 1024 ** 3);
    expect(server.pack.length).toBeLessThan(20_000);
    const mirror = remote({ cacheDirectory: own });
    let failure = '';
    const peak = await peakOfFetch(async () => (failure = await namedFailure(mirror.ensureCommit(sha))));
    expect(failure).toMatch(/^SourceTooLarge: .*Out of memory.* Take out of the repository what inflates/);
    expect(peak).toBeGreaterThan(0);
    expect(peak).toBeLessThan(512 * 1024 * 1024);
    server.pack = undefined;
    expect((await mirror.readManifests(sha, 'deploy')).files).toHaveLength(1);
  }, 90_000);

  it('with a file of 100 MB: that file is refused by its size, unread, the others are read', async () => {
    const large = Buffer.alloc(100 * 1024 * 1024, 'x');
    const next = await made.commit({ 'deploy/large.yaml': large, 'deploy/film.bin': large });
    const before = process.memoryUsage().rss;
    const { files, problems } = await remote().readManifests(next, 'deploy');
    expect(files.map(({ path }) => path)).toEqual(['deploy/a.yaml']);
    expect(problems.map(({ code, file, message }) => `${code} ${file ?? ''}: ${message}`)).toEqual([
      'FileTooLarge deploy/large.yaml: the file has 104857600 bytes, at most 1048576 are read.',
    ]);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
    await made.git('reset', '--quiet', '--hard', sha);
  }, 90_000);

  it('that needs more room than a mirror may have is cut off, and leaves nothing behind', async () => {
    const next = await made.commit({ 'deploy/noise.bin': randomBytes(8 * 1024 * 1024) });
    server.only = 'POST';
    // It never says that it is done: whenever the size is looked at, the fetch is still under way.
    server.behaviour = 'unfinished';
    expect(
      await namedFailure(remote({ maxBytes: 1024 * 1024, cacheDirectory: own }).ensureCommit(next)),
    ).toMatch(/^SourceTooLarge: .*the repository needs more than 1048576 bytes/);
    server.behaviour = 'serve';
    const patient = remote({ cacheDirectory: own });
    expect((await patient.readManifests(next, 'deploy')).files).toHaveLength(1);
    expect((await filesUnder(own)).filter((file) => file.includes('tmp_'))).toEqual([]);
    await made.git('reset', '--quiet', '--hard', sha);
  }, 90_000);

  // Only where this machine lets a small file system be mounted.
  if (mountsRoom())
    it('that finds no room on the disk says so, and goes on when there is', async () => {
      const full = await mkdtemp(join(tmpdir(), 'fairlead-full-'));
      const next = await made.commit({ 'deploy/noise.bin': randomBytes(3 * 1024 * 1024) });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', full]);
      try {
        const failure = await namedFailure(remote({ cacheDirectory: full }).ensureCommit(next));
        expect(failure).toMatch(/^SourceUnreachable: .*No space left on device.*Make room where the worker/);
        execFileSync('mount', ['-o', 'remount,size=16m', full]);
        const { files } = await remote({ cacheDirectory: full }).readManifests(next, 'deploy');
        expect(files).toHaveLength(1);
      } finally {
        execFileSync('umount', [full]);
        await rm(full, { recursive: true });
        await made.git('reset', '--quiet', '--hard', sha);
      }
    }, 30_000);

  describe('whose mirror', () => {
    const objects = async (): Promise<readonly string[]> =>
      (await filesUnder(own)).filter((file) => file.endsWith('.pack') || /objects\/[0-9a-f]{2}\//.test(file));

    it('has lost its objects, and locks of a killed fetch, is healed', async () => {
      await remote({ cacheDirectory: own }).ensureCommit(sha);
      const [mirror = ''] = (await readdir(own)).filter((name) => /^[0-9a-f]{24}$/.test(name));
      for (const file of await objects()) await rm(file);
      for (const lock of ['shallow.lock', 'HEAD.lock', 'config.lock', 'refs/fairlead/fetched.lock'])
        await writeFile(join(own, mirror, lock), '');
      expect((await remote({ cacheDirectory: own }).readManifests(sha, 'deploy')).files).toHaveLength(1);
    });

    it.each(['every object', 'the last object', 'the end', 'HEAD', 'config'])(
      'is damaged, %s, is made anew',
      async (what) => {
        await remote({ cacheDirectory: own }).ensureCommit(sha);
        const [mirror = ''] = (await readdir(own)).filter((name) => /^[0-9a-f]{24}$/.test(name));
        if (what === 'HEAD' || what === 'config') await writeFile(join(own, mirror, what), '\0\0\0\0');
        for (const file of what === 'HEAD' || what === 'config' ? [] : await objects()) {
          const bytes = await readFile(file);
          await rm(file);
          if (what === 'the end') await writeFile(file, bytes.subarray(0, bytes.length / 2));
          // Commit and trees come before the files.
          else await writeFile(file, flipped(bytes, what === 'every object' ? 20 : bytes.length - 45));
        }
        expect((await remote({ cacheDirectory: own }).readManifests(sha, 'deploy')).files).toEqual([
          { path: 'deploy/a.yaml', text: MANIFEST },
        ]);
      },
    );
  });

  it('is read as far as it is here while a fetch of another commit hangs', async () => {
    const here = await made.git('rev-parse', 'HEAD');
    await remote().ensureCommit(here);
    const next = await made.commit({ 'deploy/c.yaml': MANIFEST });
    server.behaviour = 'hang';
    const asked = server.requests.length;
    const ending = new AbortController();
    const fetching = remote()
      .ensureCommit(next, ending.signal)
      .catch((error: unknown) => error);
    try {
      await eventually('the fetch is under way', () => server.requests.length > asked);
      const mirror = remote();
      expect([await mirror.holds(here), await mirror.holds(next)]).toEqual([true, false]);
      expect((await mirror.readManifests(here, 'deploy')).files.length).toBeGreaterThan(0);
    } finally {
      ending.abort();
    }
    expect(await fetching).toMatchObject({ name: 'AbortError' });
  }, 30_000);

  it('stops at once also while it waits for the fetch of another, which goes on', async () => {
    const cacheDirectory = join(cache, 'queue');
    const [one, other] = [remote({ cacheDirectory }), remote({ cacheDirectory })];
    const wanted = await one.resolveRef();
    server.behaviour = 'hang';
    const [first, second] = [new AbortController(), new AbortController()];
    const before = server.requests.length;
    const fetching = one.ensureCommit(wanted, first.signal);
    let isFetching = true;
    fetching.catch(() => (isFetching = false));
    await eventually('it fetches', () => server.requests.length > before);
    const queued = other.ensureCommit(wanted, second.signal);
    second.abort(new Error('a newer commit'));
    await expect(queued).rejects.toThrow('a newer commit');
    expect(isFetching).toBe(true);
    first.abort(new Error('the end'));
    await expect(fetching).rejects.toThrow('the end');
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
