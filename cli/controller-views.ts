/** `rollout status`, `watch`, `explain`, `rollout history` of `rc/NAME`: from what the cluster holds, as for any workload. */

import type { Attempt } from '../kubernetes/attempts.ts';
import { readAttempts } from '../kubernetes/attempts.ts';
import { pause } from '../kubernetes/backoff.ts';
import { stringifyJson } from '../kubernetes/json.ts';
import { escapeUnsafe, oneLine } from '../kubernetes/safe-text.ts';
import { sizeOf } from '../planners/replication-controller.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import type { UpdateRun } from './controller-session.ts';
import { isUnderWay, readPlan, readRun, updateOf } from './controller-session.ts';
import { ageOf } from './durations.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import { describeProgress, reasonOf } from './follow-update.ts';
import type { Call } from './io.ts';
import type { LeaseState } from './lease.ts';
import { describeFree, leaseName, readLease } from './lease.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import { formatTable } from './table.ts';

const LOOK_MS = 500;

/** Runs `rollout status`. */
export async function runControllerStatus(call: Call<{ readonly watch: boolean }>): Promise<ExitCode> {
  return await follow(call, { isOnce: !call.options.watch, untilDone: true, isWatch: false });
}

/** Runs `watch`: a line for each change. */
export async function runControllerWatch(call: Call<{ readonly untilDone?: boolean }>): Promise<ExitCode> {
  return await follow(call, { isOnce: false, untilDone: call.options.untilDone === true, isWatch: true });
}

type Outcome = 'done' | 'rolledBack' | 'progressing' | 'stalled' | 'timeout';

async function follow(
  call: Call,
  {
    isOnce,
    untilDone,
    isWatch,
  }: { readonly isOnce: boolean; readonly untilDone: boolean; readonly isWatch: boolean },
): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = session;
    const reference = updateOf(session, call);
    const isQuiet = options.output === 'json' || options.output === 'yaml';
    const isStream = isWatch && options.output === 'json';
    const began = io.now();
    let shown = '';
    let wasUnderWay = false;
    while (!io.interrupted.aborted) {
      const plan = await readPlan(session, reference);
      const { outcome, sentence } = judge(plan, wasUnderWay);
      wasUnderWay ||= isUnderWay(plan);
      if (sentence !== shown && !isQuiet) io.out(`${oneLine(sentence)}\n`);
      if (sentence !== shown && isStream)
        io.out(`${escapeUnsafe(stringifyJson(documentOf(plan, outcome, sentence)))}\n`);
      shown = sentence;
      const isLate = (options.timeout ?? 0) > 0 && io.now() - began >= (options.timeout ?? 0);
      const ended: Outcome | undefined =
        outcome !== 'progressing' && untilDone ? outcome : isOnce ? outcome : isLate ? 'timeout' : undefined;
      if (ended !== undefined) {
        if (!isStream) await printStructured(io, options, documentOf(plan, ended, sentence));
        if (ended === 'timeout') io.err(`error: timed out waiting for the update of ${reference.name}\n`);
        return ended === 'timeout'
          ? EXIT.timeout
          : ended === 'stalled' || ended === 'rolledBack'
            ? EXIT.failed
            : EXIT.ok;
      }
      await pause(LOOK_MS, io.interrupted);
    }
    return EXIT.interrupted;
  });
}

function documentOf({ progress, view: { name } }: RollingUpdatePlan, outcome: Outcome, sentence: string) {
  return { apiVersion: CLI_API_VERSION, kind: 'RolloutStatus', outcome, sentence, name, progress } as const;
}

function judge(
  plan: RollingUpdatePlan,
  wasUnderWay: boolean,
): { readonly outcome: Outcome; readonly sentence: string } {
  const { view, step, progress } = plan;
  if (isUnderWay(plan)) {
    if (step.do === 'refuse') return { outcome: 'stalled', sentence: step.message };
    const why = reasonOf(plan);
    return {
      outcome: 'progressing',
      sentence: `${describeProgress(progress)}${why === undefined ? '' : ` (${why})`}`,
    };
  }
  const { old, last, name } = view;
  if (wasUnderWay && last?.state.phase === 'Aborted') {
    return { outcome: 'rolledBack', sentence: `the update of ${name} was rolled back` };
  }
  if (old === undefined) {
    const to = last?.to ?? name;
    return last?.state.phase === 'Done'
      ? { outcome: 'done', sentence: `replication controller "${to}" has taken the place of "${name}"` }
      : { outcome: 'stalled', sentence: `there is no ReplicationController ${name}` };
  }
  const [desired, available] = [sizeOf(old), old.status?.availableReplicas ?? 0];
  return available < desired
    ? {
        outcome: 'progressing',
        sentence: `${String(available)} of ${String(desired)} replicas of ${name} are available`,
      }
    : { outcome: 'done', sentence: `replication controller "${name}" successfully rolled out` };
}

/** Runs `explain`: what an operator wants to hear first, in one sentence. */
export async function runControllerExplain(call: Call): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const reference = updateOf(session, call);
    const [plan, run, lease] = await Promise.all([
      readPlan(session, reference),
      readRun(session, reference),
      readLease(session),
    ]);
    const { verdict, sentence } = explain(plan, run, lease, leaseName(session));
    const document = {
      apiVersion: CLI_API_VERSION,
      kind: 'Explanation',
      verdict,
      sentence,
      run,
      lease,
      progress: plan.progress,
      namespace: reference.namespace,
      name: reference.name,
      waiting: plan.step.do === 'await' ? plan.step.waiting : [],
    } as const;
    if (await printStructured(io, options, document)) return EXIT.ok;
    io.out(`${oneLine(`replicationcontroller/${reference.name}: ${sentence}.`)}\n`);
    if (isUnderWay(plan)) io.out(`${oneLine(`  ${describeProgress(plan.progress)}`)}\n`);
    return EXIT.ok;
  });
}

/** Pods without a controller come first: nothing heals them. Then what keeps the update from going on, then what it waits for. */
export function explain(
  plan: RollingUpdatePlan,
  run: UpdateRun,
  lease: LeaseState,
  leaseText: string,
): { readonly verdict: string; readonly sentence: string } {
  const { view, step } = plan;
  const { name, namespace } = { name: view.name, namespace: namespaceOf(plan) };
  const retry = `\`fairlead rollout retry rc/${name} -n ${namespace}\``;
  const dead =
    lease.state === 'free'
      ? describeFree(lease, leaseText)
      : run.state === 'unreachable'
        ? run.message
        : run.state === 'running'
          ? undefined
          : `no run is open${run.state === 'closed' ? ` (the last one is ${run.status.toLowerCase()})` : ''}: ${retry} starts one`;
  const nobody = view.old === undefined && view.nextController === undefined;
  if (nobody && view.record?.state.phase === 'Renaming') {
    const pods = `${String(view.pods.length)} pods have no controller: ${view.record.next} is gone and ${name} is not there yet`;
    return { verdict: 'PodsWithoutController', sentence: dead === undefined ? pods : `${pods}; ${dead}` };
  }
  if (!isUnderWay(plan)) {
    const { outcome, sentence } = judge(plan, false);
    return { verdict: outcome === 'done' ? 'Complete' : 'NoUpdate', sentence };
  }
  const isPaused = step.do === 'paused' || (step.do === 'await' && view.paused !== undefined);
  if (isPaused) return { verdict: 'Paused', sentence: reasonOf(plan) ?? 'it is paused' };
  if (dead !== undefined) return { verdict: 'NoRun', sentence: `the update does not go on: ${dead}` };
  if (step.do === 'refuse') return { verdict: step.code, sentence: step.message };
  const [reason] = step.do === 'await' ? step.waiting : [];
  return reason === undefined
    ? {
        verdict: 'Progressing',
        sentence: step.do === 'write' ? `about to ${step.write.message}` : 'it goes on',
      }
    : { verdict: reason.code, sentence: reason.message };
}

function namespaceOf({ view: { old, nextController, record } }: RollingUpdatePlan): string {
  return (
    old?.metadata.namespace ??
    nextController?.metadata.namespace ??
    record?.controller.metadata.namespace ??
    'default'
  );
}

/** Runs `rollout history`: the records of the controller, and what became of each run. */
export async function runControllerHistory(call: Call): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const reference = updateOf(session, call);
    const { name, namespace } = reference;
    const { view } = await readPlan(session, reference);
    const revisions = view.records
      .filter(({ from, to }) => from === name || to === name)
      .map(({ revision, controller, state, from, to }) => ({
        revision: revision.revision,
        name: revision.metadata.name,
        from,
        to,
        phase: state.phase,
        images: (controller.spec.template?.spec.containers ?? []).map(({ image = '' }) => image),
        attempts: readAttempts(revision),
      }));
    const document = {
      apiVersion: CLI_API_VERSION,
      kind: 'RolloutHistory',
      workload: `replicationcontroller/${name}`,
      namespace,
      revisions,
    } as const;
    if (await printStructured(io, options, document)) return EXIT.ok;
    if (revisions.length === 0) {
      io.out(`no rolling update of ${name} has been recorded\n`);
      return EXIT.ok;
    }
    const rows = revisions.flatMap((one) => {
      const attempts: readonly (Attempt | undefined)[] =
        one.attempts.length === 0 ? [undefined] : one.attempts;
      return attempts.map((attempt) => ({ one, attempt }));
    });
    const table = formatTable(
      [
        { title: 'REVISION', value: ({ one }) => String(one.revision) },
        { title: 'RECORD', value: ({ one }) => one.name },
        { title: 'IMAGES', value: ({ one }) => one.images.join(',') },
        { title: 'OUTCOME', value: ({ one, attempt }) => attempt?.outcome ?? one.phase },
        { title: 'AGE', value: ({ attempt }) => ageOf(attempt?.startedAt, io.now()) },
        { title: 'BY', value: ({ attempt }) => attempt?.by ?? '' },
        { title: 'WHY', value: ({ attempt }) => attempt?.reason ?? attempt?.commit?.slice(0, 8) ?? '' },
      ],
      rows,
    );
    io.out(table);
    return EXIT.ok;
  });
}
