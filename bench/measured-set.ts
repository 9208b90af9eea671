/** A workload of one side that is rolled again and again, each time measured from outside. */

import { setTimeout as delay } from 'node:timers/promises';

import { isNotFound } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../kubernetes/workload-api.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import { rolloutWorkflowId } from '../workflows/messages.ts';
import type { Arena } from './arena.ts';
import type { ApiWrite } from './audit-log.ts';
import { PodTally } from './pod-tally.ts';
import type { Counts } from './pod-tally.ts';
import { ProcessMeter } from './process-usage.ts';
import type { ProcessUsage } from './process-usage.ts';
import { SET_NAME, setManifest } from './set-manifest.ts';
import type { SetDescription } from './set-manifest.ts';
import { FairleadSide } from './sides.ts';
import type { Side } from './sides.ts';
import { heartbeatsSoFar, untilClosed } from './temporal-actions.ts';
import type { RunHistory } from './temporal-actions.ts';

interface SetObject extends KubernetesObject {
  readonly status?: Readonly<Record<string, unknown>>;
}

/** What a set is, but for where it is and its present image. */
export type SetShape = Omit<SetDescription, 'api' | 'namespace' | 'image'>;

export type Apply = (manifest: Readonly<Record<string, unknown>>) => Promise<void>;

export interface Measurement {
  /** When it was applied, milliseconds since the epoch. */
  readonly appliedAt: number;
  readonly seconds: number;
  /** Absent if the rollout was not to be completed. */
  readonly statusSeconds: number | undefined;
  readonly writes: readonly ApiWrite[];
  /** Of the process; absent if it was not the same all the time. */
  readonly usage: ProcessUsage | undefined;
  readonly mostUnavailable: number;
  readonly run: RunHistory | undefined;
  readonly heartbeats: number;
}

export interface RollOptions {
  /** Ends the measurement. @default every pod is new and ready, and all that follows is written */
  readonly goal?: { readonly what: string; readonly reached: (counts: Counts) => boolean };
  /** What the kubelets do with the new pods. @default as before */
  readonly simulation?: SetShape['simulation'];
  readonly image?: string;
  /** @default as before */
  readonly maxUnavailable?: number;
  /** Runs beside the rollout, from its start. */
  readonly meanwhile?: (appliedAt: number) => Promise<void>;
}

/** Events are written beside the work; after this time the last of them is, too. */
const SETTLE_MS = 1_500;
/** A rollout that takes longer has failed. */
const TIMEOUT_MS = 20 * 60_000;

export class MeasuredSet {
  readonly side: Side;
  readonly tally: PodTally;
  readonly #arena: Arena;
  readonly #apply: Apply;
  #description: SetDescription;
  #version = 1;

  private constructor(arena: Arena, side: Side, description: SetDescription, tally: PodTally, apply: Apply) {
    this.#arena = arena;
    this.side = side;
    this.#description = description;
    this.tally = tally;
    this.#apply = apply;
  }

  /**
   * Makes namespace and set; resolves when every pod is ready and nothing is left to do.
   * @param apply How its manifest gets into the cluster, each time. @default server-side apply
   */
  static async deploy(
    arena: Arena,
    side: Side,
    shape: SetShape,
    apply: Apply = serverSideApply(arena, side, shape.kind),
  ): Promise<MeasuredSet> {
    const { client } = arena.controlPlane;
    const { api, namespace } = side;
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
    await client.create({ group: '', version: 'v1', resource: 'namespaces' }, object);
    const description = { ...shape, api, namespace, image: 'app:1' };
    const tally = await PodTally.start(client, namespace, 'app:1');
    const set = new MeasuredSet(arena, side, description, tally, apply);
    const appliedAt = Date.now();
    await apply(setManifest(description));
    await set.#untilReady();
    await set.#untilComplete(appliedAt);
    return set;
  }

  get replicas(): number {
    return this.#description.replicas;
  }

  /** Pods. */
  get maxUnavailable(): number {
    return this.#description.maxUnavailable;
  }

  get workflowId(): string {
    const { api, namespace } = this.side;
    const { group } = groupVersion(api);
    return rolloutWorkflowId(namespace, { namespace, kind: this.#description.kind, group, name: SET_NAME });
  }

  /** Rolls every pod to a new image. */
  async roll(options: RollOptions = {}): Promise<Measurement> {
    const { side, tally } = this;
    const { audit, temporalMetrics } = this.#arena;
    this.#version += 1;
    const { goal, simulation, maxUnavailable, image = `app:${String(this.#version)}` } = options;
    this.#description = {
      ...this.#description,
      ...(simulation && { simulation }),
      ...(maxUnavailable !== undefined && { maxUnavailable }),
      image,
    };
    await delay(SETTLE_MS);
    tally.aimAt(image);
    const heartbeats = await heartbeatsSoFar(temporalMetrics);
    const mark = await audit.mark();
    const pid = side.pid();
    const meter = new ProcessMeter(pid);
    const appliedAt = Date.now();
    await this.#apply(setManifest(this.#description));
    const meanwhile = options.meanwhile?.(appliedAt);
    const readyAt = await (goal === undefined
      ? this.#untilReady()
      : tally.until(goal.what, goal.reached, TIMEOUT_MS));
    await meanwhile;
    const { statusAt, run } = goal === undefined ? await this.#untilComplete(appliedAt) : {};
    await delay(SETTLE_MS);
    return {
      appliedAt,
      seconds: (readyAt - appliedAt) / 1000,
      statusSeconds: statusAt === undefined ? undefined : (statusAt - appliedAt) / 1000,
      usage: side.pid() === pid ? meter.read() : undefined,
      mostUnavailable: this.replicas - tally.leastReady,
      run,
      heartbeats: (await heartbeatsSoFar(temporalMetrics)) - heartbeats,
      writes: await audit.since(mark, side.user),
    };
  }

  /** Deletes one pod as somebody would by hand. Resolves with the seconds until as many are ready again. */
  async killOne(): Promise<number> {
    const { client } = this.#arena.controlPlane;
    const pods = { group: '', version: 'v1', resource: 'pods', namespace: this.side.namespace };
    const [victim] = (await client.list(pods)).items;
    // Asked for beforehand: a watch may bring it before the delete is answered.
    const gone = this.tally.until('one is killed', ({ ready }) => ready < this.replicas, TIMEOUT_MS);
    const killedAt = Date.now();
    await client.delete({ ...pods, name: victim?.metadata.name });
    await gone;
    return ((await this.#untilReady()) - killedAt) / 1000;
  }

  /** Id of the newest run of our side. */
  async newestRun(): Promise<string> {
    return (await this.#arena.temporal.workflow.getHandle(this.workflowId).describe()).runId;
  }

  /** When a run was closed, milliseconds since the epoch; Infinity as long as it is open. */
  async closedAt(runId: string): Promise<number> {
    const { closeTime } = await this.#arena.temporal.workflow.getHandle(this.workflowId, runId).describe();
    return closeTime?.getTime() ?? Infinity;
  }

  /** Deletes set and pods; resolves when they are gone. */
  async remove(): Promise<void> {
    const { client } = this.#arena.controlPlane;
    await client.delete(pathOf(this.side, this.#description.kind, SET_NAME), {
      propagationPolicy: 'Background',
    });
    await this.tally.until('no pod is left', ({ all }) => all === 0, TIMEOUT_MS);
    this.tally.stop();
    try {
      await client.delete({ group: '', version: 'v1', resource: 'namespaces', name: this.side.namespace });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #untilReady(): Promise<number> {
    const { replicas } = this;
    const reached = ({ all, updatedReady }: Counts) => all === replicas && updatedReady === replicas;
    return await this.tally.until('every pod is new and ready', reached, TIMEOUT_MS);
  }

  /** The status tells it, and (ours) the run is closed. */
  async #untilComplete(
    appliedAt: number,
  ): Promise<{ readonly statusAt: number; readonly run: RunHistory | undefined }> {
    const statusAt = await this.#untilStatus();
    const isOurs = this.side instanceof FairleadSide;
    const run = isOurs
      ? await untilClosed(this.#arena.temporal, this.workflowId, appliedAt, TIMEOUT_MS)
      : undefined;
    return { statusAt, run };
  }

  async #untilStatus(): Promise<number> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options = { fieldSelector: `metadata.name=${SET_NAME}`, signal };
    const { client } = this.#arena.controlPlane;
    const { kind } = this.#description;
    while (!signal.aborted) {
      for await (const { type, object } of client.watch<SetObject>(pathOf(this.side, kind), options)) {
        if (type !== 'BOOKMARK' && isComplete(kind, object, this.replicas)) return Date.now();
      }
    }
    throw new Error(`the status of the set in ${this.side.namespace} did not become complete`);
  }
}

function pathOf({ api, namespace }: Side, kind: WorkloadKind, name?: string): ResourcePath {
  return { ...groupVersion(api), resource: WORKLOAD_RESOURCES[kind], namespace, name };
}

function serverSideApply({ controlPlane }: Arena, side: Side, kind: WorkloadKind): Apply {
  return async (manifest) => {
    await controlPlane.client.patch(pathOf(side, kind, SET_NAME), 'apply', manifest, {
      fieldManager: 'bench',
      force: true,
      fieldValidation: 'Strict',
    });
  };
}

/** `kubectl rollout status` would say so (S19, D23, P13). */
function isComplete(kind: WorkloadKind, { metadata, status = {} }: SetObject, replicas: number): boolean {
  if (status['observedGeneration'] !== metadata.generation) return false;
  switch (kind) {
    case 'StatefulSet':
      return (
        status['updatedReplicas'] === replicas &&
        status['readyReplicas'] === replicas &&
        status['currentRevision'] === status['updateRevision']
      );
    case 'DaemonSet':
      return (
        status['desiredNumberScheduled'] === replicas &&
        status['updatedNumberScheduled'] === replicas &&
        status['numberAvailable'] === replicas
      );
    case 'Deployment':
      return ['replicas', 'updatedReplicas', 'availableReplicas'].every(
        (counter) => status[counter] === replicas,
      );
  }
}
