/** Drift of a repository, for people: the inventory's status, and an Event for each change. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { recordEvent } from './commit-report.ts';
import type { Drift } from './drift.ts';
import { describeDrift } from './drift.ts';
import type { Inventory, InventoryDraft, InventoryStore } from './inventory.ts';
import type { DriftStatus, DriftedObject } from './inventory-status.ts';

/** Objects that the status names. */
const OBJECT_LIMIT = 20;
/** Events of one look; what is above is told together. */
const EVENT_LIMIT = 20;

export interface DriftEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'DriftDetected' | 'DriftCorrected' | 'DriftFought';
  readonly message: string;
  /** Recorded again it is the same. */
  readonly identity: string;
}

/** Same change of the same object: it is not told twice, whatever holds it meanwhile. */
export function isSameDrift(one: Drift | undefined, other: Drift): boolean {
  return one !== undefined && textOf(one) === textOf(other);
}

function textOf({ object, change, fields, fieldCount, by }: Drift): string {
  return JSON.stringify([object, change, fields, fieldCount, by]);
}

/** What has begun and what is over since the last look, in the order of the objects. */
export function driftEvents(
  before: ReadonlyMap<string, DriftedObject>,
  after: ReadonlyMap<string, DriftedObject>,
  now: string,
): readonly DriftEvent[] {
  const begun = [...after].flatMap(([key, drift]): readonly DriftEvent[] => {
    if (isSameDrift(before.get(key), drift)) return [];
    const held =
      drift.held === undefined || drift.change === 'taken' ? '' : `; it stays as it is: ${drift.held}`;
    const message = `${describeDrift(drift)}${held}`;
    return [
      { type: 'Warning', reason: 'DriftDetected', message, identity: `${textOf(drift)} ${drift.since}` },
    ];
  });
  const over = [...before].flatMap(([key, drift]): readonly DriftEvent[] =>
    after.has(key)
      ? []
      : [
          {
            type: 'Normal',
            reason: 'DriftCorrected',
            message: `${drift.object}: as the commit wants it again`,
            identity: `${textOf(drift)} ${drift.since}`,
          },
        ],
  );
  return [...together(begun, now), ...together(over, now)];
}

function together(events: readonly DriftEvent[], now: string): readonly DriftEvent[] {
  const [first] = events;
  if (first === undefined || events.length <= EVENT_LIMIT) return events;
  const named = events.slice(0, EVENT_LIMIT - 1);
  const rest = events.length - named.length;
  return [...named, { ...first, message: `${rest} more objects`, identity: `${first.reason} ${now}` }];
}

/** What the status holds; undefined: nothing is known to differ. `heldAll`: why nothing at all is put back now. */
export function driftStatus(
  drifts: ReadonlyMap<string, DriftedObject>,
  unwatched: readonly string[],
  heldAll?: string,
): DriftStatus | undefined {
  if (drifts.size === 0 && unwatched.length === 0) return undefined;
  const objects = [...drifts.values()]
    .toSorted((a, b) => (a.object < b.object ? -1 : 1))
    .slice(0, OBJECT_LIMIT)
    .map(({ object, change, fields, fieldCount, by, held = heldAll, since, putBackAt }): DriftedObject => ({
      object,
      change,
      fields,
      fieldCount,
      by,
      since,
      ...(held !== undefined && { held }),
      ...(putBackAt !== undefined && { putBackAt }),
    }));
  return { count: drifts.size, objects, ...(unwatched.length > 0 && { unwatched: unwatched.slice(0, 10) }) };
}

/** What becomes of it, as a clause: `; it stays: …`, `; it is put back at …`; of what another owner has taken that is said already. */
export function whatFollows({
  change,
  held,
  putBackAt,
}: Pick<DriftedObject, 'change' | 'held' | 'putBackAt'>): string {
  if (held !== undefined) return change === 'taken' ? '' : `; it stays: ${held}`;
  return putBackAt === undefined ? '' : `; it is put back at ${putBackAt}`;
}

/**
 * Writes the status. False: a commit has been begun since `seen` was read, which may have written what was looked at.
 * @throws ApiError; ProblemError InventoryForeign
 */
export async function writeDrift(
  store: InventoryStore,
  seen: Pick<Inventory, 'status' | 'run'>,
  drift: DriftStatus | undefined,
): Promise<boolean> {
  let isCurrent = true;
  await store.update((present: InventoryDraft) => {
    isCurrent =
      present.run?.runId === seen.run?.runId &&
      present.status.commit?.runId === seen.status.commit?.runId &&
      present.status.commit?.outcome === seen.status.commit?.outcome;
    if (!isCurrent || JSON.stringify(present.status.drift) === JSON.stringify(drift)) return undefined;
    const { drift: _, ...status } = present.status;
    return { ...present, status: { ...status, ...(drift !== undefined && { drift }) } };
  });
  return isCurrent;
}

/** @throws ApiError */
export async function recordDrift(
  client: KubernetesClient,
  store: InventoryStore,
  inventory: Pick<Inventory, 'uid'>,
  events: readonly DriftEvent[],
  now: number,
): Promise<void> {
  for (const { identity, ...event } of events)
    await recordEvent(client, store, inventory, event, { identity }, now);
}
