import { KubernetesClient } from '../kubernetes/client.ts';
import { loadConnection } from '../kubernetes/kubeconfig.ts';

/** Shows up in managed fields of what the embedded control plane writes. */
export const FIELD_MANAGER = 'fairlead-local';

/** A client of the instance's own apiserver, and of no other: the environment is not read. */
export async function openClusterClient(kubeconfig: string): Promise<KubernetesClient> {
  return new KubernetesClient(await loadConnection({}, { kubeconfig }));
}
