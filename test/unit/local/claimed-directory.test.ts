/** Directories that come and go with instances, also while others do so. */

import { mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { claimDirectory, makeDirectories, removeEmptyParents } from '../../../local/claimed-directory.ts';
import { runCliProcess } from '../../support/cli-process.ts';

let home: string;
let state: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'fairlead-claimed-'));
  state = join(home, 'fairlead', 'local');
});

afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

describe('the directories above an instance', () => {
  it('go with `local down` of the last instance', async () => {
    const environment = { XDG_STATE_HOME: home, PATH: process.env['PATH'] ?? '' };
    const down = async (name: string) =>
      (await runCliProcess(['local', 'down', '--name', name], { environment })).code;
    await makeDirectories(join(state, 'one'));
    await makeDirectories(join(state, 'another'));
    expect(await down('one')).toBe(0);
    expect(await readdir(state)).toEqual(['another']);
    expect(await down('another')).toBe(0);
    expect(await readdir(home)).toEqual([]);
    expect(await down('another')).toBe(0);
  }, 200_000);

  it('stay where anything is in them', async () => {
    await makeDirectories(state);
    await writeFile(join(home, 'fairlead', 'notes'), '');
    await removeEmptyParents(state);
    expect(await readdir(join(home, 'fairlead'))).toEqual(['notes']);
  });

  it('are made again for whoever claims one while the last instance goes', async () => {
    for (let round = 0; round < 300; round++) {
      const directory = join(state, 'one');
      await Promise.all([
        claimDirectory(directory, 'one'),
        removeEmptyParents(state),
        removeEmptyParents(state),
        removeEmptyParents(state),
      ]);
      await rmdir(directory);
    }
  });

  it('are given up where the system takes none, and an instance where it is there', async () => {
    await mkdir(join(home, 'fairlead', 'local', 'one'), { recursive: true });
    await expect(claimDirectory(join(state, 'one'), 'one')).rejects.toThrow('instance one exists already');
    await writeFile(join(state, 'file'), '');
    await expect(claimDirectory(join(state, 'file', 'one'), 'one')).rejects.toThrow('ENOTDIR');
  });

  const itOnLinux = process.platform === 'linux' ? it : it.skip;
  itOnLinux(
    'are told, with what to set, where the system takes none',
    async () => {
      const nowhere = { XDG_STATE_HOME: '/proc/x', XDG_CACHE_HOME: '/proc/y', PATH: '' };
      const { code, out, err } = await runCliProcess(['local', 'up'], { environment: nowhere });
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(
        /^error: cannot make \/proc\/y: no such file or directory \(ENOENT\)\n {2}programs are kept in \/proc\/y\/fairlead: .* export XDG_CACHE_HOME=DIRECTORY\n$/,
      );
      await expect(claimDirectory('/proc/x/fairlead/local/one', 'one')).rejects.toThrow(
        "ENOENT: no such file or directory, mkdir '/proc/x'",
      );
    },
    200_000,
  );
});
