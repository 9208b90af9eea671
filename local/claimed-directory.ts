/** The directory of an instance, and those above it, which come with the first instance and go with the last. */

import { mkdir, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import { errorCode } from '../kubernetes/values.ts';

/** More than there are removals in that moment. */
const MOST_TRIES = 20;

/** As `mkdir -p`. Node's own never ends where a parent is there and takes no directory all the same, as /proc. Rejects with the system's error. */
export async function makeDirectories(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return;
  if (dirname(path) !== path) await makeDirectories(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    // Another one was quicker.
    if (errorCode(error) !== 'EEXIST') throw error;
  });
}

/**
 * Makes the directory: of two that want the same name one fails.
 * @throws Error for the name of an instance that is there, with what to do; the system's where no directory can be made
 */
export async function claimDirectory(directory: string, name: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await makeDirectories(dirname(directory));
      await mkdir(directory, { mode: 0o700 });
      return;
    } catch (error) {
      // Somebody's removeEmptyParents was between the two.
      if (errorCode(error) === 'ENOENT' && tries < MOST_TRIES) continue;
      if (errorCode(error) !== 'EEXIST') throw error;
      throw new Error(
        `instance ${name} exists already in ${directory}; look at it with: fairlead local status --name ${name}; remove it with: fairlead local down --name ${name}`,
        { cause: error },
      );
    }
  }
}

/** Removes the state directory of instances and our own above it, where they are empty. Never rejects: what stays is in nobody's way. */
export async function removeEmptyParents(stateDirectory: string): Promise<void> {
  try {
    await rmdir(stateDirectory);
    await rmdir(dirname(stateDirectory));
  } catch {
    // Somebody else's instance is there, or nothing was.
  }
}
