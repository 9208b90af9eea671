/** Kubeconfig files of one instance. */

import { readFile } from 'node:fs/promises';

import type { InstanceLayout } from './layout.ts';
import { writePrivateJson } from './private-json.ts';

export type Credentials =
  | { readonly kind: 'certificate'; readonly certificate: string; readonly key: string }
  | { readonly kind: 'token'; readonly token: string };

export interface KubeconfigOptions {
  readonly layout: InstanceLayout;
  readonly path: string;
  readonly serverUrl: string;
  /** Shown by `kubectl config get-contexts`. */
  readonly context: string;
  readonly user: string;
  readonly namespace?: string;
  readonly credentials: Credentials;
}

/** Writes a kubeconfig that needs no other file, readable by its owner only. JSON is YAML. */
export async function writeKubeconfig(options: KubeconfigOptions): Promise<void> {
  const { layout, path, serverUrl, context, user, namespace = 'default', credentials } = options;
  const authority = await readFile(layout.caFile);
  const userEntry =
    credentials.kind === 'token'
      ? { token: credentials.token }
      : {
          'client-certificate-data': Buffer.from(credentials.certificate).toString('base64'),
          'client-key-data': Buffer.from(credentials.key).toString('base64'),
        };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: context,
        cluster: { server: serverUrl, 'certificate-authority-data': authority.toString('base64') },
      },
    ],
    users: [{ name: user, user: userEntry }],
    contexts: [{ name: context, context: { cluster: context, user, namespace } }],
    'current-context': context,
  };
  await writePrivateJson(path, config);
}
