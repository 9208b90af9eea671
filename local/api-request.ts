/** Requests of the administrator to the instance's own apiserver. */

import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface AdminApi {
  request(method: string, path: string, body?: unknown, contentType?: string): Promise<ApiAnswer>;
  close(): void;
}

interface KubeconfigFile {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

/** Opens a client for a kubeconfig of `writeKubeconfig`. */
export async function openAdminApi(kubeconfig: string): Promise<AdminApi> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8')) as KubeconfigFile;
  const { cluster } = config.clusters[0];
  const { user } = config.users[0];
  const decode = (value: string | undefined) => Buffer.from(value ?? '', 'base64');
  const agent = new Agent({
    keepAlive: true,
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  });
  const server = new URL(cluster['server'] ?? '');
  return {
    close() {
      agent.destroy();
    },
    request(method, path, body, contentType = 'application/json') {
      return new Promise((resolve, reject) => {
        const outgoing = request(
          new URL(path, server),
          {
            method,
            agent,
            timeout: 10_000,
            headers: {
              accept: 'application/json',
              ...(body === undefined ? {} : { 'content-type': contentType }),
            },
          },
          (incoming) => {
            const chunks: Buffer[] = [];
            incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
            incoming.on('error', reject);
            incoming.on('end', () => {
              const text = Buffer.concat(chunks).toString('utf8');
              const json = incoming.headers['content-type']?.startsWith('application/json') === true;
              resolve({
                status: incoming.statusCode ?? 0,
                body: json ? (JSON.parse(text) as unknown) : text,
              });
            });
          },
        );
        outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${path}: no answer within 10 s`)));
        outgoing.on('error', reject);
        outgoing.end(body === undefined ? undefined : JSON.stringify(body));
      });
    },
  };
}
