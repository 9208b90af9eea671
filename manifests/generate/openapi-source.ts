/** Where the schemas come from: the apiserver that validates native workloads by them. */

import { KubernetesClient } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { trusted } from '../../kubernetes/values.ts';
import type { OpenApi } from './structural-schema.ts';

/** The document of `apps/v1`, from the cluster of a kubeconfig. Rejects with `ApiError` as the apiserver answers. */
export async function fetchOpenApi(kubeconfig: string): Promise<OpenApi> {
  const client = new KubernetesClient(await loadConnection({}, { kubeconfig }));
  try {
    const document = await client.request<unknown>({ method: 'GET', path: '/openapi/v3/apis/apps/v1' });
    return checked(document);
  } finally {
    client.close();
  }
}

/** The same from a saved file. Throws if the text is not such a document. */
export function parseOpenApi(text: string): OpenApi {
  return checked(JSON.parse(text));
}

function checked(document: unknown): OpenApi {
  const openapi = trusted<Partial<OpenApi>>(document);
  if (openapi.components?.schemas === undefined) {
    throw new Error('not an OpenAPI v3 document: components.schemas is missing');
  }
  return { components: openapi.components };
}
