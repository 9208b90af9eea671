/** What the planner looks at, read with the user's own permissions: the same plan as the worker's, without the worker. */

import { isForbidden } from '../kubernetes/api-error.ts';
import type { ListOptions, ResourcePath } from '../kubernetes/client.ts';
import { revisionPath } from '../kubernetes/revision-store.ts';
import { parseWorkloadApi } from '../kubernetes/workload-api.ts';
import { childrenOf, lookupsOf } from '../kubernetes/workload-children.ts';
import type { ChildLookups } from '../kubernetes/workload-children.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import { compareRevisions } from '../planners/revision.ts';
import type { KubernetesObject, Node, PersistentVolumeClaim, Pod } from '../planners/objects.ts';
import { downNodes } from '../planners/down-nodes.ts';
import { readDrainMark } from '../planners/node-drain.ts';
import type { Plan } from '../planners/plan.ts';
import { formatSelector, isEmptySelector } from '../planners/selector.ts';
import type { Snapshot, Workload } from '../planners/workload.ts';
import { readWorkload } from './read-workload.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

/** What belongs to one workload, as read or as watched. */
export interface Belongings {
  readonly children: ChildLookups;
  readonly claims: readonly PersistentVolumeClaim[];
  /** Undefined: they could not be read. */
  readonly nodes: readonly Node[] | undefined;
  /** As in {@link Snapshot}. */
  readonly neighbours?: ReadonlyMap<string, readonly Pod[]>;
}

export interface PlannedWorkload {
  readonly object: WorkloadObject;
  readonly workload: Workload;
  readonly snapshot: Snapshot<Workload>;
  readonly plan: Plan<object>;
  /** What could not be read, and so is not in the plan. */
  readonly notes: readonly string[];
}

/**
 * Reads a workload with its children and plans.
 * @throws CliError when it does not exist; ApiError when it, its pods or its revisions cannot be read
 */
export async function readPlan(session: Session, target: WorkloadTarget): Promise<PlannedWorkload> {
  const object = await readWorkload(session, target);
  const workload = viewOf(object, target);
  const { namespace } = target;
  const notes: string[] = [];
  const definition = WORKLOAD_KINDS[target.kind];
  const labels =
    isEmptySelector(workload.selector) || definition.hasHelpers(workload)
      ? {}
      : { labelSelector: formatSelector(workload.selector) };
  const { resource } = definition.history;
  const [revisions, pods, claims, nodes] = await Promise.all([
    list<KubernetesObject>(session, revisionPath(definition.history, namespace)),
    list<Pod>(session, { group: '', version: 'v1', resource: 'pods', namespace }, labels),
    definition.hasClaims(workload)
      ? optional(notes, list<PersistentVolumeClaim>(session, core('persistentvolumeclaims', namespace)))
      : [],
    optional(notes, list<Node>(session, core('nodes'), { resourceVersion: '0' })),
  ]);
  const neighbours = definition.drains(workload)
    ? await neighboursOf(session, workload, nodes ?? [], notes)
    : undefined;
  const children = lookupsOf({ [resource]: revisions, pods });
  const belongings = { children, claims: claims ?? [], nodes, ...(neighbours && { neighbours }) };
  return planWorkload(object, target, belongings, session.io.now(), notes);
}

/** All pods on the nodes that are being drained for the workload. */
async function neighboursOf(
  session: Session,
  { ref }: Workload,
  nodes: readonly Node[],
  notes: string[],
): Promise<ReadonlyMap<string, readonly Pod[]>> {
  const drained = nodes.filter((node) => readDrainMark(node)?.uid === ref.uid);
  const found = await Promise.all(
    drained.map(async ({ metadata: { name } }) => {
      const there = await optional(
        notes,
        list<Pod>(session, core('pods'), { fieldSelector: `spec.nodeName=${name}` }),
      );
      return there === undefined ? [] : ([[name, there]] as const);
    }),
  );
  return new Map(found.flat());
}

/** Plans on children that are at hand; those of other owners are left out. `now` in milliseconds since the epoch. */
export function planWorkload(
  object: WorkloadObject,
  target: WorkloadTarget,
  { children, claims, nodes, neighbours }: Belongings,
  now: number,
  notes: readonly string[] = [],
): PlannedWorkload {
  const definition = WORKLOAD_KINDS[target.kind];
  const workload = viewOf(object, target);
  const found = childrenOf(children, definition, workload.ref);
  const snapshot: Snapshot<Workload> = {
    workload,
    ...found,
    revisions: found.revisions.toSorted(compareRevisions),
    claims: claims.filter((claim) => definition.ownsClaim(workload, claim)),
    ...(definition.runsOnNodes && { nodes: nodes ?? [] }),
    ...(definition.drains(workload) && { neighbours: neighbours ?? new Map() }),
    downNodes: nodes === undefined ? new Map() : downNodes(found.pods, lookup(nodes)),
    refusals: new Map(),
  };
  return { object, workload, snapshot, plan: definition.plan(snapshot, now), notes };
}

function viewOf(object: WorkloadObject, target: WorkloadTarget): Workload {
  return WORKLOAD_KINDS[target.kind].read(object, parseWorkloadApi(`${target.group}/${target.version}`));
}

async function list<T>(
  session: Session,
  path: ResourcePath,
  options: Pick<ListOptions, 'labelSelector' | 'fieldSelector' | 'resourceVersion'> = {},
): Promise<readonly T[]> {
  return (await session.client.list<T>(path, { timeoutMs: REQUEST_TIMEOUT_MS, ...options })).items;
}

function lookup(nodes: readonly Node[]): (name: string) => Node | undefined {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return (name) => byName.get(name);
}

/** Without these the plan is nearly as good; that they are missing is said. Undefined: they may not be read. */
async function optional<T>(
  notes: string[],
  reading: Promise<readonly T[]>,
): Promise<readonly T[] | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    notes.push(`not looked at: ${error.message}`);
    return undefined;
  }
}

function core(resource: string, namespace?: string): ResourcePath {
  return { group: '', version: 'v1', resource, namespace };
}
