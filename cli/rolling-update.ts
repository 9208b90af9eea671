/** `fairlead rolling-update OLD [NEW]`: starts the update, or attaches to the one that runs, and shows how it goes. */

import { isInvalid, isNotFound } from '../kubernetes/api-error.ts';
import { beginUpdate } from '../kubernetes/rolling-update-begin.ts';
import type { BegunUpdate } from '../kubernetes/rolling-update-begin.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { abortUpdate } from '../kubernetes/rolling-update-wishes.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { Wisher } from '../kubernetes/wish-edits.ts';
import { wish } from '../kubernetes/wish-edits.ts';
import type { Wish } from '../planners/workload.ts';
import { decideRollback } from '../planners/rolling-update-rollback.ts';
import { ANNOTATION } from '../planners/names.ts';
import { BudgetError } from '../planners/rolling-update-scale.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { updateNameOf, viewUpdate } from '../planners/rolling-update-view.ts';
import { readClusterUid } from './cluster-uid.ts';
import { connect, ensureRun, requireOwnCluster, tellUpdate } from './controller-session.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { followUpdate } from './follow-update.ts';
import { followedRows } from './followed-rows.ts';
import type { Call } from './io.ts';
import { findKeeper, leaseName, whyNamespaceNotKept } from './lease.ts';
import type { RollingUpdateOptions, RollingUpdateRequest } from './rolling-update-options.ts';
import { readRequest, unheeded } from './rolling-update-options.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { UpdatePlanDocument } from './update-plan.ts';
import { planRollback, planStart } from './update-plan.ts';
import { updateRefusal } from './update-refusal.ts';
import { whoAmI } from './who-am-i.ts';

/** Runs the verb. */
export async function runRollingUpdate(call: Call<RollingUpdateOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const typed = await readRequest(call, session.namespace);
    const reversed = await readReversed(session, typed);
    const request = reversed ?? typed;
    const isRollback = call.options.rollback === true || reversed !== undefined;
    if (call.options.dryRun === true) return await showPlan(session, request, isRollback);
    const seen = await readUpdate(session.client, { namespace: session.namespace, name: request.name });
    await requireOwnCluster(session, seen);
    await requireKeeper(session, request.name);
    const clusterUid = await readClusterUid(session);
    // Before anything is written: without Temporal it would only be recorded.
    const temporal = await connect(session);
    try {
      const { options } = call;
      const by = options.by ?? (await whoAmI(session));
      const wisher = { by, reason: options.reason };
      const begun = isRollback
        ? await turn(session, request, wisher)
        : await begin(session, withBeginner(request, wish(wisher, session.io.now())));
      if (begun.isFinished) return EXIT.ok;
      const next = request.newName ?? begun.kept;
      const reference = { namespace: session.namespace, name: request.name, next };
      const workflowId = await ensureRun(session, temporal, clusterUid, reference, wisher);
      // Whoever turns the update round ends its update period, too.
      const told = isRollback ? await tellUpdate(temporal, workflowId, 'abort', wisher) : undefined;
      if (told?.outcome === 'unreachable')
        session.io.err(
          `note: its run was not told, so an update period that runs is waited for: ${oneLine(told.message)}\n`,
        );
      return await followUpdate(session, temporal, {
        reference,
        shownNext: begun.next,
        record: begun.record,
        workflowId,
        isRollback,
        pollIntervalMs: request.settings.pollIntervalMs,
      });
    } finally {
      await temporal.close();
    }
  });
}

/** Seed, "Abort": `rolling-update foo-v2 foo` is what `rolling-update foo --rollback` stands for. */
async function readReversed(
  { client, namespace }: Session,
  request: RollingUpdateRequest,
): Promise<RollingUpdateRequest | undefined> {
  const { name, newName, start } = request;
  if (newName === undefined) return undefined;
  const whole = updateNameOf(await readUpdate(client, { namespace, name }), name);
  if (whole !== newName) return undefined;
  if (start.change.kind === 'none') return { ...request, name: newName, newName: undefined };
  throw new CliError(
    `rolling-update ${name} ${newName} turns the update of ${newName} round, and takes no --image and no -f`,
    EXIT.usage,
  );
}

/** What is under way now: its next controller and the uid of its record, or that there is nothing to do. */
interface Begun {
  readonly next: string | undefined;
  /** The same name, where it stays though nobody has typed it. */
  readonly kept?: string | undefined;
  readonly record: string | undefined;
  readonly isFinished: boolean;
}

/** The record says who began it: until its run is over nothing else in the cluster does. */
function withBeginner(request: RollingUpdateRequest, begun: Wish): RollingUpdateRequest {
  return { ...request, settings: { ...request.settings, begun } };
}

/** Records what is to be rolled out, unless it is under way. */
async function begin(session: Session, request: RollingUpdateRequest): Promise<Begun> {
  const { namespace, io, options } = session;
  const { decision, next, record, view } = await tryToBegin(session, request, false);
  switch (decision.do) {
    case 'refuse':
      throw updateRefusal(view, decision);
    case 'attach':
      io.err(`note: ${request.name} is being updated: attached\n`);
      noteUnheeded(session, request, view);
      return { next, kept: view.keepsName ? next : undefined, record, isFinished: false };
    case 'begin':
      io.err(`note: the update of ${request.name} to ${oneLine(next ?? '')} is recorded: it begins\n`);
      await noteRepository(session, request, view);
      return { next, record, isFinished: false };
    case 'finished': {
      const message = `nothing to do: ${decision.message}`;
      const document = {
        apiVersion: CLI_API_VERSION,
        kind: 'RollingUpdate',
        outcome: 'Succeeded',
        namespace,
        name: request.name,
        message,
      } as const;
      if (!(await printStructured(io, options, document))) {
        io.out(
          options.output === 'name'
            ? `replicationcontroller/${request.newName ?? request.name}\n`
            : `${oneLine(message)}\n`,
        );
      }
      return { next, record, isFinished: true };
    }
  }
}

/** Nobody may think that the update goes by them. */
function noteUnheeded({ io }: Session, request: RollingUpdateRequest, { record }: UpdateView): void {
  const flags = record === undefined ? [] : unheeded(request, record);
  if (flags.length > 0) io.err(`note: it goes on as it was begun, without ${oneLine(flags.join(', '))}\n`);
}

/** Git knows nothing of it: not of what is rolled out, and of a new name least, beside which it would have the old controller made again. */
async function noteRepository(
  session: Session,
  { name, newName }: RollingUpdateRequest,
  view: UpdateView,
): Promise<void> {
  const old = view.controllers.find(({ metadata }) => metadata.name === name);
  const repository = old?.metadata.annotations?.[ANNOTATION.repository];
  if (repository === undefined) return;
  const rows = newName === undefined ? undefined : await followedRows(session.client, session);
  const heals = rows?.find((row) => row.name === repository)?.heal === true;
  const then =
    newName === undefined
      ? 'commit what you roll out as well, or it is Drifted there, and goes when its manifest changes'
      : heals
        ? `that heals, and makes ${name} again as soon as the update ends: \`fairlead suspend ${repository}\` now, rename it there to ${newName} when the update has ended, then \`fairlead resume ${repository}\``
        : `rename it there to ${newName} as well, or its next commit makes ${name} again beside it`;
  session.io.err(
    `note: ${name} comes from repository ${oneLine(`${repository}${heals ? ', ' : ': '}${then}`)}\n`,
  );
}

/** @throws CliError for a budget that is none, in a flag or in an annotation (usage), and for a file that the apiserver does not take */
async function tryToBegin(
  { client, namespace, cluster }: Session,
  { name, newName, file, start, settings }: RollingUpdateRequest,
  dryRun: boolean,
): Promise<BegunUpdate> {
  try {
    return await beginUpdate(
      client,
      { namespace, name, next: newName },
      start,
      { ...settings, cluster },
      { dryRun },
    );
  } catch (error) {
    if (file !== undefined && isInvalid(error)) {
      const why = `${file}: the apiserver does not take it: ${error.message}`;
      throw new CliError(`${why}\n  nothing was written; correct the file`, EXIT.failed, { cause: error });
    }
    if (isNotFound(error)) {
      const why = `${name} was deleted, or made anew, while its update began: ${error.message}`;
      throw new CliError(
        `${why}\n  the same command begins anew; \`fairlead get rc -n ${namespace}\` shows what there is`,
        EXIT.failed,
        { cause: error, code: 'NotFound' },
      );
    }
    if (!(error instanceof BudgetError)) throw error;
    throw new CliError(`${error.message}\n  choose with --max-surge and --max-unavailable`, EXIT.usage, {
      cause: error,
    });
  }
}

async function turn(session: Session, request: RollingUpdateRequest, wisher: Wisher): Promise<Begun> {
  const { client, namespace, io } = session;
  const reference = { namespace, name: request.name, next: request.newName };
  const view = viewUpdate(await readUpdate(client, reference));
  const decision = decideRollback(view, { verb: 'rollback' });
  if (decision.do === 'refuse') throw updateRefusal(view, decision);
  const { message, refused } = await abortUpdate(client, reference, wisher, io.now(), 'rollback');
  // It has gone on since it was looked at.
  if (refused !== undefined) throw updateRefusal(viewUpdate(await readUpdate(client, reference)), refused);
  io.err(`note: ${oneLine(message)}\n`);
  const next = view.nextController?.metadata.name ?? view.record?.next;
  return { next, record: view.record?.revision.metadata.uid, isFinished: false };
}

/** `--dry-run`: what would be rolled out; the apiserver has tried it. */
async function showPlan(
  session: Session,
  request: RollingUpdateRequest,
  isRollback: boolean,
): Promise<ExitCode> {
  const { io, options } = session;
  const document = await makePlan(session, request, isRollback);
  if (await printStructured(io, options, document)) return EXIT.ok;
  const { message, name, to = name } = document;
  io.out(options.output === 'name' ? `replicationcontroller/${to}\n` : `${oneLine(message)} (dry run)\n`);
  return EXIT.ok;
}

async function makePlan(
  session: Session,
  request: RollingUpdateRequest,
  isRollback: boolean,
): Promise<UpdatePlanDocument> {
  if (!isRollback) {
    const { decision, view } = await tryToBegin(session, request, true);
    if (decision.do === 'refuse') throw updateRefusal(view, decision);
    return planStart(view, decision);
  }
  const { client, namespace } = session;
  const view = viewUpdate(await readUpdate(client, { namespace, name: request.name, next: request.newName }));
  const decision = decideRollback(view, { verb: 'rollback' });
  if (decision.do === 'refuse') throw updateRefusal(view, decision);
  return planRollback(view, decision);
}

/** Where the leader has no eyes for the namespace, nothing would ever come of it. @throws CliError */
async function requireKeeper(session: Session, name: string): Promise<void> {
  const { namespace } = session;
  const { notKept } = await findKeeper(session, (lease) =>
    whyNamespaceNotKept(lease, namespace, leaseName(session)),
  );
  if (notKept === undefined) return;
  throw new CliError(
    `rolling-update of ${name} -n ${namespace} would have no effect: ${notKept}\n` +
      `  nothing was written; start a worker that keeps namespace ${namespace} (FAIRLEAD_NAMESPACES), or name its cluster with --cluster`,
    EXIT.failed,
    { code: 'NotKept' },
  );
}
