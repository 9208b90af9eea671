/** Where giving a rollout up leads to: `abort`, a deadline, and who recommends them. Pure. */

import type { ControllerRevision } from './objects.ts';
import { isMarkedComplete, lastCompleteOf } from './revision.ts';
import type { Pin } from './workload.ts';

/** `there`: an earlier one has led to the present revision, and there is no better one. `none`: no other was ever complete. */
export type WayBack =
  | { readonly outcome: 'to'; readonly revision: ControllerRevision }
  | { readonly outcome: 'there' }
  | { readonly outcome: 'none' };

export interface WayBackInput {
  /** The workload's own, in order. */
  readonly revisions: readonly ControllerRevision[];
  /** The one of the present template, once it is made. */
  readonly present: ControllerRevision | undefined;
  /** `status.currentRevision`, of kinds that have it. */
  readonly current: string | undefined;
  readonly pin: Pin | undefined;
}

/**
 * The last complete revision but the present one. Where any is marked complete, only those that are count. A pin alone does not
 * mean that the present one is it: `undo` leads to any revision.
 */
export function wayBack({ revisions, present, current, pin }: WayBackInput): WayBack {
  const others = revisions.filter(({ metadata }) => metadata.name !== present?.metadata.name);
  const isPresentMarked = present !== undefined && isMarkedComplete(present);
  if (present !== undefined && pin?.to === present.metadata.name) {
    // What is gone back to gets the highest number, if it has not got it yet.
    const isThere = isPresentMarked || lastCompleteOf([...others, present], current) === present;
    if (isThere) return { outcome: 'there' };
  }
  const revision = lastCompleteOf(others, current);
  if (revision === undefined || (isPresentMarked && !isMarkedComplete(revision))) return { outcome: 'none' };
  return { outcome: 'to', revision };
}
