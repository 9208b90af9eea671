import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { isNotFound } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import type { InstanceLayout } from './layout.ts';

const TOKEN_SECONDS = 365 * 24 * 60 * 60;
const TIMEOUT_MS = 10_000;
const RETRY_MS = 50;

export interface ServiceAccountKubeconfigOptions {
  readonly client: KubernetesClient;
  readonly layout: InstanceLayout;
  readonly serverUrl: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** Waits up to 10 s for the account to appear: `default` accounts are made a moment after their namespace. */
async function requestToken(options: ServiceAccountKubeconfigOptions): Promise<string> {
  const { client, namespace, serviceAccount } = options;
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      const answer = await client.create<{ readonly status: { readonly token: string } }>(
        {
          group: '',
          version: 'v1',
          resource: 'serviceaccounts',
          namespace,
          name: serviceAccount,
          subresource: 'token',
        },
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: TOKEN_SECONDS },
        },
      );
      return answer.status.token;
    } catch (error) {
      if (!isNotFound(error) || Date.now() > deadline) throw error;
    }
    await delay(RETRY_MS);
  }
}

/** Requests a token (a year) for a ServiceAccount and writes a kubeconfig with it; resolves with the file's path. */
export async function createServiceAccountKubeconfig(
  options: ServiceAccountKubeconfigOptions,
): Promise<string> {
  const { layout, serverUrl, namespace, serviceAccount } = options;
  const token = await requestToken(options);
  const path = join(layout.kubeconfigs, `${namespace}-${serviceAccount}`);
  await writeKubeconfig({
    layout,
    path,
    serverUrl,
    context: 'fairlead-local',
    user: `system:serviceaccount:${namespace}:${serviceAccount}`,
    namespace,
    credentials: { kind: 'token', token },
  });
  return path;
}
