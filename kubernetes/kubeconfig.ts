/** From the environment to a connection: which apiserver, how to trust it, who we are. */

import { readFile } from 'node:fs/promises';
import * as path from 'node:path';

import type { Credentials, CredentialSource } from './credentials.ts';
import { fixedCredentials, pluginCredentials, tokenFileCredentials } from './credentials.ts';
import type { Entry, Kubeconfig } from './kubeconfig-files.ts';
import {
  fileField,
  KubeconfigError,
  kubeconfigPaths,
  readKubeconfigs,
  textField,
} from './kubeconfig-files.ts';
import { asError } from './values.ts';

interface TlsOptions {
  /** PEM; absent: the system's. */
  readonly ca?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure: boolean;
}

export interface Connection {
  /** `https://…` or `http://…`, possibly with a path. */
  readonly server: string;
  /** Name of the kubeconfig's context; `in-cluster` inside a pod. */
  readonly context: string;
  /** Default namespace of the context. */
  readonly namespace: string;
  /** For messages: which file. */
  readonly source: string;
  readonly tls: TlsOptions;
  readonly credentials: CredentialSource;
  /** The user's `as`. */
  readonly impersonate?: string | undefined;
}

export interface LoadOptions {
  /** @default the kubeconfig's current-context */
  readonly context?: string | undefined;
  /** @default KUBECONFIG, then ~/.kube/config, then the pod's ServiceAccount */
  readonly kubeconfig?: string | undefined;
  /** Folder of the pod's ServiceAccount. */
  readonly serviceAccountFolder?: string | undefined;
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The connection that kubectl would use: an explicit kubeconfig, KUBECONFIG, `~/.kube/config`, or inside a pod its
 * ServiceAccount.
 * @throws {KubeconfigError} saying what is wrong in which file, and what to do
 */
export async function loadConnection(
  environment: Readonly<Record<string, string | undefined>>,
  options: LoadOptions = {},
): Promise<Connection> {
  const paths = kubeconfigPaths(environment, options.kubeconfig);
  const config = await readKubeconfigs(paths);
  if (config !== undefined) return fromKubeconfig(config, options.context);
  const inCluster = await fromPod(environment, options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER);
  if (inCluster !== undefined) return inCluster;
  throw new KubeconfigError(
    `no Kubernetes cluster is configured: KUBECONFIG is not set, ${paths.files.join(', ')} does not exist, and this is no ` +
      `pod. Start one with 'fairlead local up', then 'eval "$(fairlead local env)"', or set KUBECONFIG.`,
  );
}

async function fromKubeconfig(config: Kubeconfig, wanted: string | undefined): Promise<Connection> {
  const source = config.files.join(', ');
  const name = wanted ?? config.currentContext;
  if (name === undefined) {
    throw new KubeconfigError(
      `${source}: no current context. Choose one: kubectl config use-context NAME, or --context NAME.`,
    );
  }
  const context = config.contexts.get(name);
  if (context === undefined) {
    const known = [...config.contexts.keys()].join(', ');
    throw new KubeconfigError(
      `${source}: no context '${name}'. ${known === '' ? 'There are none.' : `Known: ${known}.`}`,
    );
  }
  const clusterName = textField(context.values, 'cluster', context.file) ?? '';
  const cluster = config.clusters.get(clusterName);
  if (cluster === undefined) {
    throw new KubeconfigError(
      `${context.file}: context '${name}' names cluster '${clusterName}', which does not exist`,
    );
  }
  const userName = textField(context.values, 'user', context.file);
  const user = userName === undefined ? undefined : config.users.get(userName);
  if (userName !== undefined && user === undefined) {
    throw new KubeconfigError(
      `${context.file}: context '${name}' names user '${userName}', which does not exist`,
    );
  }
  const server = checkedServer(textField(cluster.values, 'server', cluster.file), clusterName, cluster.file);
  refuseProxy(cluster, clusterName);
  const ca = await pem(cluster, 'certificate-authority');
  const tls = {
    ca,
    serverName: textField(cluster.values, 'tls-server-name', cluster.file),
    insecure: cluster.values['insecure-skip-tls-verify'] === true,
  };
  const pluginCluster = {
    server,
    caData: ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
    tlsServerName: tls.serverName,
    insecure: tls.insecure,
  };
  return {
    server,
    context: name,
    namespace: textField(context.values, 'namespace', context.file) ?? 'default',
    source,
    tls,
    credentials:
      user === undefined ? fixedCredentials({}) : await credentialsOf(userName ?? '', user, pluginCluster),
    impersonate: user === undefined ? undefined : impersonated(user, userName ?? ''),
  };
}

async function credentialsOf(
  name: string,
  user: Entry,
  cluster: Parameters<typeof pluginCredentials>[2],
): Promise<CredentialSource> {
  const cert = await pem(user, 'client-certificate');
  const key = await pem(user, 'client-key');
  if ((cert === undefined) !== (key === undefined)) {
    throw new KubeconfigError(
      `${user.file}: user '${name}' needs both client-certificate and client-key, or neither`,
    );
  }
  const base: Credentials = cert === undefined ? {} : { cert, key };
  const tokenFile = fileField(user, 'tokenFile');
  if (tokenFile !== undefined) return tokenFileCredentials(tokenFile, base);
  const token = textField(user.values, 'token', user.file);
  if (token !== undefined) return fixedCredentials({ ...base, authorization: `Bearer ${token}` });
  const username = textField(user.values, 'username', user.file);
  if (username !== undefined) {
    const password = textField(user.values, 'password', user.file) ?? '';
    const basic = Buffer.from(`${username}:${password}`).toString('base64');
    return fixedCredentials({ ...base, authorization: `Basic ${basic}` });
  }
  if (isMapping(user.values['exec']) || isMapping(user.values['auth-provider'])) {
    return pluginCredentials(name, user, cluster, base);
  }
  return fixedCredentials(base);
}

async function fromPod(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<Connection | undefined> {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port = environment['KUBERNETES_SERVICE_PORT'];
  if (host === undefined || host === '' || port === undefined || port === '') return undefined;
  const read = async (name: string): Promise<string> => {
    const file = path.join(folder, name);
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      throw new KubeconfigError(
        `cannot read ${file}: ${asError(error).message}. Does the pod have automountServiceAccountToken: false?`,
        { cause: error },
      );
    }
  };
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    context: 'in-cluster',
    namespace: (await read('namespace')).trim(),
    source: folder,
    tls: { ca: await read('ca.crt'), insecure: false },
    credentials: tokenFileCredentials(path.join(folder, 'token')),
  };
}

/** `<field>-data` (base64) or the file that `<field>` names. */
async function pem(entry: Entry, field: string): Promise<string | undefined> {
  const data = textField(entry.values, `${field}-data`, entry.file);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = fileField(entry, field);
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`${entry.file}: cannot read '${field}' ${file}: ${asError(error).message}`, {
      cause: error,
    });
  }
}

function checkedServer(server: string | undefined, cluster: string, file: string): string {
  if (server === undefined) throw new KubeconfigError(`${file}: cluster '${cluster}' has no server`);
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new KubeconfigError(
      `${file}: the server of cluster '${cluster}' is no http:// or https:// address: '${server}'`,
    );
  }
  return server.replace(/\/+$/, '');
}

function refuseProxy(cluster: Entry, name: string): void {
  const proxy = textField(cluster.values, 'proxy-url', cluster.file);
  if (proxy === undefined) return;
  throw new KubeconfigError(
    `${cluster.file}: cluster '${name}' is behind the proxy ${proxy}, which Fairlead does not speak. Run it where the ` +
      `apiserver can be reached directly, or open a tunnel ('ssh -L') and set 'server' and 'tls-server-name' to match.`,
  );
}

/** Only `as`: dropping groups or a uid silently would be another identity. */
function impersonated(user: Entry, name: string): string | undefined {
  for (const field of ['as-groups', 'as-uid', 'as-user-extra']) {
    if (user.values[field] !== undefined) {
      throw new KubeconfigError(
        `${user.file}: user '${name}' has '${field}', which Fairlead does not support; use 'as' alone`,
      );
    }
  }
  return textField(user.values, 'as', user.file);
}

function isMapping(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
