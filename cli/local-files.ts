/** What to do where a directory of `fairlead local` cannot be used. */

import { cacheHome, stateHome } from '../kubernetes/base-directories.ts';
import { asRecord, errorCode } from '../kubernetes/values.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { describeSystemError } from './system-error.ts';

/** Of open(2), mkdir(2) and write(2): what somebody who chooses the directory can do something about. */
const UNUSABLE = new Set([
  'EACCES',
  'EDQUOT',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

interface Home {
  readonly variable: string;
  readonly holds: string;
  readonly directory: string;
}

/**
 * Runs a verb.
 *
 * @throws CliError instead of the system's bare words where the directory of instances or that of programs cannot be used, with
 *   the variable that chooses another; other errors as they are
 */
export async function withLocalFiles<T>(
  work: () => Promise<T>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const home = unusableHome(error, environment);
    if (home === undefined) throw error;
    throw new CliError(
      `${describeCall(error)}\n` +
        `  ${home.holds} are kept in ${home.directory}: make it a directory that you can write, or choose another: export ${home.variable}=DIRECTORY`,
      EXIT.failed,
      { cause: error },
    );
  }
}

/** `cannot make /x/fairlead: permission denied (EACCES)` */
function describeCall(error: unknown): string {
  const { path, syscall } = asRecord(error);
  return `cannot ${syscall === 'mkdir' ? 'make' : 'use'} ${String(path)}: ${describeSystemError(error)}`;
}

function unusableHome(
  error: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): Home | undefined {
  const { path, syscall } = asRecord(error);
  if (typeof path !== 'string' || !UNUSABLE.has(errorCode(error) ?? '')) return undefined;
  const homes: readonly Home[] = [
    { variable: 'XDG_STATE_HOME', holds: 'instances', directory: stateHome(environment) },
    { variable: 'XDG_CACHE_HOME', holds: 'programs', directory: cacheHome(environment) },
  ];
  const isIn = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`);
  // One above it has to be made first.
  return homes.find(
    ({ directory }) => isIn(path, directory) || (syscall === 'mkdir' && isIn(directory, path)),
  );
}
