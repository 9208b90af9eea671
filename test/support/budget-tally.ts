/** Counts the pods of a workload as the budget checker sees them at one moment. */

import type { SeenPod, SeenWorkload } from './budget-evidence.ts';
import type { SEEN_KINDS, SeenNodes } from './budget-kinds.ts';
import { gateOf, inPlaceMark, isAvailable, isFinished, isInService, isTerminating } from './budget-rules.ts';

/** What is weighed with: the rules of the kind, the nodes, and the time, milliseconds since the epoch. */
export interface Scales {
  readonly rules: (typeof SEEN_KINDS)[keyof typeof SEEN_KINDS];
  readonly nodes: SeenNodes;
  readonly at: number;
}

export interface Tally {
  /** Slots that are to have a pod. */
  readonly wanted: number;
  /** Of these, those whose pods are missing or not available, and their names. */
  readonly unavailable: number;
  readonly names: readonly string[];
  readonly allowed: number;
  /** What taking the written pod costs: nothing if another one serves in its slot. */
  readonly cost: 0 | 1;
}

/** The written pod's own update in place does not count against it. */
export function tally(
  { rules, nodes, at }: Scales,
  workload: SeenWorkload,
  pods: ReadonlyMap<string, SeenPod>,
  written: SeenPod,
): Tally {
  const { minReadySeconds = 0 } = workload.spec;
  const { uid } = written.metadata;
  const slots = rules.slots(workload, nodes);
  const bySlot = bySlotOf(rules.slotOf, pods);
  const ownSlot = rules.slotOf(written);
  const isOwn = (pod: SeenPod) =>
    pod.metadata.uid === uid &&
    inPlaceMark(pod) !== undefined &&
    gateOf(pod) !== 'False' &&
    isInService(pod, minReadySeconds, at);
  const serves = (pod: SeenPod) => isAvailable(pod, minReadySeconds, at);
  const names: string[] = [];
  for (const slot of slots) {
    const here = bySlot.get(slot) ?? [];
    const isCounted = rules.chargesTwice || slot !== ownSlot;
    if (isCounted && !here.some((pod) => isOwn(pod) || serves(pod))) {
      names.push(here[0]?.metadata.name ?? `${slot} (missing)`);
    }
  }
  const beside = (bySlot.get(ownSlot) ?? []).filter(({ metadata }) => metadata.uid !== uid);
  return {
    wanted: slots.length,
    unavailable: names.length,
    names,
    allowed: rules.allowedUnavailable(workload, slots.length),
    cost: beside.some(serves) ? 0 : 1,
  };
}

/**
 * Why a pod that has come is one too many on its node, or undefined. Without a surge one that is terminating still has its place;
 * with one, a second pod may stand beside the old one, on so many nodes whose second is not available.
 */
export function crowdOf(
  { rules, nodes, at }: Scales,
  workload: SeenWorkload,
  pods: ReadonlyMap<string, SeenPod>,
  come: SeenPod,
): string | undefined {
  const slots = rules.slots(workload, nodes);
  const surge = rules.allowedSurge(workload, slots.length);
  if (surge === undefined) {
    return undefined;
  }
  const { minReadySeconds = 0 } = workload.spec;
  const bySlot = bySlotOf(rules.slotOf, pods);
  const slot = rules.slotOf(come);
  const others = (bySlot.get(slot) ?? []).filter(
    (pod) => pod.metadata.uid !== come.metadata.uid && !(isFinished(pod) && isTerminating(pod)),
  );
  const list = others.map(({ metadata }) => metadata.name).join(', ');
  if (surge === 0) {
    return others.length === 0 ? undefined : `${list} is still on ${slot}`;
  }
  if (others.filter((pod) => !isTerminating(pod)).length > 1) {
    return `${list} are on ${slot} already`;
  }
  const surging = slots.filter((name) => {
    const live = (bySlot.get(name) ?? []).filter((pod) => !isTerminating(pod) && !isFinished(pod));
    const available = live.filter((pod) => isAvailable(pod, minReadySeconds, at));
    return live.length > 1 && available.length === 1;
  });
  return surging.length > surge
    ? `${surging.join(', ')} have a second pod that is not available yet, and ${String(surge)} may`
    : undefined;
}

function bySlotOf(
  slotOf: (pod: SeenPod) => string,
  pods: ReadonlyMap<string, SeenPod>,
): ReadonlyMap<string, readonly SeenPod[]> {
  const bySlot = new Map<string, SeenPod[]>();
  for (const pod of pods.values()) {
    const slot = slotOf(pod);
    const here = bySlot.get(slot);
    if (here === undefined) bySlot.set(slot, [pod]);
    else here.push(pod);
  }
  return bySlot;
}
