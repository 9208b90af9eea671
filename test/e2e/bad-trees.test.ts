/** Repositories that are made to be misread: odd names, refs that move and vanish. Real git, no servers. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ManifestReader } from '../../git/manifests.ts';
import type { Mirror } from '../../git/mirror.ts';
import { openMirror } from '../../git/mirror.ts';
import { NO_UTF8, TestRepository } from '../support/git-repository.ts';
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
    const paths = [...names.map((name) => Buffer.from(name)), NO_UTF8];
    const sha = await made.imported(
      'names',
      paths.map((path) => [path, configMap('1')]),
    );
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
