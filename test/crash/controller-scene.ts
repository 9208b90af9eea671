/** A ReplicationController in a namespace of its own, the person who rolls it out, and what a rolling update leaves behind. */

import { readAttempts } from '../../kubernetes/attempts.ts';
import { LABEL, ANNOTATION } from '../../planners/names.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { rollingUpdateWorkflowId } from '../../workflows/rolling-update-messages.ts';
import { runCli } from '../support/cli.ts';
import type { CliRun } from '../support/cli.ts';
import { isPodReady } from '../support/scene.ts';
import type { Stage } from '../support/stage.ts';
import { TemporalRuns } from '../support/temporal-runs.ts';
import { untilObjects } from '../support/until-objects.ts';
import { PATIENCE_MS } from './crash-play.ts';

/** Without what differs from run to run: names of pods, uids, times. */
export interface ControllerEnd {
  /** Image, controller, readiness and whether it was there before, sorted. */
  readonly pods: readonly string[];
  readonly controllers: readonly {
    readonly name: string;
    readonly image: string | undefined;
    readonly replicas: number | undefined;
    readonly selector: unknown;
    readonly metadata: unknown;
    readonly status: unknown;
  }[];
  /** Oldest first: number, phase, size, whose, and what became of its runs. */
  readonly records: readonly string[];
  /** Status and outcome of each run, oldest first. */
  readonly runs: readonly string[];
}

const NAME = 'foo';
const RCS = { group: '', version: 'v1', resource: 'replicationcontrollers' } as const;
const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
const RECORDS = { group: 'apps', version: 'v1', resource: 'controllerrevisions' } as const;

export class ControllerScene {
  readonly namespace: string;
  readonly runs: TemporalRuns;
  readonly #stage: Stage;
  readonly #owner: string;

  private constructor(stage: Stage, owner: string, namespace: string) {
    this.#stage = stage;
    this.#owner = owner;
    this.namespace = namespace;
    this.runs = new TemporalRuns(stage.temporal, rollingUpdateWorkflowId(owner, { namespace, name: NAME }));
  }

  /** Nothing is in the namespace yet. `owner` is FAIRLEAD_CLUSTER of the worker that looks after it. */
  static async open(stage: Stage, owner: string): Promise<ControllerScene> {
    return new ControllerScene(stage, owner, await stage.cluster.createNamespace('crash'));
  }

  /** Creates `foo`, of pods at foo:1 that are ready after a moment; resolves when all of them are. */
  async create(replicas: number): Promise<void> {
    const { client } = this.#stage.cluster;
    const labels = { app: NAME };
    const annotations = { 'sim.fairlead.dev/ready-delay': '200ms' };
    const containers = [{ name: 'main', image: 'foo:1' }];
    await client.create(this.#at(RCS), {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: NAME },
      spec: {
        replicas,
        selector: labels,
        template: {
          metadata: { labels, annotations },
          spec: { terminationGracePeriodSeconds: 1, containers },
        },
      },
    });
    await this.untilControllers(`${String(replicas)} pods are available`, ([foo]) => {
      return foo?.status?.availableReplicas === replicas;
    });
  }

  /** `fairlead` with these words; it writes and watches by itself, not through the worker. */
  async cli(words: string): Promise<CliRun> {
    const { kubeconfig, temporalAddress } = this.#stage.controlPlane;
    const environment = {
      KUBECONFIG: kubeconfig,
      TEMPORAL_ADDRESS: temporalAddress,
      FAIRLEAD_CLUSTER: this.#owner,
    };
    return await runCli([...words.split(' '), '-n', this.namespace], { environment });
  }

  /** The same, and it must end with this code. */
  async succeed(words: string): Promise<void> {
    const { code, out, err } = await this.cli(words);
    if (code !== 0) throw new Error(`fairlead ${words}: ${String(code)}\n${out}${err}`);
  }

  async untilControllers(
    what: string,
    predicate: (controllers: readonly ReplicationController[]) => boolean,
  ): Promise<void> {
    const { client } = this.#stage.cluster;
    await untilObjects<ReplicationController>(client, this.#at(RCS), what, predicate, PATIENCE_MS);
  }

  /** No run is open, and the controllers have as many pods as they want. */
  async untilOver(): Promise<void> {
    const isOver = ({ status }: { readonly status: string }) => status !== 'RUNNING';
    await this.runs.until('none is open', (runs) => runs.length > 0 && runs.every(isOver), PATIENCE_MS);
    await this.untilControllers('all have their pods', (controllers) =>
      controllers.every(
        ({ spec, status, metadata }) =>
          status?.observedGeneration === metadata.generation && status?.availableReplicas === spec.replicas,
      ),
    );
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.#stage.cluster.client.list<Pod>(this.#at(PODS))).items;
  }

  async end(before: readonly Pod[]): Promise<ControllerEnd> {
    const { client } = this.#stage.cluster;
    const [pods, { items: controllers }, { items: records }, runs] = await Promise.all([
      this.pods(),
      client.list<ReplicationController>(this.#at(RCS)),
      client.list<ControllerRevision>(this.#at(RECORDS), { labelSelector: LABEL.rollingUpdate }),
      this.runs.all(),
    ]);
    const nameOf = (uid: string | undefined) =>
      controllers.find(({ metadata }) => metadata.uid === uid)?.metadata.name ?? 'nobody';
    const known = new Set(before.map(({ metadata }) => metadata.uid));
    return {
      pods: pods
        .map((pod) => {
          const { uid, ownerReferences } = pod.metadata;
          const kept = known.has(uid) ? 'kept' : 'new';
          const ready = isPodReady(pod) ? 'ready' : 'not ready';
          return `${imageOf(pod)} of ${nameOf(ownerReferences?.[0]?.uid)}: ${ready}, ${kept}`;
        })
        .sort(),
      controllers: controllers
        .map(({ metadata: { name, labels, annotations }, spec, status = {} }) => {
          const { observedGeneration: _, ...counts } = status;
          const image = spec.template?.spec.containers[0]?.image;
          const { replicas, selector } = spec;
          return { name, image, replicas, selector, metadata: { labels, annotations }, status: counts };
        })
        .sort((a, b) => a.name.localeCompare(b.name)),
      records: [...records]
        .sort((a, b) => Number(a.revision) - Number(b.revision))
        .map((record) => {
          const { annotations = {}, ownerReferences } = record.metadata;
          const { phase, desired } = JSON.parse(annotations[ANNOTATION.rollingUpdateState] ?? '{}') as {
            readonly phase?: string;
            readonly desired?: number;
          };
          const outcomes = readAttempts(record).map(({ outcome }) => outcome);
          const owner = nameOf(ownerReferences?.[0]?.uid);
          return `${String(record.revision)}: ${String(phase)}, ${String(desired)} pods, of ${owner}: ${outcomes.join(', ')}`;
        }),
      runs: await Promise.all(
        runs.map(async ({ runId, status }) =>
          status === 'COMPLETED' ? `COMPLETED ${(await this.runs.result(runId)).outcome}` : status,
        ),
      ),
    };
  }

  async remove(): Promise<void> {
    const path = { group: '', version: 'v1', resource: 'namespaces', name: this.namespace };
    await this.#stage.cluster.client.delete(path);
  }

  #at<T extends object>(path: T): T & { readonly namespace: string } {
    return { ...path, namespace: this.namespace };
  }
}

/** Names of pods are random: what tells them apart in keys of writes is their controller, and the order. */
export function controllerAlias(resource: string, name: string): string {
  return resource === 'pods' ? `of ${name.replace(/-[a-z0-9]{5}$/, '')}` : name;
}

function imageOf({ spec }: Pod): string {
  return spec.containers[0]?.image ?? '';
}
