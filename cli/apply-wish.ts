/** What every verb that changes a workload does: write the object, tell the run, wait until a controller has seen it, say so. */

import { isNotFound } from '../kubernetes/api-error.ts';
import { saysTemporalAway } from '../planners/conditions.ts';
import { workloadPath } from '../kubernetes/workload-api.ts';
import type { WishResult, WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { formatAge } from './durations.ts';
import { awaitWorkload } from './follow-workload.ts';
import { describeFree, findKeeper, leaseName, readLease, whyNotKept } from './lease.ts';
import type { CommitToCome } from './git-state.ts';
import { commitToCome, describeToCome, readGitState } from './git-state.ts';
import type { LeaseState } from './lease.ts';
import { lookAfterWrite } from './outage.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { SignalOutcome } from './temporal.ts';
import type { WorkloadArgument } from './workload-argument.ts';
import { formatWorkload } from './workload-argument.ts';
import { conditionsOf } from './workload-state.ts';

export interface WaitOption {
  /** `--no-wait` makes it false. */
  readonly wait: boolean;
}

export interface WishToApply {
  /** For the output: `pause`, `set image`. */
  readonly verb: string;
  readonly argument: WorkloadArgument;
  readonly target: WorkloadTarget;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly write: () => Promise<WishResult>;
  /** Nobody but Fairlead would honour it: refused where the leader has no eyes for the workload. */
  readonly needsKeeper?: boolean;
  /** Tells the running run; absent for verbs that a run learns from the object alone. */
  readonly signal?: () => Promise<SignalOutcome>;
  /** Whether a state of the object, at or after `generation`, shows the effect. */
  readonly seen: (object: WorkloadObject, generation: number) => boolean;
  /** It changes the template: without Temporal a controller that lives cannot act on it. */
  readonly needsRun?: boolean;
}

/** How far the effect could be followed. */
type EffectSeen = 'seen' | 'timeout' | 'temporalUnreachable' | 'noLeader' | 'notKept' | 'notAwaited';

interface WishDocument extends Document {
  readonly kind: 'WishResult';
  readonly verb: string;
  /** `statefulset.fairlead.dev/web` */
  readonly workload: string;
  readonly namespace: string;
  readonly changed: boolean;
  readonly message: string;
  readonly by?: string;
  readonly reason?: string;
  readonly effect: EffectSeen;
  /** What the running run was told. */
  readonly run?: SignalOutcome;
  /** It may change the workload after this. */
  readonly pendingCommit?: CommitToCome;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Healthy controllers answer sooner; only then is it worth asking who leads, and believing what the status said before the wish. */
const LEASE_AFTER_MS = 1_500;
const LEASE_AGAIN_MS = 3_000;

/** Exit code 3 when the effect was not seen in time, although the wish stands on the object. */
export async function applyWish(session: Session, wish: WishToApply, wait: boolean): Promise<ExitCode> {
  const { io, options } = session;
  const { lease, notKept } = await findKeeper(session, (one) =>
    whyNotKept(one, wish.target, leaseName(session)),
  );
  if (notKept !== undefined && wish.needsKeeper === true) {
    const name = `${formatWorkload(wish.argument)} -n ${session.namespace}`;
    throw new CliError(
      `${wish.verb} of ${name} would have no effect: ${notKept}\n  nothing was written; \`fairlead explain ${name}\` says more`,
      EXIT.failed,
      { code: 'NotKept' },
    );
  }
  const { changed, message } = await wish.write();
  const run = changed && wish.signal !== undefined ? await tell(io.interrupted, wish.signal) : undefined;
  const [look, toCome] = await Promise.all([
    changed && notKept === undefined && wait
      ? lookAfterWrite(io.interrupted, async () => await awaitEffect(session, wish))
      : { value: 'notAwaited' as const },
    // At once: by the time that the effect is seen it may have come.
    changed && wish.needsRun === true
      ? lookAfterWrite(io.interrupted, async () => await readToCome(session, wish.target))
      : { value: undefined },
  ]);
  const seen = 'value' in look ? look.value : 'notAwaited';
  const pendingCommit = 'value' in toCome ? toCome.value : undefined;
  const effect = changed && notKept !== undefined ? 'notKept' : seen;
  const document: WishDocument = {
    apiVersion: CLI_API_VERSION,
    kind: 'WishResult',
    verb: wish.verb,
    workload: formatWorkload(wish.argument),
    namespace: session.namespace,
    changed,
    message,
    ...(wish.by !== undefined && { by: wish.by }),
    ...(wish.reason !== undefined && { reason: wish.reason }),
    effect,
    ...(run && { run }),
    ...(pendingCommit && { pendingCommit }),
  };
  if (!(await printStructured(io, options, document))) {
    if (options.output === 'name') {
      io.out(`${document.workload}\n`);
    } else {
      io.out(`${oneLine(message)}\n`);
      for (const line of notes(session, document, { lease, notKept })) io.err(`${oneLine(line)}\n`);
      if ('unseen' in look)
        io.err(
          `note: written on the object; whether it takes effect was not looked at: ${oneLine(look.unseen)}\n`,
        );
    }
  }
  return effect === 'timeout' ? EXIT.timeout : EXIT.ok;
}

async function readToCome(session: Session, target: WorkloadTarget): Promise<CommitToCome | undefined> {
  try {
    const object = await session.client.get<WorkloadObject>(workloadPath(target), {
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
    return commitToCome(await readGitState(session, object), object);
  } catch (error) {
    // Deleted since it was written.
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function tell(
  interrupted: AbortSignal,
  signal: NonNullable<WishToApply['signal']>,
): Promise<SignalOutcome> {
  const told = await lookAfterWrite(interrupted, signal);
  return 'value' in told ? told.value : { outcome: 'notTold', message: told.unseen };
}

function notes(
  session: Session,
  { effect, run, pendingCommit, workload, namespace }: WishDocument,
  { lease, notKept }: { readonly lease: LeaseState; readonly notKept: string | undefined },
): string[] {
  const lines: string[] = [];
  if (run?.outcome === 'unreachable' || run?.outcome === 'notTold') {
    lines.push(`note: written on the object; the run was not told: ${run.message}`);
  }
  if (effect === 'noLeader') {
    const name = leaseName(session);
    const nobody =
      lease.state === 'free' ? describeFree(lease, name) : `no Fairlead worker holds the Lease ${name}`;
    lines.push(`note: written on the object; ${nobody}, so it takes effect when one starts`);
  }
  if (effect === 'temporalUnreachable') {
    lines.push(
      'note: written on the object; the worker does not reach Temporal, so the rollout begins when it does',
    );
  }
  if (effect === 'notKept' && notKept !== undefined) {
    lines.push(`note: written on the object, but Fairlead does nothing about it: ${notKept}`);
  }
  if (pendingCommit !== undefined) lines.push(`note: ${describeToCome(pendingCommit)}`);
  if (effect === 'timeout') {
    const limit = formatAge(timeoutOf(session));
    lines.push(
      `error: written on the object, but no controller has acted on it within ${limit}; see \`fairlead explain ${workload} -n ${namespace}\``,
    );
  }
  return lines;
}

async function awaitEffect(session: Session, wish: WishToApply): Promise<EffectSeen> {
  const { metadata } = await session.client.get<WorkloadObject>(workloadPath(wish.target), {
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
  const generation = metadata.generation ?? 0;
  const inVain = new AbortController();
  const over = new AbortController();
  let states = 0;
  let waitsForTemporal = false;
  let leaderless = false;
  const isInVain = async () => {
    if (!waitsForTemporal) leaderless = await isLeaderless(session);
    return waitsForTemporal || leaderless;
  };
  void abortWhen(isInVain, inVain, over.signal);
  try {
    const result = await awaitWorkload(
      session,
      wish.target,
      timeoutOf(session),
      (object) => {
        states += 1;
        if (object === undefined) return 'seen';
        waitsForTemporal = wish.needsRun === true && saysTemporalAway(conditionsOf(object));
        // To a revision that is there already a controller knows the way, and still cannot go it.
        if (wish.seen(object, generation)) return waitsForTemporal ? 'temporalUnreachable' : 'seen';
        // The first state may have been so before: a controller that reaches Temporal again is given the time to say so.
        return waitsForTemporal && states > 1 ? 'temporalUnreachable' : undefined;
      },
      inVain.signal,
    );
    if (result.outcome === 'timeout') {
      if (leaderless || (await isLeaderless(session))) return 'noLeader';
      return waitsForTemporal ? 'temporalUnreachable' : 'timeout';
    }
    // The first state may have been so before: that tells nothing of a controller.
    return states === 1 && (await isLeaderless(session)) ? 'noLeader' : result.value;
  } finally {
    over.abort();
  }
}

/** Looks until `over`: the holder of the Lease may have died a moment ago. */
async function abortWhen(
  isInVain: () => Promise<boolean>,
  inVain: AbortController,
  over: AbortSignal,
): Promise<void> {
  for (let wait = LEASE_AFTER_MS; !over.aborted; wait = LEASE_AGAIN_MS) {
    await pause(wait, over);
    if (!over.aborted && (await isInVain())) {
      inVain.abort();
      return;
    }
  }
}

/** Only a hint depends on the Lease: whoever waits for the workload meets the same trouble and reports it. */
async function isLeaderless(session: Session): Promise<boolean> {
  return await readLease(session).then(
    ({ state }) => state === 'free',
    () => false,
  );
}

function timeoutOf({ options }: Session): number {
  return options.timeout ?? DEFAULT_TIMEOUT_MS;
}
