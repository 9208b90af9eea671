/** The command line on real servers: sets in namespaces of their own, and a real worker that keeps them. */

import { afterAll, beforeAll, expect } from '@jest/globals';

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

/** A namespace of one test alone, and the command line in it. */
export interface CliScene {
  readonly cluster: Cluster;
  readonly namespace: string;
  /** Of the set `web`: three pods of `web:1`. */
  readonly description: StatefulSetDescription;
  readonly cli: (words: string, overrides?: Partial<Io>) => Promise<CliRun>;
  readonly json: <T = Record<string, unknown>>(words: string, overrides?: Partial<Io>) => Promise<T>;
  readonly target: () => WorkloadTarget;
  readonly annotations: () => Promise<Readonly<Record<string, string>>>;
  readonly image: () => Promise<string | undefined>;
  /** Every pod that may be replaced under maxUnavailable 1 is stuck. */
  readonly breakIt: () => Promise<void>;
  /** The first pod that is replaced cannot pull its image. */
  readonly untilStuck: () => Promise<void>;
}

/** Declares the hooks; the control plane is there before them, and after. What it returns is for tests and for hooks that run after them. */
export function useCliGround(api: WorkloadApi, controlPlane: () => ControlPlane) {
  // Two workers on one control plane: each with ids and a Lease of its own.
  const owner = `cli-${groupVersion(api).group.replace('.', '-')}`;
  let cluster: Cluster;
  let worker: WorkerProcess | undefined;

  afterAll(async () => {
    await stop();
    cluster?.close();
  }, 30_000);

  async function start(): Promise<void> {
    worker = await startWorker({ controlPlane: controlPlane(), cluster: owner });
  }
  async function stop(): Promise<void> {
    await worker?.stop();
  }

  beforeAll(async () => {
    cluster = await Cluster.connect(controlPlane().kubeconfig, api);
    await start();
  }, 120_000);

  function environment(): Record<string, string> {
    return {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: owner,
      FAIRLEAD_WORKLOAD_API: api,
      PATH: process.env['PATH'] ?? '',
    };
  }

  /** Without the set. */
  async function bareScene(): Promise<CliScene> {
    const namespace = await cluster.createNamespace('cli');

    async function cli(words: string, overrides: Partial<Io> = {}): Promise<CliRun> {
      const list = words.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
      return await runCli([...list, '-n', namespace], { environment: environment(), ...overrides });
    }

    async function untilStuck(): Promise<void> {
      await cluster.until(
        { group: '', version: 'v1', resource: 'pods', namespace, name: 'web-2' },
        'at the broken image',
        (pod) =>
          JSON.stringify(pod).includes('ImagePullBackOff') || JSON.stringify(pod).includes('ErrImagePull'),
      );
    }

    return {
      cluster,
      namespace,
      description: { name: 'web', namespace, replicas: 3, image: 'web:1', parallel: true },
      cli,
      json: async <T>(words: string, overrides?: Partial<Io>) => {
        const { out, err } = await cli(`${words} -o json`, overrides);
        if (out === '') throw new Error(`${words} printed nothing: ${err}`);
        return trusted<T>(JSON.parse(out));
      },
      target: () => ({ ...groupVersion(api), kind: 'StatefulSet', namespace, name: 'web' }),
      annotations: async () => (await cluster.set(namespace, 'web')).metadata.annotations ?? {},
      image: async () => (await cluster.set(namespace, 'web')).spec.template.spec.containers[0]?.image,
      breakIt: async () => {
        expect(await cli('set image sts/web main=web:bad')).toMatchObject({ code: 0 });
        await untilStuck();
      },
      untilStuck,
    };
  }

  return {
    controlPlane,
    owner,
    environment,
    bareScene,
    /** With the set, all of its pods ready. */
    scene: async (): Promise<CliScene> => {
      const scene = await bareScene();
      await cluster.applySet(scene.description);
      await cluster.untilReady(scene.namespace, 'web');
      return scene;
    },
    /** Without the worker of the ground; another is started afterwards. */
    withoutWorker: async (work: () => Promise<void>): Promise<void> => {
      await stop();
      try {
        await work();
      } finally {
        await start();
      }
    },
    /** As a crash would: it holds its Lease still. For the last test, as none is started afterwards. */
    killWorker: async (): Promise<void> => {
      await worker?.kill();
    },
  };
}
