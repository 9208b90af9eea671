/**
 * A next controller whose marks name another partner than the update that made it: written by hand, or another update has the same one.
 * Its record tells which. Left behind by one that was given up, nobody scales it any more, and a Service may find its pods.
 */

import type { ReplicationController } from './replication-controller.ts';
import { inReplicas, partnerOf, sizeOf } from './replication-controller.ts';
import { isHashValue, labelValue, selectsSame } from './rolling-update-definition.ts';
import type { UpdateRecord } from './rolling-update-record.ts';
import { isActiveRecord } from './rolling-update-record.ts';

interface Known {
  readonly controllers: readonly ReplicationController[];
  readonly records: readonly UpdateRecord[];
}

/** Whether it is what the record rolls out, whatever its marks say: nobody is there to whom it could belong instead. */
export function isOwnNext(
  { controllers, records, record }: Known & { readonly record: UpdateRecord | undefined },
  next: ReplicationController,
): boolean {
  if (record === undefined || !isMadeFrom(record, next)) return false;
  const isClaimed = records.some(
    (one) => isActiveRecord(one) && one.next === record.next && one.from !== record.from,
  );
  const partner = partnerOf(next);
  const named = controllers.find(({ metadata }) => metadata.name === partner);
  const isNamedBack = named !== undefined && partnerOf(named) === record.next;
  // A selector without the label may be that of anybody.
  const isLabelled = isHashValue(labelValue(next.spec.selector, record.key) ?? '');
  return !isClaimed && !isNamedBack && (isLabelled || named === undefined);
}

/**
 * The record of the update that has left this controller behind. Undefined where it is of one that goes on, where its partner is there,
 * which may take it on, and without a mark: then it is anybody's, made under the same name.
 */
export function leftBy(
  { controllers, records }: Known,
  controller: ReplicationController,
): UpdateRecord | undefined {
  const { name } = controller.metadata;
  const partner = partnerOf(controller);
  if (partner === undefined || controllers.some(({ metadata }) => metadata.name === partner))
    return undefined;
  const isUsed = records.some((one) =>
    isActiveRecord(one) ? [one.from, one.next].includes(name) : one.state.phase === 'Done' && one.to === name,
  );
  if (isUsed) return undefined;
  return records.findLast(
    (one) => one.state.phase === 'Aborted' && one.from !== partner && isMadeFrom(one, controller),
  );
}

/** Those that updates of `name` have left behind. */
export function leftovers(known: Known & { readonly name: string }): readonly ReplicationController[] {
  return known.controllers.filter((one) => leftBy(known, one)?.from === known.name);
}

/** `foo-9f3a with 2 replicas is left of an update of foo that was given up` */
export function describeLeftover(controller: ReplicationController, { from }: UpdateRecord): string {
  return `${describeSize(controller)} is left of an update of ${from} that was given up`;
}

/** `foo-9f3a with 2 replicas` */
export function describeSize(controller: ReplicationController): string {
  return `${controller.metadata.name} with ${inReplicas(sizeOf(controller))}`;
}

function isMadeFrom({ next, controller }: UpdateRecord, { metadata, spec }: ReplicationController): boolean {
  return metadata.name === next && selectsSame(spec, controller.spec);
}
