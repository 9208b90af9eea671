/** Why a request for a rolling update, or for its way back, is refused: what is there belongs to another one, or to none (K4). */

import type { ReplicationController } from './replication-controller.ts';
import { desiredOf, isPartlyReplaced, partnerOf, sizeOf } from './replication-controller.ts';
import { isHashValue, labelValue } from './rolling-update-definition.ts';
import { describeLeftover, leftBy } from './rolling-update-leftover.ts';
import { livePartnerOf, otherHalf, siblingKey } from './rolling-update-roles.ts';
import type { UpdateView } from './rolling-update-view.ts';

export type StartRefusal =
  | 'NotFound'
  | 'NoChange'
  | 'NothingAsked'
  | 'NoReplicas'
  | 'NoContainer'
  | 'SeveralContainers'
  | 'OtherChange'
  | 'RollingBack'
  | 'SelectorSame'
  | 'SelectorShared'
  | 'KeyTaken'
  /** Its record is more than can be stored: nothing of that is decided here. */
  | 'TooLarge'
  | 'OtherUpdate'
  | 'LeftBehind'
  | 'NameTaken'
  | 'IsNext'
  /** Neither controller is there to stay, and the update goes on. */
  | 'Renaming'
  | 'NotInProgress';

export interface Refused {
  readonly do: 'refuse';
  readonly code: StartRefusal;
  readonly message: string;
  /** Name of the controller that stands in the way, where it is neither of the two, or of the one whose update it is. */
  readonly about?: string;
}

export function partOfOther(name: string, replaced: string): Refused {
  const message = `${name} is to take the place of ${replaced}: the update is one of ${replaced}`;
  return { ...refuse('IsNext', message), about: replaced };
}

/**
 * A controller of the name that was given, which nothing ties to an update of this one: neither its marks (K4), nor a record, nor a
 * selector that is the same but for the label. Where the marks of the old one do not say which the next is, the name does.
 */
export function stranger(view: UpdateView): Refused | undefined {
  const { old, nextController: next, record, last, name, controllers } = view;
  if (next === undefined || record !== undefined) return undefined;
  const nextName = next.metadata.name;
  if (old === undefined && last?.to === nextName) return undefined;
  const owner = partnerOf(next);
  if (owner === name || (old !== undefined && livePartnerOf(old, controllers) === nextName)) return undefined;
  if (owner !== undefined) return ofOther(view, next, owner);
  // The seed's "only foo-next": where its mark of the partner is gone too, who names both tells.
  const isAlone = old === undefined && otherHalf(next, view.controllers) === undefined;
  if (isAlone && desiredOf(next) !== undefined) return undefined;
  if (old === undefined) return refuse('NotFound', `there is no ReplicationController ${name}`);
  if (isMadeBeside(old, next) || (isPartlyReplaced(old) && partnerOf(old) === undefined)) return undefined;
  return nameTaken(name, nextName);
}

/**
 * Whether a controller without any mark may be what an update of this one has made: by its selector, and by a label that only an update
 * writes, or having no pods yet. Blue and green of the same application are siblings too, and each has its own pods.
 */
function isMadeBeside(old: ReplicationController, next: ReplicationController): boolean {
  const key = siblingKey(old, next);
  if (key === undefined) return false;
  return (
    desiredOf(next) !== undefined ||
    sizeOf(next) === 0 ||
    isHashValue(labelValue(next.spec.selector, key) ?? '')
  );
}

export function nameTaken(name: string, next: string): Refused {
  return refuse('NameTaken', `${next} exists already, and belongs to no update of ${name}`);
}

/** A controller that is marked as the partner of `owner`. */
export function ofOther(view: UpdateView, next: ReplicationController, owner: string): Refused {
  return (
    leftBehind(view, next) ??
    refuse('OtherUpdate', `${next.metadata.name} belongs to another update, that of ${owner}`)
  );
}

export function leftBehind(view: UpdateView, controller: ReplicationController): Refused | undefined {
  const record = leftBy(view, controller);
  if (record === undefined) return undefined;
  return { ...refuse('LeftBehind', describeLeftover(controller, record)), about: controller.metadata.name };
}

export function refuse(code: StartRefusal, message: string): Refused {
  return { do: 'refuse', code, message };
}
