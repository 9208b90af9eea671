/** What `get repositories` says of each repository, from what the leader saw of it and what its inventory holds: pure. */

import { whatFollows } from '../git/drift-report.ts';
import { describeDrift } from '../git/drift.ts';
import type { FollowedRow, Troubles } from '../git/followed-list.ts';
import type { Inventory } from '../git/inventory.ts';
import type { RepositoryStatus } from '../git/inventory-status.ts';
import { shortSha } from '../git/problems.ts';
import { otherCluster, ownerElsewhere } from '../git/run-cluster.ts';
import { describeGoingOn, describeSuspension } from '../git/suspension.ts';
import { readSuspended } from '../kubernetes/wish-annotations.ts';
import type { Wish } from '../planners/workload.ts';
import type { CommitView } from '../workflows/sync-messages.ts';

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
  /** Why that cannot be read, or not yet. */
  readonly unread?: string | undefined;
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

/** Why there is nothing to be told of an inventory: its ConfigMap is not Fairlead's, or its content is damaged. */
interface Unreadable {
  readonly problem: string;
  readonly isDamaged?: true;
}

export type Viewed =
  | (Pick<Inventory, 'source' | 'cluster' | 'run' | 'status' | 'annotations'> &
      Partial<Pick<Inventory, 'entries'>>)
  | Unreadable
  | undefined;

export type Found =
  | Pick<Inventory, 'entries' | 'source' | 'cluster' | 'run' | 'status' | 'annotations'>
  | Unreadable
  | undefined;

export function damageOf(inventory: Viewed): string | undefined {
  return inventory !== undefined && 'problem' in inventory && inventory.isDamaged === true
    ? inventory.problem
    : undefined;
}

/** All objects of a repository that is not followed are of others by now, as after a rename, or are gone. */
export interface Taken {
  /** Names of repositories that have those that are there. */
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
      ...(row.unread !== undefined && row.unread.sha === row.sha && { unread: row.unread.problem }),
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
export function areOfOthers(inventory: Viewed, cluster: string | undefined): boolean {
  if (cluster === undefined || inventory === undefined || !('status' in inventory)) return false;
  return ownerElsewhere(inventory, cluster) !== undefined;
}

/** {@link otherCluster} */
export function elsewhereOf(inventory: Viewed, cluster: string | undefined): string | undefined {
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
        : `${describeTaken(taken)}, and this row goes with its inventory: ${taken.toClear}`);
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
        ? { state: 'Synced', message: [...(commit.notes ?? []), ...unwatchedIn(drift)].join('; ') }
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

function describeTaken({ by }: Taken): string {
  if (by.length === 0) return 'nothing of what it applied is there any more';
  return `${by.join(', ')} ${by.length === 1 ? 'has' : 'have'} all that is left of what it applied`;
}

/** By this leader; an earlier one has told the inventory what kept it from reading. */
function notLookedAt(before: RepositoryStatus['source']): string {
  if (before?.problem === undefined) return 'not looked at yet';
  return `not looked at yet by this worker; the one before could not read it since ${before.since}: ${before.problem}`;
}

/** `2 objects drifted: ConfigMap shop/settings: data.color changed by "kubectl-edit"; it stays: …`. */
export function describeDrifts({ count, objects }: NonNullable<RepositoryStatus['drift']>): string {
  const [first] = objects;
  const what = count === 1 ? 'one object' : `${String(count)} objects`;
  return first === undefined
    ? `${what} drifted`
    : `${what} drifted: ${describeDrift(first)}${whatFollows(first)}`;
}

function unwatchedIn(drift: RepositoryStatus['drift'] | undefined): readonly string[] {
  const first = drift?.unwatched?.[0];
  return first === undefined ? [] : [`drift is not seen of all: ${first}`];
}
