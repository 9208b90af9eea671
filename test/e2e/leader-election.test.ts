/** Two processes, one Lease, a real apiserver. Who wrote what is read from the apiserver's own order. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { KubernetesClient } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { ChildScript } from '../support/child-process.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import type { Lease } from '../../kubernetes/lease.ts';

type ConfigMap = KubernetesObject & { readonly data?: { readonly writer?: string } };

const MAIN = new URL('../support/lease-holder-main.ts', import.meta.url);
/** Where a worker may elect, and write ConfigMaps: the candidates act under its ServiceAccount. */
const NAMESPACE = 'fairlead-system';

const controlPlane = useControlPlane({ nodes: 0 });
let client: KubernetesClient;
let workerKubeconfig: string;
let processes: ChildScript[];
let stopWatch: AbortController;
/** Who wrote, in the order of the apiserver, repeats left out. */
let writers: string[];
let name: string;
let counter = 0;

function start(identity: string): ChildScript {
  const child = new ChildScript(MAIN, [workerKubeconfig, NAMESPACE, name, name, identity]);
  processes.push(child);
  return child;
}

async function writes(writer: string): Promise<void> {
  await eventually(`${writer} writes (so far: ${writers.join()})`, () => writers.at(-1) === writer, 45_000);
}

async function follow(since: string, signal: AbortSignal): Promise<void> {
  const path = { group: '', version: 'v1', resource: 'configmaps', namespace: NAMESPACE };
  const events = client.watch<ConfigMap>(path, {
    signal,
    resourceVersion: since,
    fieldSelector: `metadata.name=${name}`,
  });
  for await (const { object } of events) {
    const writer = object.data?.writer;
    if (writer !== undefined && writer !== writers.at(-1)) writers.push(writer);
  }
}

beforeAll(async () => {
  client = new KubernetesClient(await loadConnection({}, { kubeconfig: controlPlane().kubeconfig }));
  workerKubeconfig = await controlPlane().workerKubeconfig();
});
afterAll(() => client.close());

let watching: Promise<void>;
beforeEach(async () => {
  counter += 1;
  name = `election-${String(counter)}`;
  processes = [];
  writers = [];
  stopWatch = new AbortController();
  const path = { group: '', version: 'v1', resource: 'configmaps', namespace: NAMESPACE };
  const created = await client.create(path, { metadata: { name } });
  watching = follow(created.metadata.resourceVersion, stopWatch.signal);
});
afterEach(async () => {
  await Promise.all(processes.map((child) => child.end()));
  stopWatch.abort();
  await watching;
});

describe('two candidates', () => {
  // How soon is a matter of the fake clock (test/unit/worker/leader-election.test.ts): a busy machine must not fail this one.
  it('the leader is killed: the other takes over and transitions are counted', async () => {
    const one = start('one');
    await one.printed('leading', 1, 45_000);
    start('two');
    await writes('one');
    one.signal('SIGKILL');
    await writes('two');
    const lease = await client.get<Lease>({
      group: 'coordination.k8s.io',
      version: 'v1',
      resource: 'leases',
      namespace: NAMESPACE,
      name,
    });
    expect(lease.spec).toMatchObject({ holderIdentity: 'two', leaseDurationSeconds: 6, leaseTransitions: 1 });
    expect(writers).toEqual(['one', 'two']);
  }, 60_000);

  it('the leader is frozen and woken: it writes nothing, and can lead again later', async () => {
    const one = start('one');
    await one.printed('leading', 1, 45_000);
    const two = start('two');
    await writes('one');
    one.signal('SIGSTOP');
    await writes('two');
    one.signal('SIGCONT');
    await one.printed('ended', 1, 10_000);
    expect(writers).toEqual(['one', 'two']);
    two.signal('SIGTERM');
    const stopped = performance.now();
    await writes('one');
    // Well before the Lease would have expired.
    expect(performance.now() - stopped).toBeLessThan(5_000);
    expect(writers).toEqual(['one', 'two', 'one']);
  }, 60_000);
});
