/** `fairlead rollout pause|resume|abort|retry rc/NAME`: written on the controllers, then told to the run. */

import type { UpdateWishResult } from '../kubernetes/rolling-update-wishes.ts';
import { abortUpdate, pauseUpdate, resumeUpdate } from '../kubernetes/rolling-update-wishes.ts';
import { whyNamespaceEnds } from '../kubernetes/namespace-end.ts';
import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { isTransient } from '../kubernetes/api-error.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { howItWaits } from '../kubernetes/wishes.ts';
import type { Wisher } from '../kubernetes/wish-edits.ts';
import type { WishResult } from '../kubernetes/workload-edit.ts';
import { heldNext } from '../planners/rolling-update-handover.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { readClusterUid } from './cluster-uid.ts';
import { commandsBack } from './controller-history.ts';
import {
  connect,
  ensureRun,
  findUpdate,
  readPlan,
  readRunAndTrouble,
  tellUpdate,
  updateOf,
} from './controller-session.ts';
import { wayOutOfRefusal } from './explain-update.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call } from './io.ts';
import type { RolloutWish, WishOptions } from './rollout-wishes.ts';
import { parseImages } from './set-image.ts';
import { findKeeper, leaseName, whyNamespaceNotKept } from './lease.ts';
import { whyNobodyActs } from './lease-watch.ts';
import { lookAfterWrite } from './outage.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { OpenTemporal, SignalOutcome } from './temporal.ts';
import { TemporalUnreachable, openTemporal } from './temporal.ts';
import { updateRefusal } from './update-refusal.ts';
import { isUnderWay } from './update-state.ts';
import { whoAmI } from './who-am-i.ts';

/** Runs one of the verbs. */
export async function runControllerWish(verb: RolloutWish, call: Call<WishOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, client, namespace } = session;
    if (verb === 'restart') throw noRestart(updateOf(session, call).name, namespace);
    const reference = await findUpdate(session, call);
    const { name } = reference;
    const plan = await readPlan(session, reference);
    const { reason } = call.options;
    const by = call.options.by ?? (await whoAmI(session));
    const writes: Readonly<Record<Exclude<RolloutWish, 'restart'>, () => Promise<UpdateWishResult>>> = {
      pause: async () => await pauseUpdate(client, reference, { by, reason }, io.now(), { orNext: true }),
      resume: async () => await resumeUpdate(client, reference),
      abort: async () => await abortUpdate(client, reference, { by, reason }, io.now()),
      retry: async () => await decideRetry(session, reference, plan),
    };
    const { notKept } = await findKeeper(session, (lease) =>
      whyNamespaceNotKept(lease, namespace, leaseName(session)),
    );
    if (notKept !== undefined && (verb === 'pause' || verb === 'retry')) {
      throw new CliError(
        `${verb} of rc/${name} -n ${namespace} would have no effect: ${notKept}\n` +
          `  nothing was written; \`fairlead explain rc/${name} -n ${namespace}\` says more`,
        EXIT.failed,
        { code: 'NotKept' },
      );
    }
    const { changed, message, isIdle = false, isTurned = false, refused } = await writes[verb]();
    // Where nothing is under way it is as wished; where it goes on all the same nobody may think that it was aborted, or paused.
    if (refused !== undefined) throw updateRefusal(plan.view, refused);
    // Without an update there is nothing that a run could do, and one that was started would fail.
    // Who turned it round before may have told nobody.
    const isForRun = (changed || isTurned) && !isIdle;
    const run = isForRun ? await tellRun(session, verb, reference, { by, reason }) : undefined;
    const look =
      isForRun && notKept === undefined && call.options.wait
        ? await lookAfterWrite(io.interrupted, async () => await whyNobodyActs(session))
        : { value: undefined };
    const nobody = 'value' in look ? look.value : undefined;
    const effect = !changed
      ? 'notAwaited'
      : notKept !== undefined
        ? 'notKept'
        : nobody !== undefined
          ? 'noLeader'
          : call.options.wait && run?.outcome === 'signalled' && 'value' in look
            ? 'seen'
            : 'notAwaited';
    const workload = `replicationcontroller/${name}`;
    const document = {
      apiVersion: CLI_API_VERSION,
      kind: 'WishResult',
      verb,
      workload,
      namespace,
      changed,
      message,
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      effect,
      ...(run && { run }),
    } as const;
    if (await printStructured(io, call.options, document)) return EXIT.ok;
    io.out(call.options.output === 'name' ? `${workload}\n` : `${oneLine(message)}\n`);
    const notes = [
      (run?.outcome === 'unreachable' || run?.outcome === 'notTold') &&
        `written on the object; the run was not told: ${run.message}`,
      notKept !== undefined &&
        changed &&
        `written on the object, but Fairlead does nothing about it: ${notKept}`,
      'unseen' in look &&
        `written on the object; whether a worker is there was not looked at: ${look.unseen}`,
      nobody !== undefined && `written on the object; ${nobody}, so it takes effect when a worker is there`,
    ];
    for (const note of notes) if (typeof note === 'string') io.err(`note: ${oneLine(note)}\n`);
    return EXIT.ok;
  });
}

/** A run is started where none is open. While Temporal is away nobody knows: then starting it says so. */
async function decideRetry(
  session: Session,
  reference: UpdateReference,
  plan: RollingUpdatePlan,
): Promise<WishResult> {
  const { name, namespace } = reference;
  const { step } = plan;
  if (!isUnderWay(plan) && !(step.do === 'refuse' && step.code === 'NextLost')) {
    return { changed: false, message: `nothing to do: no update of ${name} is in progress` };
  }
  const ending = await whyNamespaceEnds(session.client, namespace, session.io.interrupted);
  const held = heldNext(plan.view);
  if (ending !== undefined && held === undefined)
    throw new CliError(`no update of ${name} can go on: ${ending}`, EXIT.failed, { code: 'NamespaceEnds' });
  if (ending === undefined && step.do === 'refuse') {
    throw new CliError(
      `another run would end as the last one did: ${step.message}\n  ${wayOutOfRefusal(plan)}`,
      EXIT.failed,
      { code: step.code },
    );
  }
  const run = await readRunAndTrouble(session, reference);
  if (run.state === 'running' && run.trouble !== undefined)
    return { changed: false, message: `nothing to do yet: ${run.trouble.text}; ${run.trouble.next}` };
  return run.state === 'running'
    ? {
        changed: false,
        message: `nothing to do: a run of it is open; ${howItWaits(`rc/${name}`, namespace)}`,
      }
    : {
        changed: true,
        message:
          ending === undefined || held === undefined
            ? `the update of ${name} has a run again`
            : `${ending}: a run lets ${held.metadata.name} go`,
      };
}

const NOT_FOR_THEM = { code: 'NotForReplicationControllers' };

/** `rollout undo rc/NAME`: once a rename is over, nothing holds the whole template of before. */
export async function runControllerUndo(call: Call<WishOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const commands = commandsBack(await readPlan(session, await findUpdate(session, call)));
    throw new CliError(
      `undo knows no ReplicationControllers: an update in progress is aborted, what was before is rolled out again\n` +
        commands.map((command) => `  ${oneLine(command)}`).join('\n'),
      EXIT.usage,
      NOT_FOR_THEM,
    );
  });
}

/** `set image rc/NAME`: a changed template would change no pod. */
export async function runControllerSetImage(call: Call<WishOptions>): Promise<ExitCode> {
  return await withSession(call, (session) => {
    const { name, namespace } = updateOf(session, call);
    const images = [...parseImages(call.operands.slice(1))];
    const next = images.map(([container, image]) => {
      const which = container === '*' ? '' : ` --container=${container}`;
      return `  fairlead rolling-update ${name} --image=${image}${which} -n ${namespace}`;
    });
    return Promise.reject(
      new CliError(
        `set image knows no ReplicationControllers: a changed template changes no pod of theirs, a rolling update does\n${next.join('\n')}`,
        EXIT.usage,
        NOT_FOR_THEM,
      ),
    );
  });
}

function noRestart(name: string, namespace: string): CliError {
  return new CliError(
    `restart knows no ReplicationControllers: roll out a template with another annotation\n` +
      `  fairlead rolling-update ${name} -f FILE -n ${namespace}`,
    EXIT.usage,
    NOT_FOR_THEM,
  );
}

/**
 * Makes sure that there is a run, and that it has heard. A pause holds whichever comes.
 * @throws CliError, where a run cannot be started (Temporal unreachable), or a retry not even be asked for; ApiError
 */
async function tellRun(
  session: Session,
  verb: Exclude<RolloutWish, 'restart'>,
  reference: UpdateReference,
  who: Wisher,
): Promise<SignalOutcome> {
  const { name, namespace } = reference;
  // No wish starts one where the last has ended badly, and whether it has is not known from here.
  const whereOver =
    verb === 'pause'
      ? ''
      : `; if its run is over, the update goes on only with another: fairlead rollout retry rc/${name} -n ${namespace}`;
  let clusterUid: string;
  try {
    clusterUid = await readClusterUid(session);
  } catch (error) {
    // The others stand on the controllers, and their run sees that.
    if (verb === 'retry' || !(error instanceof CliError || isTransient(error))) throw error;
    return { outcome: 'notTold', message: `${error.message.replaceAll('\n  ', '; ')}${whereOver}` };
  }
  let temporal: OpenTemporal;
  try {
    // A retry is nothing but that run: nothing of it stands on an object.
    temporal = verb === 'retry' ? await connect(session) : await openTemporal(session.io.environment);
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    return { outcome: 'unreachable', address: error.address, message: `${error.message}${whereOver}` };
  }
  try {
    const workflowId = await ensureRun(session, temporal, clusterUid, reference, who);
    return verb === 'retry'
      ? { outcome: 'signalled', workflowId }
      : await tellUpdate(temporal, workflowId, verb, who);
  } finally {
    await temporal.close();
  }
}
