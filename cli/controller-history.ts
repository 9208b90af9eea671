/** `rollout history rc/NAME`: the records of its rolling updates are its revisions; Temporal tells of one under way whether a run is open. */

import { attemptOfRun } from '../controllers/closed-run.ts';
import { readAttempts } from '../kubernetes/attempts.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { UpdateRecord } from '../planners/rolling-update-record.ts';
import { isActiveRecord } from '../planners/rolling-update-record.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { isOfOtherUpdate } from '../planners/rolling-update-run.ts';
import type { AskedRun } from './controller-session.ts';
import { findUpdate, readRecordedPlan } from './controller-session.ts';
import { RunWatch } from './run-watch.ts';
import type { Session } from './session.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import type { HistoryOptions, RevisionView } from './rollout-history.ts';
import { printHistory } from './rollout-history.ts';
import { withSession } from './session.ts';
import { asText } from '../planners/values.ts';
import { isUnderWay, laterName } from './update-state.ts';

/** Runs the verb. */
export async function runControllerHistory(call: Call<HistoryOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const reference = await findUpdate(session, call);
    const plan = await readRecordedPlan(session, reference);
    const { view } = plan;
    const later = laterName(view);
    if (later !== undefined && view.old === undefined && call.options.output === 'table') {
      const hint = `fairlead rollout history rc/${later} -n ${reference.namespace}`;
      session.io.err(`note: ${reference.name} has become ${later}: ${hint}\n`);
    }
    return await printHistory(call, {
      workload: `replicationcontroller/${reference.name}`,
      namespace: reference.namespace,
      revisionKind: 'controllerrevision',
      all: withRun(viewRecords(view), view, await readClosedRun(session, plan)),
    });
  });
}

/** The run of an update that nothing carries out any more: what is written in the cluster does not say that it was terminated. */
async function readClosedRun(session: Session, plan: RollingUpdatePlan): Promise<AskedRun | undefined> {
  const { record, paused, namespace, name } = plan.view;
  if (!isUnderWay(plan) || record === undefined || paused !== undefined) return undefined;
  return await new RunWatch(session, { namespace, name }).closedAtLast();
}

/**
 * What is under way with what became of its run, where none is open: an attempt like those that are recorded, unless it is among them.
 * @param run Closed, or none; undefined where one is open, and where nobody can tell
 */
export function withRun(
  revisions: readonly RevisionView[],
  { paused }: Pick<UpdateView, 'paused'>,
  run: AskedRun | undefined,
): readonly RevisionView[] {
  return revisions.map((one): RevisionView => {
    if (one.underWay === undefined) return one;
    if (paused !== undefined) return { ...one, underWay: 'Paused' };
    if (run === undefined) return one;
    const { underWay: _, ...rest } = one;
    if (run.state === 'unreachable' || isOfOtherUpdate(run, one.createdAt)) return rest;
    const attempt = attemptOfRun(run, one.begun);
    if (attempt === undefined || rest.attempts.some(({ runId }) => runId === attempt.runId)) return rest;
    return { ...rest, attempts: [...rest.attempts, attempt] };
  });
}

/**
 * The records of a controller as revisions, oldest first: those of its name, and those of the names that it had before. One whose
 * place another has taken has no present revision and no complete one, until something is rolled out under its name again.
 */
export function viewRecords({
  records,
  name,
  old,
}: Pick<UpdateView, 'records' | 'name'> & Partial<Pick<UpdateView, 'old'>>): readonly RevisionView[] {
  const own = lineageOf(records, name);
  const complete = own.findLast(({ from, to, state }) => state.phase === 'Done' && [from, to].includes(name));
  const stands = complete?.to === name ? complete : undefined;
  const present = own.findLast((record) => record.from === name && isActiveRecord(record)) ?? stands;
  return own.map((record) => viewRecord(record, { complete: stands, present }, old));
}

/** @param records Oldest first. */
function lineageOf(records: readonly UpdateRecord[], name: string): readonly UpdateRecord[] {
  const names = new Set([name]);
  return records
    .toReversed()
    .filter(({ from, to, state }) => {
      const isOwn = names.has(from) || names.has(to);
      if (names.has(to) && state.phase === 'Done') names.add(from);
      return isOwn;
    })
    .toReversed();
}

/** What takes a controller back to what it was before: an update under way is aborted, of one that is over the image of before rolled out. */
export function commandsBack(plan: RollingUpdatePlan): readonly string[] {
  const { records, name, old, isRenamed } = plan.view;
  const where = `-n ${plan.view.namespace}`;
  if (isUnderWay(plan) && old !== undefined && !isRenamed)
    return [`fairlead rollout abort rc/${name} ${where}`];
  const present = records.findLast(
    ({ from, to, state }) => state.phase !== 'Aborted' && [from, to].includes(name),
  );
  const { replaced, to = name, controller } = present ?? {};
  const containers = controller?.spec.template?.spec.containers ?? [];
  const commands = containers.flatMap(({ name: container, image }) => {
    const before = asText(replaced?.images?.[container]);
    if (before === undefined || before === image) return [];
    const which = containers.length === 1 ? '' : ` --container=${container}`;
    return [`fairlead rolling-update ${to} --image=${before}${which} ${where}`];
  });
  return commands.length > 0 ? commands : [`fairlead rolling-update ${to} -f FILE ${where}`];
}

function viewRecord(
  record: UpdateRecord,
  { complete, present }: Readonly<Record<'complete' | 'present', UpdateRecord | undefined>>,
  old: UpdateView['old'],
): RevisionView {
  const { revision, controller, state, from, to } = record;
  const { name, creationTimestamp } = revision.metadata;
  const { template } = controller.spec;
  // What was begun by hand has the commit of the controller that is replaced.
  const commit = controller.metadata.annotations?.[ANNOTATION.commit];
  const isOfGit = state.begun === undefined && commit !== old?.metadata.annotations?.[ANNOTATION.commit];
  return {
    revision: revision.revision,
    name,
    ...(creationTimestamp !== undefined && { createdAt: creationTimestamp }),
    roles: [
      ...(record === present ? (['present'] as const) : []),
      ...(record === complete ? (['complete'] as const) : []),
    ],
    images: (template?.spec.containers ?? []).map(({ image = '' }) => image),
    attempts: readAttempts(revision),
    from,
    to,
    phase: state.phase,
    ...(record === present && isActiveRecord(record) && { underWay: 'Running' }),
    ...(state.begun && { begun: state.begun }),
    ...(isActiveRecord(record) && isOfGit && commit !== undefined && { commit }),
    ...(template !== undefined && { template }),
  };
}
