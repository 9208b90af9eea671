/** What the scenes of one control plane share: connections, and the checker that judges them from outside. */

import type { Client } from '@temporalio/client';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { BudgetChecker } from './budget-checker-process.ts';
import type { BudgetReport } from './budget-checker.ts';
import { Cluster } from './cluster.ts';
import type { DescribedKindName, Descriptions } from './described-kinds.ts';
import { DESCRIBED_KINDS } from './described-kinds.ts';
import type { SceneOptions, SceneSettings } from './scene.ts';
import { Scene } from './scene.ts';
import { untilObjects } from './until-objects.ts';

const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const REMOVAL_TIMEOUT_MS = 60_000;
/** Pods become ready this long after their start, so that a rollout lasts long enough to be disturbed. */
const READY_DELAY = { 'sim.fairlead.dev/ready-delay': '600ms' };

export class Stage {
  readonly controlPlane: ControlPlane;
  readonly cluster: Cluster;
  readonly temporal: Client;
  readonly checker: BudgetChecker;
  #lastVerdict: Promise<unknown> = Promise.resolve();

  private constructor(
    controlPlane: ControlPlane,
    cluster: Cluster,
    temporal: Client,
    checker: BudgetChecker,
  ) {
    this.controlPlane = controlPlane;
    this.cluster = cluster;
    this.temporal = temporal;
    this.checker = checker;
  }

  static async open(controlPlane: ControlPlane): Promise<Stage> {
    const [cluster, temporal, checker] = await Promise.all([
      Cluster.connect(controlPlane.kubeconfig, controlPlane.workloadApi),
      connectTemporal(controlPlane.temporalAddress),
      BudgetChecker.start(controlPlane),
    ]);
    return new Stage(controlPlane, cluster, temporal, checker);
  }

  /** A namespace for a scene: 6 pods of a StatefulSet at `app:1`, 2 at a time, unless said otherwise. Nothing is applied yet. */
  async scene(name: string, { owner, temporal, ...change }: SceneOptions): Promise<Scene> {
    const settings = { ...(owner !== undefined && { owner }), ...(temporal && { temporal }) };
    return await this.sceneOf('StatefulSet', name, change, settings);
  }

  /** The same for any kind. */
  async sceneOf<K extends DescribedKindName>(
    kind: K,
    name: string,
    change: Partial<Descriptions[K]>,
    { owner, nodes, temporal = this.temporal }: Partial<SceneSettings>,
  ): Promise<Scene<K>> {
    const namespace = change.namespace ?? (await this.cluster.createNamespace(name));
    const description = {
      ...DESCRIBED_KINDS[kind].defaults,
      templateAnnotations: READY_DELAY,
      ...nodes?.placement,
      ...change,
      namespace,
    } as unknown as Descriptions[K];
    return new Scene(this, kind, { owner: owner ?? namespace, nodes, temporal }, description);
  }

  /** Removes a scene that is over, with its neighbourhood; resolves at once, or when its nodes are gone if it had its own. */
  async remove({ namespace, neighbourhood, nodes, kind }: Scene<DescribedKindName>): Promise<void> {
    const { client } = this.cluster;
    const namespaces = [namespace, ...(neighbourhood === undefined ? [] : [neighbourhood])];
    for (const name of namespaces) {
      await client.delete({ group: '', version: 'v1', resource: 'namespaces', name });
    }
    if (nodes === undefined) return;
    // Pods end on nodes that are still there; without one they would wait for the garbage collector.
    for (const name of namespaces) {
      for (const path of [this.cluster.path(kind, name), { ...PODS, namespace: name }]) {
        await untilObjects(client, path, 'none is left', (left) => left.length === 0, REMOVAL_TIMEOUT_MS);
      }
    }
    await nodes.remove();
  }

  /** The checker's verdict on a namespace; it reads the audit log for one at a time. */
  async verdict(namespace: string): Promise<BudgetReport> {
    const report = this.#lastVerdict.then(async () => await this.checker.report(namespace));
    this.#lastVerdict = report.catch(() => undefined);
    return await report;
  }

  async close(): Promise<void> {
    await this.checker.stop();
    await this.temporal.connection.close();
    this.cluster.close();
  }
}
