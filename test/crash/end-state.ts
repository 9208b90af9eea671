/** What a rollout leaves behind, without what differs from run to run: a crash must not be seen in it. */

import { readAttempts } from '../../kubernetes/attempts.ts';
import type { Pod } from '../../planners/objects.ts';
import { ANNOTATION, IN_PLACE_GATE, LABEL } from '../../planners/names.ts';
import type { Pin } from '../../planners/workload.ts';
import type { Scene } from '../support/scene.ts';

export interface EndPod {
  readonly name: string;
  readonly revision: string | undefined;
  readonly images: readonly (string | undefined)[];
  /** The pod that was there before the rollout: same uid, same node, same address. */
  readonly kept: boolean;
  readonly restarts: Readonly<Record<string, number>>;
  readonly ready: string | undefined;
  readonly gate: string | undefined;
  /** The annotation of an update in place is still there. */
  readonly marked: boolean;
}

export interface EndState {
  readonly pods: readonly EndPod[];
  readonly claims: readonly string[];
  /** Oldest first: name, number and what became of its runs. */
  readonly revisions: readonly string[];
  readonly set: {
    readonly generation: number | undefined;
    readonly status: unknown;
    readonly conditions: readonly string[];
    readonly pinned: Partial<Pin> | undefined;
    readonly paused: boolean;
  };
  /** Status and outcome of each run since the beginning of the rollout, oldest first. */
  readonly runs: readonly string[];
}

/** What was there before, to tell what is kept. */
export interface StartState {
  readonly pods: readonly Pod[];
  readonly runIds: ReadonlySet<string>;
}

export async function startState(scene: Scene): Promise<StartState> {
  const [pods, runs] = await Promise.all([scene.pods(), scene.runs.all()]);
  return { pods, runIds: new Set(runs.map(({ runId }) => runId)) };
}

export async function endState(scene: Scene, start: StartState): Promise<EndState> {
  const set = await scene.set();
  const { namespace, cluster } = scene;
  const claims = await cluster.client.list({
    group: '',
    version: 'v1',
    resource: 'persistentvolumeclaims',
    namespace,
  });
  const revisions = await cluster.revisions(namespace, set.metadata.name);
  const { conditions = [], ...status } = set.status ?? {};
  const annotations = set.metadata.annotations ?? {};
  return {
    pods: (await scene.pods()).map((pod) => endPod(pod, start)),
    claims: claims.items.map(({ metadata }) => metadata.name).sort(),
    revisions: revisions.map((revision) => {
      const outcomes = readAttempts(revision).map(({ outcome }) => outcome);
      return `${revision.metadata.name} ${String(revision.revision)}: ${outcomes.join(', ')}`;
    }),
    set: {
      generation: set.metadata.generation,
      status,
      conditions: conditions
        .map(({ type, status: value, reason = '' }) => `${type}=${value} ${reason}`)
        .sort(),
      pinned: readPin(annotations[ANNOTATION.pinned]),
      paused: annotations[ANNOTATION.paused] !== undefined,
    },
    runs: await endRuns(scene, start),
  };
}

function endPod(pod: Pod, start: StartState): EndPod {
  const { metadata, spec, status } = pod;
  const before = start.pods.find((other) => other.metadata.uid === metadata.uid);
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type)?.status;
  return {
    name: metadata.name,
    revision: metadata.labels?.[LABEL.revisionHash],
    images: spec.containers.map(({ image }) => image),
    kept:
      before?.spec.nodeName === spec.nodeName &&
      before?.status?.podIP === status?.podIP &&
      before !== undefined,
    restarts: Object.fromEntries(
      (status?.containerStatuses ?? []).map(({ name, restartCount }) => [name, restartCount]),
    ),
    ready: condition('Ready'),
    gate: condition(IN_PLACE_GATE),
    marked: metadata.annotations?.[ANNOTATION.inPlaceUpdate] !== undefined,
  };
}

function readPin(text: string | undefined): Partial<Pin> | undefined {
  if (text === undefined) {
    return undefined;
  }
  const { verb, to, revision } = JSON.parse(text) as Pin;
  return {
    ...(verb && { verb }),
    ...(to !== undefined && { to }),
    ...(revision !== undefined && { revision }),
  };
}

async function endRuns(scene: Scene, start: StartState): Promise<readonly string[]> {
  const runs = (await scene.runs.all()).filter(({ runId }) => !start.runIds.has(runId));
  return await Promise.all(
    runs.map(async ({ runId, status }) =>
      status === 'COMPLETED' ? `COMPLETED ${(await scene.runs.result(runId)).outcome}` : status,
    ),
  );
}
