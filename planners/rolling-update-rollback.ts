/** What a request to turn a rolling update round means, given what is there (K9). */

import { ANNOTATION, ROLLING_UPDATE } from './names.ts';
import type { Turned } from './rolling-update-record.ts';
import type { UpdateWrite } from './rolling-update-steps.ts';
import { annotate, setState } from './rolling-update-steps.ts';
import { describeNothingLeft, isNothingLeft } from './rolling-update-abandoned.ts';
import { inReplicas } from './replication-controller.ts';
import { describeDeletion } from './pod-reasons.ts';
import { isNextLost } from './rolling-update-lost.ts';
import { replacedBy } from './rolling-update-view.ts';
import type { UpdateView } from './rolling-update-view.ts';
import type { Pin } from './workload.ts';
import type { Refused } from './rolling-update-refusals.ts';
import { leftBehind, partOfOther, refuse, stranger } from './rolling-update-refusals.ts';

export type RollbackDecision =
  /** The desired size is to move to the old controller. */
  | { readonly do: 'turn'; readonly write: UpdateWrite }
  /** It is being rolled back already. */
  | { readonly do: 'attach' }
  | Refused;

/**
 * For `--rollback`, `abort` and a newer commit (seed, "Abort"): who turned it round stays with the update. A manifest that somebody
 * rejects is pinned, so that git does not bring it again; one that another commit only comes before is not.
 */
export function decideRollback(view: UpdateView, turned: Turned): RollbackDecision {
  const { old, nextController: next, name, record, last, state } = view;
  const replaced = replacedBy(view);
  if (replaced !== undefined) return partOfOther(name, replaced);
  const unrelated = (old && leftBehind(view, old)) ?? stranger(view);
  if (unrelated !== undefined) return unrelated;
  const isLost = isNextLost(view);
  const partner = next?.metadata.name ?? record?.next;
  // Marks of a way back alone are cleared by going it.
  if (partner === undefined && !isLost && !view.isRollback) {
    // Of one that another has taken the place of, that is said.
    return old === undefined && last === undefined
      ? refuse('NotFound', `there is no ReplicationController ${name}`)
      : refuse('NotInProgress', `no update of ${name} is in progress`);
  }
  if (record !== undefined && isNothingLeft(view)) {
    const closing = setState(record, { phase: 'Aborted', turned }, describeNothingLeft(view));
    return closing.do === 'write' ? { do: 'turn', write: closing.write } : { do: 'attach' };
  }
  if (old === undefined) {
    const place = view.keepsName ? 'has taken its place' : 'is about to get its name';
    return refuse('NotFound', `${name} is gone already: ${partner ?? ''} ${place}`);
  }
  if (old.metadata.deletionTimestamp !== undefined && !isLost) {
    const place = view.keepsName ? 'takes its place' : 'is about to get its name';
    return refuse('NotFound', `${name} ${describeDeletion(old)}: ${partner ?? ''} ${place}`);
  }
  if (view.isRenamed) {
    return refuse('NotInProgress', `${name} is rolled out but for its pods: what it was before is gone`);
  }
  if (view.isRollback) return { do: 'attach' };
  const { verb, by, reason, at } = turned;
  const from = old.metadata.annotations?.[ANNOTATION.commit];
  const present = old.metadata.annotations?.[ANNOTATION.manifestHash];
  const rejected = record?.controller.metadata.annotations?.[ANNOTATION.manifestHash];
  const pinned: Pin = {
    verb: 'abort',
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    ...(at !== undefined && { at }),
    rejected: rejected ?? '',
    revision: record?.revision.metadata.name ?? '',
  };
  // An image that was set by hand has the hash of the manifest that is there: that one is not rejected.
  const isRejected = verb !== 'commit' && rejected !== undefined && rejected !== present;
  const marks = {
    [ROLLING_UPDATE.desiredReplicas]: String(state.desired),
    ...(partner !== undefined && { [ROLLING_UPDATE.partner]: partner }),
    [ANNOTATION.turned]: JSON.stringify({ ...turned, ...(from !== undefined && { from }) }),
    ...(isRejected && { [ANNOTATION.pinned]: JSON.stringify(pinned) }),
  };
  const step = annotate(old, marks, 'Annotate', `${name} is to come back, with ${inReplicas(state.desired)}`);
  return step.do === 'write' ? { do: 'turn', write: step.write } : { do: 'attach' };
}
