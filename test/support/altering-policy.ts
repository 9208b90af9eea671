/** Admission policies that change what is made in one namespace, for a while. */

import type { KubernetesClient } from '../../kubernetes/client.ts';
import type { ReplicaSet } from '../../planners/objects.ts';
import { found } from './eventually.ts';

const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' } as const;
const POLICIES = { ...ADMISSION, resource: 'mutatingadmissionpolicies' } as const;
const BINDINGS = { ...ADMISSION, resource: 'mutatingadmissionpolicybindings' } as const;

/**
 * Gives the template of each new ReplicaSet of the namespace the annotation `injected`. Resolves when the apiserver does it; the
 * answer takes the policy away again, and resolves when it does not.
 */
export async function alterReplicaSets(
  client: KubernetesClient,
  namespace: string,
): Promise<() => Promise<void>> {
  const name = `alters-replicasets-in-${namespace}`;
  const apiVersion = `${ADMISSION.group}/${ADMISSION.version}`;
  await client.create(POLICIES, {
    apiVersion,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['replicasets'] },
        ],
      },
      matchConditions: [{ name: 'here', expression: `object.metadata.namespace == '${namespace}'` }],
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: {
            expression:
              '[JSONPatch{op: "add", path: "/spec/template/metadata/annotations", value: {"injected": "yes"}}]',
          },
        },
      ],
    },
  });
  await client.create(BINDINGS, {
    apiVersion,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name },
  });
  const isAltered = async (): Promise<boolean> => {
    const labels = { probe: 'altered' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'probe:1' }] } };
    const made = await client.create<ReplicaSet>(
      { group: 'apps', version: 'v1', resource: 'replicasets', namespace },
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: { name: 'probe' },
        spec: { replicas: 0, selector: { matchLabels: labels }, template },
      },
      { dryRun: true },
    );
    return made.spec.template.metadata?.annotations?.['injected'] !== undefined;
  };
  await found('ReplicaSets are altered', async () => ((await isAltered()) ? true : undefined));
  return async () => {
    for (const path of [BINDINGS, POLICIES]) await client.delete({ ...path, name });
    await found('ReplicaSets are altered no more', async () => ((await isAltered()) ? undefined : true));
  };
}
