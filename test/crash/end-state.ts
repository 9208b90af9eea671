/** What a rollout leaves behind, without what differs from run to run: a crash must not be seen in it. */

import { readAttempts } from '../../kubernetes/attempts.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import { ANNOTATION, IN_PLACE_GATE, LABEL } from '../../planners/names.ts';
import type { Pin } from '../../planners/workload.ts';
import type { Scene } from '../support/scene.ts';
import type { DescribedKindName } from '../support/described-kinds.ts';

export interface EndPod {
  /** A StatefulSet's pod by its name; one of a scene with nodes of its own by its node. */
  readonly name: string;
  /** Its number: names follow from the template, which may name nodes of this run alone. */
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
  /** Of a scene with nodes of its own: which take no new pods, which are marked as being drained. */
  readonly nodes: readonly { readonly name: string; readonly cordoned: boolean; readonly marked: boolean }[];
  /** Oldest first: number and what became of its runs. */
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

export async function startState(scene: Scene<DescribedKindName>): Promise<StartState> {
  const [pods, runs] = await Promise.all([scene.allPods(), scene.runs.all()]);
  return { pods, runIds: new Set(runs.map(({ runId }) => runId)) };
}

export async function endState(scene: Scene<DescribedKindName>, start: StartState): Promise<EndState> {
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
    pods: (await scene.allPods())
      .map((pod) => endPod(scene, pod, revisions, start))
      .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true })),
    claims: claims.items.map(({ metadata }) => metadata.name).sort(),
    nodes: ((await scene.nodes?.list()) ?? []).map(({ metadata, spec: { unschedulable } = {} }) => ({
      name: scene.nodes?.short(metadata.name) ?? '',
      cordoned: unschedulable === true,
      marked: metadata.annotations?.[ANNOTATION.drain] !== undefined,
    })),
    revisions: revisions.map((revision) => {
      const outcomes = readAttempts(revision).map(({ outcome }) => outcome);
      return `${String(revision.revision)}: ${outcomes.join(', ')}`;
    }),
    set: {
      generation: set.metadata.generation,
      status,
      conditions: conditions
        .map(({ type, status: value, reason = '' }) => `${type}=${value} ${reason}`)
        .sort(),
      pinned: readPin(annotations[ANNOTATION.pinned], revisions),
      paused: annotations[ANNOTATION.paused] !== undefined,
    },
    runs: await endRuns(scene, start),
  };
}

function endPod(
  { nodes }: Scene<DescribedKindName>,
  pod: Pod,
  revisions: readonly ControllerRevision[],
  start: StartState,
): EndPod {
  const { metadata, spec, status } = pod;
  const label = metadata.labels?.[LABEL.revisionHash];
  const revision = revisions.find(
    (one) => one.metadata.name === label || one.metadata.labels?.[LABEL.revisionHash] === label,
  );
  const before = start.pods.find((other) => other.metadata.uid === metadata.uid);
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type)?.status;
  return {
    name: nodes?.short(spec.nodeName ?? '') ?? metadata.name,
    revision: revision && String(revision.revision),
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

/** Revisions by their numbers, as in {@link EndPod.revision}. */
function readPin(
  text: string | undefined,
  revisions: readonly ControllerRevision[],
): Partial<Pin> | undefined {
  if (text === undefined) {
    return undefined;
  }
  const { verb, to, revision } = JSON.parse(text) as Pin;
  const numberOf = (name: string) => {
    const found = revisions.find(({ metadata }) => metadata.name === name);
    return found === undefined ? name : String(found.revision);
  };
  return {
    ...(verb && { verb }),
    ...(to !== undefined && { to: numberOf(to) }),
    ...(revision !== undefined && { revision: numberOf(revision) }),
  };
}

async function endRuns(scene: Scene<DescribedKindName>, start: StartState): Promise<readonly string[]> {
  const runs = (await scene.runs.all()).filter(({ runId }) => !start.runIds.has(runId));
  return await Promise.all(
    runs.map(async ({ runId, status }) =>
      status === 'COMPLETED' ? `COMPLETED ${(await scene.runs.result(runId)).outcome}` : status,
    ),
  );
}
