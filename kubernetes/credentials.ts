/** Who we are to the apiserver: fixed, read from a file again and again, or made by a plugin. */

import { readFile } from 'node:fs/promises';
import * as path from 'node:path';

import { orAborted } from './deadline.ts';
import type { PluginCommand } from './exec-plugin.ts';
import { runPlugin } from './exec-plugin.ts';
import type { Entry } from './kubeconfig-files.ts';
import { KubeconfigError, textField } from './kubeconfig-files.ts';
import { asError, asRecord, errorCode, trusted } from './values.ts';

export interface Credentials {
  /** The value of the Authorization header. */
  readonly authorization?: string | undefined;
  /** PEM. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

export interface CredentialSource {
  /** Whether asking again can give others: then a 401 is tried once more. */
  readonly renewable: boolean;
  /** @param refresh The last ones were refused. */
  get(refresh: boolean): Promise<Credentials>;
}

/** Tokens in files are rotated by the kubelet; plugins' tokens expire. Both are asked for again after this long. */
const RENEW_MS = 60_000;

export function fixedCredentials(credentials: Credentials): CredentialSource {
  return { renewable: false, get: () => Promise.resolve(credentials) };
}

/**
 * A bearer token in a file, read again each minute and after a 401. A failed read keeps the token that was read before.
 * @param now Milliseconds, monotonic.
 */
export function tokenFileCredentials(
  file: string,
  base: Credentials = {},
  now: () => number = () => performance.now(),
): CredentialSource {
  return renewing(now, async (previous) => {
    let token: string;
    try {
      token = (await readFile(file, 'utf8')).trim();
    } catch (error) {
      if (previous !== undefined) return previous;
      throw new KubeconfigError(`cannot read the token file ${file}: ${asError(error).message}`, {
        cause: error,
      });
    }
    if (token === '' && previous !== undefined) return previous;
    if (token === '') throw new KubeconfigError(`the token file ${file} is empty`);
    return { ...base, authorization: `Bearer ${token}` };
  });
}

/** What a plugin needs to know of the cluster (KUBERNETES_EXEC_INFO). */
export interface PluginCluster {
  readonly server: string;
  readonly caData: string | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecure: boolean;
}

/** A plugin that has given nothing by then is killed, milliseconds: it waits for what never comes, and all requests wait for it. */
const PLUGIN_MS = 60_000;

/**
 * Credentials of an `exec` plugin or a legacy `auth-provider`. Asked for again each minute and after a 401; `get` rejects with
 * KubeconfigError when it fails, or has given nothing within `limitMs`.
 */
export function pluginCredentials(
  user: string,
  entry: Entry,
  cluster: PluginCluster,
  base: Credentials,
  limitMs = PLUGIN_MS,
): CredentialSource {
  const exec = mapping(entry.values['exec']);
  const load =
    exec === undefined ? authProvider(user, entry, cluster) : execPlugin(execOf(exec, entry, cluster));
  return renewing(
    () => performance.now(),
    async (previous) => {
      const limit = AbortSignal.timeout(limitMs);
      try {
        return { ...base, ...(await orAborted(load(previous, limit), limit)) };
      } catch (error) {
        const why = limit.aborted ? new Error(`it gave nothing within ${formatSeconds(limitMs)}`) : error;
        throw pluginError(user, entry, exec, why);
      }
    },
  );
}

function formatSeconds(ms: number): string {
  return `${String(ms / 1_000)} s`;
}

type Load = (previous: Credentials | undefined, signal: AbortSignal) => Promise<Credentials>;

/** What was given is used until it expires; what says nothing of that is asked for each time. */
function execPlugin(command: PluginCommand): Load {
  let expiresAt = Number.NaN;
  return async (previous, signal) => {
    if (previous !== undefined && Date.now() < expiresAt) return previous;
    const { token, clientCertificateData, clientKeyData, expirationTimestamp } = await runPlugin(
      command,
      signal,
    );
    expiresAt = Date.parse(String(expirationTimestamp));
    return {
      ...(typeof token === 'string' && token !== '' && { authorization: `Bearer ${token}` }),
      ...(typeof clientCertificateData === 'string' && { cert: clientCertificateData }),
      ...(typeof clientKeyData === 'string' && { key: clientKeyData }),
    };
  };
}

/** By the official client, which is loaded only here: it takes half a second. */
function authProvider(user: string, entry: Entry, cluster: PluginCluster): Load {
  let apply: ((options: PluginOptions) => Promise<void>) | undefined;
  return async (previous) => {
    // A new instance forgets the credentials that it keeps itself.
    if (apply === undefined || previous === undefined) apply = await makeAuthProvider(user, entry, cluster);
    const options: PluginOptions = { headers: {} };
    await apply(options);
    const authorization = options.headers['Authorization'];
    return {
      ...(authorization === undefined ? {} : { authorization }),
      ...(options.cert === undefined ? {} : { cert: options.cert, key: options.key }),
    };
  };
}

interface PluginOptions {
  readonly headers: Record<string, string>;
  cert?: string | Buffer;
  key?: string | Buffer;
}

async function makeAuthProvider(
  user: string,
  entry: Entry,
  cluster: PluginCluster,
): Promise<(options: PluginOptions) => Promise<void>> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'cluster', server: cluster.server, skipTLSVerify: cluster.insecure }],
    contexts: [{ name: 'context', cluster: 'cluster', user }],
    users: [{ name: user, authProvider: mapping(entry.values['auth-provider']) }],
    currentContext: 'context',
  });
  return async (options) => config.applyToHTTPSOptions(options);
}

/** Its command made absolute, and KUBERNETES_EXEC_INFO set. */
function execOf(
  exec: Readonly<Record<string, unknown>>,
  entry: Entry,
  cluster: PluginCluster,
): PluginCommand {
  const command = textField(exec, 'command', entry.file);
  if (command === undefined) throw new KubeconfigError(`${entry.file}: a user's 'exec' has no command`);
  const info = {
    apiVersion: exec['apiVersion'] ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(exec['provideClusterInfo'] === true
        ? {
            cluster: {
              server: cluster.server,
              ...(cluster.caData === undefined ? {} : { 'certificate-authority-data': cluster.caData }),
              ...(cluster.tlsServerName === undefined ? {} : { 'tls-server-name': cluster.tlsServerName }),
              ...(cluster.insecure ? { 'insecure-skip-tls-verify': true } : {}),
            },
          }
        : {}),
    },
  };
  const more = listOf(exec['env'])
    .map(asRecord)
    .map(({ name, value }) => [String(name), String(value)]);
  return {
    // A bare name is looked up in PATH; a path starts at the kubeconfig's folder.
    command: /[\\/]/.test(command) ? path.resolve(path.dirname(entry.file), command) : command,
    args: listOf(exec['args']).map(String),
    environment: {
      ...process.env,
      ...trusted<Record<string, string>>(Object.fromEntries(more)),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    },
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function mapping(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return value === undefined || value === null ? undefined : asRecord(value);
}

function pluginError(
  user: string,
  entry: Entry,
  exec: Readonly<Record<string, unknown>> | undefined,
  error: unknown,
): Error {
  const reason = asError(error).message.trim().slice(0, 300);
  if (exec === undefined) {
    return new KubeconfigError(`the auth-provider of user '${user}' (${entry.file}) failed: ${reason}`, {
      cause: error,
    });
  }
  const line = [String(exec['command']), ...listOf(exec['args']).map(String)].join(' ');
  const missing = errorCode(error) === 'ENOENT';
  const hint = missing && typeof exec['installHint'] === 'string' ? ` ${exec['installHint'].trim()}` : '';
  return new KubeconfigError(
    `the credential plugin of user '${user}' (${entry.file}) ${missing ? 'was not found' : `failed: ${reason}`}. ` +
      `Run it by hand: ${line}.${hint}`,
    { cause: error },
  );
}

/** Keeps what `load` gave for a minute; `previous` is undefined at first and after a refusal. Concurrent calls share one. */
function renewing(
  now: () => number,
  load: (previous: Credentials | undefined) => Promise<Credentials>,
): CredentialSource {
  let kept: { readonly credentials: Credentials; readonly at: number } | undefined;
  let running: Promise<Credentials> | undefined;
  return {
    renewable: true,
    get(refresh) {
      if (kept !== undefined && !refresh && now() - kept.at < RENEW_MS)
        return Promise.resolve(kept.credentials);
      running ??= load(refresh ? undefined : kept?.credentials)
        .then((credentials) => {
          kept = { credentials, at: now() };
          return credentials;
        })
        .finally(() => {
          running = undefined;
        });
      return running;
    },
  };
}
