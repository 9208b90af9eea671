/** Ports and addresses that one Service of a cluster alone may have: who has what the apiserver refuses to another, and the way out. */

import { startDeadline } from '../kubernetes/deadline.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { trusted } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL, forEachLimited } from './commit.ts';
import type { InventoryEntry } from './inventory-content.ts';
import { entryKey, judgePrune } from './inventory-content.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import type { Problem } from './problems.ts';
import { TRIED_BY_ITSELF } from './problems.ts';

/** In the words of the apiserver's allocators. A dry run allocates no address: that one is taken the write alone tells. */
const ALLOCATED =
  /Invalid value: (\d+): provided port is already allocated|failed to allocate IP (\S+): provided IP is already allocated/;

/** In which the Services must be read, milliseconds: who asks has little time. */
const LOOK_MS = 2_000;
const SERVICES = { group: '', version: 'v1', resource: 'services' } as const;

interface Service extends KubernetesObject {
  readonly spec?: {
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ports?: readonly { readonly port?: number; readonly nodePort?: number }[];
    readonly healthCheckNodePort?: number;
  };
}

/** What an allocator has refused. */
type Allocation = { readonly port: number } | { readonly address: string };

interface Refused {
  readonly object: PreparedObject;
  readonly allocation: Allocation;
}

/** The objects of a commit, and what is in the inventory and not in it. */
interface CommitSides {
  readonly objects: readonly PreparedObject[];
  readonly left: readonly InventoryEntry[];
}

/** Services of the cluster, as far as the repository's account may see them. */
interface Seen {
  readonly services: readonly Service[];
  readonly isAll: boolean;
}

/**
 * The problems of a commit; those of a port or an address that another Service has name that one and what frees it. Who has it is looked
 * up as the repository's account, and not told where it cannot be.
 * @throws the reason of the context's signal
 */
export async function withHolders(
  context: CommitContext,
  problems: readonly Problem[],
  sides: CommitSides,
): Promise<readonly Problem[]> {
  const refused = new Map<Problem, Refused>();
  for (const item of problems) {
    const allocation = item.code === 'Invalid' ? allocationIn(item.message) : undefined;
    if (allocation === undefined) continue;
    const object = sides.objects.find(({ label }) => label === item.object);
    if (object?.manifest.group === '' && object.manifest.kind === 'Service')
      refused.set(item, { object, allocation });
  }
  if (refused.size === 0) return problems;
  const namespaces = new Set([...refused.values()].flatMap(({ object }) => object.namespace ?? []));
  const seen = await see(context, namespaces, sides.left);
  return problems.map((item) => {
    const one = refused.get(item);
    return one === undefined
      ? item
      : toldWithHolder(item, one, seen, { ...sides, repository: context.repository });
  });
}

function allocationIn(message: string): Allocation | undefined {
  const [, port, address] = ALLOCATED.exec(message) ?? [];
  if (port !== undefined) return { port: Number(port) };
  return address === undefined ? undefined : { address };
}

/** All Services; for an account that may not list them, those of its refused objects' namespaces and those that left the commit. */
async function see(
  { client, signal }: CommitContext,
  namespaces: ReadonlySet<string>,
  left: readonly InventoryEntry[],
): Promise<Seen> {
  const deadline = startDeadline(LOOK_MS, signal);
  const options = { signal: deadline.signal };
  const list = async (namespace?: string): Promise<readonly Service[] | undefined> => {
    try {
      return (await client.list<Service>({ ...SERVICES, namespace }, options)).items;
    } catch {
      // For the advice alone, which does without.
      signal?.throwIfAborted();
      return undefined;
    }
  };
  try {
    const all = await list();
    if (all !== undefined) return { services: all, isAll: true };
    const services: Service[] = [];
    await forEachLimited([...namespaces], PARALLEL, async (namespace) => {
      services.push(...((await list(namespace)) ?? []));
    });
    await forEachLimited(left.filter(isService), PARALLEL, async ({ namespace, name }) => {
      const path = { ...SERVICES, namespace, name };
      const live = await getOrUndefined<Service>(client, path, deadline.signal).catch(() => undefined);
      if (live !== undefined) services.push(live);
    });
    signal?.throwIfAborted();
    return { services, isAll: false };
  } finally {
    deadline.clear();
  }
}

function isService({ apiVersion, kind }: InventoryEntry): boolean {
  return apiVersion === 'v1' && kind === 'Service';
}

function toldWithHolder(
  item: Problem,
  { object, allocation }: Refused,
  { services, isAll }: Seen,
  { objects, left, repository }: CommitSides & Pick<CommitContext, 'repository'>,
): Problem {
  const what = 'port' in allocation ? 'port' : 'address';
  const holder = services.find(
    (one) => keyOf(one) !== entryKey(inventoryEntry(object)) && has(one, allocation),
  );
  if (holder === undefined) {
    if (isTwiceIn(object, allocation)) return item;
    if (isAll) return { ...item, next: `No Service has it any more; ${TRIED_BY_ITSELF}.` };
    const next = `\`kubectl get services -A\` shows which: have that one let go of it, or commit another ${what}; ${TRIED_BY_ITSELF}.`;
    return { ...item, message: `${item.message} Another Service has it.`, next };
  }
  const { namespace = '', name, deletionTimestamp, annotations } = holder.metadata;
  const label = `Service ${namespace}/${name}`;
  const where = `service ${shellWord(name)} -n ${shellWord(namespace)}`;
  const told = (which: string, next: string): Problem => ({
    ...item,
    message: `${item.message} ${label}${which} has it.`,
    next: `${next}; ${TRIED_BY_ITSELF}.`,
  });
  if (deletionTimestamp !== undefined)
    return told(
      ', which is being deleted,',
      `Wait until that one is gone (\`kubectl get ${where} -o yaml\` names the finalizers that hold it), or commit another ${what}`,
    );
  const key = keyOf(holder);
  if (objects.some((one) => entryKey(inventoryEntry(one)) === key))
    return told(
      ', which is in the commit too,',
      `Commit that one without it, and ${object.label} when that is applied; or commit another ${what}`,
    );
  const entry = left.find((one) => entryKey(one) === key);
  if (entry === undefined || annotations?.[ANNOTATION.repository] !== repository.name)
    return told('', `Have that one let go of it, or commit another ${what}`);
  const isPruned = repository.prune && judgePrune(entry, holder, repository.name).verdict === 'delete';
  const inTwo = `; or commit its removal alone, and ${object.label} when that is applied: what left a commit is deleted after the rest of it`;
  return told(
    ', which the commit no longer holds,',
    `Delete that one: \`kubectl delete ${where}\`, then \`fairlead sync ${shellWord(repository.name)}\`${isPruned ? inTwo : ''}`,
  );
}

function keyOf({ metadata: { namespace, name } }: KubernetesObject): string {
  return entryKey({ apiVersion: 'v1', kind: 'Service', namespace, name });
}

/** One range of ports is for all protocols, and for health checks as well. */
function has({ spec }: Service, allocation: Allocation): boolean {
  if ('address' in allocation)
    return [spec?.clusterIP, ...(spec?.clusterIPs ?? [])].includes(allocation.address);
  const { port } = allocation;
  return spec?.healthCheckNodePort === port || (spec?.ports ?? []).some(({ nodePort }) => nodePort === port);
}

/** Two ports of one number may share it, of two protocols; others are in each other's way. */
function isTwiceIn({ manifest }: PreparedObject, allocation: Allocation): boolean {
  if ('address' in allocation) return false;
  const { ports } = trusted<Service>(manifest.body).spec ?? {};
  const named = (ports ?? []).filter(({ nodePort }) => nodePort === allocation.port);
  return new Set(named.map(({ port }) => port)).size > 1;
}
