/** What git said, as a problem that names the next step. One table, read from top to bottom. */

import type { GitOutput } from './git-process.ts';
import { GitProcessError } from './git-process.ts';
import type { ProblemCode } from './problems.ts';
import { ProblemError, problem } from './problems.ts';

const TABLE: readonly (readonly [RegExp, ProblemCode])[] = [
  [
    /Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|HTTP (?:code = )?401|error: 401|error: 403|HTTP (?:code = )?403/i,
    'AuthenticationFailed',
  ],
  [
    /repository '?[^']*'? not found|does not appear to be a git repository|error: 404|HTTP (?:code = )?404|not valid: is this a git repository/i,
    'RepositoryNotFound',
  ],
  [/unable to update url base from redirection|redirect|returned error: 30\d/i, 'SourceRefused'],
  [/transport '[^']*' not allowed/i, 'SourceRefused'],
  [/SSL|certificate/i, 'SourceUnreachable'],
  [
    /Could not resolve host|Failed to connect|Connection (?:refused|reset|timed out)|Operation too slow|early EOF|hung up|RPC failed|error: 5\d\d|error: 429|Empty reply|transfer closed/i,
    'SourceUnreachable',
  ],
  [
    /upload-pack: not our ref|Server does not allow request for unadvertised object|couldn't find remote ref|no such remote ref/i,
    'CommitGone',
  ],
  [/No space left on device|Disk quota/i, 'SourceUnreachable'],
  [
    /bad object|loose object .* is corrupt|missing blob|unable to read|corrupt|inflate|fsck error|error in .*: /i,
    'SourceCorrupt',
  ],
];

/** Codes that may pass by themselves: a poll or an activity tries again. */
export const TRANSIENT_CODES: ReadonlySet<ProblemCode> = new Set(['SourceUnreachable', 'SourceTimeout']);

/** The error of a git command that exited with a failure. `what` names the source without credentials. */
export function gitFailure(output: GitOutput, what: string): ProblemError {
  const line = summary(output.stderr);
  const code = TABLE.find(([pattern]) => pattern.test(output.stderr))?.[1] ?? 'SourceUnreachable';
  return new ProblemError(
    problem(code, `${what}: ${line === '' ? `git ended with code ${output.code}` : line}.`),
  );
}

/** The error of a git command that did not run to its end; anything else is passed on unchanged. */
export function processFailure(error: unknown, what: string): unknown {
  if (!(error instanceof GitProcessError) || error.reason === 'aborted') return error;
  const codes = {
    timeout: 'SourceTimeout',
    output: 'SourceTooLarge',
    watchdog: 'SourceTooLarge',
    spawn: 'SourceUnreachable',
  } as const;
  const next = error.reason === 'spawn' ? { next: 'Install git and make sure that it is in PATH.' } : {};
  return new ProblemError(problem(codes[error.reason], `${what}: ${error.message}.`, next), { cause: error });
}

/** The lines that say why, without git's own chatter. */
function summary(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const telling = lines.filter((line) => /^(?:fatal|error|remote):/.test(line));
  return (telling.length > 0 ? telling : lines).slice(-2).join('; ').replace(/\.$/, '').slice(0, 400);
}
