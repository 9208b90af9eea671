/** What the worker that renames keeps in mind until its attempt is over, so that the same controller is not made twice, and no record is lost. */

import type { UpdateRecord } from './rolling-update-record.ts';
import { recordAgain, setState } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import type { RollingUpdatePlan } from './rolling-update.ts';

/** What an attempt knows besides the objects. */
export interface AttemptMemory {
  /** Record with which the next controller was let go, as it was when it was looked at last. */
  readonly released?: UpdateRecord | undefined;
  /** uid of the record from which the old name was created. */
  readonly created?: string | undefined;
}

/** What the planner says where nothing tells of an update any more: without a controller, and with the renamed one. */
const FORGOTTEN: readonly string[] = ['NotFound', 'NothingToDo'];

/** The record as it is now: written again it says so too. */
export function seenAgain(released: UpdateRecord, { record, records }: UpdateView): UpdateRecord {
  const { uid } = released.revision.metadata;
  const isAgain = record?.next === released.next && record.hash === released.hash;
  return records.find(({ revision }) => revision.metadata.uid === uid) ?? (isAgain ? record : released);
}

/** The plan with what this attempt knows besides. */
export function withMemory(plan: RollingUpdatePlan, { released, created }: AttemptMemory): RollingUpdatePlan {
  const step = recordedAgain(plan, released) ?? createdBefore(plan, created);
  return step === undefined ? plan : { ...plan, step };
}

/**
 * The record is gone with which the next controller was let go, before the end was written into it. One that is there is not written a
 * second time, nor one that went with the renamed controller: who deleted that wants no other.
 */
function recordedAgain({ step, view }: RollingUpdatePlan, released: UpdateRecord | undefined) {
  if (released === undefined || view.isEnding === true) return undefined;
  if (step.do !== 'refuse' || !FORGOTTEN.includes(step.code)) return undefined;
  const { uid } = released.revision.metadata;
  const isThere = view.records.some(({ revision }) => revision.metadata.uid === uid);
  const isUnwanted = step.code === 'NotFound' && released.state.renamed === true;
  return isThere || isUnwanted ? undefined : recordAgain(released, view.records);
}

/** What was created under the old name, and deleted before it was seen there, is not created a second time unless pods are left of it. */
function createdBefore({ step, view: { record, name } }: RollingUpdatePlan, created: string | undefined) {
  if (record === undefined || record.revision.metadata.uid !== created) return undefined;
  if (step.do !== 'write' || step.write.purpose !== 'Create') return undefined;
  if (record.state.phase !== 'Renaming' || record.state.renamed === true) return undefined;
  const message = `${name} was created, and was deleted at once: that is somebody's wish`;
  return setState(record, { renamed: true }, message, 'Renamed');
}
