/** What the cluster holds of each repository: what the leader follows, and the inventories of what was applied. */

import { whatFollows } from '../git/drift-report.ts';
import { describeDrift } from '../git/drift.ts';
import type { Followed, FollowedRow, Troubles } from '../git/followed-list.ts';
import { CHECK_MS, listName, readFollowedList } from '../git/followed-list.ts';
import type { Inventory, RepositoryStatus } from '../git/inventory.ts';
import { DamagedInventory, InventoryStore } from '../git/inventory.ts';
import type { Entries } from '../git/inventory-content.ts';
import { INVENTORY_LABEL, takenBy } from '../git/inventory-content.ts';
import { ProblemError, shortSha } from '../git/problems.ts';
import { otherCluster, ownerElsewhere } from '../git/run-cluster.ts';
import { describeGoingOn, describeSuspension } from '../git/suspension.ts';
import { readSuspended } from '../kubernetes/wish-annotations.ts';
import type { Wish } from '../planners/workload.ts';
import type { CommitView } from '../workflows/sync-messages.ts';
import { formatAge } from './durations.ts';
import { CliError } from './exit-codes.ts';
import { describeFree, leaseName, readLease } from './lease.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

export type RepositoryState =
  | 'Synced'
  | 'Drifted'
  | 'Pending'
  | 'Progressing'
  | 'Suspended'
  | 'Unreadable'
  | 'InventoryUnreadable'
  | 'Refused'
  | 'Failed'
  | 'Canceled'
  | 'Terminated'
  | 'NotFollowed'
  /** Whether it is followed cannot be told. */
  | 'Unknown';

/** A repository as `get repositories` shows it. Times are RFC 3339. */
export interface RepositoryView {
  readonly name: string;
  readonly url?: string | undefined;
  /** Absent: the remote's HEAD. */
  readonly ref?: string | undefined;
  readonly path?: string | undefined;
  readonly namespace?: string | undefined;
  /** `NAMESPACE/NAME` that its commits are applied as; `''`: the worker itself. */
  readonly serviceAccount?: string | undefined;
  readonly webhook?: boolean | undefined;
  readonly state: RepositoryState;
  /** Why it is in this state, or what it waits for; `''`: there is nothing to say. */
  readonly message: string;
  /** The last commit that went all the way. */
  readonly applied?: string | undefined;
  readonly appliedAt?: string | undefined;
  /** The commit that the ref names, by the last look at it. */
  readonly seen?: string | undefined;
  /** Of a look; the last one may be up to a minute younger. */
  readonly lookedAt?: string | undefined;
  /** The last commit that was tried. */
  readonly commit?: RepositoryStatus['commit'];
  /** Where that is, and what it waits for, while it is under way. */
  readonly underWay?: Pick<CommitView, 'phase' | 'held' | 'waiting'> | undefined;
  readonly suspended?: Wish | undefined;
  /** What was changed in the cluster after it was applied. */
  readonly drift?: RepositoryStatus['drift'];
  /** Why it cannot be seen whether anything was changed. */
  readonly driftProblem?: string | undefined;
  /** Who of those that are told of commits could not be told the last time. */
  readonly receivers?: RepositoryStatus['receivers'];
}

/** What is known of one repository, and the place where it is kept. */
export interface KnownRepository {
  readonly view: RepositoryView;
  /** What keeps the leader from following as it should. */
  readonly troubles: readonly string[];
  readonly status: RepositoryStatus;
  /** {@link besideThem}, where no worker follows it. */
  readonly beside: string;
  /** Why it may be followed in a moment although it does not seem so. */
  readonly unsure?: Unsure | undefined;
  /** FAIRLEAD_CLUSTER of the workers whose it is, where they are others. */
  readonly elsewhere?: string | undefined;
  /** Why the inventory cannot be read: what `status` would tell is not known. */
  readonly damage: string | undefined;
  readonly store: InventoryStore;
}

/** All of them, by name: those that are followed, and those of which something is still in the cluster. @throws ApiError */
export async function listRepositories(session: Session): Promise<{
  readonly items: readonly RepositoryView[];
  readonly troubles: readonly string[];
  /** Why there may be others; undefined: there are none. */
  readonly unsure?: string | undefined;
}> {
  const { rows: followed, troubles, missing, nobody } = await followedBy(session);
  const rows = new Map(followed.map((row) => [row.name, row]));
  const applied = (await appliedNames(session)).map(({ name }) => name);
  const names = [...new Set([...rows.keys(), ...applied])].toSorted();
  const found = await readInventories(
    session,
    names.map((name) => ({ name, row: rows.get(name) })),
  );
  const held = entriesOf(found.filter(({ row }) => row !== undefined));
  const items = found
    .filter(({ row, inventory }) => row !== undefined || mayHoldObjects(inventory))
    .map(({ name, row, inventory }) =>
      viewRepository(name, row, inventory, {
        ...troubles,
        missing,
        cluster: session.cluster,
        ...(row === undefined && { taken: takenFrom(session, name, inventory, held) }),
      }),
    );
  return { items, troubles: sentences(troubles, missing), unsure: missing ?? nobody };
}

/** Why what is known of the repositories that are followed may not be so in a moment. */
interface Unsure {
  readonly why: string;
  /** No worker leads. */
  readonly isNobody: boolean;
}

/** Whether there is such a repository cannot be told, but when a worker has told what it follows. */
export class NotListedYet extends CliError {
  readonly unsure: Unsure;

  constructor(name: string, unsure: Unsure) {
    super(`whether there is a repository "${name}" is not known: ${unsure.why}`);
    this.unsure = unsure;
  }
}

/**
 * @throws CliError naming those that there are, for a repository that is neither followed nor was ever applied; NotListedYet
 */
export async function readRepository(session: Session, name: string): Promise<KnownRepository> {
  const followed = await followedBy(session);
  const { rows, troubles, missing } = followed;
  const row = rows.find((one) => one.name === name);
  const inventory = await readInventory(session, name);
  const elsewhere = elsewhereOf(inventory, session.cluster);
  const unsure =
    row === undefined && elsewhere === undefined ? await whyUnsure(session, followed) : undefined;
  if (row === undefined && inventory === undefined) {
    if (unsure !== undefined) throw new NotListedYet(name, unsure);
    const known = rows.map((one) => one.name).join(', ');
    throw new CliError(
      `there is no repository "${name}": ${known === '' ? 'the worker follows none' : `the worker follows ${known}`}${besideThem(troubles)}`,
    );
  }
  const isTheirs = row !== undefined && areOfOthers(inventory, session.cluster);
  const others = row === undefined ? await readInventories(session, rows) : [];
  const taken = row === undefined ? takenFrom(session, name, inventory, entriesOf(others)) : undefined;
  return {
    view: viewRepository(name, row, inventory, { ...troubles, missing, cluster: session.cluster, taken }),
    troubles: sentences(troubles, missing),
    status: inventory !== undefined && 'status' in inventory && !isTheirs ? inventory.status : {},
    beside: row === undefined ? besideThem(troubles) : '',
    unsure,
    elsewhere: row === undefined || isTheirs ? elsewhere : undefined,
    damage: damageOf(inventory),
    store: storeOf(session, name),
  };
}

function entriesOf(
  found: readonly { readonly name: string; readonly inventory: Found }[],
): ReadonlyMap<string, Entries> {
  return new Map(
    found.flatMap(({ name, inventory }) =>
      inventory !== undefined && 'entries' in inventory ? [[name, inventory.entries] as const] : [],
    ),
  );
}

/** Undefined: something is left that no repository that is followed has. */
function takenFrom(
  session: Session,
  name: string,
  inventory: Found,
  followed: ReadonlyMap<string, Entries>,
): Taken | undefined {
  if (inventory === undefined || !('entries' in inventory)) return undefined;
  const by = takenBy(inventory.entries, followed);
  if (by.length === 0) return undefined;
  const store = storeOf(session, name);
  return { by, toClear: `kubectl delete configmap ${store.name} -n ${store.namespace}` };
}

interface FollowedNow extends Followed {
  /** Why there is no list although somebody leads. */
  readonly missing?: string | undefined;
  /** Why there is none, as nobody leads: nobody follows anything. */
  readonly nobody?: string;
}

async function followedBy(session: Session): Promise<FollowedNow> {
  const { client, leaseNamespace, cluster } = session;
  const found = await readFollowedList(client, leaseNamespace, cluster, REQUEST_TIMEOUT_MS);
  if (found !== undefined) return found;
  const lease = await readLease(session);
  if (lease.state === 'free')
    return { rows: [], troubles: {}, nobody: describeFree(lease, leaseName(session)) };
  const who = lease.state === 'held' ? `the worker ${lease.holder}, which leads,` : 'a worker that leads';
  const missing = `the list of what the worker follows, ConfigMap ${listName(leaseNamespace, cluster)}, is missing: ${who} writes it again within ${formatAge(CHECK_MS)}`;
  return { rows: [], troubles: {}, missing };
}

/** Whether a repository that is not in the list may be followed in a moment: the list may be of a worker that leads no more. */
async function whyUnsure(
  session: Session,
  { rows, leader, missing, nobody }: FollowedNow,
): Promise<Unsure | undefined> {
  if (missing !== undefined) return { why: missing, isNobody: false };
  if (nobody !== undefined) return { why: nobody, isNobody: true };
  const names = rows.map(({ name }) => name).join(', ');
  const before = `; the one before followed ${names === '' ? 'none' : names}`;
  const lease = await readLease(session);
  if (lease.state === 'free')
    return { why: `${describeFree(lease, leaseName(session))}${before}`, isNobody: true };
  if (lease.state === 'unknown' || leader === undefined || leader === lease.holder) return undefined;
  const why = `the worker ${lease.holder}, which leads, has not told yet what it follows${before}`;
  return { why, isNobody: false };
}

function sentences({ file, temporal }: Troubles, missing: string | undefined): readonly string[] {
  const others = [temporal, missing].filter((one) => one !== undefined);
  return [...describeFile(file), ...others];
}

function describeFile(problem: string | undefined): readonly string[] {
  return problem === undefined
    ? []
    : [`the repositories file cannot be used, the repositories stay as they were: ${problem}`];
}

/** Why a repository may not be among those that are followed, for the end of a sentence: its entry is in a file that cannot be used. */
function besideThem({ file }: Troubles): string {
  return describeFile(file)
    .map((text) => `; ${text}`)
    .join('');
}

/** An inventory that cannot be read may. */
function mayHoldObjects(inventory: Found): boolean {
  return inventory !== undefined && ('problem' in inventory || inventory.entries.size > 0);
}

/** Why there is nothing to be told of an inventory: its ConfigMap is not Fairlead's, or its content is damaged. */
interface Unreadable {
  readonly problem: string;
  readonly isDamaged?: true;
}

type Viewed =
  | (Pick<Inventory, 'source' | 'cluster' | 'run' | 'status' | 'annotations'> &
      Partial<Pick<Inventory, 'entries'>>)
  | Unreadable
  | undefined;
type Found =
  | Pick<Inventory, 'entries' | 'source' | 'cluster' | 'run' | 'status' | 'annotations'>
  | Unreadable
  | undefined;

function damageOf(inventory: Viewed): string | undefined {
  return inventory !== undefined && 'problem' in inventory && inventory.isDamaged === true
    ? inventory.problem
    : undefined;
}

/** Repositories of which there is an inventory. @throws ApiError */
export async function appliedNames({
  client,
  leaseNamespace: namespace,
}: Session): Promise<readonly { readonly name: string }[]> {
  const path = { group: '', version: 'v1', resource: 'configmaps', namespace };
  const { items } = await client.list(path, {
    labelSelector: INVENTORY_LABEL,
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
  return items.flatMap(({ metadata }) => {
    const name = metadata.labels?.[INVENTORY_LABEL];
    return name === undefined ? [] : [{ name }];
  });
}

/** What each has in the cluster; one that cannot be read takes nothing away from the others. @throws ApiError */
export async function readInventories<T extends { readonly name: string }>(
  session: Session,
  named: readonly T[],
): Promise<readonly (T & { readonly inventory: Found })[]> {
  return await Promise.all(
    named.map(async (one) => ({ ...one, inventory: await readInventory(session, one.name) })),
  );
}

async function readInventory(session: Session, name: string): Promise<Found> {
  try {
    return await storeOf(session, name).read();
  } catch (error) {
    if (error instanceof ProblemError) return { problem: error.message };
    // One that is damaged takes nothing away from the others.
    if (error instanceof DamagedInventory) return { problem: error.message, isDamaged: true };
    throw error;
  }
}

function storeOf({ client, leaseNamespace }: Session, name: string): InventoryStore {
  return new InventoryStore(client, leaseNamespace, name);
}

/** All objects of a repository that is not followed are of others by now, as after a rename. */
interface Taken {
  /** Names of repositories. */
  readonly by: readonly string[];
  /** The command that forgets it. */
  readonly toClear: string;
}

/** The state of a repository from what the leader saw of it and what became of its commits. */
export function viewRepository(
  name: string,
  row: FollowedRow | undefined,
  inventory: Viewed,
  {
    temporal,
    missing,
    cluster,
    taken,
  }: Troubles & {
    /** Why there is no list of what is followed. */
    readonly missing?: string | undefined;
    readonly cluster?: string;
    readonly taken?: Taken | undefined;
  } = {},
): RepositoryView {
  const elsewhere = elsewhereOf(inventory, cluster);
  // What the others have tried, and who suspended it there, is nothing of this one.
  const isTheirs = row !== undefined && areOfOthers(inventory, cluster);
  const { status, annotations } =
    inventory !== undefined && 'status' in inventory && !isTheirs
      ? inventory
      : { status: {} as RepositoryStatus };
  const suspended = readSuspended(annotations);
  const { commit, lastSucceeded, drift } = status;
  // What was said of a receiver that has left the entry is of no use any more; where the entry has left, it is the last word.
  const untold = Object.entries(status.receivers ?? {}).filter(
    ([id]) => row === undefined || row.receivers?.includes(id),
  );
  const problem = inventory !== undefined && 'problem' in inventory ? inventory.problem : row?.problem;
  const source = inventory !== undefined && 'source' in inventory ? inventory.source : undefined;
  const base = {
    name,
    ...(row === undefined && source !== undefined && { url: source }),
    ...(row !== undefined && {
      url: row.url,
      ...(row.ref !== undefined && { ref: row.ref }),
      path: row.path,
      namespace: row.namespace,
      ...(row.serviceAccount !== undefined && { serviceAccount: row.serviceAccount }),
      webhook: row.webhook,
      ...(row.sha !== undefined && { seen: row.sha }),
      ...(row.lookedAt !== undefined && { lookedAt: row.lookedAt }),
      ...(row.driftProblem !== undefined && { driftProblem: row.driftProblem }),
    }),
    ...(lastSucceeded !== undefined && { applied: lastSucceeded.sha, appliedAt: lastSucceeded.at }),
    ...(commit !== undefined && { commit }),
    ...(suspended !== undefined && { suspended }),
    ...(drift !== undefined && { drift }),
    ...(untold.length > 0 && { receivers: Object.fromEntries(untold) }),
  };
  const { state, message } = stateOf({
    row,
    missing,
    taken,
    suspended,
    problem,
    damage: damageOf(inventory),
    commit,
    drift,
    lastSucceeded,
    before: status.source,
    elsewhere: row === undefined || isTheirs ? elsewhere : undefined,
  });
  const isMoving = state === 'Pending' || state === 'Progressing';
  // What is no state of the repository: what is wrong with that comes first.
  const also = [
    ...(isMoving && temporal !== undefined ? [temporal] : []),
    ...(drift !== undefined && drift.count > 0 && DRIFT_BESIDE.has(state) ? [describeDrifts(drift)] : []),
    ...(row?.driftProblem === undefined ? [] : [`drift cannot be looked at: ${row.driftProblem}`]),
    ...untold.map(([, trouble]) => trouble.problem),
  ];
  return { ...base, state, message: [...(message === '' ? [] : [message]), ...also].join('; ') };
}

/** Whether workers of another cluster name have objects by it: {@link ownerElsewhere}. */
function areOfOthers(inventory: Viewed, cluster: string | undefined): boolean {
  if (cluster === undefined || inventory === undefined || !('status' in inventory)) return false;
  return ownerElsewhere(inventory, cluster) !== undefined;
}

/** {@link otherCluster} */
function elsewhereOf(inventory: Viewed, cluster: string | undefined): string | undefined {
  return cluster !== undefined && inventory !== undefined && 'status' in inventory
    ? otherCluster(inventory, cluster)
    : undefined;
}

/** States that say nothing of drift themselves. */
const DRIFT_BESIDE: ReadonlySet<RepositoryState> = new Set([
  'Refused',
  'Failed',
  'Canceled',
  'Terminated',
  'Suspended',
]);

function stateOf({
  row,
  missing,
  taken,
  suspended,
  problem,
  damage,
  commit,
  drift,
  lastSucceeded,
  before,
  elsewhere,
}: {
  readonly row: FollowedRow | undefined;
  readonly missing: string | undefined;
  readonly taken: Taken | undefined;
  readonly suspended: Wish | undefined;
  readonly problem: string | undefined;
  /** Why its inventory cannot be read. */
  readonly damage: string | undefined;
  readonly commit: RepositoryStatus['commit'] | undefined;
  readonly drift: RepositoryStatus['drift'] | undefined;
  readonly lastSucceeded: RepositoryStatus['lastSucceeded'];
  /** What was seen of its source, maybe by an earlier leader. */
  readonly before: RepositoryStatus['source'];
  /** FAIRLEAD_CLUSTER of the workers whose it is, where they are others. */
  readonly elsewhere: string | undefined;
}): Pick<RepositoryView, 'state' | 'message'> {
  if (row === undefined) {
    const left =
      damage ??
      (taken === undefined
        ? 'what it applied is left as it is'
        : `${taken.by.join(', ')} ${taken.by.length === 1 ? 'has' : 'have'} all that it applied, and this row goes with its inventory: ${taken.toClear}`);
    if (missing !== undefined && elsewhere === undefined)
      return {
        state: damage === undefined ? 'Unknown' : 'InventoryUnreadable',
        message: damage ?? `whether a worker follows it is not known: ${missing}`,
      };
    const message =
      elsewhere === undefined
        ? `no worker follows it; ${left}`
        : `it is of the workers with FAIRLEAD_CLUSTER=${elsewhere}: --cluster ${elsewhere} shows it`;
    return { state: 'NotFollowed', message };
  }
  if (elsewhere !== undefined)
    return {
      state: 'Refused',
      message: `InventoryOfOther: the workers with FAIRLEAD_CLUSTER=${elsewhere} apply a repository of this name; give one of the two a \`name\` of its own (\`fairlead sync ${row.name}\` says how to take it over)`,
    };
  if (suspended !== undefined) {
    const goingOn = describeGoingOn(commit);
    return { state: 'Suspended', message: `suspended${describeSuspension(suspended)}${goingOn}` };
  }
  if (damage !== undefined) return { state: 'InventoryUnreadable', message: damage };
  if (problem !== undefined) {
    const isEmptied = problem.startsWith('UnbornBranch') && lastSucceeded !== undefined;
    const had = isEmptied
      ? ` It had ${shortSha(lastSucceeded.sha)} before; what that has applied stays.`
      : '';
    return { state: 'Unreadable', message: `${problem}${had}` };
  }
  const isBehind = row.sha !== undefined && commit !== undefined && commit.sha !== row.sha;
  if (commit === undefined || isBehind) {
    const unread = row.unread?.sha === row.sha ? row.unread?.problem : undefined;
    const next =
      row.sha === undefined
        ? notLookedAt(before)
        : `${shortSha(row.sha)} is next${unread === undefined ? '' : `, but cannot be read yet: ${unread}`}`;
    const isRunning = commit?.outcome === 'Progressing';
    return isRunning
      ? { state: 'Progressing', message: `${shortSha(commit.sha)} is under way, ${next}` }
      : { state: 'Pending', message: next };
  }
  const [first, ...more] = commit.problems ?? [];
  const total = commit.problemCount ?? more.length + 1;
  const why = first === undefined ? '' : `${first}${total > 1 ? ` (${String(total)} problems in all)` : ''}`;
  switch (commit.outcome) {
    case 'Succeeded':
      return drift === undefined || drift.count === 0
        ? { state: 'Synced', message: commit.notes?.[0] ?? unwatchedIn(drift) }
        : { state: 'Drifted', message: describeDrifts(drift) };
    case 'Progressing':
      return { state: 'Progressing', message: `${shortSha(commit.sha)} is under way` };
    case 'Superseded':
      return { state: 'Pending', message: `${shortSha(commit.sha)} was superseded` };
    case 'Refused':
    case 'Failed':
    case 'Canceled':
    case 'Terminated':
      return { state: commit.outcome, message: why === '' ? (commit.notes?.[0] ?? '') : why };
  }
}

/** Why a verb that only its own workers can follow is refused. */
export function whyNotFollowed({ view, elsewhere, beside }: KnownRepository): string {
  if (elsewhere !== undefined && view.state !== 'NotFollowed')
    return `repository ${view.name}: ${view.message}`;
  return elsewhere === undefined
    ? `no worker follows repository ${view.name}${beside}`
    : `no worker of this --cluster follows repository ${view.name}: it is of the workers with FAIRLEAD_CLUSTER=${elsewhere}; say --cluster ${elsewhere}`;
}

/** By this leader; an earlier one has told the inventory what kept it from reading. */
function notLookedAt(before: RepositoryStatus['source']): string {
  if (before?.problem === undefined) return 'not looked at yet';
  return `not looked at yet by this worker; the one before could not read it since ${before.since}: ${before.problem}`;
}

/** `2 objects drifted: ConfigMap shop/settings: data.color changed by "kubectl-edit"; it stays: …`. */
function describeDrifts({ count, objects }: NonNullable<RepositoryStatus['drift']>): string {
  const [first] = objects;
  const what = count === 1 ? 'one object' : `${String(count)} objects`;
  return first === undefined
    ? `${what} drifted`
    : `${what} drifted: ${describeDrift(first)}${whatFollows(first)}`;
}

function unwatchedIn(drift: RepositoryStatus['drift'] | undefined): string {
  const first = drift?.unwatched?.[0];
  return first === undefined ? '' : `drift is not seen of all: ${first}`;
}
