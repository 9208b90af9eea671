/** `fairlead rollout pause|resume|abort|retry rc/NAME`: written on the controllers, then told to the run. */

import { abortUpdate, pauseUpdate, resumeUpdate } from '../kubernetes/rolling-update-wishes.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { WishResult } from '../kubernetes/workload-edit.ts';
import { ensureRun, isUnderWay, readPlan, updateOf } from './controller-session.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call } from './io.ts';
import type { RolloutWish, WishOptions } from './rollout-wishes.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { OpenTemporal } from './temporal.ts';
import { TemporalUnreachable, openTemporal } from './temporal.ts';
import { whoAmI } from './who-am-i.ts';

/** Runs one of the verbs. */
export async function runControllerWish(verb: RolloutWish, call: Call<WishOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, client, namespace } = session;
    const reference = updateOf(session, call);
    const { name } = reference;
    if (verb === 'restart') throw instead('restart', name, `rolling-update ${name} -f FILE`, namespace);
    const plan = await readPlan(session, reference);
    const { reason } = call.options;
    const by = call.options.by ?? (await whoAmI(session));
    const writes: Readonly<Record<Exclude<RolloutWish, 'restart'>, () => Promise<WishResult>>> = {
      pause: async () => await pauseUpdate(client, reference, { by, reason }, io.now()),
      resume: async () => await resumeUpdate(client, reference),
      abort: async () => await abortUpdate(client, reference, { by, reason }, io.now()),
      retry: () =>
        Promise.resolve(
          isUnderWay(plan)
            ? { changed: true, message: `the update of ${name} has a run again` }
            : { changed: false, message: `nothing to do: no update of ${name} is in progress` },
        ),
    };
    const { changed, message } = await writes[verb]();
    let note: string | undefined;
    if (changed) {
      const told = { by, reason, onObject: true } as const;
      note = await tell(session, async (temporal) => {
        // A pause needs no run: it holds whichever comes.
        const workflowId = await ensureRun(session, temporal, reference, { by, reason });
        if (verb === 'retry') return;
        const handle = temporal.client.workflow.getHandle(workflowId);
        await temporal.call(async () => await handle.signal(verb, told));
      });
    }
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
    } as const;
    if (!(await printStructured(io, call.options, document))) {
      io.out(call.options.output === 'name' ? `${workload}\n` : `${oneLine(message)}\n`);
    }
    if (note !== undefined) io.err(`note: ${oneLine(note)}\n`);
    return EXIT.ok;
  });
}

/** `rollout undo rc/NAME`: history holds no earlier template to go back to once a rename is over. */
export async function runControllerUndo(call: Call<WishOptions>): Promise<ExitCode> {
  return await withSession(call, (session) => {
    const { name } = updateOf(session, call);
    const next = `rolling-update ${name} --rollback turns the update in progress round; else: fairlead rolling-update ${name} --image=…`;
    return Promise.reject(instead('undo', name, next, session.namespace));
  });
}

function instead(verb: string, name: string, next: string, namespace: string): CliError {
  return new CliError(
    `${verb} knows no ReplicationControllers\n  fairlead ${next} -n ${namespace} (${name})`,
    EXIT.usage,
  );
}

async function tell(
  { io }: { readonly io: Call['io'] },
  work: (temporal: OpenTemporal) => Promise<void>,
): Promise<string | undefined> {
  let temporal: OpenTemporal;
  try {
    temporal = await openTemporal(io.environment);
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    return `written on the object; the run was not told: ${error.message}`;
  }
  try {
    await work(temporal);
    return undefined;
  } finally {
    await temporal.close();
  }
}
