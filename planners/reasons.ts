/** The words of reasons. Amounts that change by the second are not in them: conditions would be written again and again. */

import type { Action, Purpose, ReasonCode } from './plan.ts';
import type { Pin, Wish } from './workload.ts';
import { firstOf } from './first-of.ts';

/** Reasons in the order in which an operator wants to hear them: what must be mended, what is waited for, what is as asked. */
const ORDER: readonly ReasonCode[] = [
  'Deleting',
  'SelectorEmpty',
  'InvalidField',
  'Paused',
  'CreateRefused',
  'WriteRefused',
  'DrainBlocked',
  'NameTaken',
  'NameLeaving',
  'ResizeRefused',
  'InPlaceImpossible',
  'DrainBlind',
  'DrainTimedOut',
  'PrePullLate',
  'ClaimTerminating',
  'ClaimStale',
  'ClaimOwners',
  'NodeDown',
  'NodeGone',
  'NodesAwaited',
  'TerminationHeld',
  'TerminationOverdue',
  'TemporalUnreachable',
  'TemporalRefused',
  'RevisionMissing',
  'PodNotReady',
  'ResizePending',
  'InPlaceRestarting',
  'InPlaceGrace',
  'PodTerminating',
  'MinReadySeconds',
  'Draining',
  'DrainTaken',
  'PrePulling',
  'BudgetUsed',
  'TopologyOrder',
  'ScalingFirst',
  'ScaleUpWaits',
  'ScaleDownWaits',
  'NodesIgnored',
  'OnDelete',
  'Partition',
  'NodeSelector',
  'ClaimConflict',
  'ClaimMissing',
  'LeftoverHeld',
  'RevisionAltered',
  'Pinned',
];

/** So many pods are named in a sentence. */
export const MOST_NAMES = 10;

/** Of a node, before its pod is brought to the new revision. */
const PREPARES: ReadonlySet<Purpose> = new Set(['Cordon', 'Evict', 'PrePull']);

/** The most urgent reason first. */
export function compareReasons(a: ReasonCode, b: ReasonCode): number {
  return ORDER.indexOf(a) - ORDER.indexOf(b);
}

/** Who wished it, and why, as far as that is known. */
export function describeWish({ by, reason }: Wish): string {
  return [by === undefined ? '' : `by ${by}`, reason ?? ''].filter((part) => part !== '').join(': ');
}

/** `pinned by ann: leaks memory`, and what that means for git where a manifest was rejected. */
export function describePin(pin: Pin): string {
  const words = `pinned ${describeWish(pin)}`.trimEnd();
  return pin.rejected === undefined ? words : `${words}; the manifest in git is not applied until it changes`;
}

/** One sentence for a reason: `names` are the first pods of `total`, `detail` is what the planner added. */
export function reasonMessage(
  code: ReasonCode,
  names: readonly string[],
  total: number,
  detail: string | undefined,
): string {
  const who = firstOf(names, names.length, { total });
  const what = detail === undefined || detail === '' ? '' : `: ${detail}`;
  const be = total === 1 ? 'is' : 'are';
  const have = total === 1 ? 'has' : 'have';
  switch (code) {
    case 'TemporalUnreachable':
      return 'Temporal does not answer: pods are healed, replacing them waits for it';
    case 'TemporalRefused':
      return `Temporal refuses the rollout run${what}; pods are healed, replacing them waits for it`;
    case 'RevisionMissing':
      return `the present template has no revision yet; the rollout creates it${who === '' ? '' : `, then ${who}`}`;
    case 'RevisionAltered':
      return detail ?? 'the revision holds another template than the workload';
    case 'Paused':
      return `the rollout is paused${what.replace(':', '')}${who === '' ? '' : `; ${who} ${be} not at the new revision`}`;
    case 'Pinned':
      return detail ?? 'pinned';
    case 'BudgetUsed':
      return `the budget is used up${what}; ${who} ${be} next`;
    case 'PodNotReady':
      return `${who} ${be} not ready${what}`;
    case 'PodTerminating':
      return `${who} ${be} terminating${what}`;
    case 'TerminationHeld':
    case 'LeftoverHeld':
      return `${who} ${be} terminating, held by ${total === 1 ? 'its' : 'their'} ${detail ?? 'finalizer'}`;
    case 'TerminationOverdue':
      return `${who} ${be} terminating, and ${total === 1 ? 'its grace period is' : 'their grace periods are'} over${what}`;
    case 'MinReadySeconds':
      return `${who} ${have} not been ready for minReadySeconds${what}`;
    case 'Partition':
      return `${who} ${be} below the partition and ${total === 1 ? 'keeps its' : 'keep their'} revision${what}`;
    case 'NodeSelector':
      return `the nodeSelector of the update does not select the ${total === 1 ? 'node' : 'nodes'} of ${who}, which ${total === 1 ? 'keeps its' : 'keep their'} revision${what}`;
    case 'TopologyOrder':
      return `one part of the cluster is updated after the other${what}; ${who} ${be} in one that comes later`;
    case 'NodesIgnored':
      return `${who} ${total === 1 ? 'was' : 'were'} not Ready before the rollout began and ${total === 1 ? 'does' : 'do'} not hold it up${what}`;
    case 'NodesAwaited':
      return `${who} ${total === 1 ? 'was' : 'were'} not Ready before the rollout began, and no other node has an available pod at the new revision: the rollout waits for ${total === 1 ? 'it' : 'one of them'}${what}`;
    case 'Draining':
      return `other pods are leaving the ${total === 1 ? 'node' : 'nodes'} of ${who}${what}`;
    case 'DrainTaken':
      return `the ${total === 1 ? 'node' : 'nodes'} of ${who} ${be} being drained for another workload, which comes first${what}`;
    case 'DrainTimedOut':
      return `${who} could not be drained within the time limit and ${be} tried again later${what}`;
    case 'DrainBlind':
      return `pods of other namespaces on the ${total === 1 ? 'node' : 'nodes'} of ${who} cannot be seen: to drain, the worker must watch all namespaces${what}`;
    case 'PrePulling':
      return `images are being pulled before ${who} ${be} replaced${what}`;
    case 'PrePullLate':
      return `the images for ${who} could not be pulled beforehand within the time limit${what}`;
    case 'OnDelete':
      return `the update strategy is OnDelete: ${who} ${total === 1 ? 'gets' : 'get'} the new revision when deleted by hand`;
    case 'ScalingFirst':
      return `pods are created or deleted before others are updated${what}`;
    case 'ScaleUpWaits':
      return `${who} ${be} not made before the pods of lower ordinals are ready (OrderedReady)`;
    case 'ScaleDownWaits':
      return `${who} ${be} not among the replicas and ${be} deleted when all of them are ready`;
    case 'CreateRefused':
      return `the apiserver refuses to create ${who === '' ? 'an object' : who}${what}`;
    case 'WriteRefused':
      return `the apiserver refuses to change ${who === '' ? 'an object' : who}${what}`;
    case 'DrainBlocked':
      return `${who} may not leave ${total === 1 ? 'a node' : 'nodes'} that the rollout drains${what}`;
    case 'NameTaken':
      return `a pod that is not owned by this workload stands in the place of ${who}${what}; delete it if nobody needs it`;
    case 'NameLeaving':
      return `${who} ${be} not made yet${what}`;
    case 'InvalidField':
      return `a field is not valid${what}`;
    case 'ClaimTerminating':
      return `${who} ${total === 1 ? 'waits' : 'wait'} until a terminating claim is gone${what}`;
    case 'ClaimStale':
      return `${who} ${total === 1 ? 'waits' : 'wait'} until the claim of an earlier pod is deleted${what}`;
    case 'ClaimOwners':
      return `${who} ${be} deleted once ${total === 1 ? 'its claims have' : 'their claims have'} the owners that whenScaled asks for${what}`;
    case 'ClaimConflict':
      return `${who} ${be} managed by another controller, so persistentVolumeClaimRetentionPolicy does not hold there${what}`;
    case 'ClaimMissing':
      return `${who} ${total === 1 ? 'was' : 'were'} made when volumeClaimTemplates were others, and ${total === 1 ? 'runs' : 'run'} without the present ones${what}, until made anew`;
    case 'InPlaceGrace':
      return `${who} ${be} out of service and ${total === 1 ? 'waits' : 'wait'} for the grace period before the update in place`;
    case 'InPlaceRestarting':
      return `${who} ${be} being updated in place${what}`;
    case 'InPlaceImpossible':
      return `${who} cannot be updated in place${what}; use InPlaceIfPossible or ReCreate`;
    case 'ResizePending':
      return `${who} ${total === 1 ? 'waits' : 'wait'} for the node to resize ${total === 1 ? 'it' : 'them'}${what}`;
    case 'ResizeRefused':
      return `the apiserver refuses to resize ${who}${what}`;
    case 'NodeDown':
      return `${who} ${be} on a node that is down${what}`;
    case 'NodeGone':
      return `${who} ${be} on a node that is gone${what}`;
    case 'SelectorEmpty':
      return 'the selector is empty and selects everything; nothing is done';
    case 'Deleting':
      return 'the workload is being deleted';
  }
}

/** What a rollout writes next, beside what prepares nodes for it: `web-2 is next`. Undefined: nothing. */
export function describeNext(batch: readonly Action[]): string | undefined {
  const pods = batch.filter(({ purpose }) => !PREPARES.has(purpose)).map(({ name }) => name);
  if (pods.length === 0) return batch[0]?.message;
  return `${firstOf(pods, MOST_NAMES)} ${pods.length === 1 ? 'is' : 'are'} next`;
}
