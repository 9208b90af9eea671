/** How an update begins: what is to be rolled out goes into its record, from which any worker can do the rest. */

import type { JsonObject } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { planRollingUpdate } from '../planners/rolling-update.ts';
import { nextManifest } from '../planners/rolling-update-definition.ts';
import { asRolledOut, isRecorded } from '../planners/rolling-update-compared.ts';
import type { RecordData, RecordState } from '../planners/rolling-update-record.ts';
import { ownersOf, recordManifest } from '../planners/rolling-update-record.ts';
import type { StartDecision, StartRequest } from '../planners/rolling-update-start.ts';
import { decideDefaulted, decideStart } from '../planners/rolling-update-start.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import type { UpdateBudget } from '../planners/rolling-update-scale.ts';
import { budgetOf } from '../planners/rolling-update-scale.ts';
import type { UpdateWrite } from '../planners/rolling-update-steps.ts';
import { patchTowards } from '../planners/rolling-update-template.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import { isConflict, isTooLarge } from './api-error.ts';
import type { KubernetesClient } from './client.ts';
import type { UpdateReference } from './rolling-update-objects.ts';
import { createRecord, listAdopters, pathOf, readUpdate, writeUpdate } from './rolling-update-objects.ts';
import { UPDATE_FIELD_MANAGER } from '../planners/names.ts';
import { trusted } from './values.ts';

/** What is not asked for of the budget, the controller's annotations say. */
export type UpdateSettings = Pick<RecordState, 'updatePeriodMs' | 'pollIntervalMs' | 'begun' | 'cluster'> &
  Partial<UpdateBudget>;

/** What was decided, and of what. */
export interface BegunUpdate {
  readonly decision: StartDecision;
  readonly view: UpdateView;
  /** Name of the next controller, where there is (to be) one. */
  readonly next: string | undefined;
  /** uid of the record of the update that was begun, or is under way; undefined where there is none (yet). */
  readonly record: string | undefined;
}

const CONFLICT_LIMIT = 12;

/**
 * Decides what the request means, and where an update is to begin, or is attached to that has none, writes its record. The apiserver tries the next controller
 * first (a strict dry run), so that what it would refuse is refused before anything is written; the record then holds what the
 * apiserver would make of it, defaults included.
 * @throws ApiError as the apiserver refuses, or the last conflict after 12 tries; Error where others were quicker as often; BudgetError
 */
export async function beginUpdate(
  client: KubernetesClient,
  reference: UpdateReference,
  request: StartRequest,
  settings: UpdateSettings,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<BegunUpdate> {
  for (let tries = 1; ; tries += 1) {
    const snapshot = await readUpdate(client, reference);
    const adopters = snapshot.adopters ?? (await listAdopters(client, reference.namespace));
    const view = viewUpdate({ ...snapshot, adopters });
    const decision = decideStart(view, await asServed(client, reference.namespace, view, request));
    const first = decision.do === 'attach' && !dryRun ? firstRecord(view, settings) : undefined;
    if (first !== undefined && tries < CONFLICT_LIMIT) {
      // Where another was quicker the next look shows its record.
      await writeUpdate(client, reference.namespace, first);
      continue;
    }
    if (decision.do !== 'begin') {
      const record = view.record?.revision.metadata.uid;
      return { decision, view, next: view.nextController?.metadata.name ?? view.record?.next, record };
    }
    const { desired } = decision;
    const budget = budgetOf(settings, decision.data.controller.metadata.annotations);
    const state: RecordState = { ...settings, ...budget, phase: 'Rolling', desired };
    const whole = await withDefaults(client, reference.namespace, view, decision.data);
    const complete = { ...decision, data: whole };
    const defaulted = request.again === true ? complete : decideDefaulted(view, complete);
    const begun = { decision: defaulted, view, next: whole.next, record: undefined };
    if (dryRun || defaulted.do !== 'begin') return begun;
    let record: JsonObject | undefined;
    try {
      const data = await withOwners(client, reference, view, whole, request.owners);
      record = recordManifest(data, state, view.records);
      // Its name has a number: whoever is quicker begins, the other looks again and finds an update in progress.
      const created = await createRecord(client, reference.namespace, record);
      if (created !== undefined) return { ...begun, record: created.metadata.uid };
      if (tries === CONFLICT_LIMIT)
        throw new Error(
          `others began an update of ${reference.name} at the same moment, ${String(tries)} times`,
        );
    } catch (error) {
      if (isTooLarge(error) && record !== undefined)
        return { ...begun, decision: tooLarge(reference.name, record) };
      if (!isConflict(error) || tries === CONFLICT_LIMIT) throw error;
    }
  }
}

function tooLarge(name: string, record: object): StartDecision {
  const kilobytes = Math.round(Buffer.byteLength(JSON.stringify(record)) / 1000);
  const message = `the record of the update of ${name} would have ${String(kilobytes)} kB, more than etcd takes: it holds the template of before and that of after`;
  return { do: 'refuse', code: 'TooLarge', message };
}

/**
 * The record of an update that has none (kubectl began it, or somebody has deleted it), with what is asked for now: the run would write
 * it without. Undefined where there is one, or something else has to come first.
 * @throws BudgetError
 */
function firstRecord(view: UpdateView, settings: UpdateSettings): UpdateWrite | undefined {
  if (view.record !== undefined) return undefined;
  const { annotations } = (view.nextController ?? view.old)?.metadata ?? {};
  const asked = { ...settings, ...budgetOf(settings, annotations) };
  const { step } = planRollingUpdate({ ...view, settings: asked }, Date.now());
  return step.do === 'write' && step.write.purpose === 'Record' ? step.write : undefined;
}

/**
 * The request with its manifest as the apiserver would have it in place of the next controller that is there, defaults and webhooks included:
 * so the two are compared. Not tried as a creation: a quota might refuse that. @throws ApiError
 */
async function asServed(
  client: KubernetesClient,
  namespace: string,
  view: UpdateView,
  request: StartRequest,
): Promise<StartRequest> {
  const { change, key } = request;
  const { nextController: next, record } = view;
  if (change.kind !== 'manifest' || next === undefined) return request;
  const { manifest } = change;
  if (record !== undefined && isRecorded(manifest, record, key)) return request;
  const { selector, template } = asRolledOut(manifest, next, key).spec;
  const { uid, name } = next.metadata;
  const towards = patchTowards(
    trusted<JsonObject>({ selector: next.spec.selector, template: next.spec.template }),
    trusted<JsonObject>({ selector, template }),
  );
  const { spec } = await client.patch<ReplicationController>(
    pathOf('replicationcontrollers', namespace, name),
    'merge',
    { metadata: { uid }, spec: towards ?? {} },
    { dryRun: true, fieldValidation: 'Strict', fieldManager: UPDATE_FIELD_MANAGER },
  );
  const whole = {
    ...manifest.spec,
    selector: spec.selector ?? {},
    ...(spec.template && { template: spec.template }),
  };
  return { ...request, change: { kind: 'manifest', manifest: { ...manifest, spec: whole } } };
}

async function withDefaults(
  client: KubernetesClient,
  namespace: string,
  { controllers }: UpdateView,
  data: RecordData,
): Promise<RecordData> {
  const { replicas } = data.controller.spec;
  const existing = controllers.find(({ metadata }) => metadata.name === data.next);
  // Of the size that it gets in the end: a policy about sizes would refuse it in the middle.
  const manifest = nextManifest(data, replicas ?? 0, replicas);
  const { name, ...metadata } = manifest.metadata;
  // One that is there has the name, and may be another than is asked for: somebody may have edited it.
  const tried =
    existing === undefined ? manifest : { ...manifest, metadata: { ...metadata, generateName: `${name}-` } };
  const served = await client.create<ReplicationController>(
    pathOf('replicationcontrollers', namespace),
    tried,
    { dryRun: true, fieldValidation: 'Strict', fieldManager: UPDATE_FIELD_MANAGER },
  );
  const spec = { ...served.spec, ...(replicas !== undefined && { replicas }) };
  return { ...data, controller: { ...data.controller, spec } };
}

/**
 * With those who own the fields of what gets the old name. Where nobody has said so (`owners`, of a commit's dry run), the apiserver
 * tells, by a dry run that makes the old controller what is rolled out.
 */
async function withOwners(
  client: KubernetesClient,
  { namespace, name }: UpdateReference,
  { old }: UpdateView,
  data: RecordData,
  owners: readonly object[] | undefined,
): Promise<RecordData> {
  if (old === undefined || data.to !== name) return data;
  const found = ownersOf(owners ?? (await changed(client, namespace, old, data)).metadata.managedFields);
  return found === undefined ? data : { ...data, owners: found };
}

async function changed(
  client: KubernetesClient,
  namespace: string,
  old: ReplicationController,
  { controller: { metadata, spec } }: RecordData,
): Promise<ReplicationController> {
  const { name, uid, resourceVersion } = old.metadata;
  const { labels, annotations } = metadata;
  const change = patchTowards(trusted<JsonObject>(old.spec), trusted<JsonObject>(spec));
  return await client.patch<ReplicationController>(
    pathOf('replicationcontrollers', namespace, name),
    'merge',
    { metadata: { uid, resourceVersion, labels, annotations }, spec: change ?? {} },
    { dryRun: true, fieldManager: UPDATE_FIELD_MANAGER },
  );
}
