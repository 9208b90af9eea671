/** One pod of a workload, read once from its snapshot. */

import { availableAt, isFinished, isReady, isTerminating } from './availability.ts';
import { readInPlaceUpdate, revisionOf } from './in-place-state.ts';
import type { InPlaceUpdate } from './in-place-state.ts';
import { LABEL } from './names.ts';
import type { Pod } from './objects.ts';
import type { Action, Purpose } from './plan.ts';
import type { Workload } from './workload.ts';

export interface Member {
  readonly pod: Pod;
  readonly name: string;
  /** The revision that its label gives it, as the kind writes it (S1, D4). */
  readonly revision: string;
  /** Owned already; otherwise to be adopted, and not touched before. */
  readonly owned: boolean;
  readonly ready: boolean;
  readonly finished: boolean;
  readonly terminating: boolean;
  readonly inPlace: InPlaceUpdate | undefined;
  /** Milliseconds; see {@link availableAt}. */
  readonly availableAt: number | undefined;
  /** Ready for minReadySeconds, not terminating, not finished, not in an update in place (S16, A3). */
  readonly available: boolean;
}

/** What a pod is at the moment `now`, milliseconds since the epoch. */
export function readMember(
  { minReadySeconds }: Pick<Workload, 'minReadySeconds'>,
  pod: Pod,
  owned: boolean,
  now: number,
): Member {
  const at = availableAt(pod, minReadySeconds);
  const finished = isFinished(pod);
  const terminating = isTerminating(pod);
  const inPlace = readInPlaceUpdate(pod);
  return {
    pod,
    name: pod.metadata.name,
    revision: revisionOf(pod),
    owned,
    ready: isReady(pod),
    finished,
    terminating,
    inPlace,
    availableAt: at,
    available: at !== undefined && at <= now && !finished && !terminating && inPlace === undefined,
  };
}

/** The delete of a pod with both preconditions. */
export function deletePod({ ref }: Pick<Workload, 'ref'>, pod: Pod, purpose: Purpose, why: string): Action {
  const { name, uid, resourceVersion, labels } = pod.metadata;
  return {
    verb: 'delete',
    resource: 'pods',
    name,
    uid,
    resourceVersion,
    purpose,
    message: `delete Pod ${name} in ${ref.kind} ${ref.name} (revision ${labels?.[LABEL.revisionHash] ?? 'unknown'}): ${why}`,
  };
}
