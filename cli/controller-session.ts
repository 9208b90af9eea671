/** What the verbs on `rc/NAME` share: the update that the operand means, and the run that carries it out. */

import {
  readRollingUpdateRun,
  startRollingUpdate,
  tellRollingUpdate,
} from '../controllers/rolling-update-runs.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { readUpdate, readUpdateAtOnce } from '../kubernetes/rolling-update-objects.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import type { Wisher } from '../kubernetes/wish-edits.ts';
import { isActive } from '../planners/availability.ts';
import { controllerOf } from '../planners/controller-ref.ts';
import type { Pod } from '../planners/objects.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { formatSelector } from '../planners/selector.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import type { UpdateRun } from '../planners/rolling-update-run.ts';
import type { UpdateRecord } from '../planners/rolling-update-record.ts';
import type { RollingUpdateSnapshot, UpdateView } from '../planners/rolling-update-view.ts';
import { updateNameOf, viewUpdate } from '../planners/rolling-update-view.ts';
import type { WishVerb } from '../workflows/operator-wishes.ts';
import { ensureSearchAttributes } from '../controllers/search-attributes.ts';
import { controllerName } from './controller-argument.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { GitState } from './git-state.ts';
import { readGitState } from './git-state.ts';
import type { Call } from './io.ts';
import { readLease } from './lease.ts';
import type { Session } from './session.ts';
import type { OpenTemporal, SignalOutcome } from './temporal.ts';
import type { RunTrouble } from './stuck-runs.ts';
import { rolloutTrouble } from './stuck-runs.ts';
import {
  PATIENT_CONNECT_TIMEOUT,
  START_TIMEOUT_MS,
  TemporalUnreachable,
  openTemporal,
  unreachableBy,
  withTemporal,
} from './temporal.ts';
import { OBJECT_NAME } from './workload-argument.ts';

/** @throws CliError (usage) */
export function updateOf({ namespace }: Session, { operands }: Call): UpdateReference {
  const name = controllerName(operands[0]) ?? '';
  if (!OBJECT_NAME.test(name)) {
    throw new CliError(`"${operands[0] ?? ''}": write rc/NAME, for example rc/foo`, EXIT.usage);
  }
  return { namespace, name };
}

/**
 * The update that the operand is part of: of a next controller it is that of the old one, and the reader is told so.
 * @throws CliError (usage; OtherCluster), ApiError
 */
export async function findUpdate(session: Session, call: Call): Promise<UpdateReference> {
  const { namespace, name } = updateOf(session, call);
  const { io, client } = session;
  const snapshot = await readUpdate(client, { namespace, name }, io.interrupted);
  const whole = updateNameOf(snapshot, name);
  await requireOwnCluster(session, { ...snapshot, name: whole });
  if (whole !== name)
    io.err(`note: ${name} is to take the place of ${whole}: this is the update of ${whole}\n`);
  return { namespace, name: whole };
}

/**
 * One that the workers of another FAIRLEAD_CLUSTER carry out has its run and its leader there: looked at from here it would seem that
 * nobody acts, and a verb would start a second run. Where nobody leads there, it may be taken over.
 * @throws CliError (OtherCluster)
 */
export async function requireOwnCluster(session: Session, snapshot: RollingUpdateSnapshot): Promise<void> {
  const { cluster } = viewUpdate(snapshot).record?.state ?? {};
  if (cluster === undefined || cluster === session.cluster) return;
  const lease = await readLease({ ...session, cluster });
  if (lease.state !== 'held') return;
  throw new CliError(
    `the update of ${snapshot.name} is of the workers with FAIRLEAD_CLUSTER=${cluster}, not of --cluster ${session.cluster}\n` +
      `  say --cluster ${shellWord(cluster)}`,
    EXIT.failed,
    { code: 'OtherCluster' },
  );
}

/**
 * The update as it is at one moment. @throws CliError when there is neither the controller nor an update of it, nor what an update has
 * made of it
 */
export async function readPlan(session: Session, reference: UpdateReference): Promise<RollingUpdatePlan> {
  const plan = await readRecordedPlan(session, reference);
  const gone = deletedSince(plan.view);
  if (gone === undefined) return plan;
  throw notFound(reference, await describeDeleted(session, gone));
}

/** The same, where records alone are enough. @throws CliError when there are none either */
export async function readRecordedPlan(
  session: Session,
  reference: UpdateReference,
): Promise<RollingUpdatePlan> {
  const { io, client } = session;
  const plan = planRollingUpdate(await readUpdateAtOnce(client, reference, io.interrupted), io.now());
  const { old, nextController, record, last } = plan.view;
  if (old ?? nextController ?? record ?? last) return plan;
  throw notFound(reference);
}

/** The update that came to its end, of which what it rolled out is not there any more. */
function deletedSince({
  old,
  nextController,
  record,
  last,
  controllers,
}: UpdateView): UpdateRecord | undefined {
  if ((old ?? nextController ?? record) !== undefined || last?.state.phase !== 'Done') return undefined;
  return controllers.some(({ metadata }) => metadata.name === last.to) ? undefined : last;
}

/** Deleted without its pods, as `kubectl delete --cascade=orphan` does, it leaves what nobody heals. */
async function describeDeleted({ client, namespace, io }: Session, record: UpdateRecord): Promise<string> {
  const labelSelector = formatSelector({ matchLabels: record.controller.spec.selector ?? {} });
  const path = { group: '', version: 'v1', resource: 'pods', namespace };
  const { items } = await client.list<Pod>(path, { labelSelector, signal: io.interrupted });
  const left = items.filter((pod) => isActive(pod) && controllerOf(pod) === undefined).length;
  const was = `${record.to} was deleted after its last update`;
  if (left === 0) return was;
  const pods = left === 1 ? '1 pod that it left has' : `${String(left)} pods that it left have`;
  const command = `kubectl get pods -n ${namespace} -l ${shellWord(labelSelector)}`;
  return `${was}, and ${pods} no controller: \`${command}\``;
}

function notFound({ namespace, name }: UpdateReference, why?: string): CliError {
  const lines = [
    `replicationcontroller/${name} not found in namespace ${namespace}`,
    ...(why === undefined ? [] : [`  ${why}`]),
    `  \`fairlead get rc -n ${namespace}\` shows what there is; choose a namespace with -n`,
  ];
  return new CliError(lines.join('\n'), EXIT.failed, { code: 'NotFound' });
}

/** What became of the last commit of the repository that the controller comes from; `notes` gets what may not be read. */
export async function readControllerGit(
  session: Session,
  { view: { old } }: RollingUpdatePlan,
  notes: string[],
): Promise<GitState | undefined> {
  return old === undefined ? undefined : await readGitState(session, old, notes);
}

/** What Temporal knows of the run of an update, if it answers. */
export type AskedRun =
  | (UpdateRun & { readonly trouble?: RunTrouble })
  | { readonly state: 'unreachable'; readonly message: string };

/** Never throws for want of a run, or of Temporal. */
export async function readRun(session: Session, reference: UpdateReference): Promise<AskedRun> {
  return await ask(session, async ({ client }) => readRollingUpdateRun(client, session.cluster, reference));
}

/** The same, and what keeps an open one from going on: that takes more than one question, so nobody who looks again and again asks it. */
export async function readRunAndTrouble(session: Session, reference: UpdateReference): Promise<AskedRun> {
  return await ask(session, async ({ client }) => {
    const run = await readRollingUpdateRun(client, session.cluster, reference);
    if (run.state !== 'running') return run;
    const described = await client.workflow.getHandle(run.workflowId).describe();
    const trouble = await rolloutTrouble(client, described, `rc/${reference.name} -n ${reference.namespace}`);
    return { ...run, ...(trouble !== undefined && { trouble }) };
  });
}

async function ask(
  session: Session,
  question: Parameters<typeof withTemporal<AskedRun>>[1],
): Promise<AskedRun> {
  try {
    return await withTemporal(session.io.environment, question);
  } catch (error) {
    return { state: 'unreachable', message: toMessage(error) };
  }
}

/** Temporal, for what is nothing without it: asked before anything is written. @throws CliError (Temporal unreachable) */
export async function connect({ io }: Session): Promise<OpenTemporal> {
  try {
    return await openTemporal(io.environment, PATIENT_CONNECT_TIMEOUT);
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    throw new CliError(
      `${error.message}\n  nothing was written; set TEMPORAL_ADDRESS, \`fairlead check\` looks at everything`,
      EXIT.temporalUnreachable,
      { cause: error },
    );
  }
}

/**
 * Makes sure that a run is open.
 * @param clusterUid asked for before anything is written, by whoever fails without
 * @throws CliError (Temporal unreachable)
 */
export async function ensureRun(
  session: Session,
  temporal: Pick<OpenTemporal, 'client' | 'namespace' | 'address' | 'call'>,
  clusterUid: string,
  reference: UpdateReference,
  who: Wisher,
): Promise<string> {
  const { namespace, name, next } = reference;
  try {
    return await temporal.call(async () => {
      const { registered } = await ensureSearchAttributes(temporal.client, temporal.namespace);
      return await startRollingUpdate(temporal.client, {
        cluster: session.cluster,
        clusterUid,
        namespace,
        name,
        searchAttributes: registered,
        ...(next !== undefined && { next }),
        ...(who.by !== undefined && { by: who.by }),
        ...(who.reason !== undefined && { reason: who.reason }),
      });
    }, START_TIMEOUT_MS);
  } catch (error) {
    throw new CliError(
      `it is written in the cluster, but no run could be started: ${new TemporalUnreachable(temporal.address, error).message}\n` +
        `  \`fairlead rollout retry rc/${name} -n ${namespace}\` starts it`,
      EXIT.temporalUnreachable,
      { cause: error },
    );
  }
}

/** Tells the run of a wish that is on the controllers already: it stands also where Temporal stumbles now. @throws Error for anything else */
export async function tellUpdate(
  { client, address, call }: Pick<OpenTemporal, 'client' | 'address' | 'call'>,
  workflowId: string,
  verb: WishVerb,
  who: Wisher,
): Promise<SignalOutcome> {
  try {
    const isTold = await call(async () => await tellRollingUpdate(client, workflowId, verb, who));
    return isTold ? { outcome: 'signalled', workflowId } : { outcome: 'noRun' };
  } catch (error) {
    const away = await unreachableBy(error, address);
    if (away === undefined) throw error;
    return { outcome: 'unreachable', address, message: away.message };
  }
}
