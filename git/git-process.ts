/** Runs the git program with nothing of its surroundings: no user or system configuration, no prompts, no helpers. */

import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { errorCode, trusted } from '../kubernetes/values.ts';
import { Turns } from './git-turns.ts';
import { redactSecrets } from './redact-secrets.ts';
import { redactUrls } from './source-url.ts';

export interface GitRun {
  readonly args: readonly string[];
  /** Repository that the command works on; absent for `ls-remote` and `init`. */
  readonly gitDirectory?: string;
  /** Protocols that may be spoken. @default none */
  readonly protocols?: 'https' | 'ssh';
  /** Added to the environment (askpass, token file). */
  readonly environment?: Readonly<Record<string, string>>;
  /** `-c key=value`; never credentials. */
  readonly settings?: readonly string[];
  readonly input?: string;
  /** Milliseconds; then the whole process group is killed. @default 30_000 */
  readonly timeoutMs?: number;
  /** Bytes of output; then the whole process group is killed. @default 32 MiB */
  readonly maxOutputBytes?: number;
  /** Bytes of address space of each process of the command. @default as much as this process may have */
  readonly memoryBytes?: number;
  /** Reads what the server is told to believe us: it is taken out of whatever git says. @default nothing */
  readonly secrets?: () => Promise<readonly string[]>;
  readonly signal?: AbortSignal | undefined;
  /** Asked every 250 ms while the command runs; a text ends the command with that reason. */
  readonly watchdog?: () => Promise<string | undefined>;
}

export interface GitOutput {
  readonly code: number;
  readonly stdout: Buffer;
  /** Redacted, at most 4 KiB. */
  readonly stderr: string;
}

/** The command could not run to its end. */
export class GitProcessError extends Error {
  readonly reason: 'timeout' | 'output' | 'aborted' | 'spawn' | 'watchdog';
  constructor(reason: GitProcessError['reason'], message: string) {
    super(message);
    this.name = 'GitProcessError';
    this.reason = reason;
  }
}

const KEPT = ['PATH', 'http_proxy', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY', 'TMPDIR'];
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  'http.followRedirects=false',
  'http.lowSpeedLimit=500',
  'http.lowSpeedTime=20',
  // What is larger is written as it comes, not put together in memory: a few kB inflate to gigabytes.
  'core.bigFileThreshold=1m',
  'core.deltaBaseCacheLimit=32m',
  'pack.threads=1',
  // A pack is looked at in pieces: git would map the whole of it, which no limit of memory leaves room for.
  'core.packedGitWindowSize=32m',
  'core.packedGitLimit=256m',
  'transfer.fsckObjects=true',
  'protocol.version=2',
];

/**
 * Limits and signals live in this process; when it is gone, however it ended, nothing would bound the command. So a shell runs git, and
 * beside it reads a pipe that only this process holds open: when the pipe closes, the whole process group is killed. The limit of memory is
 * one of the shell's; where a system has none (macOS), there is none.
 */
const SUPERVISOR = `
limit=$1
shift
(read -r _ <&3; kill -9 0) </dev/null >/dev/null 2>&1 &
guard=$!
(
  [ -z "$limit" ] || ulimit -v "$limit" 2>/dev/null
  exec git "$@"
) 3<&-
code=$?
{ kill -9 "$guard"; wait "$guard"; } 2>/dev/null
exit "$code"
`;
/** Commands that read what is on this machine; those that talk to others have their turns where they are called. */
const local = new Turns({ most: 32, each: 8 });
/** Bytes of errors that are kept, the last ones: there it says why. */
const MOST_ERRORS = 64 * 1024;

/** A shell's way to say that there is no such program, or that it may not be run. */
const NOT_RUN: readonly number[] = [126, 127];

/**
 * Runs one git command, when it is its turn. Any exit code is an answer, not an error.
 * @throws GitProcessError when it did not run, was too slow or said too much; the signal's reason when it was aborted
 */
export async function runGit(run: GitRun): Promise<GitOutput> {
  if (run.protocols !== undefined) return await startGit(run);
  const end = await local.take(run.gitDirectory ?? '', run.signal);
  try {
    return await startGit(run);
  } finally {
    end();
  }
}

async function startGit(run: GitRun): Promise<GitOutput> {
  const { memoryBytes, secrets } = run;
  const known = (await secrets?.()) ?? [];
  const memory = memoryBytes === undefined ? '' : String(Math.ceil(memoryBytes / 1024));
  const args = [
    ...(run.gitDirectory === undefined ? [] : [`--git-dir=${run.gitDirectory}`]),
    ...[...SETTINGS, ...(run.settings ?? [])].flatMap((setting) => ['-c', setting]),
    ...run.args,
  ];
  const child = trusted<ChildProcessWithoutNullStreams>(
    spawn('/bin/sh', ['-c', SUPERVISOR, 'fairlead-git', memory, ...args], {
      cwd: '/',
      env: environment(run),
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    }),
  );
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let size = 0;
  let errorSize = 0;
  let isCut = false;
  let ended: GitProcessError | undefined;
  const stop = (error: GitProcessError): void => {
    ended ??= error;
    killGroup(child.pid);
  };
  const command = run.args[0] ?? '';
  const timeoutMs = run.timeoutMs ?? 30_000;
  const timer = setTimeout(
    () => stop(new GitProcessError('timeout', `git ${command} did not answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const watch = run.watchdog === undefined ? undefined : setInterval(watchOnce(run.watchdog, stop), 250);
  const onAbort = (): void => stop(new GitProcessError('aborted', `git ${command} was stopped`));
  run.signal?.addEventListener('abort', onAbort, { once: true });
  if (run.signal?.aborted === true) onAbort();

  const maximum = run.maxOutputBytes ?? 32 * 1024 * 1024;
  child.stdout.on('data', (data: Buffer) => {
    size += data.length;
    if (size > maximum)
      stop(new GitProcessError('output', `git ${command} wrote more than ${maximum} bytes`));
    else stdout.push(data);
  });
  child.stderr.on('data', (data: Buffer) => {
    stderr.push(data);
    errorSize += data.length;
    for (let first = stderr[0]; first !== undefined && errorSize - first.length >= MOST_ERRORS;) {
      errorSize -= first.length;
      stderr.shift();
      isCut = true;
      first = stderr[0];
    }
  });
  // A command that ends early closes its input: its exit code tells why.
  child.stdin.on('error', () => undefined);
  // Nothing comes through the supervisor's pipe but its end.
  child.stdio[3]?.on('error', () => undefined);
  child.stdin.end(run.input ?? '');
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', (error) =>
        reject(new GitProcessError('spawn', `git cannot be run: ${error.message}`)),
      );
      child.once('close', (exit) => resolve(exit ?? -1));
    });
    // Whoever aborts knows why: a cancelled activity must fail with its cancellation.
    if (ended?.reason === 'aborted') run.signal?.throwIfAborted();
    if (ended !== undefined) throw ended;
    const errors = Buffer.concat(stderr).toString('utf8');
    // In a line that is not whole there may be a secret that is not.
    const lines = isCut ? errors.slice(errors.indexOf('\n') + 1) : errors;
    // A file that was written meanwhile holds another one.
    const told = lines === '' || secrets === undefined ? known : [...known, ...(await secrets())];
    const said = tail(redactUrls(redactSecrets(lines, told)));
    if (NOT_RUN.includes(code)) throw new GitProcessError('spawn', `git cannot be run: ${said}`);
    return { code, stdout: Buffer.concat(stdout), stderr: said };
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    run.signal?.removeEventListener('abort', onAbort);
  }
}

function environment(run: GitRun): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of KEPT) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return {
    ...env,
    HOME: '/nonexistent',
    LANG: 'C',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_SSH_COMMAND: '/bin/false',
    // An empty list forbids every protocol: reading a repository must never make git fetch something.
    GIT_ALLOW_PROTOCOL: run.protocols ?? 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_ATTR_NOSYSTEM: '1',
    ...run.environment,
  };
}

function watchOnce(
  watchdog: () => Promise<string | undefined>,
  stop: (error: GitProcessError) => void,
): () => void {
  let busy = false;
  return () => {
    if (busy) return;
    busy = true;
    watchdog().then(
      (reason) => {
        busy = false;
        if (reason !== undefined) stop(new GitProcessError('watchdog', reason));
      },
      (error: unknown) => stop(new GitProcessError('watchdog', String(error))),
    );
  };
}

/** Kills git and whatever it started (git-remote-https, index-pack); a group that is gone is fine. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

function tail(text: string): string {
  return text.length <= 4096 ? text.trim() : text.slice(-4096).trim();
}
