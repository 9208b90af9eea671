/** `fairlead get rc[/NAME]`: ReplicationControllers and how their rolling updates stand, a line each. */

import { whyLastFailed } from '../kubernetes/attempts.ts';
import { pathOf, pauseOf } from '../kubernetes/rolling-update-objects.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { ANNOTATION, LABEL } from '../planners/names.ts';
import type { ControllerRevision, Pod } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { podsOf, sizeOf } from '../planners/replication-controller.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { leftPods } from '../planners/rolling-update-abandoned.ts';
import { describeNoRun, ownRun } from '../planners/rolling-update-run.ts';
import { finalManifest } from '../planners/rolling-update-definition.ts';
import { isActiveRecord, readRecords } from '../planners/rolling-update-record.ts';
import type { UpdateProgress } from '../planners/rolling-update-steps.ts';
import { countAvailable, updateNameOf, viewUpdate } from '../planners/rolling-update-view.ts';
import type { Wish } from '../planners/workload.ts';
import { controllerName } from './controller-argument.ts';
import { colorsOf } from './colors.ts';
import { ageOf } from './durations.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { GetOptions } from './get.ts';
import type { Call } from './io.ts';
import { describeFree, leaseName, readLease } from './lease.ts';
import { RunWatch } from './run-watch.ts';
import { chosenBy } from './selector-option.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS, withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import { formatTable } from './table.ts';
import { cameBack, describePause, describeTurn, isUnderWay, judgeUpdate, reasonOf } from './update-state.ts';

interface ControllerView {
  readonly namespace: string;
  readonly name: string;
  /** Name of the controller whose place it takes, where that is gone already. */
  readonly replaces?: string;
  readonly desired: number;
  readonly current: number;
  readonly available: number;
  readonly state: 'Ready' | 'Progressing' | 'Paused' | 'Stalled';
  /** A clause, or empty. */
  readonly message: string;
  /** Only while an update is under way. */
  readonly progress?: UpdateProgress;
  /** Name of its record, a ControllerRevision; an update that kubectl began has none until a run takes it on. */
  readonly record?: string;
  /** Why the last run of the update failed; another may be open. */
  readonly failedBecause?: string;
  readonly paused?: Wish;
  readonly images: readonly string[];
  readonly commit?: string;
  readonly repository?: string;
  readonly createdAt?: string;
}

/** Runs the verb. */
export async function runGetControllers(call: Call<GetOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const [operand = ''] = call.operands;
    const name = controllerName(operand);
    if (name !== undefined && (options.selector !== undefined || options.allNamespaces === true)) {
      throw new CliError(
        `-A and -l choose among controllers: with them write rc, not ${operand}`,
        EXIT.usage,
      );
    }
    const all = await readViews(session, options);
    const { items, unreachable } = await withRuns(session, name === undefined ? all : rowsOf(all, name));
    if (name !== undefined && items.length === 0) {
      throw new CliError(
        `replicationcontroller/${name} not found in namespace ${session.namespace}\n  \`fairlead get rc -A\` shows what there is`,
      );
    }
    const document = { apiVersion: CLI_API_VERSION, kind: 'ReplicationControllerList', items } as const;
    if (await printStructured(io, options, document)) return EXIT.ok;
    if (options.output === 'name') {
      for (const one of items) io.out(`replicationcontroller/${one.name}\n`);
      return EXIT.ok;
    }
    if (items.length === 0) {
      const where = options.allNamespaces === true ? 'any namespace' : `namespace ${session.namespace}`;
      io.err(`No ReplicationControllers found in ${where}.\n`);
      return EXIT.ok;
    }
    const colors = colorsOf(io);
    const paints = { Ready: colors.good, Progressing: colors.busy, Paused: colors.held, Stalled: colors.bad };
    const table = formatTable<ControllerView>(
      [
        ...(options.allNamespaces === true
          ? [{ title: 'NAMESPACE', value: (row: ControllerView) => row.namespace }]
          : []),
        { title: 'NAME', value: (row) => `replicationcontroller/${row.name}` },
        { title: 'DESIRED', value: (row) => String(row.desired) },
        { title: 'CURRENT', value: (row) => String(row.current) },
        { title: 'AVAILABLE', value: (row) => String(row.available) },
        { title: 'NEXT', value: nextCell },
        { title: 'STATE', value: (row) => row.state, paint: (text, row) => paints[row.state](text) },
        { title: 'REASON', value: (row) => (row.message === '' ? '-' : row.message) },
        { title: 'AGE', value: (row) => ageOf(row.createdAt, io.now()) },
        { title: 'COMMIT', value: (row) => row.commit?.slice(0, 8) ?? '<none>' },
        ...(options.output === 'wide'
          ? [{ title: 'IMAGES', value: (row: ControllerView) => row.images.join(',') }]
          : []),
      ],
      items,
    );
    io.out(table);
    await noteNoLeader(session, items);
    if (unreachable !== undefined) {
      io.err(`note: ${oneLine(unreachable)}, so it is not known whether the updates go on\n`);
    }
    return EXIT.ok;
  });
}

/** So many runs are asked after; whoever has more under way at once has the Temporal UI. */
const MOST_RUNS = 20;

interface WithRuns {
  readonly items: readonly ControllerView[];
  /** Why Temporal could not be asked. */
  readonly unreachable: string | undefined;
}

/** What is written on controllers does not say that a run was terminated: nothing goes on, and that is no progress. */
async function withRuns(session: Session, items: readonly ControllerView[]): Promise<WithRuns> {
  const asked = new Set(items.filter(isBusy).slice(0, MOST_RUNS));
  let unreachable: string | undefined;
  const told = items.map(async (item) => {
    if (!asked.has(item)) return item;
    const { namespace, name, replaces = name } = item;
    const watch = new RunWatch(session, { namespace, name: replaces });
    const last = await watch.closedAtLast();
    unreachable ??= watch.unreachable();
    const isRecorded = item.record !== undefined;
    const run = last?.state === 'closed' ? ownRun(last, isRecorded) : last;
    if (run?.state === 'closed' || (run?.state === 'none' && isRecorded))
      return { ...item, state: 'Stalled' as const, message: describeNoRun(run, item.failedBecause) };
    const open = watch.open();
    const why = open?.state === 'running' ? open.failing?.message : undefined;
    return why === undefined || item.message !== '' ? item : { ...item, message: why };
  });
  return { items: await Promise.all(told), unreachable };
}

function isBusy({ state, progress }: ControllerView): boolean {
  return state === 'Progressing' && progress !== undefined;
}

/** Nor does it say that no worker leads. */
async function noteNoLeader(session: Session, items: readonly ControllerView[]): Promise<void> {
  if (!items.some(isBusy)) return;
  const lease = await readLease(session);
  if (lease.state !== 'free') return;
  session.io.err(`note: ${oneLine(describeFree(lease, leaseName(session)))}, so no update goes on\n`);
}

/** The rows that `rc/NAME` means: by its own name, and by that of the other half of its update, which may be gone already. */
export function rowsOf(all: readonly ControllerView[], name: string): readonly ControllerView[] {
  return all.filter(
    ({ name: own, replaces, progress }) => own === name || replaces === name || progress?.next?.name === name,
  );
}

/** One that stands alone, for the old one is gone, is not its own next. */
function nextCell({ name, progress }: ControllerView): string {
  const next = progress?.next;
  return next === undefined || next.name === name
    ? '-'
    : `${next.name} ${String(next.available)}/${String(progress?.desired)}`;
}

/** One row for each controller; the next one of an update stands in the row of the one that it replaces. */
async function readViews(session: Session, options: GetOptions): Promise<readonly ControllerView[]> {
  const { client, io } = session;
  const namespace = options.allNamespaces === true ? undefined : session.namespace;
  const limit = { timeoutMs: REQUEST_TIMEOUT_MS };
  const of = (resource: 'replicationcontrollers' | 'controllerrevisions') => {
    const { namespace: _, ...path } = pathOf(resource, '');
    return { ...path, namespace };
  };
  const [{ items: chosen }, { items: controllers }, { items: revisions }, { items: pods }] =
    await Promise.all([
      chosenBy(
        options.selector,
        async (only) =>
          await client.list<ReplicationController>(of('replicationcontrollers'), { ...limit, ...only }),
      ),
      client.list<ReplicationController>(of('replicationcontrollers'), limit),
      client.list<ControllerRevision>(of('controllerrevisions'), {
        ...limit,
        labelSelector: LABEL.rollingUpdate,
      }),
      client.list<Pod>({ group: '', version: 'v1', resource: 'pods', namespace }, limit),
    ]);
  // Labels choose among controllers, and there is none in the middle of a rename.
  const isWhole = options.selector === undefined;
  return viewControllers({ chosen, controllers, revisions, pods, isWhole }, io.now());
}

interface Found {
  readonly chosen: readonly ReplicationController[];
  readonly controllers: readonly ReplicationController[];
  readonly revisions: readonly ControllerRevision[];
  readonly pods: readonly Pod[];
  /** Everything is asked for, so also what a rename is about to create. */
  readonly isWhole: boolean;
}

/** What is about to be created, in a rename or after both were deleted without their pods: nothing else tells of these. */
function renamed({ controllers, revisions, pods }: Found): readonly ReplicationController[] {
  return readRecords(revisions).flatMap((record) => {
    const { from, next, state, revision } = record;
    const isThere = controllers.some(
      ({ metadata: { namespace, name } }) =>
        namespace === revision.metadata.namespace && (name === from || name === next),
    );
    if (isThere || !isActiveRecord(record)) return [];
    const { namespace = '' } = revision.metadata;
    const own = pods.filter((pod) => pod.metadata.namespace === namespace);
    const view = viewUpdate({ namespace, name: from, controllers: [], revisions: [revision], pods: own });
    if (state.phase !== 'Renaming' && leftPods(view).length === 0) return [];
    const { metadata, ...rest } = finalManifest(record, view.state.desired);
    return [{ ...rest, metadata: { ...metadata, uid: '', resourceVersion: '' } }];
  });
}

/** The rows, of `chosen` with what an update of theirs is made of. `now` in milliseconds since the epoch. */
export function viewControllers(found: Found, now: number): readonly ControllerView[] {
  const { controllers, revisions, pods } = found;
  const chosen = [...found.chosen, ...(found.isWhole ? renamed(found) : [])];
  const inNamespace = <T extends ReplicationController | ControllerRevision | Pod>(
    items: readonly T[],
    own: string,
  ) => items.filter(({ metadata }) => metadata.namespace === own);
  const isChosen = (own: string, name: string) =>
    chosen.some(({ metadata }) => metadata.namespace === own && metadata.name === name);
  return chosen.flatMap((controller) => {
    const { name, namespace: own = '' } = controller.metadata;
    const all = {
      controllers: inNamespace(controllers, own),
      revisions: inNamespace(revisions, own),
      pods: inNamespace(pods, own),
    };
    const whole = updateNameOf(all, name);
    // The next one of an update stands alone only where the old one is gone already.
    if (whole !== name && isChosen(own, whole)) return [];
    const bare = { ...all, namespace: own, name: whole };
    const snapshot = { ...bare, paused: pauseOf(viewUpdate(bare)) };
    const row = viewOf(controller, planRollingUpdate(snapshot, now), pods, now);
    return [whole === name ? row : { ...row, replaces: whole }];
  });
}

function viewOf(
  controller: ReplicationController,
  plan: ReturnType<typeof planRollingUpdate>,
  pods: readonly Pod[],
  now: number,
): ControllerView {
  const { metadata, spec, status } = controller;
  const { annotations, creationTimestamp } = metadata;
  const paused = plan.view.paused;
  const [commit, repository] = [annotations?.[ANNOTATION.commit], annotations?.[ANNOTATION.repository]];
  const failedBecause = isUnderWay(plan) ? whyLastFailed(plan.view.record?.revision) : undefined;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    desired: sizeOf(controller),
    current: podsOf(controller, pods).length,
    // Of pods that are handed over the status counts none: what an update has, its progress tells.
    available: isUnderWay(plan)
      ? countAvailable(plan.view, controller, now, plan.progress.phase)
      : (status?.availableReplicas ?? 0),
    ...stateOf(plan),
    ...(isUnderWay(plan) && { progress: plan.progress }),
    ...(isUnderWay(plan) && plan.view.record && { record: plan.view.record.revision.metadata.name }),
    ...(failedBecause !== undefined && { failedBecause }),
    ...(paused !== undefined && { paused }),
    images: (spec.template?.spec.containers ?? []).map(({ image = '' }) => image),
    ...(commit !== undefined && { commit }),
    ...(repository !== undefined && { repository }),
    ...(creationTimestamp !== undefined && { createdAt: creationTimestamp }),
  };
}

function stateOf(plan: ReturnType<typeof planRollingUpdate>): Pick<ControllerView, 'state' | 'message'> {
  const { paused } = plan.view;
  const { outcome, sentence } = judgeUpdate(plan);
  if (paused !== undefined && (isUnderWay(plan) || outcome !== 'stalled'))
    return { state: 'Paused', message: describePause(paused) };
  const back = cameBack(plan);
  if (back !== undefined) {
    return { state: 'Ready', message: describeTurn(back.turned) };
  }
  switch (outcome) {
    case 'done':
    case 'rolledBack':
      return { state: 'Ready', message: '' };
    case 'stalled':
      return { state: 'Stalled', message: sentence };
    case 'progressing':
      return { state: 'Progressing', message: isUnderWay(plan) ? (reasonOf(plan) ?? '') : sentence };
  }
}
