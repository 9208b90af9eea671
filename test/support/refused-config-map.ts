/** An admission policy that lets nobody make a ConfigMap of one name in one namespace. */

import { ApiError, isAlreadyExists, isNotFound } from '../../kubernetes/api-error.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { found } from './eventually.ts';

const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' } as const;
const POLICIES = { ...ADMISSION, resource: 'validatingadmissionpolicies' } as const;
const BINDINGS = { ...ADMISSION, resource: 'validatingadmissionpolicybindings' } as const;

/** Resolves when the apiserver refuses it; the answer takes the policy away again, and resolves when it does not. */
export async function refuseConfigMap(
  client: KubernetesClient,
  namespace: string,
  name: string,
): Promise<() => Promise<void>> {
  const metadata = { name: `no-${name}-in-${namespace}` };
  const apiVersion = `${ADMISSION.group}/${ADMISSION.version}`;
  await client.create(POLICIES, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
        ],
      },
      validations: [{ expression: `object.metadata.name != "${name}"`, message: `no ${name} for now` }],
    },
  });
  await client.create(BINDINGS, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: {
      policyName: metadata.name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
    },
  });
  const isRefused = async (): Promise<boolean> => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace } as const;
    try {
      await client.create(path, body, { dryRun: true });
      return false;
    } catch (error) {
      if (error instanceof ApiError && error.message.includes(`no ${name} for now`)) return true;
      // Policies are asked before that is found out.
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  };
  await found(`${name} is refused`, async () => ((await isRefused()) ? true : undefined));
  return async () => {
    for (const path of [BINDINGS, POLICIES]) {
      await client.delete({ ...path, name: metadata.name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
    await found(`${name} is refused no more`, async () => ((await isRefused()) ? undefined : true));
  };
}
