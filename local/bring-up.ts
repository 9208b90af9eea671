/** The order in which a control plane comes up, and what is put into a new cluster. */

import { join } from 'node:path';

import type { ComponentName } from './instance.ts';
import { ManifestApplier, readManifestFile, readManifests } from './manifests.ts';
import { packageRoot } from './package-root.ts';
import type { RunningControlPlane } from './running-control-plane.ts';

export interface BringUpOptions {
  readonly nodes: number;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Rejects when the signal aborts; never resolves. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('interrupted'));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** What a new cluster needs before a component looks at it. Both begin as soon as the apiserver answers. */
export interface Preparations {
  readonly controllers: () => Promise<void>;
  readonly simulation: () => Promise<void>;
}

const NOTHING: Preparations = {
  controllers: () => Promise.resolve(),
  simulation: () => Promise.resolve(),
};

/** Starts what does not live, etcd first; all that does not depend on each other side by side. */
export async function startComponents(
  controlPlane: RunningControlPlane,
  report: (line: string) => void,
  before: Preparations = NOTHING,
): Promise<void> {
  const started = performance.now();
  const start = async (component: ComponentName) => {
    if (controlPlane.processId(component) !== undefined) return;
    await controlPlane.start(component);
    report(`${component} is up (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  };
  const cluster = async () => {
    await start('etcd');
    await start('kube-apiserver');
    await Promise.all([
      before.controllers().then(() => start('kube-controller-manager')),
      start('kube-scheduler'),
      before.simulation().then(() => start('kwok')),
    ]);
  };
  await Promise.all([start('temporal'), cluster()]);
}

/** Brings up a new instance. Rejects as soon as one component fails, or the signal aborts. */
export async function bringUp(controlPlane: RunningControlPlane, options: BringUpOptions): Promise<void> {
  const { nodes, report, signal } = options;
  const applier = new ManifestApplier(controlPlane.client);
  const root = packageRoot();
  const defineKinds = async () => {
    const crds = await readManifests(join(root, 'manifests', 'crds'));
    await Promise.all(crds.map((manifest) => applier.apply(manifest)));
    await applier.waitUntilServed(crds);
  };
  const install = async () => {
    for (const manifest of await readManifests(join(root, 'manifests', 'install'))) {
      await applier.apply(manifest);
    }
    report("Fairlead's manifests are applied");
  };
  const prepareSimulation = async () => {
    for (const manifest of await readManifestFile(join(root, 'local', 'cluster.yaml')))
      await applier.apply(manifest);
    await controlPlane.addNodes(nodes);
  };
  let installing: Promise<void> = Promise.resolve();
  const everything = startComponents(controlPlane, report, {
    // The garbage collector looks for new kinds every 30 s only; whatever is deleted before that keeps its pods for ever.
    controllers: async () => {
      await defineKinds();
      installing = install();
      // Awaited below; until then a failure must not count as unhandled.
      installing.catch(() => undefined);
    },
    simulation: prepareSimulation,
  }).then(() => installing);
  await (signal === undefined ? everything : Promise.race([everything, aborted(signal)]));
  const [failure] = controlPlane.failures;
  if (failure !== undefined) throw failure;
}
