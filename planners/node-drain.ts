/**
 * Taking the other pods off a node before the pod of a DaemonSet is replaced, and letting them back afterwards (seed 000,
 * "per-node hook"; what `kubectl drain --ignore-daemonsets` does). What is going on is written on the node alone, so that a new
 * leader goes on where the last one stopped and only what was cordoned here is ever uncordoned here.
 */

import { isFinished, isTerminating } from './availability.ts';
import { ANNOTATION, LABEL } from './names.ts';
import type { Node, Pod } from './objects.ts';
import type { Action } from './plan.ts';
import { asFields, asText } from './values.ts';
import type { WorkloadRef } from './workload.ts';

/** The annotation `fairlead.dev/drain` of a node. */
export interface DrainMark {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** When it began, or was given up; milliseconds since the epoch. */
  readonly at: number;
  /** The node was schedulable before: it is made so again. */
  readonly cordoned: boolean;
  /** Pods were still there at the time limit: the node is in service again, and tried again later. */
  readonly gaveUp: boolean;
}

/** Where the drain of a node stands. */
export type DrainState =
  | { readonly phase: 'none' | 'drained' | 'unseen' }
  /** It is being drained for another workload, whose mark says whether it is to be uncordoned. */
  | { readonly phase: 'taken'; readonly by: DrainMark }
  /** `left`: pods that are still to go; `stuck`: those of them that nobody would make again. Until then, milliseconds. */
  | {
      readonly phase: 'draining';
      readonly left: readonly Pod[];
      readonly stuck: readonly Pod[];
      readonly until: number;
    };

/** The mark on a node, whosever it is; undefined where there is none that can be read. */
export function readDrainMark({ metadata }: Node): DrainMark | undefined {
  const text = metadata.annotations?.[ANNOTATION.drain];
  if (text === undefined) return undefined;
  try {
    const fields = asFields(JSON.parse(text));
    const at = Date.parse(asText(fields?.['at']) ?? '');
    const [kind, namespace, name, uid] = ['kind', 'namespace', 'name', 'uid'].map((key) =>
      asText(fields?.[key]),
    );
    if (kind === undefined || namespace === undefined || name === undefined || uid === undefined)
      return undefined;
    if (Number.isNaN(at)) return undefined;
    return {
      kind,
      namespace,
      name,
      uid,
      at,
      cordoned: fields?.['cordoned'] === true,
      gaveUp: fields?.['gaveUp'] === true,
    };
  } catch {
    return undefined;
  }
}

/** Whether the mark was made for a workload of that kind and name, of whatever uid. */
export function isMarkOf(mark: DrainMark, ref: Pick<WorkloadRef, 'kind' | 'namespace' | 'name'>): boolean {
  return mark.kind === ref.kind && mark.namespace === ref.namespace && mark.name === ref.name;
}

/**
 * What is left to do before the pod of `ref` on the node may be replaced. `neighbours` are all pods on the node, undefined when
 * they cannot be seen. Pods of DaemonSets, static pods and finished ones stay (as in kubectl drain); one without a controller would
 * be lost, so it is never evicted, and blocks until somebody deletes it.
 */
export function drainStateOf(
  ref: WorkloadRef,
  node: Node,
  neighbours: readonly Pod[] | undefined,
  timeoutMs: number,
): DrainState {
  const mark = readDrainMark(node);
  if (mark === undefined || mark.gaveUp) return { phase: 'none' };
  if (mark.uid !== ref.uid) return { phase: 'taken', by: mark };
  if (neighbours === undefined) return { phase: 'unseen' };
  const left = neighbours.filter(mustGo);
  if (left.length === 0) return { phase: 'drained' };
  return { phase: 'draining', left, stuck: left.filter(isUnmanaged), until: mark.at + timeoutMs };
}

function mustGo(pod: Pod): boolean {
  const { annotations, labels, ownerReferences = [] } = pod.metadata;
  const isDaemon = ownerReferences.some(
    ({ kind, controller }) => controller === true && kind === 'DaemonSet',
  );
  const isStatic = annotations?.['kubernetes.io/config.mirror'] !== undefined;
  return !isDaemon && !isStatic && !isFinished(pod) && labels?.[LABEL.prePull] === undefined;
}

function isUnmanaged(pod: Pod): boolean {
  return !(pod.metadata.ownerReferences ?? []).some(({ controller }) => controller === true);
}

/** Marks the node and makes it unschedulable, with both preconditions. A charge: its pod is the next to go. */
export function cordonAction(ref: WorkloadRef, node: Node, now: number): Action {
  const cordoned = node.spec?.unschedulable !== true;
  const what = cordoned ? 'cordon' : 'mark as being drained the cordoned';
  return {
    ...nodeAction(node, 'Cordon', `${what} Node ${node.metadata.name} for ${ref.kind} ${ref.name}`),
    ...(!cordoned && { untold: true }),
    body: {
      metadata: { annotations: { [ANNOTATION.drain]: formatMark(ref, now, { cordoned, gaveUp: false }) } },
      ...(cordoned && { spec: { unschedulable: true } }),
    },
    charged: true,
  };
}

/** Takes the mark off and lets pods back, if it was us who kept them away. */
export function uncordonAction(node: Node, mark: DrainMark, why: string): Action {
  const what = mark.cordoned ? 'uncordon' : 'take the mark of its drain off';
  return {
    ...nodeAction(node, 'Uncordon', `${what} Node ${node.metadata.name}: ${why}`),
    ...(!mark.cordoned && { untold: true }),
    body: {
      metadata: { annotations: { [ANNOTATION.drain]: null } },
      ...(mark.cordoned && { spec: { unschedulable: null } }),
    },
  };
}

/** The same at the time limit: the mark stays, and says so. A node that stays cordoned is told by what the workload waits for. */
export function giveUpAction(
  ref: WorkloadRef,
  node: Node,
  mark: DrainMark,
  now: number,
  left: readonly Pod[],
): Action {
  const names = left.slice(0, 3).map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  return {
    ...nodeAction(
      node,
      'Uncordon',
      `${mark.cordoned ? 'uncordon' : 'give up the drain of'} Node ${node.metadata.name}: the time limit of the drain has passed and ${names.join(', ')}` +
        `${left.length > names.length ? ` and ${String(left.length - names.length)} more are` : left.length === 1 ? ' is' : ' are'} still there`,
    ),
    ...(!mark.cordoned && { untold: true }),
    body: {
      metadata: {
        annotations: { [ANNOTATION.drain]: formatMark(ref, now, { cordoned: false, gaveUp: true }) },
      },
      ...(mark.cordoned && { spec: { unschedulable: null } }),
    },
  };
}

/** Asks for the pod to go, in the order of its PodDisruptionBudget (policy/v1 Eviction). */
export function evictAction(node: string, { metadata }: Pod): Action {
  const { name, namespace = '', uid } = metadata;
  return {
    verb: 'create',
    resource: 'pods',
    subresource: 'eviction',
    namespace,
    name,
    uid,
    place: node,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    },
    purpose: 'Evict',
    message: `evict Pod ${namespace}/${name} from Node ${node}`,
  };
}

/** Pods that are still to be asked to go: not the ones that are on their way, nor those that nobody would make again. */
export function toEvict(left: readonly Pod[]): readonly Pod[] {
  return left.filter((pod) => !isTerminating(pod) && !isUnmanaged(pod));
}

function nodeAction(node: Node, purpose: 'Cordon' | 'Uncordon', message: string): Omit<Action, 'body'> {
  const { name, uid, resourceVersion } = node.metadata;
  return { verb: 'patch', resource: 'nodes', name, place: name, uid, resourceVersion, purpose, message };
}

function formatMark(
  { kind, namespace, name, uid }: WorkloadRef,
  now: number,
  state: Pick<DrainMark, 'cordoned' | 'gaveUp'>,
): string {
  return JSON.stringify({ kind, namespace, name, uid, at: new Date(now).toISOString(), ...state });
}
