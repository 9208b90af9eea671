/** How git gets at the secrets that a server asks for: by scripts that read files, so that no argument and no log holds a value. */

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MirrorOptions } from './mirror-options.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import type { ProblemCode } from './problems.ts';
import { ProblemError, problem } from './problems.ts';
import { describeUnusable, isUsableFile } from './repository-files.ts';
import type { RemoteSource } from './source-url.ts';

/** Servers that go by the token alone take any name; GitHub asks Apps for this one. */
const USERNAME = 'x-access-token';

/** git asks this script for name and password. */
const ASKPASS = `#!/bin/sh
case "$1" in
  Username*) printf '%s\\n' "$FAIRLEAD_USERNAME" ;;
  *) exec cat -- "$FAIRLEAD_TOKEN_FILE" ;;
esac
`;

/**
 * git runs this script as ssh. Nothing of the user's configuration counts: this key alone, these host keys alone, no questions, and
 * nothing but the connection is opened (CVE-2025-23390: a host key that is not checked is no host key).
 */
const SSH = `#!/bin/sh
exec ssh -F /dev/null -i "$FAIRLEAD_SSH_KEY_FILE" \\
  -o IdentitiesOnly=yes -o IdentityAgent=none -o PreferredAuthentications=publickey \\
  -o BatchMode=yes -o StrictHostKeyChecking=yes -o UpdateHostKeys=no -o CheckHostIP=no -o VerifyHostKeyDNS=no \\
  -o "UserKnownHostsFile=\\"$FAIRLEAD_KNOWN_HOSTS_FILE\\"" -o GlobalKnownHostsFile=/dev/null \\
  -o ClearAllForwardings=yes -o ForwardAgent=no -o PermitLocalCommand=no -o ControlMaster=no -o ControlPath=none \\
  -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=2 -o LogLevel=ERROR "$@"
`;

/**
 * Environment of a git command that speaks to this server.
 * @throws ProblemError AuthenticationFailed, HostKeyRefused, SourceUnreachable when a file cannot be used
 */
export async function credentials(
  { kind, host }: RemoteSource,
  { cacheDirectory, username, tokenFile, caFile, sshKeyFile, knownHostsFile }: MirrorOptions,
): Promise<Record<string, string>> {
  if (kind === 'ssh') {
    await requireFile('sshKeyFile', sshKeyFile, 'AuthenticationFailed', MAKE_KEY);
    await requireFile('knownHostsFile', knownHostsFile, 'HostKeyRefused', scanHost(host));
    return {
      GIT_SSH_COMMAND: shellWord(await script(cacheDirectory, 'ssh', SSH)),
      // Else git would try out which options the program takes.
      GIT_SSH_VARIANT: 'ssh',
      FAIRLEAD_SSH_KEY_FILE: withoutTokens(sshKeyFile ?? ''),
      FAIRLEAD_KNOWN_HOSTS_FILE: withoutTokens(knownHostsFile ?? ''),
    };
  }
  if (caFile !== undefined) await requireFile('caFile', caFile, 'SourceUnreachable', PUT_AUTHORITY);
  if (tokenFile === undefined) return {};
  await requireFile('tokenFile', tokenFile, 'AuthenticationFailed');
  return {
    GIT_ASKPASS: await script(cacheDirectory, 'askpass', ASKPASS),
    FAIRLEAD_USERNAME: username ?? USERNAME,
    FAIRLEAD_TOKEN_FILE: tokenFile,
  };
}

/**
 * What a server is told by these credentials and may repeat: the token, all that the file holds and the line that git takes. A key for ssh
 * is shown to nobody.
 */
export async function toldSecrets({ tokenFile }: MirrorOptions): Promise<readonly string[]> {
  if (tokenFile === undefined) return [];
  // One that cannot be read is told to nobody; git, or whoever looks for it first, says so.
  const text = (await readFile(tokenFile, 'utf8').catch(() => '')).trim();
  return [text, ...text.split('\n').map((line) => line.trim())];
}

const PUT_AUTHORITY =
  "Put the certificate (PEM) of the server's authority there; or, if it is a public one, take `caFile` out of the repositories file.";

export const MAKE_KEY =
  'Make a key (`ssh-keygen -t ed25519 -N "" -f FILE`), give FILE.pub to the server as a deploy key, and name FILE with `sshKeyFile`.';

/** The commands that get a host's keys, with the reminder that somebody must look at them. */
export function scanHost(host: string): string {
  const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  const at = port === undefined ? '' : `-p ${port} `;
  return (
    `Run \`ssh-keyscan ${at}${name.replace(/^\[|\]$/g, '')} > FILE\`, compare its fingerprints (\`ssh-keygen -lf FILE\`) with those that ` +
    'the server publishes, and name FILE with `knownHostsFile`.'
  );
}

async function requireFile(
  field: string,
  file: string | undefined,
  code: ProblemCode,
  next?: string,
): Promise<void> {
  const where = next === undefined ? {} : { next };
  if (file === undefined) throw new ProblemError(problem(code, `an ssh address needs \`${field}\``, where));
  if (await isUsableFile(file)) return;
  throw new ProblemError(problem(code, `${describeUnusable({ field, path: file })}.`, where));
}

/** ssh replaces `%h` and the like in names of files. */
function withoutTokens(file: string): string {
  return file.replaceAll('%', '%%');
}

/** Whole at any moment: another command may be about to run it, and another worker to write it. */
async function script(cacheDirectory: string, name: string, text: string): Promise<string> {
  const file = join(cacheDirectory, name);
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return file;
  await mkdir(cacheDirectory, { recursive: true, mode: 0o700 });
  const written = join(cacheDirectory, `${name}.${randomUUID()}`);
  try {
    await writeFile(written, text, { mode: 0o700, flag: 'wx' });
    await rename(written, file);
  } finally {
    await rm(written, { force: true });
  }
  return file;
}
