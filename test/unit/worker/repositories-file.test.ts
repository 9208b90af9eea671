/** The repositories file while the worker runs: a real file, looked at often. */

import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Repository } from '../../../git/repositories.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { tellOwnRights } from '../../../worker/own-rights-notice.ts';
import { RepositoriesFile } from '../../../worker/repositories-file.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;
let file: string;
let changes: (readonly Repository[])[];
let lines: { readonly level: string; readonly fields: object }[];
let stop: AbortController;
let watching: Promise<void>;
let source: RepositoriesFile;

const log = {
  info: (fields: object) => void lines.push({ level: 'info', fields }),
  warn: (fields: object) => void lines.push({ level: 'warn', fields }),
} as unknown as Parameters<typeof RepositoriesFile.read>[0]['log'];

const own = [repositoryFromFlags({ repo: '/srv/own' })];
const entry = (name: string, more: object = {}) => ({ name, url: `/srv/${name}`, ...more });

/** In one step, as editors do it: half a file would be reported. */
async function put(text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

async function write(entries: readonly object[]): Promise<void> {
  await put(JSON.stringify(entries));
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-file-'));
  file = join(folder, 'repositories.yaml');
  changes = [];
  lines = [];
  await write([entry('one'), entry('two')]);
  source = await RepositoriesFile.read({ file, own, log, lookMs: 5 });
  source.onChange((repositories) => void changes.push(repositories));
  stop = new AbortController();
  watching = source.watch(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await watching;
  await rm(folder, { recursive: true, force: true });
});

const names = (repositories: readonly Repository[] | undefined) => repositories?.map(({ name }) => name);

describe('the repositories file', () => {
  it('tells of entries that come, change and go; the others stay the same objects', async () => {
    const before = source.repositories;
    await write([entry('one'), entry('two', { path: 'deploy' }), entry('three')]);
    await eventually('it is read', () => changes.length === 1);
    expect(names(changes[0])).toEqual(['own', 'one', 'two', 'three']);
    expect([0, 1, 2].map((index) => changes[0]?.[index] === before[index])).toEqual([true, true, false]);
    expect(lines).toEqual([{ level: 'info', fields: { added: ['three'], removed: [], changed: ['two'] } }]);
    await write([entry('three')]);
    await eventually('it is read again', () => changes.length === 2);
    expect(names(source.repositories)).toEqual(['own', 'three']);
    expect(lines[1]?.fields).toEqual({ added: [], removed: ['one', 'two'], changed: [] });
  });

  it('that cannot be used changes nothing, is reported once, and may be mended', async () => {
    const problems: (string | undefined)[] = [];
    source.onProblem((problem) => problems.push(problem));
    await put('- {url: /a, branch: main}');
    await eventually('it is reported', () => lines.length === 1);
    expect(source.problem).toContain('"branch"');
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { problem: expect.stringContaining('"branch"') },
    });
    await rm(file);
    await eventually('it is reported that it is gone', () => lines.length === 2);
    expect(JSON.stringify(lines[1])).toContain('ENOENT');
    await write([entry('own')]);
    await eventually('it is reported that the name is taken', () => lines.length === 3);
    expect(JSON.stringify(lines[2])).toContain('the name own is taken by --repo');
    expect(changes).toEqual([]);
    await write([entry('four')]);
    await eventually('it is read', () => changes.length === 1);
    expect(names(source.repositories)).toEqual(['own', 'four']);
    expect(lines).toHaveLength(4);
    await eventually('it is told that it can be used', () => problems.length === 4);
    expect(problems).toEqual([
      expect.stringContaining('"branch"'),
      expect.stringContaining('ENOENT'),
      expect.stringContaining('taken by --repo'),
      undefined,
    ]);
    expect(source.problem).toBeUndefined();
  });

  it('is read through links that are swapped, as a mounted ConfigMap is', async () => {
    await writeFile(join(folder, 'next'), JSON.stringify([entry('five')]));
    await symlink('next', join(folder, 'link'));
    await rename(join(folder, 'link'), file);
    await eventually('it is read', () => changes.length === 1);
    expect(names(source.repositories)).toEqual(['own', 'five']);
  });

  it('with another comment is no change', async () => {
    await put(`# new\n${JSON.stringify([entry('one'), entry('two')])}`);
    await write([entry('one'), entry('two')]);
    await write([entry('one'), entry('two'), entry('six')]);
    await eventually('it is read', () => changes.length === 1);
    expect(names(changes[0])).toEqual(['own', 'one', 'two', 'six']);
  });

  /** As a worker that starts now, for which this was kept. */
  async function started(
    kept?: RepositoriesFile['kept'],
    { at = file, lookMs = 5 } = {},
  ): Promise<RepositoriesFile> {
    const later = await RepositoriesFile.read({ file: at, own, log, lookMs });
    await later.recover(async () => await Promise.resolve(kept));
    return later;
  }

  it('that is wrong at the start ends the start, where nothing was kept of it', async () => {
    const { kept } = source;
    await put('a: 1');
    await expect(started()).rejects.toThrow(/must be one YAML list/);
    await expect(started(undefined, { at: `${file}x` })).rejects.toThrow(/cannot be read/);
    await expect(started(kept, { at: `${file}x` })).rejects.toThrow(/cannot be read/);
    await expect(started({ file, entries: '[{}]' })).rejects.toThrow(/must be one YAML list/);
  });

  it('that is wrong at the start leaves the entries that were followed last, until it is mended', async () => {
    const webhook = { type: 'webhook', url: 'https://chat.example/secret', secretFile: 's' };
    const github = { type: 'github', tokenFile: 't' };
    await write([
      entry('one', { url: 'https://git.example/one', notify: [webhook, github], path: 'deploy' }),
    ]);
    const { kept } = await started();
    expect(kept?.file).toBe(file);
    // Whoever knows the address may write there.
    expect(kept?.entries).not.toContain('secret');
    await put('- {url: /a, branch: main}');
    const later = await started(kept);
    expect(later.repositories.slice(1)).toMatchObject([
      { name: 'one', url: 'https://git.example/one', path: 'deploy', notify: [{ type: 'github' }] },
    ]);
    expect(later.problem).toContain('"branch"');
    expect(later.kept).toEqual({ file, entries: expect.not.stringContaining('secret') });

    const problems: (string | undefined)[] = [];
    later.onProblem((problem) => problems.push(problem));
    const ending = new AbortController();
    const watched = later.watch(ending.signal);
    await write([entry('two')]);
    await eventually('it is read', () => problems.length > 0);
    ending.abort();
    await watched;
    expect([problems, names(later.repositories)]).toEqual([[undefined], ['own', 'two']]);
  });
});

describe('repositories whose commits have the rights of the worker', () => {
  it('are told once, when they are there and when they come', async () => {
    const told = () =>
      lines
        .filter(({ level }) => level === 'warn')
        .map(({ fields }) => (fields as { repositories?: unknown }).repositories);
    tellOwnRights(source, log);
    expect(told()).toEqual([['own', 'one', 'two']]);
    expect(JSON.stringify(lines)).toContain('set `serviceAccount: NAMESPACE/NAME` in the entry');
    const serviceAccount = 'web/deployer';
    await write([
      entry('one'),
      entry('two', { serviceAccount }),
      entry('three'),
      entry('four', { serviceAccount }),
    ]);
    await eventually('the file was read', () => changes.length === 1);
    expect(told()).toEqual([['own', 'one', 'two'], ['three']]);
    await write([entry('one'), entry('two'), entry('three')]);
    await eventually('the file was read', () => changes.length === 2);
    expect(told()).toEqual([['own', 'one', 'two'], ['three'], ['two']]);
  });
});
