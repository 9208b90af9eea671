/** The command line on real servers: one set, ready, in a namespace of its own for each test; a real worker that keeps it. */

import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';

import type { Io } from '../../cli/io.ts';
import { trusted } from '../../kubernetes/values.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import type { WorkloadTarget } from '../../kubernetes/workload-edit.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import type { CliRun } from './cli.ts';
import { runCli } from './cli.ts';
import { Cluster } from './cluster.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';
import type { WorkerProcess } from './worker-process.ts';
import { startWorker } from './worker-process.ts';

/** What each test finds. */
export interface CliScene {
  readonly cluster: Cluster;
  /** Of this test alone; holds the set `web`: three pods of `web:1`, all ready. */
  readonly namespace: string;
  readonly description: StatefulSetDescription;
}

/** Declares the hooks; the control plane is there before them, and after. What it returns is for tests and for hooks that run after them. */
export function useCliGround(api: WorkloadApi, controlPlane: () => ControlPlane) {
  let cluster: Cluster;
  let worker: WorkerProcess | undefined;
  let namespace: string;
  let description: StatefulSetDescription;

  afterAll(async () => {
    await stop();
    cluster?.close();
  }, 30_000);

  async function start(): Promise<void> {
    worker = await startWorker({ controlPlane: controlPlane(), cluster: 'cli' });
  }
  async function stop(): Promise<void> {
    await worker?.stop();
  }
  async function thenStart(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      await start();
    }
  }

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    await start();
  }, 120_000);

  beforeEach(async () => {
    namespace = await cluster.createNamespace('cli');
    description = { name: 'web', namespace, replicas: 3, image: 'web:1', parallel: true };
    await cluster.applySet(description);
    await cluster.untilReady(namespace, 'web');
  }, 60_000);

  function environment(): Record<string, string> {
    return {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: 'cli',
      FAIRLEAD_WORKLOAD_API: api,
      PATH: process.env['PATH'] ?? '',
    };
  }

  async function cli(words: string, overrides: Partial<Io> = {}): Promise<CliRun> {
    const list = words.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
    return await runCli([...list, '-n', namespace], { environment: environment(), ...overrides });
  }

  async function json<T = Record<string, unknown>>(words: string, overrides: Partial<Io> = {}): Promise<T> {
    const { out, err } = await cli(`${words} -o json`, overrides);
    if (out === '') throw new Error(`${words} printed nothing: ${err}`);
    return trusted<T>(JSON.parse(out));
  }

  function target(): WorkloadTarget {
    return { ...groupVersion(api), kind: 'StatefulSet', namespace, name: 'web' };
  }

  async function annotations(): Promise<Readonly<Record<string, string>>> {
    return (await cluster.set(namespace, 'web')).metadata.annotations ?? {};
  }

  async function image(): Promise<string | undefined> {
    return (await cluster.set(namespace, 'web')).spec.template.spec.containers[0]?.image;
  }

  /** Every pod that may be replaced under maxUnavailable 1 is stuck. */
  async function breakIt(): Promise<void> {
    expect(await cli('set image sts/web main=web:bad')).toMatchObject({ code: 0 });
    await untilStuck();
  }

  /** The first pod that is replaced cannot pull its image. */
  async function untilStuck(): Promise<void> {
    await cluster.until(
      { group: '', version: 'v1', resource: 'pods', namespace, name: 'web-2' },
      'at the broken image',
      (pod) =>
        JSON.stringify(pod).includes('ImagePullBackOff') || JSON.stringify(pod).includes('ErrImagePull'),
    );
  }

  return {
    controlPlane,
    scene: (): CliScene => ({ cluster, namespace, description }),
    /** Without the worker of the ground; another is started afterwards. */
    withoutWorker: async (work: () => Promise<void>): Promise<void> => {
      await stop();
      await thenStart(work);
    },
    /** The same, but it has been killed a moment before: it holds its Lease still. */
    withDeadWorker: async (work: () => Promise<void>): Promise<void> => {
      await worker?.kill();
      await thenStart(work);
    },
    environment,
    cli,
    json,
    target,
    annotations,
    image,
    breakIt,
    untilStuck,
  };
}
