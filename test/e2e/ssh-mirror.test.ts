/** Repositories behind ssh: a real ssh client of the machine against a real ssh server, which also misbehaves. */

import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { MirrorOptions } from '../../git/mirror-options.ts';
import type { Mirror } from '../../git/mirror.ts';
import { openMirror } from '../../git/mirror.ts';
import { TestRepository } from '../support/git-repository.ts';
import { namedFailure } from '../support/named-failure.ts';
import { SshGitServer } from '../support/ssh-git-server.ts';

const MANIFEST = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n';

describe('an ssh repository', () => {
  let cache: string;
  let made: TestRepository;
  let server: SshGitServer;
  let sha: string;

  beforeAll(async () => {
    // What is quoted wrongly on the way to ssh shows in such a name.
    cache = await mkdtemp(join(tmpdir(), "fairlead ssh '%h' "));
    made = await TestRepository.create();
    sha = await made.commit({ 'deploy/a.yaml': MANIFEST });
    server = await SshGitServer.start(made.path);
  });
  afterAll(async () => {
    await server.stop();
    await made.remove();
    await rm(cache, { recursive: true, force: true });
  });
  afterEach(() => {
    server.behaviour = 'serve';
    server.takesVariables = true;
  });

  const remote = (options: Partial<MirrorOptions> = {}): Mirror =>
    openMirror({
      url: server.url('.git'),
      cacheDirectory: cache,
      sshKeyFile: server.keyFile,
      knownHostsFile: server.knownHostsFile,
      lookTimeoutMs: 5_000,
      fetchTimeoutMs: 10_000,
      ...options,
    });

  it('is resolved and mirrored, and asked for nothing but its commits', async () => {
    expect(await remote().resolveRef()).toBe(sha);
    expect((await remote().readManifests(sha, 'deploy')).files).toEqual([
      { path: 'deploy/a.yaml', text: MANIFEST },
    ]);
    expect(new Set(server.commands)).toEqual(new Set(["git-upload-pack '/.git'"]));
    expect(new Set(server.variables)).toEqual(new Set(['GIT_PROTOCOL']));
    expect(await namedFailure(remote({ ref: 'nope' }).resolveRef())).toMatch(
      /^RefNotFound: .* has no branch or tag nope\./,
    );
    expect(await namedFailure(remote().ensureCommit('2'.repeat(40)))).toMatch(/^CommitGone/);
    expect(await namedFailure(remote({ url: server.url('nothing.git') }).resolveRef())).toMatch(
      /^RepositoryNotFound: ssh:\/\/git@127\.0\.0\.1/,
    );
  });

  it("is read at an annotated tag that no branch is at from a server that speaks git's first protocol alone", async () => {
    server.takesVariables = false;
    const own = await mkdtemp(join(tmpdir(), 'fairlead-ssh-'));
    const tagged = await made.commit({ 'deploy/b.yaml': MANIFEST });
    await made.git('tag', '--annotate', '--message', 'x', 'v1');
    await made.git('reset', '--quiet', '--hard', sha);
    const followed = remote({ ref: 'v1', cacheDirectory: own });
    expect(await followed.resolveRef()).toBe(tagged);
    expect((await followed.readManifests(tagged, 'deploy')).files).toHaveLength(2);
    expect(await namedFailure(followed.ensureCommit('b'.repeat(40)))).toMatch(/^CommitGone: /);
    await rm(own, { recursive: true });
  });

  it('lets in its own key alone', async () => {
    expect(await namedFailure(remote({ sshKeyFile: server.strangerKeyFile }).resolveRef())).toMatch(
      /^AuthenticationFailed: .*Permission denied \(publickey\).*deploy key/,
    );
    expect(await namedFailure(remote({ sshKeyFile: join(cache, 'no-such-file') }).resolveRef())).toMatch(
      /^AuthenticationFailed: the sshKeyFile .* is missing.*ssh-keygen/,
    );
    expect(
      await namedFailure(remote({ sshKeyFile: await server.file('text', 'no key at all\n') }).resolveRef()),
    ).toMatch(/^AuthenticationFailed: /);
  });

  it('takes no key that others can read', async () => {
    const open = await server.file('open', await readFile(server.keyFile, 'utf8'));
    await chmod(open, 0o644);
    expect(await namedFailure(remote({ sshKeyFile: open }).resolveRef())).toMatch(
      /^AuthenticationFailed: .*chmod 600/,
    );
  });

  it('is not spoken to when its host key is not the one that is trusted', async () => {
    const before = server.commands.length;
    const other = await SshGitServer.start(made.path);
    try {
      const wrong = await server.file('wrong-hosts', await other.hostLine(server.port));
      expect(await namedFailure(remote({ knownHostsFile: wrong }).resolveRef())).toMatch(/^HostKeyRefused: /);
      expect(await namedFailure(remote({ knownHostsFile: other.knownHostsFile }).resolveRef())).toMatch(
        /^HostKeyRefused: /,
      );
    } finally {
      await other.stop();
    }
    expect(await namedFailure(remote({ knownHostsFile: join(cache, 'no-such-file') }).resolveRef())).toMatch(
      /^HostKeyRefused: the knownHostsFile .* is missing.*ssh-keyscan -p \d+ 127\.0\.0\.1/,
    );
    expect(server.commands).toHaveLength(before);
  });

  it.each([
    ['hang', /^SourceTimeout: .*git ls-remote did not answer within 5 s/],
    ['hang up', /^SourceUnreachable: /],
    ['garbage', /^SourceUnreachable: /],
    ['failure', /^SourceUnreachable: .*disk is on fire/],
  ] as const)('that answers with %s ends in a named error', async (behaviour, expected) => {
    server.behaviour = behaviour;
    expect(await namedFailure(remote().resolveRef())).toMatch(expected);
  });

  it('that nobody serves is unreachable', async () => {
    const gone = await SshGitServer.start(made.path);
    const { url, known } = { url: gone.url('.git'), known: await readFile(gone.knownHostsFile, 'utf8') };
    await gone.stop();
    const knownHostsFile = await server.file('gone-hosts', known);
    expect(await namedFailure(remote({ url, knownHostsFile }).resolveRef())).toMatch(/^SourceUnreachable: /);
  });
});
