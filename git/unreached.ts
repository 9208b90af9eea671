/** What the apiserver could not reach, as a problem of what it stands in the way of. Pure. */

import type { Unreached } from '../kubernetes/unreached.ts';
import { codeOf, remedyOf } from '../kubernetes/unreached.ts';
import type { Problem } from './problems.ts';
import { TRIED_BY_ITSELF, problem } from './problems.ts';

/** With what to do about it: the apiserver is well, and what is away may be away for good, so somebody has to be told. */
export function unreachedProblem(
  unreached: Unreached,
  message: string,
  where: Pick<Problem, 'file' | 'line' | 'object'> = {},
): Problem {
  const { advice, command, shows } = remedyOf(unreached);
  const next = `M${advice.slice(1)} (\`${command}\` shows ${shows}); ${TRIED_BY_ITSELF}.`;
  return problem(codeOf(unreached), message, { ...where, next });
}
