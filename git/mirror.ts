/** A repository as the rest of Fairlead sees it: which commit a ref names, and the manifests of a commit. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { oneLine } from '../kubernetes/safe-text.ts';
import { runGit } from './git-process.ts';
import type { MirrorOptions, Signers } from './mirror-options.ts';
import { holdsLocal, openLocal, readLocal, requireLocalCommit, resolveLocalRef } from './local-repository.ts';
import { RemoteMirror } from './remote-mirror.ts';
import { verifySignature } from './signature.ts';
import { checkPath, checkRef, parseSource } from './source-url.ts';
import type { RemoteSource } from './source-url.ts';
import type { TreeRead } from './tree.ts';
import { readTree } from './tree.ts';

/** Everything rejects with ProblemError naming the next step, or with the signal's abort. */
export interface Mirror {
  /** The sha that the configured ref names now. */
  resolveRef(signal?: AbortSignal): Promise<string>;
  /** Whether the commit is readable here. No other machine is asked, and no fetch that is under way is waited for. */
  holds(sha: string, signal?: AbortSignal): Promise<boolean>;
  /** Makes sure that the commit is readable here; cheap when it already is. */
  ensureCommit(sha: string, signal?: AbortSignal): Promise<void>;
  /** Who made a commit that is readable here, and the first line of what they said of it. Undefined: it cannot be told (any more). */
  describeCommit(sha: string, signal?: AbortSignal): Promise<CommitWords | undefined>;
  /** Resolves when a commit has a good signature by one of the signers; makes sure of the commit first. */
  verifyCommit(sha: string, signers: Signers, signal?: AbortSignal): Promise<void>;
  /** The manifest files under a path of a commit; makes sure of the commit first. */
  readManifests(sha: string, path: string, signal?: AbortSignal): Promise<TreeRead>;
}

/**
 * Opens a repository. Nothing is read or fetched yet.
 * @throws ProblemError SourceRefused, RefNotFound (of a malformed ref)
 */
export function openMirror(options: MirrorOptions): Mirror {
  const source = parseSource(options.url);
  const ref = options.ref === undefined ? undefined : checkRef(options.ref);
  return source.kind === 'local' ? localMirror(source.path, ref) : remoteMirror(source, ref, options);
}

/** Written by whoever made the commit: one line each, safe to print, bounded. */
export interface CommitWords {
  readonly author: string;
  readonly subject: string;
}

const LONGEST_AUTHOR = 80;
const LONGEST_SUBJECT = 120;

async function describeCommit(
  gitDirectory: string,
  sha: string,
  signal: AbortSignal | undefined,
): Promise<CommitWords | undefined> {
  const args = [
    'log',
    '-1',
    '--no-show-signature',
    '--encoding=UTF-8',
    '--format=%an%x00%s',
    checkSha(sha),
    '--',
  ];
  const maxOutputBytes = 1024 * 1024;
  const output = await runGit({ args, gitDirectory, timeoutMs: 5_000, maxOutputBytes, signal });
  if (output.code !== 0) return undefined;
  const [author = '', subject = ''] = output.stdout.toString('utf8').split('\0').map(oneLine);
  return { author: author.slice(0, LONGEST_AUTHOR), subject: subject.trim().slice(0, LONGEST_SUBJECT) };
}

function localMirror(path: string, ref: string | undefined): Mirror {
  return {
    resolveRef: async (signal) => await resolveLocalRef(await openLocal(path, signal), path, ref, signal),
    holds: async (sha, signal) =>
      await holdsLocal(await openLocal(path, signal), path, checkSha(sha), signal),
    describeCommit: async (sha, signal) => await describeCommit(await openLocal(path, signal), sha, signal),
    verifyCommit: async (sha, signers, signal) => {
      const gitDirectory = await openLocal(path, signal);
      await requireLocalCommit(gitDirectory, path, checkSha(sha), signal);
      await verifySignature(gitDirectory, sha, signers, signal);
    },
    ensureCommit: async (sha, signal) =>
      await requireLocalCommit(await openLocal(path, signal), path, checkSha(sha), signal),
    readManifests: async (sha, folder, signal) =>
      await readLocal(
        path,
        checkSha(sha),
        async (gitDirectory) => await readTree(gitDirectory, sha, checkPath(folder), signal),
        signal,
      ),
  };
}

function remoteMirror(source: RemoteSource, ref: string | undefined, options: MirrorOptions): Mirror {
  const directory = join(options.cacheDirectory, mirrorName(source, options));
  const remote = new RemoteMirror(source, ref, directory, options);
  return {
    resolveRef: async (signal) => await remote.resolveRef(signal),
    holds: async (sha, signal) => await remote.holds(checkSha(sha), signal),
    describeCommit: async (sha, signal) => await describeCommit(directory, sha, signal),
    verifyCommit: async (sha, signers, signal) => {
      await remote.ensureCommit(checkSha(sha), signal);
      await verifySignature(directory, sha, signers, signal);
    },
    ensureCommit: async (sha, signal) => await remote.ensureCommit(checkSha(sha), signal),
    readManifests: async (sha, folder, signal) =>
      await remote.read(
        checkSha(sha),
        async (gitDirectory) => await readTree(gitDirectory, sha, checkPath(folder), signal),
        signal,
      ),
  };
}

/**
 * Entries share a mirror only when they say who they are to the server in the same way, by the names of their files: a commit that is
 * named by its sha is read without asking the server when it is there, and must not be there by the rights of somebody else.
 */
function mirrorName({ kind, url }: RemoteSource, { username, tokenFile, sshKeyFile }: MirrorOptions): string {
  const identity =
    kind === 'ssh' ? [sshKeyFile] : [tokenFile, tokenFile === undefined ? undefined : username];
  const isNobody = identity.every((part) => part === undefined);
  // A line feed is in no address.
  const text = isNobody ? url : `${url}\n${JSON.stringify(identity)}`;
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

function checkSha(sha: string): string {
  if (!/^[0-9a-f]{40}$|^[0-9a-f]{64}$/.test(sha))
    throw new Error(`${JSON.stringify(sha)} is not a full commit sha`);
  return sha;
}
