/** `fairlead rolling-update OLD [NEW]`: starts the update, or attaches to the one that runs, and shows how it goes. */

import { beginUpdate } from '../kubernetes/rolling-update-begin.ts';
import type { BegunUpdate } from '../kubernetes/rolling-update-begin.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { abortUpdate } from '../kubernetes/rolling-update-wishes.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { nextManifest } from '../planners/rolling-update-definition.ts';
import type { StartRefusal } from '../planners/rolling-update-start.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import { ensureRun } from './controller-session.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { followUpdate } from './follow-update.ts';
import type { Call } from './io.ts';
import { describeFree, glanceAtLease, leaseName } from './lease.ts';
import type { RollingUpdateOptions, RollingUpdateRequest } from './rolling-update-options.ts';
import { readRequest } from './rolling-update-options.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { OpenTemporal } from './temporal.ts';
import { TemporalUnreachable, openTemporal } from './temporal.ts';
import { whoAmI } from './who-am-i.ts';

/** Runs the verb. */
export async function runRollingUpdate(call: Call<RollingUpdateOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const request = await readRequest(call, session.namespace);
    if (call.options.dryRun === true) return await showPlan(session, request, call.options.rollback ?? false);
    // Before anything is written: without Temporal it would only be recorded.
    const temporal = await connect(session);
    try {
      const { options } = call;
      const by = options.by ?? (await whoAmI(session));
      const wisher = { by, reason: options.reason };
      const next =
        options.rollback === true ? await turn(session, request, wisher) : await begin(session, request);
      await noteLeader(session);
      const reference = { namespace: session.namespace, name: request.name, next: request.newName };
      const workflowId = await ensureRun(session, temporal, reference, wisher);
      return await followUpdate(session, temporal, {
        reference,
        shownNext: next,
        workflowId,
        isRollback: options.rollback === true,
        pollIntervalMs: options.pollInterval,
      });
    } finally {
      await temporal.close();
    }
  });
}

/** Records what is to be rolled out, unless it is under way; answers the name of the next controller. */
async function begin(session: Session, request: RollingUpdateRequest): Promise<string | undefined> {
  const { client, namespace } = session;
  const reference = { namespace, name: request.name, next: request.newName };
  const begun = await beginUpdate(client, reference, request.start, request.settings);
  const { decision, next } = begun;
  if (decision.do === 'refuse') throw refusal(session, request, decision.code, decision.message);
  if (decision.do === 'attach') session.io.err(`note: ${request.name} is being updated: attached\n`);
  return next;
}

async function turn(
  session: Session,
  { name, newName }: RollingUpdateRequest,
  wisher: { readonly by: string | undefined; readonly reason: string | undefined },
): Promise<string | undefined> {
  const { client, namespace, io } = session;
  const reference = { namespace, name, next: newName };
  const { nextController } = viewUpdate(await readUpdate(client, reference));
  if (nextController === undefined) {
    throw new CliError(
      `no rolling update of ${name} is in progress in namespace ${namespace}\n` +
        `  to go back to an earlier image, roll it out: fairlead rolling-update ${name} --image=… -n ${namespace}`,
    );
  }
  const { message } = await abortUpdate(client, reference, wisher, io.now());
  io.err(`note: ${oneLine(message)}\n`);
  return nextController.metadata.name;
}

/** `--dry-run`: what would be rolled out; the apiserver has tried it. */
async function showPlan(
  session: Session,
  request: RollingUpdateRequest,
  isRollback: boolean,
): Promise<ExitCode> {
  const { client, namespace, io, options } = session;
  const reference = { namespace, name: request.name, next: request.newName };
  if (isRollback) {
    const { nextController } = viewUpdate(await readUpdate(client, reference));
    io.out(
      nextController === undefined
        ? `no rolling update of ${request.name} is in progress\n`
        : `${nextController.metadata.name} would shrink and ${request.name} grow again (dry run)\n`,
    );
    return nextController === undefined ? EXIT.failed : EXIT.ok;
  }
  const begun: BegunUpdate = await beginUpdate(client, reference, request.start, request.settings, {
    dryRun: true,
  });
  const { decision } = begun;
  if (decision.do === 'refuse') throw refusal(session, request, decision.code, decision.message);
  if (decision.do !== 'begin') {
    io.out(`the update of ${request.name} is in progress (dry run)\n`);
    return EXIT.ok;
  }
  const { data, desired } = decision;
  const document = {
    apiVersion: CLI_API_VERSION,
    kind: 'RollingUpdatePlan',
    name: request.name,
    namespace,
    next: data.next,
    to: data.to,
    desired,
    controller: nextManifest(data, desired),
  } as const;
  if (!(await printStructured(io, options, document))) {
    const end = data.to === data.next ? '' : `, which then becomes ${data.to}`;
    io.out(
      `${request.name} would be replaced by ${data.next} with ${String(desired)} replicas${end} (dry run)\n`,
    );
  }
  return EXIT.ok;
}

async function connect({ io }: Session): Promise<OpenTemporal> {
  try {
    return await openTemporal(io.environment);
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    throw new CliError(
      `${error.message}\n  nothing was written; set TEMPORAL_ADDRESS, \`fairlead check\` looks at everything`,
      EXIT.temporalUnreachable,
      { cause: error },
    );
  }
}

/** Without a leader nobody would act; it is no error, one may be starting. */
async function noteLeader(session: Session): Promise<void> {
  const lease = await glanceAtLease(session);
  if (lease.state === 'free') {
    session.io.err(`note: ${describeFree(lease, leaseName(session))}: the update waits for a worker\n`);
  }
}

/** What to do about each refusal. */
function refusal(
  { namespace }: Session,
  { name }: RollingUpdateRequest,
  code: StartRefusal,
  message: string,
): CliError {
  const hints: Readonly<Record<StartRefusal, string>> = {
    NotFound: `\`kubectl get rc -n ${namespace}\` shows what there is; choose a namespace with -n`,
    NoChange: 'there is nothing to do; another --image or -f FILE rolls something out',
    NothingAsked: 'say what with --image=IMAGE or -f FILE',
    NoReplicas: `without pods a changed template is enough; or first: kubectl scale rc/${name} --replicas=1 -n ${namespace}`,
    NoContainer: 'choose one with --container',
    SeveralContainers: 'choose one with --container',
    OtherChange: `let it finish, or turn it round first: fairlead rolling-update ${name} --rollback -n ${namespace}`,
    RollingBack: `\`fairlead rolling-update ${name} -n ${namespace}\` shows how it goes; then begin again`,
    SelectorSame: 'give it a label of its own in spec.selector and spec.template.metadata.labels',
    OtherUpdate: 'choose another name for the next controller: fairlead rolling-update OLD NEW',
    NotInProgress: `fairlead rolling-update ${name} --image=… -n ${namespace} begins one`,
  };
  const usage = code === 'NothingAsked' || code === 'SeveralContainers' || code === 'NoContainer';
  return new CliError(
    `${message} (namespace ${namespace})\n  ${hints[code]}`,
    usage ? EXIT.usage : EXIT.failed,
  );
}
