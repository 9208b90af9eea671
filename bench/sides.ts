/** The two that are compared: each has a namespace of its own, and is watched under its own user. */

import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import type { Arena } from './arena.ts';
import { WorkerProcess } from './worker-process.ts';
import type { WorkerOptions } from './worker-process.ts';

export const SIDE_NAMES = ['built-in', 'fairlead'] as const;
export type SideName = (typeof SIDE_NAMES)[number];

export interface Side {
  readonly name: SideName;
  readonly api: WorkloadApi;
  readonly namespace: string;
  /** As whom it writes. */
  readonly user: string;
  /** Of the process that does the work. */
  pid(): number;
}

const BUILT_IN_USERS: Readonly<Record<WorkloadKind, string>> = {
  StatefulSet: 'system:serviceaccount:kube-system:statefulset-controller',
  DaemonSet: 'system:serviceaccount:kube-system:daemon-set-controller',
  Deployment: 'system:serviceaccount:kube-system:deployment-controller',
};

/** kube-controller-manager's own controller of that kind. */
export function builtInSide({ controlPlane }: Arena, namespace: string, kind: WorkloadKind): Side {
  return {
    name: 'built-in',
    api: 'apps/v1',
    namespace,
    user: BUILT_IN_USERS[kind],
    pid() {
      const pid = controlPlane.processId('kube-controller-manager');
      if (pid === undefined) throw new Error('kube-controller-manager does not run');
      return pid;
    },
  };
}

/** What a worker hears of, where it is more than workloads. */
type Sources = Partial<Pick<WorkerOptions, 'repositories' | 'metricsAddress'>>;

/** A worker that looks at this namespace alone, so that it is idle while the other side is measured. */
export class FairleadSide implements Side {
  readonly name = 'fairlead';
  readonly api = 'fairlead.dev/v1beta1';
  readonly user = 'system:serviceaccount:fairlead-system:fairlead-worker';
  readonly namespace: string;
  readonly #arena: Arena;
  readonly #kubeconfig: string;
  readonly #sources: Sources;
  #worker: WorkerProcess;

  private constructor(arena: Arena, namespace: string, kubeconfig: string, sources: Sources) {
    this.#arena = arena;
    this.namespace = namespace;
    this.#kubeconfig = kubeconfig;
    this.#sources = sources;
    this.#worker = this.#spawn();
  }

  /** Resolves when the worker leads. */
  static async start(arena: Arena, namespace: string, sources: Sources = {}): Promise<FairleadSide> {
    const kubeconfig = await arena.controlPlane.workerKubeconfig();
    const side = new FairleadSide(arena, namespace, kubeconfig, sources);
    await side.#worker.untilLeading();
    return side;
  }

  /** FAIRLEAD_CLUSTER: of this namespace alone. */
  get cluster(): string {
    return this.namespace;
  }

  pid(): number {
    return this.#worker.pid;
  }

  /** SIGKILL, and at once another worker. Resolves with the time at which that one was started. */
  async replaceWorker(): Promise<number> {
    await this.#worker.kill();
    this.#worker = this.#spawn();
    return this.#worker.startedAt;
  }

  async untilLeading(): Promise<void> {
    await this.#worker.untilLeading();
  }

  async stop(): Promise<void> {
    await this.#worker.stop();
  }

  #spawn(): WorkerProcess {
    const { namespace, cluster } = this;
    return WorkerProcess.spawn(this.#arena, this.#kubeconfig, { ...this.#sources, cluster, namespace });
  }
}
