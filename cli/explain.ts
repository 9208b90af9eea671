/** `fairlead explain`: why is nothing happening? Needs no worker: the planner runs here. */

import { isBootstrap } from '../planners/bootstrap.ts';
import { LABEL } from '../planners/names.ts';
import type { PlannedWorkload } from './snapshot.ts';
import { readPlan } from './snapshot.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import { gitTrouble, readGitState, wasRolledOutSince } from './git-state.ts';
import type { GitState } from './git-state.ts';
import type { Call } from './io.ts';
import type { LeaseState } from './lease.ts';
import { leaseName, readLease } from './lease.ts';
import { whyNobodyActs } from './lease-watch.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { fullStop } from '../kubernetes/sentence.ts';
import { targetOf, withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { RunState } from './temporal.ts';
import { describeRun, troubleOf } from './temporal.ts';
import type { Verdict } from './verdict.ts';
import { causesFirst, describeReason, isDone, judge } from './verdict.ts';
import { formatWorkload } from './workload-argument.ts';
import type { WorkloadView } from './workload-view.ts';
import { stalledOf } from './workload-state.ts';
import { viewWorkload } from './workload-view.ts';

interface ExplanationDocument extends Document, Verdict {
  readonly kind: 'Explanation';
  readonly workload: WorkloadView;
  /** All reasons of the planner. */
  readonly waiting: PlannedWorkload['plan']['waiting'];
  readonly progress: PlannedWorkload['plan']['progress'];
  readonly lease: LeaseState;
  readonly run: RunState;
  /** The last commit of its repository. */
  readonly git?: GitState;
  /** What could not be read. */
  readonly notes: readonly string[];
}

/** What is only true while a worker acts. */
const GOES_ON: ReadonlySet<Verdict['verdict']> = new Set([
  'TemporalUnreachable',
  'RunHeld',
  'Waiting',
  'Working',
]);

/** Runs the verb; 0 whatever the answer is. */
export async function runExplain(call: Call): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const { argument, target } = targetOf(session, call.operands[0] ?? '');
    const [planned, lease] = await Promise.all([readPlan(session, target), readLease(session)]);
    const { object, workload, plan } = planned;
    const isInProcess = isBootstrap(workload);
    const run: RunState = isInProcess ? { state: 'none' } : await describeRun(session, target);
    const notes = [...planned.notes];
    const git = await readGitState(session, object, notes);
    const goesOn = run.state === 'running' && stalledOf(object) === undefined;
    const isOver =
      workload.pinned !== undefined || goesOn || (isDone(plan) && wasRolledOutSince(git, object));
    const trouble = gitTrouble(git, target, isOver);
    const evidence = {
      object,
      workload,
      plan,
      snapshot: planned.snapshot,
      lease,
      leaseName: leaseName(session),
      run,
      ...(trouble && { gitTrouble: trouble }),
      now: io.now(),
    };
    const first = judge(evidence);
    // Nothing is said to go on before it is known that somebody lives who does it.
    const silent = GOES_ON.has(first.verdict) ? await whyNobodyActs(session) : undefined;
    const verdict = silent === undefined ? first : judge({ ...evidence, silent });
    const held = troubleOf(run, lease.state !== 'free' && silent === undefined)?.text;
    if (held !== undefined && !verdict.sentence.includes(held)) notes.push(held);
    const document: ExplanationDocument = {
      apiVersion: CLI_API_VERSION,
      kind: 'Explanation',
      ...verdict,
      workload: viewWorkload(object, argument.kind, argument.api),
      waiting: plan.waiting,
      progress: plan.progress,
      lease,
      run,
      ...(git && { git }),
      notes: [...notes, ...(lease.state === 'unknown' ? [`not looked at: ${lease.message}`] : [])],
    };
    if (await printStructured(io, options, document)) return EXIT.ok;
    const lines = [
      `${formatWorkload(argument)}: ${fullStop(verdict.sentence)}`,
      ...details(document, isInProcess, trouble?.text, io.now()),
    ];
    io.out(`${lines.map(oneLine).join('\n')}\n`);
    return EXIT.ok;
  });
}

function details(
  { verdict, waiting, progress, run, lease, next, sentence, git, notes }: ExplanationDocument,
  isInProcess: boolean,
  failed: string | undefined,
  now: number,
): string[] {
  // Of such a workload the planner wants nothing, and does not count pods that were freed.
  const isDeleting = verdict === 'Deleting';
  const others = (isDeleting ? [] : causesFirst(waiting))
    .map((reason) => describeReason(reason, now))
    .filter((text) => !sentence.includes(text));
  const { updatedAvailable, target, available, desired, unavailable, maxUnavailable } = progress;
  const counts =
    `  progress: ${String(updatedAvailable)} of ${String(target)} updated and available; ${String(available)} of ${String(desired)} ` +
    `available in all; ${String(unavailable)} unavailable, ${String(maxUnavailable)} allowed`;
  return [
    ...(isDeleting ? [] : [counts]),
    ...others.map((text) => `  also:     ${text}`),
    `  run:      ${isInProcess ? `in the worker's process (${LABEL.bootstrap})` : describeRunState(run)}`,
    ...(failed === undefined || sentence.includes(failed) ? [] : [`  git:      ${failed}`]),
    ...(git?.drift === undefined ? [] : [`  drift:    ${git.drift}`]),
    ...(lease.state === 'held' ? [`  leader:   ${lease.holder}`] : []),
    ...notes.map((note) => `  note:     ${note}`),
    ...(next === undefined ? [] : [`  next:     ${next}`]),
  ];
}

/** A run in a few words. */
// oxlint-disable-next-line typescript/consistent-return -- every case returns; the compiler checks it
export function describeRunState(run: RunState): string {
  switch (run.state) {
    case 'unreachable':
      return `unknown, ${run.message}`;
    case 'none':
      return 'none (not known to Temporal)';
    case 'running':
      return `${run.runId} ${run.status === 'PAUSED' ? 'paused in Temporal, begun' : 'running since'} ${run.startedAt}`;
    case 'closed':
      return `none; the last, ${run.runId}, ended ${run.closedAt ?? ''} as ${run.status}`;
  }
}
