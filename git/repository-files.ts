/** The files that an entry of the repositories file names: are they there? What they hold is nobody's to tell. */

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';

import type { Repository } from './repositories.ts';

/** A file of an entry. */
export interface NamedFile {
  /** As in the repositories file; of a receiver after its id: `slack: urlFile`. */
  readonly field: string;
  readonly path: string;
}

/** Whether it is a file that this process may read, and holds something. */
export async function isUsableFile(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    await access(path, constants.R_OK);
    return found.isFile() && found.size > 0;
  } catch {
    return false;
  }
}

/** What is said of one that is not usable. */
export function describeUnusable({ field, path }: NamedFile): string {
  return `the ${field} ${path} is missing, empty or not readable`;
}

/** Every file that an entry names, those of its receivers after its own. */
export function filesOf(repository: Repository): readonly NamedFile[] {
  const { tokenFile, caFile, sshKeyFile, knownHostsFile, webhookSecretFile, notify = [] } = repository;
  const { allowedSignersFile, gpgKeysFile } = repository;
  const own = {
    tokenFile,
    caFile,
    sshKeyFile,
    knownHostsFile,
    webhookSecretFile,
    allowedSignersFile,
    gpgKeysFile,
  };
  const named = (files: Readonly<Record<string, string | undefined>>, of = '') =>
    Object.entries(files).flatMap(([field, path]) =>
      path === undefined ? [] : [{ field: of + field, path }],
    );
  return [
    ...named(own),
    ...notify.flatMap((one) => {
      const { id, urlFile, tokenFile: token, secretFile, caFile: authorities } = one;
      return named({ urlFile, tokenFile: token, secretFile, caFile: authorities }, `${id}: `);
    }),
  ];
}

/** Those of its files that cannot be used from here. */
export async function unusableFiles(repository: Repository): Promise<readonly NamedFile[]> {
  const files = filesOf(repository);
  const usable = await Promise.all(files.map(({ path }) => isUsableFile(path)));
  return files.filter((_, index) => usable[index] !== true);
}
