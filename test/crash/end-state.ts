/** What a rollout leaves behind, without what differs from run to run: a crash must not be seen in it. */

import { readAttempts } from '../../kubernetes/attempts.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import { ANNOTATION, DEPLOYMENT_ANNOTATION, IN_PLACE_GATE, LABEL } from '../../planners/names.ts';
import type { Pin } from '../../planners/workload.ts';
import type { Scene } from '../support/scene.ts';
import type { DescribedKindName } from '../support/described-kinds.ts';

export interface EndPod {
  /** A StatefulSet's pod by its name; one of a scene with nodes of its own by its node; a ReplicaSet's, all alike, by nothing. */
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
  /** Oldest first: number, what became of its runs, and size if it has one. */
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
  const revisions = await history(scene, set.metadata.name);
  const { conditions = [], ...counters } = set.status ?? {};
  // A counter that is 0 is there or not, by whether it was written before.
  const status = Object.fromEntries(Object.entries(counters).filter(([, value]) => value !== 0));
  const annotations = set.metadata.annotations ?? {};
  return {
    pods: (await scene.allPods())
      .map((pod) => endPod(scene, pod, revisions, start))
      .sort((a, b) => byName(a.name, b.name) || byName(JSON.stringify(a), JSON.stringify(b))),
    claims: claims.items.map(({ metadata }) => metadata.name).sort(),
    nodes: ((await scene.nodes?.list()) ?? []).map(({ metadata, spec: { unschedulable } = {} }) => ({
      name: scene.nodes?.short(metadata.name) ?? '',
      cordoned: unschedulable === true,
      marked: metadata.annotations?.[ANNOTATION.drain] !== undefined,
    })),
    revisions: revisions.map(({ number, outcomes, size }) => {
      const pods = size === undefined ? '' : ` (${String(size)} pods)`;
      return `${number}: ${outcomes.join(', ')}${pods}`;
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

/** A ControllerRevision, or a ReplicaSet of a Deployment. */
interface SeenRevision {
  readonly name: string;
  readonly hash: string | undefined;
  readonly number: string;
  readonly outcomes: readonly string[];
  readonly size?: number | undefined;
}

/** Oldest first. */
async function history(scene: Scene<DescribedKindName>, name: string): Promise<readonly SeenRevision[]> {
  const seen = (object: KubernetesObject, number: string, hash: string, size?: number): SeenRevision => ({
    name: object.metadata.name,
    hash: object.metadata.labels?.[hash],
    number,
    outcomes: readAttempts(object).map(({ outcome }) => outcome),
    size,
  });
  if (scene.kind !== 'Deployment') {
    const revisions = await scene.cluster.revisions(scene.namespace, name);
    return revisions.map((one) => seen(one, String(one.revision), LABEL.revisionHash));
  }
  const sets = (await scene.replicaSets()).map((one) => {
    const number = one.metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision] ?? '';
    return seen(one, number, LABEL.podTemplateHash, one.spec.replicas);
  });
  return sets.sort((a, b) => byName(a.number, b.number));
}

function byName(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function isReplica({ metadata }: Pod): boolean {
  return metadata.labels?.[LABEL.podTemplateHash] !== undefined;
}

function endPod(
  { nodes }: Scene<DescribedKindName>,
  pod: Pod,
  revisions: readonly SeenRevision[],
  start: StartState,
): EndPod {
  const { metadata, spec, status } = pod;
  const label = metadata.labels?.[LABEL.revisionHash] ?? metadata.labels?.[LABEL.podTemplateHash];
  const revision = revisions.find(({ name, hash }) => name === label || hash === label);
  const before = start.pods.find((other) => other.metadata.uid === metadata.uid);
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type)?.status;
  return {
    name: nodes?.short(spec.nodeName ?? '') ?? (isReplica(pod) ? '' : metadata.name),
    revision: revision?.number,
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
function readPin(text: string | undefined, revisions: readonly SeenRevision[]): Partial<Pin> | undefined {
  if (text === undefined) {
    return undefined;
  }
  const { verb, to, revision } = JSON.parse(text) as Pin;
  const numberOf = (name: string) => revisions.find((one) => one.name === name)?.number ?? name;
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
