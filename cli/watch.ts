/** `fairlead watch`: one rollout live, until Ctrl-C or, with --until-done, until it is done or stalled. */

import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import { startDeadline } from '../kubernetes/deadline.ts';
import { trusted } from '../kubernetes/values.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import type { CacheSource } from '../kubernetes/watch-cache.ts';
import { WORKLOAD_RESOURCES } from '../kubernetes/workload-api.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import type { Node, PersistentVolumeClaim } from '../planners/objects.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import type { Call } from './io.ts';
import { JsonLines } from './json-lines.ts';
import { ACTS_AGAIN, LeaseWatch } from './lease-watch.ts';
import { FRAME_MS, LivePrinter } from './live-printer.ts';
import { awaitWorkload } from './follow-workload.ts';
import { WorkloadNotFound } from './read-workload.ts';
import type { Session } from './session.ts';
import { targetOf, withSession } from './session.ts';
import type { PlannedWorkload } from './snapshot.ts';
import { planWorkload, readPlan } from './snapshot.ts';
import type { WatchView } from './watch-view.ts';
import { viewRollout } from './watch-view.ts';
import { formatWorkload } from './workload-argument.ts';
import { isStuck, rollbackSince } from './workload-state.ts';

export interface WatchVerbOptions {
  readonly untilDone?: boolean;
}

/** Ages and countdowns move although nothing happens. */
const TICK_MS = 1_000;

/** Runs the verb. 1 when the workload is gone or (with --until-done) stalled or rolled back, 3 when the time is up. */
export async function runWatch(call: Call<WatchVerbOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const { argument, target } = targetOf(session, call.operands[0] ?? '');
    const printer = options.output === 'json' ? new JsonLines(io) : new LivePrinter(io);
    const ended = new AbortController();
    const { timeout = 0 } = options;
    const parent = AbortSignal.any([io.interrupted, ended.signal]);
    const limit = timeout === 0 ? undefined : startDeadline(timeout, parent);
    const signal = limit?.signal ?? parent;
    try {
      // Says what is forbidden before anything is drawn.
      const first = await firstPlan(session, target, signal);
      if (first === undefined) return io.interrupted.aborted ? EXIT.interrupted : EXIT.timeout;
      const notes = new Map<'watch' | 'leader', string>();
      const note = (of: 'watch' | 'leader', text: string) => {
        notes.set(of, text);
        printer.note([...notes.values()].find((one) => one !== '') ?? '');
      };
      const watched = startWatching(session, first, target, signal, (text) => note('watch', text));
      let isWaiting = false;
      void tellWhetherAnybodyActs(session, signal, {
        isWaiting: () => isWaiting,
        tell: (text) => note('leader', text),
      });
      for await (const planned of watched) {
        if (planned === undefined) {
          io.err(`${formatWorkload(argument)} is gone\n`);
          return EXIT.failed;
        }
        const view = viewRollout(planned, argument, io.now());
        isWaiting = !view.done;
        printer.show(view);
        const code = options.untilDone === true ? codeOf(view, first.object, planned.object) : undefined;
        if (code !== undefined) return code;
      }
    } finally {
      ended.abort();
      limit?.clear();
      printer.end();
    }
    return io.interrupted.aborted ? EXIT.interrupted : EXIT.timeout;
  });
}

/** Waits for a workload that is still to come; undefined when the time was up before. */
async function firstPlan(
  session: Session,
  target: WorkloadTarget,
  signal: AbortSignal,
): Promise<PlannedWorkload | undefined> {
  for (let said = false; !signal.aborted; said = true) {
    try {
      return await readPlan(session, target);
    } catch (error) {
      if (!(error instanceof WorkloadNotFound) || error.hasNamesake) throw error;
      if (!said) session.io.err(`${error.message}\nwaiting for it; Ctrl-C ends\n`);
      await awaitWorkload(session, target, 0, (object) => (object === undefined ? undefined : true), signal);
    }
  }
  return undefined;
}

/** While something is to be done: that nobody does it, once, until somebody does. Never rejects; ends with `signal`. */
async function tellWhetherAnybodyActs(
  session: Session,
  signal: AbortSignal,
  { isWaiting, tell }: { readonly isWaiting: () => boolean; readonly tell: (text: string) => void },
): Promise<void> {
  const leader = new LeaseWatch(session);
  let isTold = false;
  while (!signal.aborted) {
    // That the apiserver does not answer is told by the watch.
    const nobody = isWaiting() ? await leader.look().catch(() => undefined) : undefined;
    if (signal.aborted) return;
    if (nobody !== undefined && !isTold) tell(`${nobody}, so nobody acts`);
    // A line where lines are printed, and no place in a picture that is drawn again.
    if (nobody === undefined && isTold) for (const text of [ACTS_AGAIN, '']) tell(text);
    isTold = nobody !== undefined;
    await pause(TICK_MS, signal);
  }
}

function codeOf(
  { state, done }: WatchView,
  begun: WorkloadObject,
  object: WorkloadObject,
): ExitCode | undefined {
  if (isStuck(object)) return EXIT.failed;
  if (!done || state !== 'Ready') return undefined;
  // As `rollout status` judges: what was to be rolled out is not.
  return rollbackSince(begun, object) === undefined ? EXIT.ok : EXIT.failed;
}

/** The plan at each change, at most one in {@link FRAME_MS}, and once a second; undefined when the workload is gone. */
async function* startWatching(
  session: Session,
  first: PlannedWorkload,
  target: WorkloadTarget,
  signal: AbortSignal,
  report: (text: string) => void,
): AsyncGenerator<PlannedWorkload | undefined, void> {
  const { namespace } = target;
  const resource = WORKLOAD_RESOURCES[target.kind];
  const withClaims = WORKLOAD_KINDS[target.kind].hasClaims(first.workload);
  const withNodes = first.notes.length === 0;
  let wake = noop;
  const cache = new WatchCache({
    client: session.client,
    sources: sources(target, withClaims, withNodes),
    onError: (error, where) => {
      if (!signal.aborted) report(`watch of ${where}: ${toMessage(error)}; trying again`);
    },
  });
  cache.onChange(() => {
    report('');
    wake();
  });
  yield first;
  try {
    await cache.start(signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  while (!signal.aborted) {
    const object = cache.get(resource, namespace, target.name);
    if (object === undefined) {
      yield undefined;
      return;
    }
    const belongings = {
      children: cache,
      claims: withClaims ? cache.inNamespace<PersistentVolumeClaim>('persistentvolumeclaims', namespace) : [],
      nodes: withNodes ? cache.list<Node>('nodes') : undefined,
    };
    yield planWorkload(trusted<WorkloadObject>(object), target, belongings, session.io.now(), first.notes);
    const changed = new AbortController();
    wake = () => {
      changed.abort();
    };
    await pause(FRAME_MS, signal);
    await pause(TICK_MS - FRAME_MS, signal, changed.signal);
  }
}

function sources(target: WorkloadTarget, withClaims: boolean, withNodes: boolean): readonly CacheSource[] {
  const namespaces = [target.namespace];
  const core = { group: '', version: 'v1' };
  return [
    { group: target.group, version: target.version, resource: WORKLOAD_RESOURCES[target.kind], namespaces },
    { group: 'apps', version: 'v1', resource: WORKLOAD_KINDS[target.kind].history.resource, namespaces },
    { ...core, resource: 'pods', namespaces },
    ...(withClaims ? [{ ...core, resource: 'persistentvolumeclaims', namespaces }] : []),
    ...(withNodes ? [{ ...core, resource: 'nodes' }] : []),
  ];
}

function noop(): void {}
