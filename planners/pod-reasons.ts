/** Why a pod that is wanted is not available. */

import { conditionOf, isRunningAndReady } from './availability.ts';
import type { Member } from './member.ts';
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
    plan.wait('PodNotReady', { pod: name, ...whyNotReady(member) });
  } else if (member.availableAt !== undefined && member.availableAt > now) {
    plan.wait('MinReadySeconds', { pod: name, until: member.availableAt });
  }
}

function whyNotReady({ name, pod }: Member): { readonly detail?: string } {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const status of statuses) {
    const reason = status.state?.waiting?.reason ?? status.state?.terminated?.reason;
    if (reason !== undefined) return { detail: `container ${status.name} of ${name}: ${reason}` };
  }
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False')
    return { detail: `${name}: ${scheduled.message ?? scheduled.reason ?? 'not scheduled'}` };
  const { phase, reason } = pod.status ?? {};
  if (phase === 'Failed') return { detail: `${name} has failed${reason === undefined ? '' : `: ${reason}`}` };
  return reason === undefined ? {} : { detail: reason };
}
