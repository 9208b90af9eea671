/** Errors of system calls, in words. */

import { getSystemErrorMap } from 'node:util';

import { toMessage } from '../kubernetes/api-error.ts';
import { asRecord } from '../kubernetes/values.ts';

/** `no space left on device (ENOSPC)`; of an error that no system call made, its message. */
export function describeSystemError(error: unknown): string {
  const { errno } = asRecord(error);
  const known = typeof errno === 'number' ? getSystemErrorMap().get(errno) : undefined;
  return known === undefined ? toMessage(error) : `${known[1]} (${known[0]})`;
}
