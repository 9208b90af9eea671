/** What a look at the drift of a repository comes to: what is told of each object that differs, and what is put back now. Pure. */

import type { Drift } from './drift.ts';
import { describeDrift } from './drift.ts';
import type { DriftEvent } from './drift-report.ts';
import { isSameDrift } from './drift-report.ts';
import type { Healings } from './heal-pace.ts';
import { fightOf, healAllAt } from './heal-pace.ts';
import type { CommitStatus, DriftedObject } from './inventory-status.ts';
import type { TriedFor } from './refused-retry.ts';
import { whyNotMade } from './refused-retry.ts';

/** What is to be put back now. */
export interface Due {
  /** Of the inventory. */
  readonly key: string;
  readonly drift: Drift;
  /** RFC 3339 */
  readonly since: string;
}

/** Each by key of the inventory, but `known` by object. */
export interface DriftSnapshot {
  /** What differs. */
  readonly drifts: ReadonlyMap<string, Drift>;
  /** What was told before. */
  readonly known: ReadonlyMap<string, DriftedObject>;
  /** What was put back before. */
  readonly healing: ReadonlyMap<string, Healings>;
  /** For what a refused commit was tried again. */
  readonly triedFor: ReadonlyMap<string, TriedFor>;
  readonly commit: CommitStatus | undefined;
  /** Whether the repository heals, and nothing holds all of it. */
  readonly mayHeal: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What a look comes to. */
export interface DriftPlan {
  /** What is told, by object. */
  readonly drifted: ReadonlyMap<string, DriftedObject>;
  readonly due: readonly Due[];
  /** Owners that insist on what is put back again later. */
  readonly fights: readonly DriftEvent[];
  /** Milliseconds until the first of those that have to wait is due; infinite: none has to. */
  readonly nextMs: number;
}

/** Decides of each object that differs whether it is put back now, later or not, and says why. */
export function planDrift(snapshot: DriftSnapshot): DriftPlan {
  const { now } = snapshot;
  const drifted = new Map<string, DriftedObject>();
  const due: Due[] = [];
  const fights: DriftEvent[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
  const leaving = leavingNamespaces(snapshot.drifts);
  for (const [key, drift] of snapshot.drifts) {
    const known = snapshot.known.get(drift.object);
    const since =
      known !== undefined && isSameDrift(known, drift) ? known.since : new Date(now).toISOString();
    const held = snapshot.mayHeal
      ? (whyNotMade(snapshot.triedFor.get(key), since, snapshot.commit, drift) ??
        (leaving.has(namespaceOf(key)) ? 'its namespace is being deleted' : undefined))
      : undefined;
    const told = { ...drift, since, ...(held !== undefined && { held }) };
    if (!snapshot.mayHeal || told.held !== undefined) {
      drifted.set(drift.object, told);
      continue;
    }
    const past = snapshot.healing.get(key);
    const putBackAt = healAllAt(past, drift.by, now);
    const waitMs = putBackAt - now;
    if (waitMs === 0) {
      drifted.set(drift.object, told);
      due.push({ key, drift, since });
      continue;
    }
    drifted.set(drift.object, { ...told, putBackAt: new Date(putBackAt).toISOString() });
    nextMs = Math.min(nextMs, waitMs);
    const fight = fightOf(past, drift.by, now);
    if (fight !== undefined) fights.push(fightEvent(drift, fight, waitMs));
  }
  return { drifted, due, fights, nextMs };
}

/** Namespaces of the commit that are on their way out: nothing is made in them until they are gone, and made again. */
function leavingNamespaces(drifts: DriftSnapshot['drifts']): ReadonlySet<string> {
  const isLeaving = ({ change, held }: Drift) => change === 'deleted' && held !== undefined;
  return new Set(
    [...drifts].flatMap(([key, drift]) => {
      const [, name] = /^\/Namespace\/\/(.+)$/.exec(key) ?? [];
      return name !== undefined && isLeaving(drift) ? [name] : [];
    }),
  );
}

/** Of a key of the inventory. */
function namespaceOf(key: string): string {
  return key.split('/')[2] ?? '';
}

/** Two owners that both insist; who has changed it beside them is not named. */
function fightEvent(
  drift: Drift,
  { by, healing: { count, at } }: NonNullable<ReturnType<typeof fightOf>>,
  waitMs: number,
): DriftEvent {
  const message = `${describeDrift({ ...drift, by })}, after it was put back ${count} times; it is put back again in ${Math.round(waitMs / 1000)} s`;
  return { type: 'Warning', reason: 'DriftFought', message, identity: `${drift.object} ${count} ${at}` };
}
