/** Why a pod that is wanted is not available. */

import { conditionOf, isRunningAndReady } from './availability.ts';
import type { Member } from './member.ts';
import type { Pod } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import type { UpdateView } from './pod-updates.ts';

/** Gives the reason, and the moment at which time alone will end it. */
export function explainPod(
  { downNodes, now }: Pick<UpdateView<Member>, 'downNodes' | 'now'>,
  plan: PlanBuilder,
  member: Member,
): void {
  const { pod, name } = member;
  if (pod.spec.nodeName !== undefined && downNodes.has(pod.spec.nodeName)) {
    plan.wait('NodeDown', { pod: name, detail: pod.spec.nodeName });
  }
  if (member.terminating) {
    plan.wait('PodTerminating', { pod: name });
  } else if (member.inPlace !== undefined) {
    // The step of the update has given its reason.
  } else if (!isRunningAndReady(pod)) {
    const detail = whyNotReady(member.pod);
    plan.wait('PodNotReady', { pod: name, ...(detail !== undefined && { detail }) });
  } else if (member.availableAt !== undefined && member.availableAt > now) {
    plan.wait('MinReadySeconds', { pod: name, until: member.availableAt });
  }
}

/** `container main of web-0: ImagePullBackOff`, or why it has no node, or has failed; undefined where nothing tells. */
export function whyNotReady(pod: Pod): string | undefined {
  const { name } = pod.metadata;
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const status of statuses) {
    const reason = status.state?.waiting?.reason ?? status.state?.terminated?.reason;
    if (reason !== undefined) return `container ${status.name} of ${name}: ${reason}`;
  }
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False')
    return `${name}: ${scheduled.message ?? scheduled.reason ?? 'not scheduled'}`;
  const { phase, reason } = pod.status ?? {};
  if (phase === 'Failed') return `${name} has failed${reason === undefined ? '' : `: ${reason}`}`;
  return reason;
}
