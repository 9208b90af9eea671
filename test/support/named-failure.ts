/** What a source that cannot be read is said to suffer from. */

import { ProblemError } from '../../git/problems.ts';

/** The words of the problem that `work` ends with; anything else that goes wrong is passed on. */
export async function namedFailure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ProblemError) return error.message;
    throw error;
  }
  return 'nothing failed';
}
