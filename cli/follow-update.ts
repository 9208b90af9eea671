/** Shows a rolling update until it is over: a line for each change of what the cluster holds, the end from its run. */

import { pause } from '../kubernetes/backoff.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import type { ControllerProgress, UpdateProgress } from '../planners/rolling-update-steps.ts';
import type { Wish } from '../planners/workload.ts';
import type { RollingUpdateResult } from '../workflows/rolling-update-messages.ts';
import { formatAge } from './durations.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import type { Session } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { OpenTemporal } from './temporal.ts';
import { describeWish } from './workload-state.ts';

export interface FollowedUpdate {
  readonly reference: UpdateReference;
  /** Name of the next controller, as far as it is known. */
  readonly shownNext: string | undefined;
  readonly workflowId: string;
  /** The way back is what was asked for. */
  readonly isRollback: boolean;
  readonly pollIntervalMs: number;
}

type Outcome = 'Succeeded' | 'Aborted' | 'failed' | 'timeout' | 'interrupted';

interface RollingUpdateDocument extends Document {
  readonly kind: 'RollingUpdate';
  readonly outcome: Outcome;
  readonly namespace: string;
  readonly name: string;
  readonly next?: string;
  readonly message: string;
}

/** How the run ended, if it has. */
type RunEnd = { readonly outcome: 'Succeeded' | 'Aborted' | 'failed'; readonly message: string } | undefined;

/** kubectl's, and that without progress (K5). */
const DEFAULT_TIMEOUT_MS = 300_000;
/** Between two looks at the run, milliseconds. */
const RUN_LOOK_MS = 1_000;

/** Exit code 3 when nothing has moved for --timeout; the update goes on all the same, as it does after Ctrl-C. */
export async function followUpdate(
  session: Session,
  temporal: OpenTemporal,
  followed: FollowedUpdate,
): Promise<ExitCode> {
  const { io, options, client } = session;
  const isQuiet = options.output !== 'table' && options.output !== 'wide';
  const timeoutMs = options.timeout ?? DEFAULT_TIMEOUT_MS;
  let shown = '';
  let why = '';
  let movedAt = io.now();
  let lookedAt = 0;
  while (!io.interrupted.aborted) {
    const plan = planRollingUpdate(await readUpdate(client, followed.reference, io.interrupted), io.now());
    const { paused } = plan.view;
    const held = paused === undefined ? '' : ` (${describePause(paused)})`;
    const line = `${describeProgress(plan.progress)}${held}`;
    if (line !== shown) {
      shown = line;
      movedAt = io.now();
      if (!isQuiet) io.out(`${oneLine(line)}\n`);
    }
    why = reasonOf(plan) ?? why;
    if (io.now() - lookedAt >= RUN_LOOK_MS) {
      lookedAt = io.now();
      const end = await lookAtRun(session, temporal, followed.workflowId);
      if (end !== undefined) return await report(session, followed, end.outcome, end.message);
    }
    if (timeoutMs > 0 && io.now() - movedAt >= timeoutMs) {
      const waits = why === '' ? '' : `: ${why}`;
      return await report(session, followed, 'timeout', `no progress for ${formatAge(timeoutMs)}${waits}`);
    }
    await pause(Math.min(followed.pollIntervalMs, RUN_LOOK_MS), io.interrupted);
  }
  return await report(
    session,
    followed,
    'interrupted',
    'the update goes on; the same command attaches to it again',
  );
}

async function lookAtRun({ io }: Session, temporal: OpenTemporal, workflowId: string): Promise<RunEnd> {
  try {
    return await temporal.call(async () => {
      const handle = temporal.client.workflow.getHandle<() => Promise<RollingUpdateResult>>(workflowId);
      const { status } = await handle.describe();
      if (status.name === 'RUNNING') return undefined;
      if (status.name !== 'COMPLETED') {
        const cause = await handle.result().then(
          () => '',
          (error: unknown) => rootMessage(error),
        );
        const what = `its run is ${status.name.toLowerCase()}`;
        return { outcome: 'failed', message: cause === '' ? what : `${what}: ${cause}` };
      }
      const { outcome } = await handle.result();
      return { outcome, message: '' };
    });
  } catch (error) {
    // The cluster still shows how it goes.
    io.err(`note: Temporal at ${temporal.address} does not answer: ${oneLine(toMessage(error))}\n`);
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
  outcome: Outcome,
  detail: string,
): Promise<ExitCode> {
  const { io, options } = session;
  const { name, namespace } = reference;
  const to = shownNext === undefined || reference.next === undefined ? name : reference.next;
  const sentences: Readonly<Record<Outcome, string>> = {
    Succeeded: `${to} is rolled out`,
    Aborted: `the update of ${name} was rolled back`,
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
  };
  const isWell = outcome === 'Succeeded' || (outcome === 'Aborted' && isRollback);
  if (!(await printStructured(io, options, document))) {
    if (isWell) io.out(options.output === 'name' ? `replicationcontroller/${to}\n` : `${message}\n`);
    else if (outcome === 'interrupted') io.err(`note: ${message}\n`);
    else {
      io.err(`error: ${oneLine(message)}\n`);
      io.err(
        `  it is as the line above says; \`fairlead rolling-update ${name} -n ${namespace}\` attaches again\n`,
      );
    }
  }
  switch (outcome) {
    case 'Succeeded':
      return EXIT.ok;
    case 'Aborted':
      return isRollback ? EXIT.ok : EXIT.failed;
    case 'failed':
      return EXIT.failed;
    case 'timeout':
      return EXIT.timeout;
    case 'interrupted':
      return EXIT.interrupted;
  }
}

/** `rolling: foo 2 (2 available), foo-9f3a 2 (1 available); 3 wanted` */
export function describeProgress({ phase, old, next, desired }: UpdateProgress): string {
  const size = (one: ControllerProgress | undefined) =>
    one === undefined ? [] : [`${one.name} ${String(one.replicas)} (${String(one.available)} available)`];
  const both = [...size(old), ...size(next)].join(', ');
  return `${PHASES[phase]}: ${both === '' ? 'pods without a controller' : both}; ${String(desired)} wanted`;
}

const PHASES: Readonly<Record<UpdateProgress['phase'], string>> = {
  Initialising: 'beginning',
  Rolling: 'rolling',
  RollingBack: 'rolling back',
  CleaningUp: 'cleaning up',
  Renaming: 'renaming',
  Finished: 'finished',
};

function describePause(wish: Wish): string {
  return `paused ${describeWish(wish)}`.trimEnd();
}

/** What it waits for, in a sentence: who paused it comes first, also while the last step before the pause is still awaited. */
export function reasonOf({ step, view: { paused } }: RollingUpdatePlan): string | undefined {
  switch (step.do) {
    case 'await': {
      const what = step.waiting[0]?.message;
      if (paused === undefined) return what;
      return `${describePause(paused)}${what === undefined ? '' : `; meanwhile ${what}`}`;
    }
    case 'paused':
      return describePause(step);
    case 'refuse':
      return step.message;
    case 'write':
    case 'done':
      return undefined;
  }
}
