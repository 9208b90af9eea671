/** Why a pod that is wanted is not available. */

import { conditionOf, isRunningAndReady } from './availability.ts';
import type { NodeFault } from './down-nodes.ts';
import type { Member } from './member.ts';
import { IN_PLACE_GATE } from './names.ts';
import type { KubernetesObject, ObjectMeta, Pod } from './objects.ts';
import type { ReasonCode } from './plan.ts';
import type { PlanBuilder } from './plan-builder.ts';
import type { UpdateView } from './pod-updates.ts';
import { claimsOf } from './pod-volumes.ts';

/** After its grace period kubelet needs a moment to tell that a pod has ended, and whoever set a finalizer to take it off, milliseconds. */
const TERMINATION_PATIENCE_MS = 10_000;

const NODE_REASONS: Readonly<Record<NodeFault, ReasonCode>> = { NotReady: 'NodeDown', Gone: 'NodeGone' };

/** Gives the reason, and the moment at which time alone will end it. */
export function explainPod(
  view: Pick<UpdateView<Member>, 'downNodes' | 'now'>,
  plan: PlanBuilder,
  member: Member,
): void {
  const { downNodes, now } = view;
  const { pod, name } = member;
  const { nodeName = '' } = pod.spec;
  const fault = downNodes.get(nodeName);
  if (fault !== undefined) plan.wait(NODE_REASONS[fault], { pod: name, detail: nodeName });
  if (member.terminating) {
    explainTermination(view, plan, pod);
  } else if (member.inPlace !== undefined) {
    // The step of the update has given its reason.
  } else if (!isRunningAndReady(pod)) {
    const detail = whyNotReady(member.pod);
    plan.wait('PodNotReady', { pod: name, ...(detail !== undefined && { detail }) });
  } else if (member.availableAt !== undefined && member.availableAt > now) {
    plan.wait('MinReadySeconds', { pod: name, until: member.availableAt });
  }
}

/**
 * Gives the reason of a pod that is being deleted: what holds it, once its grace period, which its deletion timestamp includes, is over;
 * and the moment from which on it is. A node that is known to be down is told as such.
 */
export function explainTermination(
  { downNodes, now }: Pick<UpdateView<Member>, 'downNodes' | 'now'>,
  plan: PlanBuilder,
  { metadata, spec }: Pod,
): void {
  const { name, finalizers = [] } = metadata;
  const { nodeName } = spec;
  const overdueAt = overdueTime(metadata);
  if (overdueAt <= now && finalizers.length > 0) {
    plan.wait('TerminationHeld', { pod: name, detail: describeFinalizers(finalizers) });
  } else if (overdueAt <= now && nodeName !== undefined && !downNodes.has(nodeName)) {
    const detail = `its node ${nodeName} does not confirm that ${name} has ended`;
    plan.wait('TerminationOverdue', { pod: name, detail });
  } else {
    plan.wait('PodTerminating', { pod: name });
    plan.requeue(overdueAt);
  }
}

/** Gives the reason of a pod that has ended and is still there, held by a finalizer after the same time: nothing waits for it. */
export function explainLeftover(
  { now }: Pick<UpdateView<Member>, 'now'>,
  plan: PlanBuilder,
  { metadata }: Pod,
): void {
  const { name, finalizers = [] } = metadata;
  if (finalizers.length > 0 && overdueTime(metadata) <= now)
    plan.wait('LeftoverHeld', { pod: name, detail: describeFinalizers(finalizers) });
}

/** Milliseconds since the epoch. */
function overdueTime({ deletionTimestamp = '' }: ObjectMeta): number {
  return Date.parse(deletionTimestamp) + TERMINATION_PATIENCE_MS;
}

/** `is being deleted, held by its finalizer x.y/z`, of an object that has a deletion timestamp. */
export function describeDeletion({
  metadata: { finalizers = [] },
}: Pick<KubernetesObject, 'metadata'>): string {
  return `is being deleted${describeHold(finalizers)}`;
}

/** `, held by its finalizer x.y/z`; nothing without one. */
export function describeHold(finalizers: readonly string[]): string {
  return finalizers.length === 0 ? '' : `, held by its ${describeFinalizers(finalizers)}`;
}

/** `finalizer x.y/z`, with all of them. */
function describeFinalizers(finalizers: readonly string[]): string {
  return `${finalizers.length === 1 ? 'finalizer' : 'finalizers'} ${finalizers.join(', ')}`;
}

/** `container main of web-0: ImagePullBackOff`, or why it has no node, has failed, or which gate holds it; undefined where nothing tells. */
export function whyNotReady(pod: Pod): string | undefined {
  const { name } = pod.metadata;
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const status of statuses) {
    const reason = status.state?.waiting?.reason ?? status.state?.terminated?.reason;
    if (reason !== undefined) return `container ${status.name} of ${name}: ${reason}`;
  }
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False')
    return `${name}: ${scheduled.message ?? scheduled.reason ?? 'not scheduled'}${describeClaims(pod, scheduled.message)}`;
  const { phase, reason } = pod.status ?? {};
  if (phase === 'Failed') return `${name} has failed${reason === undefined ? '' : `: ${reason}`}`;
  return reason ?? closedGates(pod);
}

/** Whose claims the scheduler means; it names none. */
function describeClaims(pod: Pod, message = ''): string {
  const claims = claimsOf(pod);
  if (!/PersistentVolumeClaim/i.test(message) || claims.length === 0) return '';
  return ` (${claims.length === 1 ? 'its claim is' : 'its claims are'} ${claims.join(', ')})`;
}

/** Readiness gates that somebody else has to open (KEP-580), of a pod whose containers are ready: they alone hold it. */
function closedGates(pod: Pod): string | undefined {
  if (conditionOf(pod, 'ContainersReady')?.status !== 'True') return undefined;
  const closed = (pod.spec.readinessGates ?? [])
    .map(({ conditionType }) => conditionType)
    .filter((type) => type !== IN_PLACE_GATE && conditionOf(pod, type)?.status !== 'True');
  if (closed.length === 0) return undefined;
  const gates = closed.length === 1 ? 'its readiness gate' : 'its readiness gates';
  return `${pod.metadata.name} waits for ${gates} ${closed.join(', ')}`;
}
