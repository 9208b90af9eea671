/** The name under which the apiserver knows us: what a wish is signed with. */

import { ApiError, isByAdmission } from '../kubernetes/api-error.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

interface SelfSubjectReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

/** The user of the kubeconfig; undefined where the apiserver will not say. @throws ApiError when it does not answer */
export async function whoAmI(session: Session): Promise<string | undefined> {
  try {
    const review = await session.client.request<SelfSubjectReview>({
      method: 'POST',
      path: { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews' },
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
    return review.status?.userInfo?.username;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined;
    // A wish is worth more than the name below it: whoever pauses now has a reason.
    if (isByAdmission(error)) return undefined;
    throw error;
  }
}
