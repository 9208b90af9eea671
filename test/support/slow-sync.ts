/** A worker for sync and commit whose way to the apiserver can be made slow, and what was on that way when. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { KubernetesClient } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { ApiProxy } from './api-proxy.ts';
import { GitSync } from './git-sync.ts';

/** A write to the apiserver, milliseconds since the epoch. */
export interface TimedWrite {
  readonly begun: number;
  readonly answered: number;
}

/** Of a ConfigMap. */
interface SeenWrite {
  readonly number: number;
  readonly namespace: string;
  readonly begun: number;
  answered?: number;
}

export class SlowSync {
  readonly sync: GitSync;
  /** How long requests about ConfigMaps of these namespaces take, milliseconds: those that write, and the others, dry runs included. */
  readonly delays: Readonly<Record<'writes' | 'reads', Map<string, number>>>;
  readonly #writes: readonly SeenWrite[];
  readonly #proxy: ApiProxy;
  readonly #client: KubernetesClient;

  private constructor(
    seen: Pick<SlowSync, 'delays'> & { readonly writes: readonly SeenWrite[] },
    sync: GitSync,
    proxy: ApiProxy,
    client: KubernetesClient,
  ) {
    this.delays = seen.delays;
    this.#writes = seen.writes;
    this.sync = sync;
    this.#proxy = proxy;
    this.#client = client;
  }

  static async start(controlPlane: ControlPlane, name: string): Promise<SlowSync> {
    const delays = { writes: new Map<string, number>(), reads: new Map<string, number>() };
    const writes: SeenWrite[] = [];
    const proxy = await ApiProxy.start({
      server: controlPlane.serverUrl,
      ca: await readFile(controlPlane.caFile),
      onRead: ({ path }) => {
        const namespace = /\/namespaces\/([^/]+)\/configmaps\//.exec(path)?.[1] ?? '';
        return delayed(delays.reads.get(namespace));
      },
      onWrite: ({ number, resource, namespace = '' }, side) => {
        if (resource !== 'configmaps') return undefined;
        if (side === 'before') {
          writes.push({ number, namespace, begun: Date.now() });
          return delayed(delays.writes.get(namespace));
        }
        const write = writes.find((one) => one.number === number);
        if (write !== undefined) write.answered = Date.now();
        return undefined;
      },
    });
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-'));
    const source = await controlPlane.workerKubeconfig();
    const kubeconfig = await proxy.writeKubeconfig(source, join(directory, 'kubeconfig'));
    const client = new KubernetesClient(await loadConnection({}, { kubeconfig }));
    await rm(directory, { recursive: true });
    const { temporalAddress } = controlPlane;
    const sync = await GitSync.start({ client, temporalAddress, cluster: name });
    return new SlowSync({ delays, writes }, sync, proxy, client);
  }

  /** Writes of ConfigMaps of a namespace that have come so far, in order; one that has no answer yet is answered never. */
  writes(namespace: string): readonly TimedWrite[] {
    return this.#writes
      .filter((write) => write.namespace === namespace)
      .map(({ begun, answered = Infinity }) => ({ begun, answered }));
  }

  async stop(): Promise<void> {
    await this.sync.stop();
    this.#client.close();
    await this.#proxy.close();
  }
}

function delayed(milliseconds: number | undefined) {
  return milliseconds === undefined ? undefined : ({ fault: 'delay', milliseconds } as const);
}
