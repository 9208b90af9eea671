/** How an update begins: what is to be rolled out goes into its record, from which any worker can do the rest. */

import { ANNOTATION } from '../planners/names.ts';
import type { ControllerRevision, JsonObject } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { nextManifest } from '../planners/rolling-update-definition.ts';
import type { RecordData, RecordState } from '../planners/rolling-update-record.ts';
import { isActiveRecord, recordManifest } from '../planners/rolling-update-record.ts';
import type { StartDecision, StartRequest } from '../planners/rolling-update-start.ts';
import { decideStart } from '../planners/rolling-update-start.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import { isAlreadyExists, isConflict, isNotFound } from './api-error.ts';
import type { KubernetesClient } from './client.ts';
import type { UpdateReference } from './rolling-update-objects.ts';
import { UPDATE_FIELD_MANAGER, pathOf, readUpdate } from './rolling-update-objects.ts';
import { asRecord } from './values.ts';

export type UpdateSettings = Omit<RecordState, 'phase' | 'desired'>;

/** What was decided, and of what. */
export interface BegunUpdate {
  readonly decision: StartDecision;
  readonly view: UpdateView;
  /** Name of the next controller, where there is (to be) one. */
  readonly next: string | undefined;
}

const CONFLICT_LIMIT = 12;

/**
 * Decides what the request means, and where an update is to begin, writes its record. The apiserver tries the next controller
 * first (a strict dry run), so that what it would refuse is refused before anything is written; the record then holds what the
 * apiserver would make of it, defaults included.
 * @throws ApiError as the apiserver refuses, or the last conflict after 12 tries
 */
export async function beginUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  request: StartRequest,
  settings: UpdateSettings,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<BegunUpdate> {
  for (let tries = 1; ; tries += 1) {
    const view = viewUpdate(await readUpdate(client, reference));
    const decision = decideStart(view, request);
    if (decision.do !== 'begin') {
      return { decision, view, next: view.nextController?.metadata.name ?? view.record?.next };
    }
    const data = await withDefaults(client, reference.namespace, view, decision.data);
    const begun = { decision: { ...decision, data }, view, next: data.next };
    if (dryRun) return begun;
    try {
      await writeRecord(client, view, data, { ...settings, phase: 'Rolling', desired: decision.desired });
      return begun;
    } catch (error) {
      const isStale = isConflict(error) || isAlreadyExists(error) || isNotFound(error);
      if (!isStale || tries === CONFLICT_LIMIT) throw error;
    }
  }
}

async function withDefaults(
  client: KubernetesClient,
  namespace: string,
  { controllers }: UpdateView,
  data: RecordData,
): Promise<RecordData> {
  const { replicas } = data.controller.spec;
  const existing = controllers.find(({ metadata }) => metadata.name === data.next);
  const served =
    existing ??
    (await client.create<ReplicationController>(
      pathOf('replicationcontrollers', namespace),
      nextManifest(data, replicas ?? 0),
      { dryRun: true, fieldValidation: 'Strict', fieldManager: UPDATE_FIELD_MANAGER },
    ));
  const spec = { ...served.spec, ...(replicas !== undefined && { replicas }) };
  return { ...data, controller: { ...data.controller, spec } };
}

/** A finished record of the same template makes room: it goes, what became of it stays. */
async function writeRecord(
  client: KubernetesClient,
  { records }: UpdateView,
  data: RecordData,
  state: RecordState,
): Promise<void> {
  const { namespace } = data.controller.metadata;
  const manifest = recordManifest(data, state, records);
  const metadata = asRecord(manifest['metadata']);
  const same = records.find(({ revision }) => revision.metadata.name === metadata['name']);
  let attempts: string | undefined;
  if (same !== undefined && !isActiveRecord(same)) {
    const { name, uid, resourceVersion, annotations } = same.revision.metadata;
    attempts = annotations?.[ANNOTATION.attempts];
    await client.delete(pathOf('controllerrevisions', namespace, name), { uid, resourceVersion });
  }
  const annotations = {
    ...asRecord(metadata['annotations']),
    ...(attempts !== undefined && { [ANNOTATION.attempts]: attempts }),
  };
  const body: JsonObject = { ...manifest, metadata: { ...metadata, annotations } };
  await client.create<ControllerRevision>(pathOf('controllerrevisions', namespace), body, {
    fieldManager: UPDATE_FIELD_MANAGER,
  });
}
