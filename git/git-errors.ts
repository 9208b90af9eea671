/** What git said, as a problem that names the next step. One table, read from top to bottom. */

import type { GitOutput } from './git-process.ts';
import { GitProcessError } from './git-process.ts';
import type { ProblemCode } from './problems.ts';
import { ProblemError, problem } from './problems.ts';
import type { Distrust } from './server-certificate.ts';
import { OWN_AUTHORITY } from './server-certificate.ts';

const TABLE: readonly (readonly [RegExp, ProblemCode, next?: string])[] = [
  // Before all that follows from it: a pack that was not written to its end looks damaged.
  [
    /No space left on device|Disk quota exceeded/i,
    'SourceUnreachable',
    'Make room where the worker keeps its mirrors (`$XDG_CACHE_HOME`, else ~/.cache); it is tried again by itself.',
  ],
  [
    /Out of memory, \w+ failed|inflate\w*: out of memory|mmap failed: Cannot allocate memory/i,
    'SourceTooLarge',
    'Take out of the repository what inflates to so much: no command that reads it gets more memory than that.',
  ],
  // ssh says first why it gave up; what git makes of that comes after it.
  [/Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/i, 'HostKeyRefused'],
  [
    /UNPROTECTED PRIVATE KEY FILE|bad permissions/i,
    'AuthenticationFailed',
    'ssh takes no key that others can read: `chmod 600` the file named by `sshKeyFile`.',
  ],
  [
    /Load key ".*": (?:invalid format|error in libcrypto|Permission denied)|incorrect passphrase/i,
    'AuthenticationFailed',
    'The file named by `sshKeyFile` must be a private key without a passphrase that the worker may read.',
  ],
  [
    /Permission denied \((?:publickey|[a-z,-]*publickey)/i,
    'AuthenticationFailed',
    'Give the public half of the key named by `sshKeyFile` to the server, as a deploy key that may read the repository.',
  ],
  [
    /ssh: not found|cannot run ssh/i,
    'SourceUnreachable',
    'Install the ssh client (OpenSSH) where the worker runs.',
  ],
  [
    /No user exists for uid/i,
    'SourceUnreachable',
    'ssh asks for an entry in /etc/passwd of the user that the worker runs as: add one to the image.',
  ],
  [
    /Could not resolve hostname|kex_exchange_identification|Connection (?:closed by|to \S+ (?:closed|timed out))|ssh: connect to host/i,
    'SourceUnreachable',
  ],
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
  [
    /certificate verification failed|unable to get local issuer|self[- ]signed certificate/i,
    'SourceUnreachable',
    OWN_AUTHORITY,
  ],
  [/SSL|certificate/i, 'SourceUnreachable'],
  // The server's end of it goes on to say that the other one hung up.
  [
    /upload-pack: not our ref|Server does not allow request for unadvertised object|couldn't find remote ref|no such remote ref/i,
    'CommitGone',
  ],
  [
    /Could not resolve host|Failed to connect|Connection (?:refused|reset|timed out)|Operation too slow|early EOF|hung up|RPC failed|error: 5\d\d|error: 429|Empty reply|transfer closed/i,
    'SourceUnreachable',
  ],
  [
    /^error: object [0-9a-f]{40,64}: |bad object|loose object .* is corrupt|missing blob|unable to read|corrupt|inflate|fsck error|error in .*: /i,
    'SourceCorrupt',
  ],
];

/**
 * What a server answers that does not hand out what it has: also while a token is renewed, where a limit is reached or another machine
 * takes over. A commit is not refused for it: a look has just found it there.
 */
export const WITHHELD_CODES: ReadonlySet<ProblemCode> = new Set([
  'AuthenticationFailed',
  'RepositoryNotFound',
  'HostKeyRefused',
  'SourceRefused',
]);

/** Codes that may pass by themselves: a poll or an activity tries again. */
export const TRANSIENT_CODES: ReadonlySet<ProblemCode> = new Set([
  'SourceUnreachable',
  'SourceTimeout',
  ...WITHHELD_CODES,
]);

/** Whether git says that something is wrong with the server's certificate, or with the file of those who may vouch for it. */
export function isOfCertificate({ stderr }: GitOutput): boolean {
  return /certificate|SSL CA cert/i.test(stderr);
}

/** The error of a server whose certificate is not taken. `what` names the source without credentials. */
export function distrustFailure({ message, next }: Distrust, what: string): ProblemError {
  return new ProblemError(problem('SourceUnreachable', `${what}: ${message}.`, { next }));
}

/** The error of a git command that exited with a failure. `what` names the source without credentials. */
export function gitFailure(output: GitOutput, what: string): ProblemError {
  const [pattern, code, next] = TABLE.find(([one]) => one.test(output.stderr)) ?? [
    undefined,
    'SourceUnreachable' as const,
  ];
  const line = summary(output.stderr, pattern);
  return new ProblemError(
    problem(
      code,
      `${what}: ${line === '' ? `git ended with code ${output.code}` : line}.`,
      next === undefined ? {} : { next },
    ),
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

/** The lines that say why, without git's own chatter: what tells the cause comes first, also when it is ssh that says it. */
function summary(stderr: string, cause: RegExp | undefined): string {
  const lines = stderr.split('\n').map((line) => line.trim().replaceAll(FRAME, '').replace(ADDRESS, '$1'));
  const telling = lines.filter((line) => /^(?:fatal|error|remote):/.test(line));
  const last = (telling.length > 0 ? telling : lines).slice(-2);
  const first = lines.find((line) => cause?.test(line));
  const said = first === undefined || last.includes(first) ? last : [first, ...last.slice(-1)];
  return said.join('; ').replace(MEASURED, '').replace(/\.$/, '').slice(0, 400);
}

/** What git could not reach: it is named before. */
const ADDRESS = /^(fatal: )unable to access '[^']*': /;

/** ssh draws it around a warning. */
const FRAME = /^@+\s*|\s*@+$/g;

/** What is another number at each try: the same failure would be news each time, to the log and as an Event. */
const MEASURED = / after \d+ (?:ms|milliseconds)\b| with \d+ (?:out of \d+ )?bytes remaining to read\b/g;
