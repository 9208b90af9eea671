/**
 * Has a commit that failed for its rollouts tried again when all of them have ended well: nobody else would say that it is applied; and,
 * where the repository heals, when somebody has deleted a workload in the middle of its rollout: nobody else would make it again. Says of
 * one that somebody has rolled back that it is: who reads that it may be, would do it once more.
 */

import type { CommitContext } from '../git/commit.ts';
import type { Inventory } from '../git/inventory.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { withLaterLines } from '../git/commit-report.ts';
import { formatProblem } from '../git/problems.ts';
import { rolloutNow, rolloutProblem } from '../git/rolled-out.ts';
import type { RolloutState } from '../git/rollout-state.ts';
import { readSuspended } from '../kubernetes/wish-annotations.ts';
import type { RolledOut } from '../workflows/sync-messages.ts';

export interface MendedRolloutsOptions {
  /** Has the commit tried again; rejects when nobody could be told. */
  readonly rolledOut: (repository: string, found: RolledOut) => Promise<void>;
  readonly now: () => number;
}

/** Milliseconds after which it is asked for again: the sync may have been busy. */
const ASK_AGAIN_MS = 30_000;

/** Of one repository. Level-triggered: which rollouts failed is in the inventory, how they are now is on the objects. */
export class MendedRollouts {
  readonly #options: MendedRolloutsOptions;
  #awaited: ReadonlySet<string> = new Set();
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: MendedRolloutsOptions) {
    this.#options = options;
  }

  /** Whether the last commit failed for the rollout of this object: its changes are to be looked at. */
  isAwaited({ label }: PreparedObject): boolean {
    return this.#awaited.has(label);
  }

  /**
   * Looks at them if the last commit failed for any; `objects` are those of the commit. Answers the milliseconds after which it is to be
   * looked at again, if nothing changes before.
   * @throws ApiError; as `rolledOut`
   */
  async look(
    context: CommitContext,
    inventory: Inventory,
    objects: Iterable<PreparedObject>,
  ): Promise<number> {
    const { commit } = inventory.status;
    this.#awaited = new Set(commit?.failedRollouts);
    const failed = [...objects].filter((object) => this.isAwaited(object));
    const isHeld = readSuspended(inventory.annotations) !== undefined;
    if (failed.length === 0 || commit === undefined || failed.length < this.#awaited.size || isHeld)
      return Number.POSITIVE_INFINITY;
    const wait = this.#askedAt + ASK_AGAIN_MS - this.#options.now();
    if (wait > 0) return wait;
    const states = new Map<PreparedObject, RolloutState>();
    for (const object of failed) states.set(object, await rolloutNow(context, object));
    await this.#tellRolledBack(context, inventory, states);
    const reason = whyAgain(states, context.repository.heal === true);
    if (reason === undefined) return Number.POSITIVE_INFINITY;
    await this.#options.rolledOut(context.repository.name, { sha: commit.sha, reason });
    this.#askedAt = this.#options.now();
    return ASK_AGAIN_MS;
  }

  /** In the place of the line that it failed. One write for each that was rolled back since. */
  async #tellRolledBack(
    { store }: CommitContext,
    { status }: Inventory,
    states: ReadonlyMap<PreparedObject, RolloutState>,
  ): Promise<void> {
    const { sha = '', runId } = status.commit ?? {};
    const later = [...states].flatMap(([object, state]) => {
      if (state.state !== 'Failed' || !state.rolledBack) return [];
      const before = (line: string): boolean =>
        line.startsWith('RolloutFailed ') && line.includes(` ${object.label}: `);
      return [{ before, line: formatProblem(rolloutProblem(object.label, state, object), sha) }];
    });
    if (withLaterLines(status, later) === status) return;
    await store.update((present) =>
      present.status.commit?.runId === runId
        ? { ...present, status: withLaterLines(present.status, later) }
        : present,
    );
  }
}

/** Undefined: another try would end as the last one did. */
function whyAgain(states: ReadonlyMap<PreparedObject, RolloutState>, heals: boolean): string | undefined {
  const gone = [...states].filter(([, state]) => state.state === 'Failed' && state.isGone === true);
  if (heals && gone.length > 0) return `deleted during its rollout: ${namesOf(gone)}`;
  const isDone = [...states.values()].every(({ state }) => state === 'Done');
  return isDone ? `rolled out since: ${namesOf([...states])}` : undefined;
}

function namesOf(found: readonly (readonly [PreparedObject, RolloutState])[]): string {
  const [first, ...more] = found;
  return `${first?.[0].label ?? ''}${more.length > 0 ? `, and ${more.length} more` : ''}`;
}
