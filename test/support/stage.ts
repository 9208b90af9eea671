/** What the scenes of one control plane share: connections, and the checker that judges them from outside. */

import { Client, Connection } from '@temporalio/client';

import type { ControlPlane } from '../../local/control-plane.ts';
import { BudgetChecker } from './budget-checker-process.ts';
import type { BudgetReport } from './budget-checker.ts';
import { Cluster } from './cluster.ts';
import type { SceneOptions } from './scene.ts';
import { Scene } from './scene.ts';
import type { StatefulSetDescription } from './statefulset-manifest.ts';

/** Pods become ready this long after their start, so that a rollout lasts long enough to be disturbed. */
const READY_DELAY = { 'sim.fairlead.dev/ready-delay': '600ms' };

export class Stage {
  readonly cluster: Cluster;
  readonly temporal: Client;
  readonly checker: BudgetChecker;
  #lastVerdict: Promise<unknown> = Promise.resolve();

  private constructor(cluster: Cluster, temporal: Client, checker: BudgetChecker) {
    this.cluster = cluster;
    this.temporal = temporal;
    this.checker = checker;
  }

  /** `temporalAddress` differs from the control plane's own where two clusters share one Temporal. */
  static async open(
    controlPlane: ControlPlane,
    temporalAddress = controlPlane.temporalAddress,
  ): Promise<Stage> {
    const [cluster, connection, checker] = await Promise.all([
      Cluster.connect(controlPlane.kubeconfig, controlPlane.workloadApi),
      Connection.connect({ address: temporalAddress }),
      BudgetChecker.start(controlPlane),
    ]);
    return new Stage(cluster, new Client({ connection }), checker);
  }

  /** A namespace for a scene: 6 pods at `app:1`, 2 at a time, unless said otherwise. Nothing is applied yet. */
  async scene(name: string, { owner, ...change }: SceneOptions): Promise<Scene> {
    const description: StatefulSetDescription = {
      name: 'web',
      namespace: change.namespace ?? (await this.cluster.createNamespace(name)),
      replicas: 6,
      image: 'app:1',
      parallel: true,
      maxUnavailable: 2,
      templateAnnotations: READY_DELAY,
      ...change,
    };
    return new Scene(this, owner ?? description.namespace, description);
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
