/** Admission policies that refuse one thing in one namespace, for a while. */

import { ApiError, isAlreadyExists, isNotFound } from '../../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import type { Pod } from '../../planners/objects.ts';
import { found } from './eventually.ts';

const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' } as const;
const POLICIES = { ...ADMISSION, resource: 'validatingadmissionpolicies' } as const;
const BINDINGS = { ...ADMISSION, resource: 'validatingadmissionpolicybindings' } as const;

interface Refused {
  /** Of the policy. */
  readonly name: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** Of the core group: `configmaps`, `pods/resize`. */
  readonly resource: string;
  /** CEL, true for what may pass. */
  readonly expression: string;
  /** The apiserver's words. */
  readonly message: string;
  /** A request that meets the policy, without effect. */
  readonly probe: () => Promise<unknown>;
}

/** Lets nobody make a ConfigMap of that name; see {@link refuse}. */
export async function refuseConfigMap(
  client: KubernetesClient,
  namespace: string,
  name: string,
): Promise<() => Promise<void>> {
  const path = { group: '', version: 'v1', resource: 'configmaps', namespace } as const;
  return await refuse(client, namespace, {
    name: `no-${name}-in-${namespace}`,
    operation: 'CREATE',
    resource: 'configmaps',
    expression: `object.metadata.name != "${name}"`,
    message: `no ${name} for now`,
    probe: tried(client, path, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
  });
}

/** Lets nobody change the ConfigMap of that name, which is there; see {@link refuse}. */
export async function refuseChange(
  client: KubernetesClient,
  namespace: string,
  name: string,
): Promise<() => Promise<void>> {
  const path = { group: '', version: 'v1', resource: 'configmaps', namespace, name } as const;
  return await refuse(client, namespace, {
    name: `no-change-of-${name}-in-${namespace}`,
    operation: 'UPDATE',
    resource: 'configmaps',
    expression: `object.metadata.name != "${name}"`,
    message: `no change of ${name} for now`,
    probe: async () => await client.patch(path, 'merge', {}, { dryRun: true }),
  });
}

/** Lets nobody make a ReplicationController of that name; see {@link refuse}. */
export async function refuseController(
  client: KubernetesClient,
  namespace: string,
  name: string,
): Promise<() => Promise<void>> {
  const path = { group: '', version: 'v1', resource: 'replicationcontrollers', namespace } as const;
  const metadata = { name };
  const template = {
    metadata: { labels: { probe: name } },
    spec: { containers: [{ name, image: 'probe:1' }] },
  };
  const body = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec: { replicas: 0, template } };
  return await refuse(client, namespace, {
    name: `no-controller-${name}-in-${namespace}`,
    operation: 'CREATE',
    resource: 'replicationcontrollers',
    expression: `object.metadata.name != "${name}"`,
    message: `no ${name} for now`,
    probe: tried(client, path, body),
  });
}

/** Lets nobody resize a pod of the namespace (422); `pod` is one that is there. See {@link refuse}. */
export async function refuseResize(
  client: KubernetesClient,
  namespace: string,
  pod: string,
): Promise<() => Promise<void>> {
  const path = {
    group: '',
    version: 'v1',
    resource: 'pods',
    namespace,
    name: pod,
    subresource: 'resize',
  } as const;
  return await refuse(client, namespace, {
    name: `no-resize-in-${namespace}`,
    operation: 'UPDATE',
    resource: 'pods/resize',
    expression: 'false',
    message: 'no resize for now',
    probe: async () => await client.patch(path, 'strategic', {}, { dryRun: true }),
  });
}

/** Lets no pod of the namespace get that image; `pod` is one that is there. See {@link refuse}. */
export async function refuseImage(
  client: KubernetesClient,
  namespace: string,
  pod: string,
  image: string,
): Promise<() => Promise<void>> {
  const path = { group: '', version: 'v1', resource: 'pods', namespace, name: pod } as const;
  const live = await client.get<Pod>(path);
  const body = { spec: { containers: [{ name: live.spec.containers[0]?.name, image }] } };
  return await refuse(client, namespace, {
    name: `no-image-in-${namespace}`,
    operation: 'UPDATE',
    resource: 'pods',
    expression: `object.spec.containers.all(one, one.image != "${image}")`,
    message: `no ${image} for now`,
    probe: async () => await client.patch(path, 'strategic', body, { dryRun: true }),
  });
}

/** Lets nobody make a pod of that image in the namespace. See {@link refuse}. */
export async function refuseNewPod(
  client: KubernetesClient,
  namespace: string,
  image: string,
): Promise<() => Promise<void>> {
  const path = { group: '', version: 'v1', resource: 'pods', namespace } as const;
  const spec = { containers: [{ name: 'main', image }] };
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe' }, spec };
  return await refuse(client, namespace, {
    name: `no-new-pod-in-${namespace}`,
    operation: 'CREATE',
    resource: 'pods',
    expression: `object.spec.containers.all(one, one.image != "${image}")`,
    message: `no new ${image} for now`,
    probe: tried(client, path, body),
  });
}

/** Lets nobody delete a pod of the namespace; `pod` is one that stays there. See {@link refuse}. */
export async function refuseDeletion(
  client: KubernetesClient,
  namespace: string,
  pod: string,
): Promise<() => Promise<void>> {
  const path = { group: '', version: 'v1', resource: 'pods', namespace, name: pod } as const;
  return await refuse(client, namespace, {
    name: `no-deletion-in-${namespace}`,
    operation: 'DELETE',
    resource: 'pods',
    expression: 'false',
    message: 'no deletion for now',
    probe: async () => await client.delete(path, { dryRun: true }),
  });
}

/** A creation that is not kept. */
function tried(client: KubernetesClient, path: ResourcePath, body: object): () => Promise<void> {
  return async () => {
    try {
      await client.create(path, body, { dryRun: true });
    } catch (error) {
      // Policies are asked before that is found out.
      if (!isAlreadyExists(error)) throw error;
    }
  };
}

/** Resolves when the apiserver refuses it; the answer takes the policy away again, and resolves when it does not. */
async function refuse(
  client: KubernetesClient,
  namespace: string,
  { name, operation, resource, expression, message, probe }: Refused,
): Promise<() => Promise<void>> {
  const metadata = { name };
  const apiVersion = `${ADMISSION.group}/${ADMISSION.version}`;
  await client.create(POLICIES, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: [operation], resources: [resource] },
        ],
      },
      validations: [{ expression, message }],
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
    try {
      await probe();
      return false;
    } catch (error) {
      if (error instanceof ApiError && error.message.includes(message)) return true;
      throw error;
    }
  };
  await found(`${message}: refused`, async () => ((await isRefused()) ? true : undefined));
  return async () => {
    for (const path of [BINDINGS, POLICIES]) {
      await client.delete({ ...path, name: metadata.name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
    await found(`${message}: refused no more`, async () => ((await isRefused()) ? undefined : true));
  };
}
