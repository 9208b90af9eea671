/** Shows a rolling update until it is over: a line for each change of what the cluster holds, the end from its run. */

import { failingStep } from '../controllers/rolling-update-runs.ts';
import { pause } from '../kubernetes/backoff.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { isOpenRun } from '../planners/open-runs.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { isHeldByPeriod, periodReason } from '../planners/rolling-update-period.ts';
import { describeVainTurn } from '../planners/rolling-update-marks.ts';
import type { FailingStep } from '../planners/rolling-update-run.ts';
import type { Turned } from '../planners/rolling-update-record.ts';
import type { UpdateEnding } from '../planners/rolling-update-steps.ts';
import type { RollingUpdateResult } from '../workflows/rolling-update-messages.ts';
import { CancelledRun } from './cancelled-run.ts';
import { describeFailing, wayOutOfRefusal } from './explain-update.ts';
import { formatAge } from './durations.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import { ChangingNote } from './changing-note.ts';
import { LeaseWatch } from './lease-watch.ts';
import { Outage } from './outage.ts';
import type { Session } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { OpenTemporal } from './temporal.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import type { RecordedEnd } from './update-state.ts';
import {
  afterPods,
  describePause,
  describeProgress,
  describeTurn,
  isFollowedByOther,
  reasonOf,
  recordedEnd,
  whyNothingMoves,
} from './update-state.ts';

export interface FollowedUpdate {
  readonly reference: UpdateReference;
  /** Name of the next controller, as far as it is known. */
  readonly shownNext: string | undefined;
  /** uid of the record of the update that was begun or attached to; of one without (kubectl's) the first that is seen. */
  readonly record: string | undefined;
  readonly workflowId: string;
  /** The way back is what was asked for. */
  readonly isRollback: boolean;
  readonly pollIntervalMs: number;
}

type Outcome = UpdateEnding | 'failed' | 'timeout' | 'interrupted';

interface RollingUpdateDocument extends Document {
  readonly kind: 'RollingUpdate';
  readonly outcome: Outcome;
  readonly namespace: string;
  readonly name: string;
  readonly next?: string;
  readonly message: string;
  /** Who rolled it back. */
  readonly turned?: Turned;
}

/** How the run ended, if it has. */
type RunEnd =
  | {
      readonly outcome: UpdateEnding | 'failed';
      readonly message: string;
      /** A click on Cancel means a pause: what it has written holds the update, and a resume starts another run. */
      readonly isCancel?: true;
    }
  | undefined;

/** Temporal answers, and knows no run: its history is gone. */
const MISSING = 'missing';

/** What is told at the end. */
interface End {
  readonly outcome: Outcome;
  /** Why; empty where the outcome says all. */
  readonly detail: string;
  /** Who turned the update round, if somebody has, and whether that is under way. */
  readonly turned?: Turned | undefined;
  /** Next controller of the update that took its place, where no commit is known to have done so. */
  readonly by?: string | undefined;
  readonly isGoingBack: boolean;
  /** What helps, where another run would end as this one did. */
  readonly next?: string | undefined;
}

/** kubectl's, and that without progress (K5). */
const DEFAULT_TIMEOUT_MS = 300_000;
/** Between two looks at the run, milliseconds. */
const RUN_LOOK_MS = 1_000;
/** For which a run may be missing, milliseconds: a worker that leads starts another long before that. */
const MISSING_MS = 60_000;

/** Exit code 3 when nothing has moved for --timeout; the update goes on all the same, as it does after Ctrl-C. */
export async function followUpdate(
  session: Session,
  temporal: OpenTemporal,
  followed: FollowedUpdate,
): Promise<ExitCode> {
  // Of the last look.
  const seen = { isGoingBack: false };
  try {
    return await followToEnd(session, temporal, followed, seen);
  } catch (error) {
    // Ctrl-C also ends the request that was under way.
    if (!session.io.interrupted.aborted) throw error;
    return await report(session, followed, { ...INTERRUPTED, ...seen });
  }
}

const INTERRUPTED = { outcome: 'interrupted', detail: 'the update goes on' } as const;

async function followToEnd(
  session: Session,
  temporal: OpenTemporal,
  followed: FollowedUpdate,
  told: { isGoingBack: boolean },
): Promise<ExitCode> {
  const { io, options, client } = session;
  const isQuiet = options.output !== 'table' && options.output !== 'wide';
  const timeoutMs = options.timeout ?? DEFAULT_TIMEOUT_MS;
  const keeper = new LeaseWatch(session);
  let shown = '';
  let why: string | undefined;
  let nobody: string | undefined;
  let movedAt = io.now();
  /** Until then nothing is to be expected: the update period may run. */
  let restsUntil = 0;
  let seen: RollingUpdatePlan | undefined;
  let lookedAt = 0;
  let record = followed.record;
  const cancelled = new CancelledRun();
  const noWorker = new ChangingNote(io, 'a worker is there');
  const temporalAway = new ChangingNote(io, 'Temporal answers again');
  const runMissing = new ChangingNote(io, 'it has a run again');
  const away = new ChangingNote(io, 'the cluster can be looked at again');
  const outage = new Outage((reason) => away.now(reason));
  const stepFails = new ChangingNote(io, 'it goes on');
  let failing: FailingStep | undefined;
  let missingSince: number | undefined;
  const finish = async (outcome: Outcome, detail: string, end?: Partial<RecordedEnd>, next?: string) =>
    await report(session, followed, { turned: end?.turned, by: end?.by, ...told, outcome, detail, next });
  const look = async () =>
    planRollingUpdate(await readUpdate(client, followed.reference, io.interrupted), io.now());
  while (!io.interrupted.aborted) {
    const plan = (await outage.read(look)) ?? seen;
    // The first look answers, or ends it all.
    if (plan === undefined) continue;
    const { paused, isRollback } = plan.view;
    told.isGoingBack = isRollback;
    record ??= plan.view.record?.revision.metadata.uid;
    const replaced = endBeforeOther(plan.view, record);
    if (replaced !== undefined) return await finish(replaced.outcome, '', replaced);
    if (mayRest(seen, plan)) restsUntil = io.now() + plan.view.state.updatePeriodMs;
    seen = plan;
    const rest = isHeldByPeriod(plan) && io.now() < restsUntil ? periodReason(plan).message : undefined;
    const held = paused === undefined ? (rest ?? whyStillThere(plan)) : describePause(paused);
    const line = `${describeProgress(plan.progress)}${held === undefined ? '' : ` (${held})`}`;
    if (line !== shown) {
      shown = line;
      movedAt = io.now();
      // What was waited for before it moved is no reason any more.
      why = undefined;
      if (!isQuiet) io.out(`${oneLine(line)}\n`);
    }
    why = reasonOf(plan) ?? why;
    if (io.now() - lookedAt >= RUN_LOOK_MS) {
      lookedAt = io.now();
      const end = await lookAtRun(temporal, followed.workflowId, temporalAway, (step) => (failing = step));
      stepFails.now(describeFailing(plan, failing));
      const missing = end === MISSING ? `its run is missing in Temporal at ${temporal.address}` : undefined;
      runMissing.now(missing && `${missing}: a worker that leads starts another from the record`);
      if (end !== undefined && end !== MISSING) {
        // While it gives none nobody knows who ended it: that is looked for again until the limit.
        const last = await outage.read(look);
        const before = last && endBeforeOther(last.view, record);
        if (before !== undefined) return await finish(before.outcome, '', before);
        if (last !== undefined && (end.isCancel !== true || !cancelled.isFollowed(last.view, io.now()))) {
          // Who ended it is known only by what it has written last.
          const { turned } = last.view.last?.state ?? {};
          return await finish(end.outcome, end.message, { turned }, wayOut(last));
        }
      } else cancelled.reset();
      const isAway = outage.why !== undefined;
      const kept = isAway ? undefined : await outage.read(async () => ({ nobody: await keeper.look() }));
      if (kept !== undefined) {
        nobody = kept.nobody;
        noWorker.now(nobody && `${afterPods(plan, nobody)}: the update waits for a worker`);
      }
      // Without a worker nobody is there to start one.
      missingSince = missing === undefined || nobody !== undefined ? undefined : (missingSince ?? io.now());
      if (missing !== undefined && missingSince !== undefined && io.now() - missingSince >= MISSING_MS)
        return await finish('failed', `${missing}, and no worker has started another`);
    }
    const limit = Math.max(movedAt, restsUntil) + timeoutMs;
    if (timeoutMs > 0 && io.now() >= limit) {
      const here = describeFailing(plan, failing) ?? why ?? whyNothingMoves(plan);
      const waits = outage.why ?? (nobody === undefined ? here : afterPods(plan, nobody));
      return await finish('timeout', `no progress for ${formatAge(timeoutMs)}: ${waits}`);
    }
    const waitMs = Math.max(followed.pollIntervalMs, outage.waitMs);
    await pause(timeoutMs > 0 ? Math.min(waitMs, Math.max(limit - io.now(), 0)) : waitMs, io.interrupted);
  }
  return await report(session, followed, { ...INTERRUPTED, ...told });
}

/**
 * How the followed update has ended, once its run cannot tell: a commit, or another update, took its place, and all runs of one
 * controller have one workflow id.
 */
function endBeforeOther(view: UpdateView, record: string | undefined): RecordedEnd | undefined {
  const end = record === undefined ? undefined : recordedEnd(view, record);
  if (record === undefined || end === undefined) return undefined;
  return end.outcome === 'Superseded' || isFollowedByOther(view, record) ? end : undefined;
}

/**
 * Whether the update period may have begun since the last look: one has grown, a next controller that was not there yet too. At the first
 * look, what it holds is next, or the pods of a growth of before are still awaited.
 */
function mayRest(before: RollingUpdatePlan | undefined, plan: RollingUpdatePlan): boolean {
  const { view, step, progress } = plan;
  if (view.state.updatePeriodMs === 0) return false;
  if (before === undefined) {
    const areBothThere = progress.old !== undefined && progress.next !== undefined;
    return isHeldByPeriod(plan) || (areBothThere && step.do === 'await');
  }
  // What gets the old name is no growth.
  const isOldGrown = (progress.old?.replicas ?? 0) > (before.progress.old?.replicas ?? Infinity);
  return isOldGrown || (progress.next?.replicas ?? 0) > (before.progress.next?.replicas ?? 0);
}

/** What the sizes do not show: that it waits for somebody, at its end, or that it cannot go where it was sent. */
function whyStillThere(plan: RollingUpdatePlan): string | undefined {
  const { step, progress, view } = plan;
  const isWaiting = step.do === 'await' && !step.urgent && progress.phase === 'CleaningUp';
  return isWaiting ? reasonOf(plan) : describeVainTurn(view);
}

function wayOut(plan: RollingUpdatePlan): string | undefined {
  return plan.step.do === 'refuse' ? wayOutOfRefusal(plan) : undefined;
}

async function lookAtRun(
  temporal: OpenTemporal,
  workflowId: string,
  away: ChangingNote,
  seen: (failing: FailingStep | undefined) => void,
): Promise<RunEnd | typeof MISSING> {
  try {
    const end = await temporal.call(async (): Promise<RunEnd> => {
      const handle = temporal.client.workflow.getHandle<() => Promise<RollingUpdateResult>>(workflowId);
      const { status, raw } = await handle.describe();
      const isOpen = isOpenRun(status.name);
      seen(isOpen ? failingStep(raw) : undefined);
      if (isOpen) return undefined;
      if (status.name !== 'COMPLETED') {
        const cause = await handle.result().then(
          () => '',
          (error: unknown) => rootMessage(error),
        );
        const what = `its run is ${status.name.toLowerCase()}`;
        const message = cause === '' ? what : status.name === 'FAILED' ? cause : `${what}: ${cause}`;
        return { outcome: 'failed', message, ...(status.name === 'CANCELLED' && { isCancel: true }) };
      }
      const { outcome } = await handle.result();
      return { outcome, message: '' };
    });
    away.now(undefined);
    return end;
  } catch (error) {
    const { WorkflowNotFoundError } = await import('@temporalio/client');
    if (error instanceof WorkflowNotFoundError) {
      away.now(undefined);
      return MISSING;
    }
    // The cluster still shows how it goes.
    away.now(`Temporal at ${temporal.address} does not answer: ${toMessage(error)}`);
    return undefined;
  }
}

function rootMessage(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return toMessage(current);
}

async function report(
  session: Session,
  { reference, shownNext, isRollback }: FollowedUpdate,
  end: End,
): Promise<ExitCode> {
  const { io, options } = session;
  const { outcome, detail, turned, by } = end;
  const { name, namespace } = reference;
  const to = shownNext === undefined || reference.next === undefined ? name : reference.next;
  const sentences: Readonly<Record<Outcome, string>> = {
    Succeeded: isRollback
      ? `the update of ${name} could not be rolled back: it was over`
      : `${to} is rolled out`,
    Aborted: `the update of ${name} was ${describeTurn(turned ?? {})}`,
    Superseded: `the update of ${name} was superseded: ${turned?.reason ?? (by === undefined ? 'a commit brings another manifest' : `${by} is rolled out instead`)}`,
    failed: `the rolling update of ${name} failed: ${detail}`,
    timeout: detail,
    interrupted: detail,
  };
  const message = sentences[outcome];
  const document: RollingUpdateDocument = {
    apiVersion: CLI_API_VERSION,
    kind: 'RollingUpdate',
    outcome,
    namespace,
    name,
    ...(shownNext !== undefined && { next: shownNext }),
    message,
    ...(turned !== undefined && (outcome === 'Aborted' || outcome === 'Superseded') && { turned }),
  };
  const isWell = outcome === (isRollback ? 'Aborted' : 'Succeeded');
  if (!(await printStructured(io, options, document))) {
    const next = nextStep(reference, isRollback, end);
    if (isWell) io.out(options.output === 'name' ? `replicationcontroller/${to}\n` : `${oneLine(message)}\n`);
    else if (outcome === 'interrupted') io.err(`note: ${message}; ${next}\n`);
    else io.err(`error: ${oneLine(message)}\n  ${next}\n`);
  }
  return isWell ? EXIT.ok : EXIT_CODES[outcome];
}

const EXIT_CODES: Readonly<Record<Outcome, ExitCode>> = {
  Succeeded: EXIT.failed,
  Aborted: EXIT.failed,
  Superseded: EXIT.failed,
  failed: EXIT.failed,
  timeout: EXIT.timeout,
  interrupted: EXIT.interrupted,
};

/** What helps now. The same command attaches only while the update goes the way that it asks for. */
function nextStep(
  { name, namespace }: UpdateReference,
  isRollback: boolean,
  { outcome, isGoingBack, next }: End,
): string {
  const [rc, where] = [`rc/${name}`, `-n ${namespace}`];
  switch (outcome) {
    case 'interrupted':
    case 'timeout':
      return isGoingBack === isRollback
        ? `the same command attaches to it again; \`fairlead explain ${rc} ${where}\` says what it waits for`
        : `it is being rolled back meanwhile: \`fairlead rollout status ${rc} ${where}\` follows it`;
    case 'Superseded':
      return `\`fairlead rollout status ${rc} ${where}\` follows the one that comes after it`;
    case 'failed':
      return (
        next ??
        `\`fairlead explain ${rc} ${where}\` says how it stands; \`fairlead rollout retry ${rc} ${where}\` starts it again`
      );
    case 'Aborted':
    case 'Succeeded':
      return `\`fairlead rollout history ${rc} ${where}\` shows what became of it; roll it out again with --image=… or -f FILE`;
  }
}
