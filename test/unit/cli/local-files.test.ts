import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { CliError } from '../../../cli/exit-codes.ts';
import { withLocalFiles } from '../../../cli/local-files.ts';

describe('a directory of `fairlead local` that cannot be used', () => {
  let directory: string;
  let file: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'local-files-'));
    file = join(directory, 'file');
    await writeFile(file, '');
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  it('is named with the variable that chooses another', async () => {
    const work = async () =>
      await readFile(join(file, 'fairlead', 'local', 'default', 'instance.json'), 'utf8');
    const told = withLocalFiles(work, { XDG_STATE_HOME: file });
    await expect(told).rejects.toThrow(CliError);
    await expect(told).rejects.toThrow(
      `cannot use ${join(file, 'fairlead', 'local', 'default', 'instance.json')}: not a directory (ENOTDIR)\n` +
        `  instances are kept in ${join(file, 'fairlead')}: make it a directory that you can write, or choose another: export XDG_STATE_HOME=DIRECTORY`,
    );
  });

  it('is named too where the one that the variable names cannot be made', async () => {
    const home = join(directory, 'missing', 'state');
    const told = withLocalFiles(async () => await mkdir(home), { XDG_STATE_HOME: home });
    await expect(told).rejects.toThrow(
      `cannot make ${home}: no such file or directory (ENOENT)\n  instances are kept in ${join(home, 'fairlead')}: `,
    );
  });

  it('is that of the programs where theirs fails', async () => {
    const work = async () => await mkdir(join(file, 'fairlead'), { recursive: false });
    await expect(withLocalFiles(work, { XDG_STATE_HOME: directory, XDG_CACHE_HOME: file })).rejects.toThrow(
      'programs are kept in',
    );
  });

  it('is not blamed for what fails elsewhere', async () => {
    const work = async () => await readFile(join(file, 'elsewhere'), 'utf8');
    const told = withLocalFiles(work, {
      XDG_STATE_HOME: join(directory, 'state'),
      XDG_CACHE_HOME: join(directory, 'cache'),
    });
    await expect(told).rejects.not.toThrow(CliError);
    await expect(told).rejects.toThrow('ENOTDIR');
  });
});
