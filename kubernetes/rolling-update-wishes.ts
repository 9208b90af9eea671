/** What operators want of a rolling update, written on its controllers: shared by the command line and by runs that got a signal. */

import { ANNOTATION } from '../planners/names.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import type { Refused } from '../planners/rolling-update-start.ts';
import { describeNothingLeft, isNothingLeft } from '../planners/rolling-update-abandoned.ts';
import { decideRollback } from '../planners/rolling-update-start.ts';
import type { UpdateStep } from '../planners/rolling-update-steps.ts';
import { annotate } from '../planners/rolling-update-steps.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import type { Turned } from '../planners/rolling-update-record.ts';
import type { KubernetesClient } from './client.ts';
import type { UpdateReference } from './rolling-update-objects.ts';
import { readUpdate, writeUpdate } from './rolling-update-objects.ts';
import { readPaused } from './wish-annotations.ts';
import type { Wisher } from './wish-edits.ts';
import { wish } from './wish-edits.ts';
import type { WishResult } from './workload-edit.ts';

const CONFLICT_LIMIT = 12;

/** What became of a turn; with why it cannot be, where an update is under way that cannot go back. */
export interface TurnResult extends WishResult {
  readonly refused?: Refused;
}

type Decision<R extends WishResult = WishResult> = R & { readonly step?: UpdateStep };

/**
 * Holds the update before its next step. A rename that has begun is finished: its pods have no controller.
 * @throws ApiError
 */
export async function pauseUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  wisher: Wisher,
  now: number,
): Promise<WishResult> {
  const result = await edit(client, reference, ({ name, old, nextController: next, record }) => {
    const both = [old, next].flatMap((one) => one ?? []);
    if (both.length === 0 && record !== undefined) {
      return nothing(`${name} is being renamed, and its pods have no controller: that is finished first`);
    }
    if (both.length === 0 || (next === undefined && record === undefined)) {
      return nothing(`no update of ${name} is in progress`);
    }
    const free = both.find((one) => !isHeld(one));
    if (free === undefined) return nothing(`the update of ${name} is already paused`);
    const text = JSON.stringify(wish(wisher, now));
    const message = `the update of ${name} is paused`;
    return change(message, annotate(free, { [ANNOTATION.paused]: text }, 'Annotate', message));
  });
  // On both: on one alone it would go with that one.
  return result.changed ? { ...(await pauseUpdate(client, reference, wisher, now)), ...result } : result;
}

/** Lets it go on. @throws ApiError */
export async function resumeUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
): Promise<WishResult> {
  const result = await edit(client, reference, ({ name, old, nextController }) => {
    const held = [old, nextController].find((one) => one !== undefined && isHeld(one));
    if (held === undefined) return nothing(`the update of ${name} is not paused`);
    const message = `the update of ${name} goes on`;
    return change(message, annotate(held, { [ANNOTATION.paused]: null }, 'Annotate', message));
  });
  // Both may have been held.
  return result.changed ? { ...(await resumeUpdate(client, reference)), ...result } : result;
}

function isHeld({ metadata }: ReplicationController): boolean {
  return readPaused(metadata.annotations, undefined) !== undefined;
}

/** Turns it round: the old controller gets its size back (seed, "Abort"). @throws ApiError */
export async function abortUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  wisher: Wisher,
  now: number,
  verb: 'abort' | 'rollback' = 'abort',
): Promise<TurnResult> {
  return await edit(client, reference, (view) => turn(view, { verb, ...wish(wisher, now) }));
}

/**
 * The same for a newer commit, which takes the place of one that is under way: nobody has rejected that, so nothing is pinned.
 * @throws ApiError
 */
export async function turnUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  commit: string,
  now: number,
): Promise<WishResult> {
  const at = new Date(now).toISOString();
  const reason = `commit ${commit.slice(0, 8)} brings another manifest`;
  return await edit(client, reference, (view) => turn(view, { verb: 'commit', commit, reason, at }));
}

function turn(view: UpdateView, turned: Turned): Decision<TurnResult> {
  const decision = decideRollback(view, turned);
  switch (decision.do) {
    case 'refuse': {
      const isIdle = decision.code === 'NotInProgress' && view.record === undefined;
      return { ...nothing(decision.message), ...(!isIdle && { refused: decision }) };
    }
    case 'turn':
      return change(
        isNothingLeft(view)
          ? describeNothingLeft(view)
          : describeTurn(view, 'is being rolled back', 'is to be rolled back'),
        { do: 'write', write: decision.write },
      );
    case 'attach':
      return nothing(describeTurn(view, 'is being rolled back already', 'is to be rolled back already'));
  }
}

/** A pause holds the way back too. */
function describeTurn({ name, paused, old }: UpdateView, now: string, later: string): string {
  if (paused === undefined) return `the update of ${name} ${now}`;
  const where = `-n ${old?.metadata.namespace ?? ''}`;
  return `the update of ${name} ${later}, but it is paused: fairlead rollout resume rc/${name} ${where}`;
}

async function edit<R extends WishResult>(
  client: KubernetesClient,
  reference: UpdateReference,
  decide: (view: UpdateView) => Decision<R>,
): Promise<Omit<Decision<R>, 'step'>> {
  for (let tries = 1; ; tries += 1) {
    const { step, ...result } = decide(viewUpdate(await readUpdate(client, reference)));
    if (step?.do !== 'write') return result;
    if ((await writeUpdate(client, reference.namespace, step.write)) === 'done') return result;
    if (tries === CONFLICT_LIMIT) {
      throw new Error(`the controllers of the update of ${reference.name} change too fast: try again`);
    }
  }
}

function nothing(why: string): Decision {
  return { changed: false, message: `nothing to do: ${why}` };
}

function change(message: string, step: UpdateStep): Decision {
  return { changed: true, message, step };
}
