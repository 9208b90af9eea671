/** SSH keys that commits are signed with, and the file that says whose signature counts. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Ada may sign, Eve may not, and the key of `old` was valid until 2020. */
export type SshSigner = 'ada' | 'eve' | 'old';

/** Makes a key for each; answers the allowedSignersFile. */
export async function makeSshSigners(folder: string): Promise<string> {
  const made = async (key: SshSigner): Promise<string> => {
    const options = ['-q', '-t', 'ed25519', '-N', '', '-C', key, '-f', join(folder, key)];
    await promisify(execFile)('ssh-keygen', options);
    return await readFile(join(folder, `${key}.pub`), 'utf8');
  };
  const [ada, , old] = await Promise.all([made('ada'), made('eve'), made('old')]);
  const file = join(folder, 'allowed');
  await writeFile(
    file,
    `ada@example.com namespaces="git" ${ada}old@example.com valid-before="20200101" ${old}`,
  );
  return file;
}

/** Options of git with which a commit is signed so. */
export function signingOptions(folder: string, key: SshSigner): readonly string[] {
  return ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${join(folder, key)}`];
}
