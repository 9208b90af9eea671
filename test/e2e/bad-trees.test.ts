/** Repositories that are made to be misread: odd names, masses of files, refs that move and vanish. Real git, no servers. */

import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ManifestReader } from '../../git/manifests.ts';
import type { Mirror } from '../../git/mirror.ts';
import { openMirror } from '../../git/mirror.ts';
import { TestRepository } from '../support/git-repository.ts';
import { namedFailure } from '../support/named-failure.ts';
import { configMap } from '../support/small-manifests.ts';

let cache: string;
let made: TestRepository;

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'fairlead-trees-'));
  made = await TestRepository.create();
  await made.commit({ 'a.yaml': configMap('1') });
});
afterAll(async () => {
  await made.remove();
  await rm(cache, { recursive: true, force: true });
});

function mirror(ref?: string): Mirror {
  return openMirror({ url: made.path, cacheDirectory: cache, ...(ref !== undefined && { ref }) });
}

/** A commit of these paths, whatever the file system would say to them; all hold one manifest. */
async function imported(branch: string, paths: readonly Buffer[]): Promise<string> {
  const text = configMap('1');
  const input = Buffer.concat([
    Buffer.from(`blob\nmark :1\ndata ${String(Buffer.byteLength(text))}\n${text}\n`),
    Buffer.from(`commit refs/heads/${branch}\ncommitter Test <test@example.com> 0 +0000\ndata 1\nx\n`),
    ...paths.map((path) => Buffer.concat([Buffer.from('M 100644 :1 "'), quoted(path), Buffer.from('"\n')])),
    Buffer.from('\n'),
  ]);
  execFileSync('git', ['-c', 'core.protectNTFS=false', 'fast-import', '--quiet', '--force'], {
    cwd: made.path,
    input,
  });
  return await made.git('rev-parse', branch);
}

/** As C writes it, which is what fast-import reads. */
function quoted(path: Buffer): Buffer {
  const escaped = [...path].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`);
  return Buffer.from(escaped.join(''));
}

describe('names of files', () => {
  it('that look like options, hold line feeds, or have 4 KB are read; those of no encoding are told apart', async () => {
    const long = `${'d'.repeat(200)}/`.repeat(20);
    const names = [
      '-rf.yaml',
      '--output=x.yaml',
      'two\nlines.yaml',
      'tab\t.yaml',
      '"quoted".yaml',
      `${long}a.yaml`,
    ];
    const sha = await imported('names', [
      ...names.map((name) => Buffer.from(name)),
      Buffer.from([0x66, 0xff, 0xfe, 0x2e, 0x79, 0x61, 0x6d, 0x6c]),
    ]);
    const { files, problems } = await mirror().readManifests(sha, '');
    expect(problems).toEqual([]);
    expect(new Set(files.map(({ path }) => path))).toEqual(new Set([...names, 'f\ufffd\ufffd.yaml']));
    expect(files.every(({ text }) => text === configMap('1'))).toBe(true);
  });

  it('are shown, not obeyed, in a problem', async () => {
    const reader = new ManifestReader();
    for (const _ of reader.read({ path: 'a\n\u001b[31m.yaml', text: 'x' }));
    expect(reader.problems[0]?.file).toBe('a \\u001b[31m.yaml');
  });
});

describe('masses of files', () => {
  it('a hundred thousand are refused by their number', async () => {
    const paths = Array.from({ length: 100_000 }, (_, index) =>
      Buffer.from(`${String(index % 300)}/${String(index)}.yaml`),
    );
    const sha = await imported('masses', paths);
    expect(await namedFailure(mirror().readManifests(sha, ''))).toMatch(
      /^TooManyFiles: commit \w{8} has 100000 manifests, at most 20000 are read\./,
    );
  }, 60_000);
});

describe('refs', () => {
  it('a tag that was moved names what it names now', async () => {
    await made.git('tag', 'v1');
    const before = await mirror('v1').resolveRef();
    const after = await made.commit({ 'a.yaml': configMap('2') });
    await made.git('tag', '--force', 'v1');
    expect(after).not.toBe(before);
    expect(await mirror('v1').resolveRef()).toBe(after);
  });

  it('a branch that was deleted is named', async () => {
    await made.git('branch', 'gone');
    await mirror('gone').resolveRef();
    await made.git('branch', '--delete', '--force', 'gone');
    expect(await namedFailure(mirror('gone').resolveRef())).toMatch(
      /^RefNotFound: .* has no branch, tag or commit gone\./,
    );
  });
});

describe('names of objects', () => {
  it.each([
    ['x'.repeat(254), 'ObjectIncomplete'],
    ['a/b', 'ObjectIncomplete'],
    ['a b', 'ObjectIncomplete'],
    ['..', 'ObjectIncomplete'],
  ])('%j is refused before any request', (name, code) => {
    const reader = new ManifestReader();
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
    for (const _ of reader.read({ path: 'a.json', text }));
    expect(reader.manifests).toEqual([]);
    expect(reader.problems.map((problem) => problem.code)).toEqual([code]);
  });
});
