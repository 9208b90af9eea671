import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { pluginCredentials, tokenFileCredentials } from '../../../kubernetes/credentials.ts';
import { loadConnection } from '../../../kubernetes/kubeconfig.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kubeconfig-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function write(name: string, text: string): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

function config(user: string, cluster = ''): string {
  return `
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: 'https://server:6443/', ${cluster}}}]
users: [{name: u, user: {${user}}}]
contexts:
- {name: one, context: {cluster: c, user: u, namespace: team}}
- {name: two, context: {cluster: c}}
- {name: lost, context: {cluster: nowhere}}
- {name: nobody, context: {cluster: c, user: nobody}}
`;
}

async function load(text: string, context?: string): ReturnType<typeof loadConnection> {
  return loadConnection({ KUBECONFIG: await write('config', text) }, { context });
}

describe('kubeconfig', () => {
  it.each([
    ['token: t', { authorization: 'Bearer t' }],
    ['username: a, password: b', { authorization: 'Basic YTpi' }],
    [
      `client-certificate-data: ${btoa('cert')}, client-key-data: ${btoa('key')}`,
      { cert: 'cert', key: 'key' },
    ],
    ['', {}],
  ])('credentials: %s', async (user, credentials) => {
    const connection = await load(config(user));
    await expect(connection.credentials.get(false)).resolves.toEqual(credentials);
  });

  it('context, namespace, server and trust', async () => {
    const connection = await load(
      config('token: t, as: someone', `certificate-authority-data: ${btoa('ca')}, tls-server-name: other`),
    );
    expect(connection).toMatchObject({
      server: 'https://server:6443',
      context: 'one',
      namespace: 'team',
      impersonate: 'someone',
      tls: { ca: 'ca', serverName: 'other', insecure: false },
    });
    const other = await load(config('', 'insecure-skip-tls-verify: true'), 'two');
    expect(other).toMatchObject({ context: 'two', namespace: 'default', tls: { insecure: true } });
  });

  it("files are found from the kubeconfig's own folder", async () => {
    await write('pki/ca.crt', 'ca');
    await write('pki/token', 'from-file\n');
    const connection = await load(
      config('token: t, tokenFile: pki/token', 'certificate-authority: pki/ca.crt'),
    );
    expect(connection.tls.ca).toBe('ca');
    await expect(connection.credentials.get(false)).resolves.toEqual({ authorization: 'Bearer from-file' });
  });

  it('KUBECONFIG is a list: the first file that names something wins, missing ones are skipped', async () => {
    const first = await write(
      'first',
      'contexts: [{name: mine, context: {cluster: c, namespace: first}}]\ncurrent-context: mine\nusers: [{name: u, user: {token: first}}]',
    );
    const second = await write('second', config('token: second'));
    const KUBECONFIG = [path.join(folder, 'missing'), first, second].join(path.delimiter);
    const connection = await loadConnection({ KUBECONFIG });
    expect(connection).toMatchObject({ context: 'mine', namespace: 'first', server: 'https://server:6443' });
    const one = await loadConnection({ KUBECONFIG }, { context: 'one' });
    await expect(one.credentials.get(false)).resolves.toEqual({ authorization: 'Bearer first' });
  });

  it('~/.kube/config without KUBECONFIG', async () => {
    await write('.kube/config', config('token: t'));
    await expect(loadConnection({ HOME: folder })).resolves.toMatchObject({ context: 'one' });
  });

  it.each([
    ['[1, 2]', 'holds no mapping'],
    ['a: b: c', 'is not a kubeconfig'],
    ['clusters: 1', "'clusters' must be a list"],
    ['clusters: []', 'no current context. Choose one: kubectl config use-context'],
    [config('token: 123'), "'token' must be a string, found a number; put it in quotes"],
    [
      config('').replace("'https://server:6443/'", "'server:6443'"),
      "no http:// or https:// address: 'server:6443'",
    ],
    [config('', "proxy-url: 'http://p'"), "cluster 'c' is behind the proxy http://p"],
    [config(`client-certificate-data: ${btoa('c')}`), 'needs both client-certificate and client-key'],
    [config('as: a, as-groups: [b]'), "'as-groups', which Fairlead does not support"],
    [config('', 'certificate-authority: missing.crt'), "cannot read 'certificate-authority'"],
  ])('%s', async (text, message) => {
    await expect(load(text)).rejects.toThrow(message);
  });

  it('says which names are known, or missing', async () => {
    const text = config('');
    await expect(load(text, 'three')).rejects.toThrow("no context 'three'. Known: one, two, lost, nobody.");
    await expect(load(text, 'lost')).rejects.toThrow(
      "context 'lost' names cluster 'nowhere', which does not exist",
    );
    await expect(load(text, 'nobody')).rejects.toThrow(
      "context 'nobody' names user 'nobody', which does not exist",
    );
  });

  it('says what to do where nothing is configured', async () => {
    await expect(loadConnection({ HOME: folder })).rejects.toThrow('fairlead local up');
    await expect(loadConnection({ KUBECONFIG: '/nowhere/config' })).rejects.toThrow(
      'no kubeconfig at /nowhere/config',
    );
  });
});

describe('in a pod', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  it("uses the pod's ServiceAccount", async () => {
    await write('ca.crt', 'ca');
    await write('namespace', 'fairlead-system');
    await write('token', 'one');
    const options = { serviceAccountFolder: folder };
    const connection = await loadConnection({ ...pod, HOME: folder }, options);
    expect(connection).toMatchObject({
      server: 'https://10.0.0.1:443',
      namespace: 'fairlead-system',
      tls: { ca: 'ca' },
    });
    await expect(connection.credentials.get(false)).resolves.toEqual({ authorization: 'Bearer one' });
    const six = await loadConnection({ ...pod, KUBERNETES_SERVICE_HOST: 'fd00::1', HOME: folder }, options);
    expect(six.server).toBe('https://[fd00::1]:443');
  });

  it('says why there may be no token', async () => {
    const options = { serviceAccountFolder: folder };
    await expect(loadConnection({ ...pod, HOME: folder }, options)).rejects.toThrow(
      'automountServiceAccountToken',
    );
  });

  it('reads the token again each minute and after a refusal, and keeps it when that fails', async () => {
    const file = await write('token', 'one');
    let now = 0;
    const source = tokenFileCredentials(file, {}, () => now);
    const token = async (refresh = false): Promise<string | undefined> =>
      (await source.get(refresh)).authorization;
    await expect(token()).resolves.toBe('Bearer one');
    await writeFile(file, 'two');
    now = 59_000;
    await expect(token()).resolves.toBe('Bearer one');
    await expect(token(true)).resolves.toBe('Bearer two');
    await writeFile(file, 'three');
    now = 120_000;
    await expect(token()).resolves.toBe('Bearer three');
    await rm(file);
    now = 200_000;
    await expect(token()).resolves.toBe('Bearer three');
  });
});

const CLUSTER = {
  server: 'https://server:6443',
  caData: undefined,
  tlsServerName: undefined,
  insecure: false,
};

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('credential plugin', () => {
  async function plugin(script: string, extra = ''): ReturnType<typeof loadConnection> {
    const file = await write('plugin', `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o755);
    return load(
      config(`exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [get], ${extra}}`),
    );
  }

  it('is run in the folder of the kubeconfig, told of the cluster, and asked again after a refusal', async () => {
    const counter = path.join(folder, 'count');
    const connection = await plugin(
      `echo "$KUBERNETES_EXEC_INFO" > ${folder}/info; echo x >> ${counter}
n=$(wc -l < ${counter} | tr -d ' ')
echo '{"kind":"ExecCredential","status":{"token":"t-'$n'","expirationTimestamp":"2999-01-01T00:00:00Z"}}'`,
      'provideClusterInfo: true',
    );
    await expect(connection.credentials.get(false)).resolves.toMatchObject({ authorization: 'Bearer t-1' });
    await expect(connection.credentials.get(false)).resolves.toMatchObject({ authorization: 'Bearer t-1' });
    await expect(connection.credentials.get(true)).resolves.toMatchObject({ authorization: 'Bearer t-2' });
    expect(JSON.parse(await readFile(path.join(folder, 'info'), 'utf8'))).toMatchObject({
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: 'https://server:6443' } },
    });
  });

  it('gives client certificates', async () => {
    const connection = await plugin(
      `echo '{"status":{"clientCertificateData":"cert","clientKeyData":"key"}}'`,
    );
    await expect(connection.credentials.get(false)).resolves.toEqual({ cert: 'cert', key: 'key' });
  });

  it('that waits for what never comes is killed in time, and asked again by whoever is next', async () => {
    await plugin(
      `[ -e ${folder}/pid ] && exec echo '{"status":{"token":"t"}}'; echo $$ > ${folder}/pid; exec sleep 600`,
    );
    const file = path.join(folder, 'config');
    const source = pluginCredentials(
      'u',
      { file, values: { exec: { command: './plugin' } } },
      CLUSTER,
      {},
      500,
    );
    await expect(source.get(false)).rejects.toThrow(
      /credential plugin of user 'u' .* failed: it gave nothing within 0.5 s. Run it by hand: .*plugin/,
    );
    const pid = Number(await readFile(path.join(folder, 'pid'), 'utf8'));
    await eventually('it is gone', () => !isThere(pid));
    await expect(source.get(false)).resolves.toEqual({ authorization: 'Bearer t' });
  });

  it('that asks for something gets nothing to read', async () => {
    const asking = await plugin(`read -r answer || echo '{"status":{"token":"t"}}'`);
    await expect(asking.credentials.get(false)).resolves.toEqual({ authorization: 'Bearer t' });
  });

  it('says what failed and how to run it by hand', async () => {
    const failing = await plugin('echo "token expired, log in" >&2; exit 1');
    await expect(failing.credentials.get(false)).rejects.toThrow(
      /credential plugin of user 'u' .*failed: token expired, log in. Run it by hand: .*plugin get/s,
    );
    const chatty = await plugin('echo "token: abc"');
    await expect(chatty.credentials.get(false)).rejects.toThrow(/failed: what it printed is not JSON\. Run/);
    const missing = await load(
      config("exec: {command: no-such-plugin, installHint: 'Install it from here.'}"),
    );
    await expect(missing.credentials.get(false)).rejects.toThrow(/was not found.*Install it from here\./s);
  });
});
