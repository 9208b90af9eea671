/** Everything secret of a new instance: certificates, token keys, kubeconfigs. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { writeKubeconfig } from './kubeconfig.ts';
import type { InstanceLayout } from './layout.ts';
import { createCertificateAuthority, createServiceAccountKeys } from './pki.ts';

/** Who logs in with a client certificate. Names with `system:` are known to the apiserver's built-in roles. */
const USERS = [
  { file: 'admin', commonName: 'admin', organizations: ['system:masters'] },
  { file: 'kube-controller-manager', commonName: 'system:kube-controller-manager', organizations: [] },
  { file: 'kube-scheduler', commonName: 'system:kube-scheduler', organizations: [] },
  { file: 'kwok', commonName: 'kwok', organizations: [] },
] as const;

/** Names under which the servers of an instance are called. */
const SERVER_HOSTS = [
  '127.0.0.1',
  'localhost',
  '10.0.0.1',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
];

async function writeSecret(path: string, content: string): Promise<void> {
  await writeFile(path, content, { mode: 0o600 });
}

/** Fills `pki/`, `kubeconfigs/` and the administrator's `kubeconfig`. */
export async function createCredentials(
  layout: InstanceLayout,
  name: string,
  serverUrl: string,
): Promise<void> {
  await mkdir(layout.pki, { recursive: true, mode: 0o700 });
  await mkdir(layout.kubeconfigs, { recursive: true, mode: 0o700 });
  const authority = await createCertificateAuthority(`fairlead-${name}`);
  await writeFile(layout.caFile, authority.certificate);

  const issueToFiles = async (file: string, commonName: string, hosts: readonly string[]) => {
    const issued = await authority.issue({ commonName, hosts });
    await writeSecret(layout.certificate(file), issued.certificate);
    await writeSecret(layout.key(file), issued.key);
  };
  const keys = createServiceAccountKeys();
  await Promise.all([
    issueToFiles('server', 'fairlead-server', SERVER_HOSTS),
    issueToFiles('etcd-client', 'kube-apiserver', []),
    writeSecret(join(layout.pki, 'service-accounts.key'), keys.privateKey),
    writeSecret(join(layout.pki, 'service-accounts.pub'), keys.publicKey),
    ...USERS.map(async ({ file, commonName, organizations }) => {
      const issued = await authority.issue({ commonName, organizations });
      await writeKubeconfig({
        layout,
        path: file === 'admin' ? layout.kubeconfig : join(layout.kubeconfigs, file),
        serverUrl,
        context: `fairlead-${name}`,
        user: commonName,
        credentials: { kind: 'certificate', ...issued },
      });
    }),
  ]);
}
