/** What is recorded of an update before it goes on: any worker goes on from there. */

import { LAST_APPLIED, ROLLING_UPDATE } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import {
  dataOfNext,
  describeReplaced,
  inheritance,
  makesSamePods,
  ownKeyOf,
  ownMetadata,
} from './rolling-update-definition.ts';
import { areSameChanges, changedMetadata } from './rolling-update-metadata.ts';
import { areSameOwners, ownersIn, ownersOfName } from './rolling-update-owners.ts';
import { ownersOf } from './rolling-update-record.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { createRecord, refuse, setState } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { asMade, describeUnknown, editedSince } from './rolling-update-template.ts';

/**
 * The record of the update: that there is one (kubectl writes none, and somebody may delete it), and before anything of a rename
 * that it holds what is to have the old name, in full.
 */
export function recordStep(
  view: UpdateView,
  next: ReplicationController,
  phase: 'Rolling' | 'Renaming',
): UpdateStep | undefined {
  const { record, name, state } = view;
  const ownerReferences = phase === 'Renaming' ? ownersOfName(view, next) : undefined;
  const changed =
    phase === 'Renaming' && view.old !== undefined && !view.keepsName && record !== undefined
      ? changedMetadata(record, {
          now: ownMetadata(view.old),
          lastApplied: view.old.metadata.annotations?.[LAST_APPLIED],
        })
      : undefined;
  const change = {
    phase,
    desired: state.desired,
    ...(ownerReferences && { ownerReferences }),
    ...(changed && { changed }),
  };
  const nextName = next.metadata.name;
  const message =
    phase === 'Rolling'
      ? `${nextName} is to replace ${name}`
      : `${nextName} becomes ${name}: any worker can finish it from here`;
  const isKept =
    phase === 'Rolling' ||
    (record !== undefined && (makesSamePods(record.controller.spec, next.spec) || editedSince(record, next)));
  if (record !== undefined && isKept) {
    const isSame = record.state.phase === phase && record.state.desired === state.desired;
    const isSet =
      (ownerReferences === undefined ||
        (isSame && areSameOwners(record.state.ownerReferences, ownerReferences))) &&
      (changed === undefined || areSameChanges(record.state.changed, changed));
    return isSet ? undefined : setState(record, change, message);
  }
  // What is given up needs no more than an end.
  const made = record === undefined && !view.isRollback ? asMade(view, next) : next;
  if (made === undefined) {
    const again = 'the image that was to be rolled out, asked for again, is put back';
    return refuse('TemplateUnknown', `${describeUnknown(next)}; ${again}`);
  }
  const names = {
    from: name,
    to: view.keepsName ? nextName : name,
    key: record?.key ?? ownKeyOf(next) ?? ROLLING_UPDATE.deployment,
  };
  const ofName = view.old === undefined || view.keepsName ? undefined : inheritance(view.old);
  const plain = dataOfNext(made, names, record?.controller.metadata ?? ofName);
  // Somebody may have edited the old one since: of its template only what was recorded when the update began counts.
  const replaced = record?.replaced ?? (view.old && describeReplaced(plain, view.old));
  // Nobody knows any more who asked for what is new; what is as it was is still theirs.
  const owners = view.keepsName ? undefined : (record?.owners ?? ownersOf(view.old?.metadata.managedFields));
  const goesWith = record?.ownerReferences ?? ownersIn(next);
  const data = {
    ...plain,
    ...(replaced && { replaced }),
    ...(owners && { owners }),
    ...(goesWith.length > 0 && !view.keepsName && { ownerReferences: goesWith }),
  };
  const { turned: _, ...rest } = state;
  return createRecord(data, { ...rest, ...change }, view.records, message);
}
