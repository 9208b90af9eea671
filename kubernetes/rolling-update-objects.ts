/** What a rolling update reads of a cluster, and how it writes: never from a cache, never without a precondition. */

import { LABEL, UPDATE_FIELD_MANAGER } from '../planners/names.ts';
import type { ControllerRevision, JsonObject, Pod } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { sizeOf } from '../planners/replication-controller.ts';
import { abandonedSelectors } from '../planners/rolling-update-abandoned.ts';
import { lostSelectors } from '../planners/rolling-update-lost.ts';
import { readRecords } from '../planners/rolling-update-record.ts';
import type { UpdateWrite } from '../planners/rolling-update-steps.ts';
import type { Adopter, RollingUpdateSnapshot, UpdateView } from '../planners/rolling-update-view.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import type { Wish } from '../planners/workload.ts';
import { formatSelector } from '../planners/selector.ts';
import { isAlreadyExists, isConflict, isForbidden, isNotFound } from './api-error.ts';
import type { KubernetesClient, ResourcePath } from './client.ts';
import { getOrUndefined } from './get-or-undefined.ts';
import { groupVersion, WORKLOAD_APIS, WORKLOAD_RESOURCES } from './workload-api.ts';
import { assertChanged } from './taken-back-error.ts';
import { trusted } from './values.ts';
import { readPaused } from './wish-annotations.ts';

/** Which update: a controller, and the one that replaces it where it was named. */
export interface UpdateReference {
  readonly namespace: string;
  readonly name: string;
  readonly next?: string | undefined;
}

/** So often a snapshot is read again that had changed while it was read. */
const SNAPSHOT_TRIES = 5;

/**
 * The same, of one moment: what was read first is read again until it is as it was. For displays, which nothing checks; a write
 * carries what it was decided on. In a cluster that never holds still, the last of five tries.
 * @throws ApiError
 */
export async function readUpdateAtOnce(
  client: KubernetesClient,
  reference: UpdateReference,
  signal?: AbortSignal,
): Promise<RollingUpdateSnapshot> {
  let snapshot = await readUpdate(client, reference, signal);
  for (let tries = 1; tries < SNAPSHOT_TRIES; tries += 1) {
    const again = await readUpdate(client, reference, signal);
    if (versionOf(again) === versionOf(snapshot)) return snapshot;
    snapshot = again;
  }
  return snapshot;
}

/** Pods are read between the others: as long as those stay as they are, they are of the moment of the pods. */
function versionOf({ controllers, revisions }: RollingUpdateSnapshot): string {
  return [...controllers, ...revisions]
    .map(({ metadata: { uid, resourceVersion } }) => `${uid} ${resourceVersion ?? ''}`)
    .sort()
    .join('\n');
}

/** @throws ApiError */
export async function readUpdate(
  client: KubernetesClient,
  { namespace, name, next }: UpdateReference,
  signal?: AbortSignal,
): Promise<RollingUpdateSnapshot> {
  const options = signal === undefined ? {} : { signal };
  // The pods last: the decision is about them, and what the controllers said before is checked when it is written.
  const [{ items: controllers }, { items: revisions }] = await Promise.all([
    client.list<ReplicationController>(pathOf('replicationcontrollers', namespace), options),
    client.list<ControllerRevision>(pathOf('controllerrevisions', namespace), {
      ...options,
      labelSelector: LABEL.rollingUpdate,
    }),
  ]);
  const bare = { namespace, name, next, controllers, revisions, pods: [] };
  const view = viewUpdate(bare);
  const { old, nextController, record } = view;
  const selectors = [
    ...[old?.spec, nextController?.spec, record?.controller.spec].flatMap((spec) =>
      spec === undefined ? [] : [spec.selector ?? {}],
    ),
    ...abandonedSelectors(view),
    ...lostSelectors(view),
  ];
  const [pods, adopters] = await Promise.all([
    listPods(client, namespace, selectors, options),
    isBeforeRename(view) ? listAdopters(client, namespace, signal) : undefined,
  ]);
  return { ...bare, pods, paused: pauseOf(view), adopters };
}

/** Who has paused an update: either of its controllers says it, the old one first. Undefined: nobody. */
export function pauseOf({
  old,
  nextController,
}: Pick<UpdateView, 'old' | 'nextController'>): Wish | undefined {
  return (
    readPaused(old?.metadata.annotations, undefined) ??
    readPaused(nextController?.metadata.annotations, undefined)
  );
}

/** The next controller has its pods still, and is about to let them go. */
function isBeforeRename({ old, nextController: next, keepsName, isRollback }: UpdateView): boolean {
  if (next === undefined || keepsName || isRollback || next.metadata.deletionTimestamp !== undefined)
    return false;
  return old === undefined || sizeOf(old) === 0;
}

const ADOPTERS = [
  { kind: 'ReplicaSet', group: 'apps', version: 'v1', resource: 'replicasets' },
  ...WORKLOAD_APIS.map((api) => ({
    kind: 'DaemonSet' as const,
    ...groupVersion(api),
    resource: WORKLOAD_RESOURCES.DaemonSet,
  })),
] as const;

/**
 * Those that might adopt pods. None of a kind that this account may not list, for whoever renames looks again, or that is not served.
 * @throws ApiError
 */
export async function listAdopters(
  client: KubernetesClient,
  namespace: string,
  signal?: AbortSignal,
): Promise<readonly Adopter[]> {
  const options = signal === undefined ? {} : { signal };
  const lists = ADOPTERS.map(async ({ kind, ...resource }): Promise<readonly Adopter[]> => {
    try {
      const { items } = await client.list<WithoutKind>({ ...resource, namespace }, options);
      return items.map(({ metadata, spec }) => ({ kind, metadata, spec }));
    } catch (error) {
      if (isForbidden(error) || isNotFound(error)) return [];
      throw error;
    }
  });
  return (await Promise.all(lists)).flat();
}

/** Lists leave the kind out. */
type WithoutKind = Omit<Adopter, 'kind'>;

type Selector = Readonly<Record<string, string>>;

/** What all selectors ask for finds the pods of all, and those that lost a label on the way; without such, each for itself. */
async function listPods(
  client: KubernetesClient,
  namespace: string,
  selectors: readonly Selector[],
  options: { readonly signal?: AbortSignal },
): Promise<readonly Pod[]> {
  const [first] = selectors;
  if (first === undefined) return [];
  const common = Object.fromEntries(
    Object.entries(first).filter(([key, value]) => selectors.every((selector) => selector[key] === value)),
  );
  const asked = Object.keys(common).length > 0 ? [common] : selectors;
  const lists = await Promise.all(
    asked.map(
      async (matchLabels) =>
        await client.list<Pod>(pathOf('pods', namespace), {
          ...options,
          labelSelector: formatSelector({ matchLabels }),
        }),
    ),
  );
  const byUid = new Map(lists.flatMap(({ items }) => items).map((pod) => [pod.metadata.uid, pod]));
  return [...byUid.values()];
}

/**
 * Executes a write of a plan. `stale`: what it was planned on is not so any more; look and plan again.
 * @throws ApiError for everything else, also where there is no namespace (any more) to create something in; TakenBackError of a patch that
 *   changes nothing: no plan asks for one
 */
export async function writeUpdate(
  client: KubernetesClient,
  namespace: string,
  { verb, resource, name, body, uid, resourceVersion, orphan }: UpdateWrite,
  signal?: AbortSignal,
): Promise<'done' | 'stale'> {
  const options = { fieldManager: UPDATE_FIELD_MANAGER, ...(signal !== undefined && { signal }) };
  try {
    switch (verb) {
      case 'create':
        if (resource === 'controllerrevisions')
          return (await createRecord(client, namespace, body, signal)) === undefined ? 'stale' : 'done';
        await client.create(pathOf(resource, namespace), body, options);
        break;
      case 'patch': {
        const path = pathOf(resource, namespace, name);
        assertChanged(path, resourceVersion, await client.patch(path, 'merge', body, options));
        break;
      }
      case 'delete':
        await client.delete(pathOf(resource, namespace, name), {
          ...(uid !== undefined && { uid }),
          ...(resourceVersion !== undefined && { resourceVersion }),
          ...(orphan === true && { propagationPolicy: 'Orphan' }),
          ...(signal !== undefined && { signal }),
        });
        break;
    }
    return 'done';
  } catch (error) {
    // Of a creation it is the namespace that is not there: looking again shows nothing else.
    const isGone = verb !== 'create' && isNotFound(error);
    if (isConflict(error) || isAlreadyExists(error) || isGone) return 'stale';
    throw error;
  }
}

/** So many names a record may have that is to be created. */
const RECORD_NAMES = 10;

/**
 * Creates the record of an update. Its name has a number, so that of two who begin at once only one can. What has that name and is no
 * record of the controller (somebody else's, or one that cannot be read) is passed by, with the next name that all would take.
 * Undefined: another was quicker; looking again shows its record.
 * @throws ApiError
 */
export async function createRecord(
  client: KubernetesClient,
  namespace: string,
  body: UpdateWrite['body'],
  signal?: AbortSignal,
): Promise<ControllerRevision | undefined> {
  const record = trusted<ControllerRevision>(body ?? {});
  const { name } = record.metadata;
  const path = (of?: string) => pathOf('controllerrevisions', namespace, of);
  const options = { ...(signal !== undefined && { signal }) };
  for (let tries = 1; ; tries += 1) {
    const own = tries === 1 ? name : `${name}-${String(tries)}`;
    const named = { ...body, metadata: { ...trusted<JsonObject>(record.metadata), name: own } };
    try {
      return await client.create<ControllerRevision>(path(), named, {
        fieldManager: UPDATE_FIELD_MANAGER,
        ...options,
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await getOrUndefined<ControllerRevision>(client, path(own), signal);
      if (found === undefined || isRecordOf(found, record)) return undefined;
      if (tries === RECORD_NAMES) throw error;
    }
  }
}

/** Whether a look would find it, and count it. */
function isRecordOf(found: ControllerRevision, { data: { from: name } }: ControllerRevision): boolean {
  return readRecords([found]).some(({ from, to }) => from === name || to === name);
}

/** Where the objects of an update are served. */
export function pathOf(resource: UpdateWrite['resource'], namespace: string, name?: string): ResourcePath {
  const group = resource === 'controllerrevisions' ? 'apps' : '';
  return { group, version: 'v1', resource, namespace, name };
}
