/** What an account may do, asked as that account. */

import { isByAdmission } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { withSignal } from './resources.ts';

/** One request, as the authorisation of the apiserver sees it. */
export interface AccessQuestion {
  readonly verb: string;
  readonly group: string;
  /** Plural, lower case. */
  readonly resource: string;
  /** Absent: of the cluster, or in all namespaces. */
  readonly namespace?: string | undefined;
  /** Absent: all. */
  readonly name?: string | undefined;
}

/**
 * Whether the client's account may do it. Undefined where nobody can tell: admission, which sees reviews as it sees any object, cannot be
 * called or denies the question. @throws ApiError
 */
export async function mayDo(
  client: KubernetesClient,
  question: AccessQuestion,
  signal: AbortSignal | undefined,
): Promise<boolean | undefined> {
  try {
    return await review(client, question, signal);
  } catch (error) {
    if (isByAdmission(error)) return undefined;
    throw error;
  }
}

async function review(
  client: KubernetesClient,
  { verb, group, resource, namespace, name }: AccessQuestion,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { status } = await client.create<{ status?: { allowed?: boolean } } & KubernetesObject>(
    { group: 'authorization.k8s.io', version: 'v1', resource: 'selfsubjectaccessreviews' },
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          group,
          resource,
          verb,
          ...(namespace !== undefined && { namespace }),
          ...(name !== undefined && { name }),
        },
      },
    },
    withSignal(signal),
  );
  return status?.allowed === true;
}
