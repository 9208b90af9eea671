/** `fairlead rollout pause|resume|abort|retry|restart|undo`: what an operator wants, written on the object. */

import { restartWorkload } from '../kubernetes/template-edits.ts';
import { hasEndedBadly } from '../kubernetes/wish-edits.ts';
import type { WishResult, WorkloadObject } from '../kubernetes/workload-edit.ts';
import {
  abortWorkload,
  pauseWorkload,
  resumeWorkload,
  retryWorkload,
  undoWorkload,
} from '../kubernetes/wishes.ts';
import { isBootstrap } from '../planners/bootstrap.ts';
import { saysComplete, saysPaused } from '../planners/conditions.ts';
import { describeDeletion } from '../planners/pod-reasons.ts';
import type { WaitOption, WishToApply } from './apply-wish.ts';
import { applyWish } from './apply-wish.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call } from './io.ts';
import { readWorkload } from './read-workload.ts';
import type { Session } from './session.ts';
import { targetOf, withSession } from './session.ts';
import { describeRun, hasRunEndedBadly, signalRun, troubleOf } from './temporal.ts';
import type { SignalOutcome } from './temporal.ts';
import { whoAmI } from './who-am-i.ts';
import { formatWorkload } from './workload-argument.ts';
import { conditionsOf } from './workload-state.ts';

export interface WishOptions extends WaitOption {
  readonly reason?: string;
  readonly by?: string;
}

export interface UndoOptions extends WishOptions {
  readonly toRevision?: bigint;
}

export type RolloutWish = 'pause' | 'resume' | 'abort' | 'retry' | 'restart';

type Subject = Pick<WishToApply, 'argument' | 'target' | 'by' | 'reason'>;

/** Runs one of the verbs that take nothing but a workload and a reason. */
export async function runWish(verb: RolloutWish, call: Call<WishOptions>): Promise<ExitCode> {
  return await withSubject(call, call.operands[0] ?? '', async (session, subject) => {
    const { target } = subject;
    const { client, io } = session;
    const wisher = { by: subject.by, reason: subject.reason };
    const writes: Readonly<Record<RolloutWish, () => Promise<WishResult>>> = {
      pause: () => pauseWorkload(client, target, wisher, io.now()),
      resume: () => resumeWorkload(client, target),
      abort: () => abortWorkload(client, target, wisher, io.now()),
      retry: async () => {
        const written = await retryWorkload(client, target, wisher, io.now());
        if (written.changed) return written;
        const run = await describeRun(session, target);
        const trouble = troubleOf(run);
        if (trouble !== undefined) {
          return { changed: false, message: `nothing to do yet: ${trouble.text}; ${trouble.next}` };
        }
        // Without a worker nobody has written on the object that its run is over.
        return hasRunEndedBadly(run) ? await retryWorkload(client, target, wisher, io.now(), true) : written;
      },
      restart: () => restartWorkload(client, target, wisher, io.now()),
    };
    const message = {
      ...(wisher.by !== undefined && { by: wisher.by }),
      ...(wisher.reason !== undefined && { reason: wisher.reason }),
    };
    const tellRun = async (signal: 'pause' | 'resume' | 'abort'): Promise<SignalOutcome> => {
      // What is rolled in process has no run, and Temporal may well be away.
      if (isBootstrap(await readWorkload(session, target))) return { outcome: 'noRun' };
      return await signalRun(session, target, signal, message);
    };
    const wish: WishToApply = {
      ...subject,
      verb,
      write: writes[verb],
      seen: EFFECTS[verb],
      needsRun: verb === 'abort' || verb === 'restart',
      needsKeeper: verb === 'pause' || verb === 'retry',
      ...((verb === 'pause' || verb === 'resume' || verb === 'abort') && { signal: () => tellRun(verb) }),
    };
    return await applyWish(session, wish, call.options.wait);
  });
}

/** Runs `rollout undo`. */
export async function runUndo(call: Call<UndoOptions>): Promise<ExitCode> {
  return await withSubject(call, call.operands[0] ?? '', async (session, subject) => {
    const { toRevision } = call.options;
    const { target, by, reason } = subject;
    const request = { by, reason, toRevision, verb: 'undo' } as const;
    const wish: WishToApply = {
      ...subject,
      verb: 'undo',
      write: () => undoWorkload(session.client, target, request, session.io.now()),
      seen: isSpecObserved,
      needsRun: true,
    };
    return await applyWish(session, wish, call.options.wait);
  });
}

const EFFECTS: Readonly<Record<RolloutWish, WishToApply['seen']>> = {
  pause: (object, generation) =>
    saysPaused(conditionsOf(object)) ||
    (saysComplete(conditionsOf(object)) && isSpecObserved(object, generation)),
  resume: (object) => !saysPaused(conditionsOf(object)),
  abort: (object, generation) => isSpecObserved(object, generation),
  retry: (object) => !hasEndedBadly(object),
  restart: (object, generation) => isSpecObserved(object, generation),
};

/** Whether a controller has seen the spec at this generation (or a later one). */
export function isSpecObserved({ status }: WorkloadObject, generation: number): boolean {
  const observed = status?.['observedGeneration'];
  return typeof observed === 'number' && observed >= generation;
}

/** The workload that a verb is about, and who speaks. @param operand `KIND/NAME` */
export async function withSubject(
  call: Call<WishOptions>,
  operand: string,
  work: (session: Session, subject: Subject) => Promise<ExitCode>,
): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { argument, target } = targetOf(session, operand);
    // Read first: "not found" with a hint is a better answer than the patch's.
    const { metadata } = await readWorkload(session, target);
    if (metadata.deletionTimestamp !== undefined) {
      const who = `${formatWorkload(argument)} -n ${session.namespace}`;
      throw new CliError(
        `${who} ${describeDeletion({ metadata })}: nothing is rolled out any more\n  \`fairlead explain ${who}\` says what it waits for`,
        EXIT.failed,
        { code: 'Deleting' },
      );
    }
    const by = call.options.by ?? (await whoAmI(session));
    return await work(session, {
      argument,
      target: { ...target, uid: metadata.uid },
      by,
      reason: call.options.reason,
    });
  });
}
