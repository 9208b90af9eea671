import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { AdminApi } from './api-request.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import type { InstanceLayout } from './layout.ts';

const TOKEN_SECONDS = 365 * 24 * 60 * 60;
const TIMEOUT_MS = 10_000;

export interface ServiceAccountKubeconfigOptions {
  readonly admin: AdminApi;
  readonly layout: InstanceLayout;
  readonly serverUrl: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/**
 * Requests a token (a year) for a ServiceAccount and writes a kubeconfig with it; resolves with the file's path. Waits up
 * to 10 s for the account to appear: `default` accounts are made a moment after their namespace.
 */
export async function createServiceAccountKubeconfig(
  options: ServiceAccountKubeconfigOptions,
): Promise<string> {
  const { admin, layout, serverUrl, namespace, serviceAccount } = options;
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const answer = await admin.request(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: TOKEN_SECONDS },
      },
    );
    if (answer.status === 201) {
      const { token } = (answer.body as { readonly status: { readonly token: string } }).status;
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
    if (answer.status !== 404 || Date.now() > deadline) {
      const { message } = answer.body as { readonly message?: string };
      throw new Error(
        `no token for ServiceAccount ${namespace}/${serviceAccount}: ${answer.status} ${message ?? ''}`,
      );
    }
    await delay(50);
  }
}
