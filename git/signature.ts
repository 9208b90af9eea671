/** Whether a commit was signed by somebody who may: verified by git itself, against nothing but the keys that the repository names. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { errorCode } from '../kubernetes/values.ts';
import { processFailure } from './git-errors.ts';
import type { GitOutput } from './git-process.ts';
import { runGit } from './git-process.ts';
import type { Signers } from './mirror-options.ts';
import type { ProblemCode } from './problems.ts';
import { ProblemError, problem, shortSha } from './problems.ts';
import { describeUnusable, isUsableFile } from './repository-files.ts';

const run = promisify(execFile);

/** Milliseconds. */
const TIMEOUT_MS = 15_000;

/** Whether the repository takes signed commits alone. */
export function asksForSignatures({ allowedSignersFile, gpgKeysFile }: Signers): boolean {
  return allowedSignersFile !== undefined || gpgKeysFile !== undefined;
}

/**
 * Resolves when the commit, which the git directory holds, has a good signature by one of the signers.
 * @throws ProblemError CommitUnsigned, SignatureRefused; SignersUnusable when the files or programs cannot be used; SourceTimeout
 */
export async function verifySignature(
  gitDirectory: string,
  sha: string,
  signers: Signers,
  signal?: AbortSignal,
): Promise<void> {
  const { allowedSignersFile, gpgKeysFile } = signers;
  for (const [field, file] of Object.entries({ allowedSignersFile, gpgKeysFile }))
    if (file !== undefined) await requireFile(field, file);
  const what = `commit ${shortSha(sha)}`;
  const git = async (args: readonly string[], more: object = {}): Promise<GitOutput> =>
    await runGit({ args, gitDirectory, timeoutMs: TIMEOUT_MS, signal, ...more }).catch((error: unknown) => {
      throw processFailure(error, what);
    });
  const { stdout } = await git(['cat-file', 'commit', sha]);
  const [header = ''] = stdout.toString('latin1').split('\n\n', 1);
  const signature = /^gpgsig(?:-sha256)? (.*)/m.exec(header)?.[1];
  if (signature === undefined) throw refused('CommitUnsigned', `${what} is not signed.`);
  const notAccepted = (why: string, next: string | undefined): ProblemError => {
    const message = `the signature of ${what} is not accepted: ${why}.`;
    return new ProblemError(problem('SignatureRefused', message, next === undefined ? {} : { next }));
  };
  const other = otherKind(signature, signers);
  if (other !== undefined) throw notAccepted(...other);
  const home = await mkdtemp(join(tmpdir(), 'fairlead-keys-'));
  try {
    if (gpgKeysFile !== undefined) await importKeys(home, gpgKeysFile);
    const { code, stderr } = await git(['verify-commit', '--raw', sha], {
      environment: { GNUPGHOME: home },
      settings: [
        // A repository may name programs of its own.
        'gpg.program=gpg',
        'gpg.openpgp.program=gpg',
        'gpg.x509.program=/bin/false',
        'gpg.ssh.program=ssh-keygen',
        'gpg.minTrustLevel=undefined',
        'gpg.ssh.revocationFile=',
        `gpg.ssh.allowedSignersFile=${allowedSignersFile ?? '/dev/null'}`,
      ],
    });
    // Nothing but the code counts: of a key that nobody trusts ssh-keygen, too, says that its signature is good.
    if (code !== 0) {
      const [, why = UNKNOWN_KEY, next] = REASONS.find(([pattern]) => pattern.test(stderr)) ?? [];
      throw notAccepted(why, next);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Why, and what to do, where the repository names no keys of the kind that the commit is signed with; undefined: it does, or it is another. */
function otherKind(
  signature: string,
  { allowedSignersFile, gpgKeysFile }: Signers,
): readonly [why: string, next: string] | undefined {
  if (signature.includes('BEGIN SSH SIGNATURE') && allowedSignersFile === undefined)
    return [
      'it is one of SSH, and the repository names keys of GPG alone',
      'Have the newest commit signed by one of the keys in `gpgKeysFile`, or name those of SSH with `allowedSignersFile`.',
    ];
  if (signature.includes('BEGIN PGP') && gpgKeysFile === undefined)
    return [
      'it is one of GPG, and the repository names keys of SSH alone',
      'Have the newest commit signed by one of the keys in `allowedSignersFile`, or name those of GPG with `gpgKeysFile`.',
    ];
  return undefined;
}

async function importKeys(home: string, file: string): Promise<void> {
  const options = ['--homedir', home, '--batch', '--no-options', '--no-autostart', '--quiet'];
  try {
    await run('gpg', [...options, '--import', '--', file], {
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', LC_ALL: 'C' },
      timeout: TIMEOUT_MS,
    });
  } catch (error) {
    const message =
      errorCode(error) === 'ENOENT'
        ? 'gpg is not installed where the worker runs'
        : `gpg takes no keys from ${file}`;
    throw refused('SignersUnusable', `${message}.`, { cause: error });
  }
}

async function requireFile(field: string, file: string): Promise<void> {
  if (!(await isUsableFile(file)))
    throw refused('SignersUnusable', `${describeUnusable({ field, path: file })}.`);
  // ssh-keygen passes over what it cannot read: each commit would be one of an unknown key.
  if (field === 'allowedSignersFile' && !KEY_LINE.test(await readFile(file, 'latin1')))
    throw refused(
      'SignersUnusable',
      `the ${field} ${file} has no line with a key (ada@example.com namespaces="git" ssh-ed25519 AAAA…).`,
    );
}

/** Principals, options, the kind of the key, the key. */
const KEY_LINE = /^[ \t]*[^#\s][^\n]*?[ \t](?:sk-)?(?:ssh|ecdsa)-[\w@.-]+[ \t]+AAAA[\w+/=]+/m;

const UNKNOWN_KEY = 'its key is not one of the allowed signers';
/**
 * What the programs print; what that means, in our words (theirs hold names that whoever made the key has chosen); the next step where
 * the code's own does not fit.
 */
const REASONS: readonly (readonly [RegExp, string, string?])[] = [
  [/\bEXPKEYSIG\b/, 'the key has expired'],
  [/\bREVKEYSIG\b/, 'the key was revoked'],
  [/\bEXPSIG\b/, 'the signature has expired'],
  // Each line of the file that has the key, with its number.
  [
    /:\d+: key has expired/,
    'the commit is dated after the valid-before of its key in allowedSignersFile',
    'Have the newest commit signed by a key that is valid, or correct `valid-before`; after a change of the file: `fairlead sync`.',
  ],
  [
    /:\d+: key is not yet valid/,
    'the commit is dated before the valid-after of its key in allowedSignersFile',
    'Have the newest commit signed by a key that is valid, or correct `valid-after`; after a change of the file: `fairlead sync`.',
  ],
  [
    /:\d+: key is not permitted for use in signature namespace/,
    'the namespaces of its key in allowedSignersFile do not have git',
    'Write `namespaces="git"` in the line of the key, or leave it away; then: `fairlead sync`.',
  ],
  [/\bBADSIG\b|incorrect signature|Signature verification failed/i, 'it does not fit the commit'],
  [/\bNO_PUBKEY\b|No principal matched|unable to open allowed keys/i, UNKNOWN_KEY],
  [/cannot run (?:gpg|ssh-keygen)/i, 'gpg or ssh-keygen is not installed where the worker runs'],
];

function refused(code: ProblemCode, message: string, options?: ErrorOptions): ProblemError {
  return new ProblemError(problem(code, message), options);
}
