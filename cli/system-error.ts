/** Errors of system calls, in words. */

import { getSystemErrorMap } from 'node:util';

/** `no space left on device (ENOSPC)`; of an error that no system call made, its message. */
export function describeSystemError({ errno, message }: NodeJS.ErrnoException): string {
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno);
  return known === undefined ? message : `${known[1]} (${known[0]})`;
}
