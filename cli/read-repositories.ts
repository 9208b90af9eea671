/** What the cluster holds of each repository: what the leader follows, and the inventories of what was applied. */

import type { Followed, Troubles } from '../git/followed-list.ts';
import { CHECK_MS, listName, readFollowedList } from '../git/followed-list.ts';
import type { RepositoryStatus } from '../git/inventory-status.ts';
import { DamagedInventory, InventoryStore } from '../git/inventory.ts';
import type { Entries } from '../git/inventory-content.ts';
import { INVENTORY_LABEL, takenBy } from '../git/inventory-content.ts';
import { ProblemError } from '../git/problems.ts';
import { formatAge } from './durations.ts';
import { areGone } from './gone-objects.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { describeFree, leaseName, readLease } from './lease.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';
import type { Found, RepositoryView, Taken } from './repository-views.ts';
import { areOfOthers, damageOf, elsewhereOf, viewRepository } from './repository-views.ts';

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
  const items = await Promise.all(
    found
      .filter(({ row, inventory }) => row !== undefined || mayHoldObjects(inventory))
      .map(async ({ name, row, inventory }) => {
        const taken = row === undefined ? await takenFrom(session, name, inventory, held) : undefined;
        return viewRepository(name, row, inventory, {
          ...troubles,
          missing,
          cluster: session.cluster,
          taken,
        });
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
      EXIT.failed,
      { code: 'NotFound' },
    );
  }
  const isTheirs = row !== undefined && areOfOthers(inventory, session.cluster);
  const others = row === undefined ? await readInventories(session, rows) : [];
  const taken = row === undefined ? await takenFrom(session, name, inventory, entriesOf(others)) : undefined;
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

/** Undefined: something is left that no repository that is followed has, or that cannot be told. */
async function takenFrom(
  session: Session,
  name: string,
  inventory: Found,
  followed: ReadonlyMap<string, Entries>,
): Promise<Taken | undefined> {
  if (inventory === undefined || !('entries' in inventory) || inventory.entries.size === 0) return undefined;
  const { by, left } = takenBy(inventory.entries, followed);
  // What the others have pruned since is in none of them, and is gone.
  if (!(await areGone(session.client, left))) return undefined;
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

function sentences({ file, temporal, webhooks }: Troubles, missing: string | undefined): readonly string[] {
  const others = [temporal, webhooks, missing].filter((one) => one !== undefined);
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

/** Why a verb that only its own workers can follow is refused. */
export function whyNotFollowed({ view, elsewhere, beside }: KnownRepository): string {
  if (elsewhere !== undefined && view.state !== 'NotFollowed')
    return `repository ${view.name}: ${view.message}`;
  return elsewhere === undefined
    ? `no worker follows repository ${view.name}${beside}\n  put its entry into the repositories file of the worker; \`fairlead get repositories\` shows what is followed`
    : `no worker of this --cluster follows repository ${view.name}: it is of the workers with FAIRLEAD_CLUSTER=${elsewhere}; say --cluster ${elsewhere}`;
}
