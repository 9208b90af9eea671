/** `fairlead get`: workloads, a line each. */

import type { ResourcePath } from '../kubernetes/client.ts';
import { isForbidden } from '../kubernetes/api-error.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { groupVersion, workloadCollection } from '../kubernetes/workload-api.ts';
import { WORKLOAD_KINDS, hasReplicaSets } from '../kubernetes/workload-kinds.ts';
import { REPLICA_SETS, revisionPath } from '../kubernetes/revision-store.ts';
import type { RevisionStore } from '../kubernetes/revision-store.ts';
import { LABEL } from '../planners/names.ts';
import type { ControllerRevision, KubernetesObject } from '../planners/objects.ts';
import { compareRevisions } from '../planners/revision.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import type { Colors } from './colors.ts';
import { colorsOf } from './colors.ts';
import { ageOf } from './durations.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import { describeFree, leaseName, readLease, whyNotKept } from './lease.ts';
import { readWorkload } from './read-workload.ts';
import type { Chosen } from './selector-option.ts';
import { chosenBy } from './selector-option.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS, targetOf, withSession } from './session.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { Document } from './structured.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';
import type { KindArgument } from './workload-argument.ts';
import { KINDS, formatWorkload, parseKindArgument } from './workload-argument.ts';
import type { WorkloadState } from './workload-state.ts';
import type { WorkloadView } from './workload-view.ts';
import { shortRevision, viewWorkload } from './workload-view.ts';

export interface GetOptions {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
}

interface WorkloadListDocument extends Document {
  readonly kind: 'WorkloadList';
  readonly items: readonly WorkloadView[];
}

/** Runs the verb. Fails with 1 when a named workload does not exist. */
export async function runGet(call: Call<GetOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const views = await withRevisions(session, await readViews(session, call), options);
    const detailed = options.output === 'wide' || options.output === 'json' || options.output === 'yaml';
    const rows = detailed ? await withPods(session, views, options) : views;
    const document: WorkloadListDocument = { apiVersion: CLI_API_VERSION, kind: 'WorkloadList', items: rows };
    if (await printStructured(io, options, document)) {
      return EXIT.ok;
    }
    if (options.output === 'name') {
      for (const row of rows) io.out(`${nameOf(row)}\n`);
      return EXIT.ok;
    }
    if (rows.length === 0) {
      const where = options.allNamespaces === true ? 'in any namespace' : `in namespace ${session.namespace}`;
      const [operand] = call.operands;
      const what =
        operand === undefined
          ? `workloads of ${session.api}`
          : describeKind(parseKindArgument(operand, session.api));
      const chosen = options.selector === undefined ? '' : ` with ${options.selector}`;
      io.err(`No ${what}${chosen} found ${where}.\n`);
      return EXIT.ok;
    }
    const columns = columnsOf(
      io.now(),
      colorsOf(io),
      options.allNamespaces === true,
      options.output === 'wide',
    );
    io.out(formatTable(columns, rows));
    await noteUnkept(session, rows);
    return EXIT.ok;
  });
}

function describeKind({ kind, api }: KindArgument): string {
  return `${kind}s of ${api}`;
}

/**
 * Behind the table: that nobody leads, whatever the rows say, for they are of the last one who did; or, of a pause that nobody keeps and a
 * workload that nobody has looked at, that whoever leads has no eyes for it.
 */
async function noteUnkept(session: Session, rows: readonly WorkloadView[]): Promise<void> {
  const lease = await readLease(session);
  if (lease.state === 'free') {
    const why = describeFree(lease, leaseName(session));
    session.io.err(`note: nothing is done by Fairlead about any of these: ${oneLine(why)}\n`);
    return;
  }
  const doubtful = rows.filter(({ state }) => state === 'Paused' || state === 'Pending');
  const reasons = doubtful.map(({ workloadApi, namespace }) =>
    whyNotKept(lease, { ...groupVersion(workloadApi), namespace }, leaseName(session)),
  );
  const [why] = reasons.filter((reason) => reason !== undefined);
  if (why !== undefined) session.io.err(`note: nothing is done by Fairlead about some of these: ${why}\n`);
}

/** Columns of the table. `now` in milliseconds since the epoch. */
export function columnsOf(
  now: number,
  colors: Colors,
  allNamespaces: boolean,
  wide: boolean,
): readonly Column<WorkloadView>[] {
  const paints: Readonly<Record<WorkloadState, (text: string) => string>> = {
    Ready: colors.good,
    Progressing: colors.busy,
    Paused: colors.held,
    Stalled: colors.bad,
    Pending: colors.dim,
    Terminating: colors.dim,
  };
  return [
    ...(allNamespaces ? [{ title: 'NAMESPACE', value: (row: WorkloadView) => row.namespace }] : []),
    { title: 'NAME', value: (row) => `${row.workloadKind.toLowerCase()}/${row.name}` },
    { title: 'DESIRED', value: (row) => String(row.desired) },
    { title: 'READY', value: (row) => String(row.ready) },
    { title: 'UPDATED', value: (row) => String(row.updated) },
    { title: 'AVAILABLE', value: (row) => String(row.available) },
    { title: 'REVISION', value: (row) => shortRevision(row.updateRevision, row.name) },
    { title: 'STATE', value: (row) => row.state, paint: (text, row) => paints[row.state](text) },
    { title: 'REASON', value: reasonCell },
    { title: 'AGE', value: (row) => ageOf(row.createdAt, now) },
    { title: 'COMMIT', value: (row) => row.commit?.slice(0, 8) ?? '<none>' },
    ...(wide
      ? [
          { title: 'PODS', value: podsCell },
          { title: 'IMAGES', value: (row: WorkloadView) => row.images.join(',') },
        ]
      : []),
  ];
}

/** The cell must stay short; `explain` says it in full. */
function reasonCell(row: WorkloadView): string {
  if (row.state === 'Paused') {
    return row.message === '' ? 'paused' : cut(row.message, 40);
  }
  return row.reason === '' ? '-' : row.reason;
}

function podsCell(row: WorkloadView): string {
  const entries = Object.entries(row.podsByRevision ?? {});
  return entries.length === 0
    ? '-'
    : entries.map(([revision, count]) => `${shortRevision(revision, row.name)}:${String(count)}`).join(',');
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

async function readViews(
  session: Session,
  { operands, options }: Call<GetOptions>,
): Promise<readonly WorkloadView[]> {
  const [operand] = operands;
  if (operand?.includes('/') === true) {
    if (options.selector !== undefined || options.allNamespaces === true) {
      const flag = options.selector === undefined ? '-A' : '-l';
      throw new CliError(
        `${flag} chooses among workloads: with it name a kind alone, not ${operand}`,
        EXIT.usage,
      );
    }
    const { argument, target } = targetOf(session, operand);
    const object = await readWorkload(session, target);
    return [viewWorkload(object, argument.kind, argument.api)];
  }
  const kinds =
    operand === undefined
      ? KINDS.map((kind) => ({ kind, api: session.api }))
      : [parseKindArgument(operand, session.api)];
  const namespace = options.allNamespaces === true ? undefined : session.namespace;
  const lists = await chosenBy(
    options.selector,
    async (chosen) =>
      await Promise.all(kinds.map(({ kind, api }) => listViews(session, kind, api, namespace, chosen))),
  );
  return lists.flat();
}

async function listViews(
  session: Session,
  kind: WorkloadKind,
  api: WorkloadApi,
  namespace: string | undefined,
  chosen: Chosen,
): Promise<readonly WorkloadView[]> {
  const { items } = await session.client.list<WorkloadObject>(workloadCollection(api, kind, namespace), {
    timeoutMs: REQUEST_TIMEOUT_MS,
    ...chosen,
  });
  return items.map((object) => viewWorkload(object, kind, api));
}

/**
 * The status of a StatefulSet alone names its revision: of others it is the one with the highest number. Where these may not be
 * listed it stays away.
 */
async function withRevisions(
  session: Session,
  views: readonly WorkloadView[],
  options: GetOptions,
): Promise<readonly WorkloadView[]> {
  const isNamed = ({ updateRevision, observedGeneration }: WorkloadView) =>
    updateRevision !== undefined || observedGeneration === undefined;
  const stores = new Set(
    views.filter((view) => !isNamed(view)).map(({ workloadKind }) => WORKLOAD_KINDS[workloadKind].history),
  );
  const lists = await Promise.all([...stores].map((store) => listOf(session, store, options)));
  const sorted = lists.flat().sort(compareRevisions);
  return views.map((view) => {
    const updateRevision = isNamed(view) ? undefined : sorted.findLast(isControlledBy(view))?.metadata.name;
    return { ...view, ...(updateRevision !== undefined && { updateRevision }) };
  });
}

async function listOf(
  session: Session,
  store: RevisionStore,
  { allNamespaces }: GetOptions,
): Promise<readonly ControllerRevision[]> {
  const path = revisionPath(store, allNamespaces === true ? undefined : session.namespace);
  try {
    const { items } = await session.client.list(path, { timeoutMs: REQUEST_TIMEOUT_MS });
    return items.map((one) => store.read(one));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return [];
  }
}

function isControlledBy({ uid }: WorkloadView): (object: KubernetesObject) => boolean {
  return ({ metadata }) =>
    metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true;
}

/** Adds how many pods are at which revision. Pods that may not be listed leave the column empty, and the user is told. */
async function withPods(
  session: Session,
  views: readonly WorkloadView[],
  { allNamespaces }: GetOptions,
): Promise<readonly WorkloadView[]> {
  if (views.length === 0) return views;
  const namespace = allNamespaces === true ? undefined : session.namespace;
  const path: ResourcePath = { group: '', version: 'v1', resource: 'pods', namespace };
  const isBetween = views.some(({ workloadKind }) => hasReplicaSets(WORKLOAD_KINDS[workloadKind]));
  try {
    const [pods, replicaSets] = await Promise.all([
      session.client.list(path, { timeoutMs: REQUEST_TIMEOUT_MS }),
      isBetween
        ? session.client.list(revisionPath(REPLICA_SETS, namespace), { timeoutMs: REQUEST_TIMEOUT_MS })
        : { items: [] },
    ]);
    return views.map((view) => ({
      ...view,
      podsByRevision: countPods(pods.items, replicaSets.items.filter(isControlledBy(view)), view),
    }));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    session.io.err(`note: pods are left out: ${error.message}\n`);
    return views;
  }
}

/** By the label of the pods, or by the ReplicaSet that they are of. */
function countPods(
  pods: readonly KubernetesObject[],
  replicaSets: readonly KubernetesObject[],
  view: WorkloadView,
): Readonly<Record<string, number>> {
  const between = new Map(replicaSets.map(({ metadata }) => [metadata.uid, metadata.name]));
  const counts: Record<string, number> = {};
  for (const { metadata } of pods) {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid ?? '';
    const revision =
      owner === view.uid ? (metadata.labels?.[LABEL.revisionHash] ?? '<none>') : between.get(owner);
    if (revision !== undefined) counts[revision] = (counts[revision] ?? 0) + 1;
  }
  return counts;
}

function nameOf(view: WorkloadView): string {
  return formatWorkload({ kind: view.workloadKind, api: view.workloadApi, name: view.name });
}
