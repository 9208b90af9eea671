/**
 * A process that takes part in an election and, while it leads, writes its identity into a ConfigMap as fast as it can; each write names
 * the state that it was decided on, as every write of a worker does: one that is frozen between the look at its Lease and the write
 * sends it when it is woken, and only the apiserver can refuse that. Arguments: kubeconfig, namespace, Lease, ConfigMap, identity. Prints a line for what happens.
 */

import { isConflict } from '../../kubernetes/api-error.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { NotLeaderError } from '../../worker/fence.ts';
import type { Fence } from '../../worker/fence.ts';
import { runLeaderElection } from '../../worker/leader-election.ts';

const [kubeconfig = '', namespace = '', lease = '', configMap = '', identity = ''] = process.argv.slice(2);
const client = new KubernetesClient(await loadConnection({}, { kubeconfig }));
const path = { group: '', version: 'v1', resource: 'configmaps', namespace, name: configMap };
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());

async function writeAlways(fence: Fence, signal: AbortSignal): Promise<void> {
  console.log('leading');
  const guarded = client.withWriteGuard(() => fence.assertLeader());
  let count = 0;
  let { resourceVersion } = (await client.get(path)).metadata;
  while (!signal.aborted) {
    try {
      const data = { writer: identity, count: String((count += 1)) };
      const written = await guarded.patch(path, 'merge', { metadata: { resourceVersion }, data });
      ({ resourceVersion } = written.metadata);
    } catch (error) {
      if (!(error instanceof NotLeaderError) && !isConflict(error)) throw error;
      console.log('refused');
      break;
    }
  }
  console.log('ended');
}

await runLeaderElection({
  client,
  identity,
  namespace,
  name: lease,
  signal: stop.signal,
  onLeading: writeAlways,
  onError: (error) => console.log(`error ${String(error)}`),
});
client.close();
