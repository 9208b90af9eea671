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

/** Starts what does not live, etcd first; all that does not depend on each other side by side. */
export async function startComponents(
  controlPlane: RunningControlPlane,
  report: (line: string) => void,
  beforeSimulation: () => Promise<void> = () => Promise.resolve(),
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
      start('kube-controller-manager'),
      start('kube-scheduler'),
      beforeSimulation().then(() => start('kwok')),
    ]);
  };
  await Promise.all([start('temporal'), cluster()]);
}

/** Brings up a new instance. Rejects as soon as one component fails, or the signal aborts. */
export async function bringUp(controlPlane: RunningControlPlane, options: BringUpOptions): Promise<void> {
  const { nodes, report, signal } = options;
  const applier = new ManifestApplier(controlPlane.client);
  const root = packageRoot();
  const install = async () => {
    const [crds, installed] = await Promise.all([
      readManifests(join(root, 'manifests', 'crds')),
      readManifests(join(root, 'manifests', 'install')),
    ]);
    await Promise.all(crds.map((manifest) => applier.apply(manifest)));
    for (const manifest of installed) await applier.apply(manifest);
    await applier.waitUntilServed(crds);
    report("Fairlead's manifests are applied");
  };
  const prepareSimulation = async () => {
    for (const manifest of await readManifestFile(join(root, 'local', 'cluster.yaml')))
      await applier.apply(manifest);
    await controlPlane.addNodes(nodes);
  };
  let installing: Promise<void> = Promise.resolve();
  const everything = startComponents(controlPlane, report, () => {
    installing = install();
    // Awaited below; until then a failure must not count as unhandled.
    installing.catch(() => undefined);
    return prepareSimulation();
  }).then(() => installing);
  await (signal === undefined ? everything : Promise.race([everything, aborted(signal)]));
  const [failure] = controlPlane.failures;
  if (failure !== undefined) throw failure;
}
