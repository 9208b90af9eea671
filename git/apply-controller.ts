/**
 * ReplicationControllers of a commit: a changed template would change no pod by itself, so it begins a rolling update, which
 * ends with a controller that has the manifest's hash; everything else about them is applied like any object.
 */

import type { UpdateReference } from '../kubernetes/rolling-update-objects.ts';
import { readUpdate } from '../kubernetes/rolling-update-objects.ts';
import { beginUpdate } from '../kubernetes/rolling-update-begin.ts';
import { dropUpdate, turnUpdate } from '../kubernetes/rolling-update-wishes.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { ANNOTATION, LABEL, ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from '../planners/names.ts';
import type { JsonObject, KubernetesObject, Pod } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { sizeOf } from '../planners/replication-controller.ts';
import { isNothingLeft } from '../planners/rolling-update-abandoned.ts';
import {
  labelValue,
  makesSamePods,
  ownLabel,
  plainController,
} from '../planners/rolling-update-definition.ts';
import { BudgetError, budgetOf } from '../planners/rolling-update-scale.ts';
import { matchesSelector } from '../planners/selector.ts';
import { decideStart } from '../planners/rolling-update-start.ts';
import type { StartRequest } from '../planners/rolling-update-start.ts';
import { isAheadOfPods, isMadeOf } from '../planners/rolling-update-template.ts';
import { ownField } from '../planners/values.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { replacedBy, viewUpdate } from '../planners/rolling-update-view.ts';
import { collisions } from './collisions.ts';
import type { CommitContext } from './commit.ts';
import type { PreparedObject } from './prepare.ts';
import { applyBody, isController } from './prepare.ts';
import { NotYetError } from './refusals.ts';
import { withSignal } from './resources.ts';
import { takeOverFields } from './take-over-fields.ts';

/** Its budget is in the manifest's annotations. */
const SETTINGS = { updatePeriodMs: 0, pollIntervalMs: 1_000 };

/** What is wrong with the budget that a manifest's annotations ask for: the annotation, and a sentence. */
export function budgetProblem({
  manifest,
}: PreparedObject): { readonly annotation: string; readonly message: string } | undefined {
  if (!isController(manifest)) return undefined;
  const annotations = asRecord(asRecord(manifest.body['metadata'])['annotations']);
  try {
    budgetOf({}, trusted(annotations));
    return undefined;
  } catch (error) {
    if (error instanceof BudgetError) return error;
    throw error;
  }
}

/** Namespace and name, by which an update is known. */
export function updateOf({ namespace = '', manifest }: PreparedObject): UpdateReference {
  return { namespace, name: manifest.name };
}

/** A rolling update of a ReplicationController. */
export interface UpdateUnderWay {
  /** Which repository what it rolls out is from; undefined: from none. The controller that it replaces may still name another. */
  readonly repository: string | undefined;
}

/** The rolling update that a ReplicationController is under; undefined: none. @throws ApiError */
export async function updateUnderWay(
  context: CommitContext,
  update: UpdateReference,
): Promise<UpdateUnderWay | undefined> {
  const { record, nextController } = viewUpdate(await readUpdate(context.worker, update, context.signal));
  const rolledOut = record?.controller ?? nextController;
  return rolledOut && { repository: rolledOut.metadata.annotations?.[ANNOTATION.repository] };
}

/** Whether a rolling update of a ReplicationController is under way. @throws ApiError */
export async function isUpdating(context: CommitContext, update: UpdateReference): Promise<boolean> {
  return (await updateUnderWay(context, update)) !== undefined;
}

/**
 * Turns the update of a controller round that has left the commit, and sees that its run goes on; a sentence of what becomes of it,
 * undefined where none is under way. Were it only waited for, one that is stuck would hold the commit for good.
 * @throws ApiError
 */
export async function endUpdate(
  context: CommitContext,
  reference: UpdateReference,
): Promise<string | undefined> {
  if (!(await isUpdating(context, reference))) return undefined;
  // A try before may have written it, and have told nobody.
  const { message, isTurned } = await dropUpdate(context.worker, reference, context.sha, Date.now());
  await start(context, reference, isTurned);
  return message;
}

/** What is sent for an object of a commit, given what is there. */
export function bodyToApply(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): JsonObject {
  const { repository, sha, store } = context;
  const body = applyBody(object, { repository: repository.name, sha, applySetId: store.applySetId });
  if (live === undefined || !isController(object.manifest)) return body;
  const controller = trusted<ReplicationController>(live);
  return withSelector(withLabel(body, controller), controller);
}

/**
 * A manifest that names no selector means the labels of its template, also when these change; what is there has the selector of the
 * earlier ones, which counts as long as it finds the new pods too.
 */
function withSelector(body: JsonObject, { spec: { selector = {} } }: ReplicationController): JsonObject {
  const spec = asRecord(body['spec']);
  const { labels } = asRecord(asRecord(spec['template'])['metadata']);
  if (spec['selector'] !== undefined || labels === undefined) return body;
  if (matchesSelector({ matchLabels: selector }, trusted(labels))) return body;
  return { ...body, spec: { ...spec, selector: trusted<JsonObject>(labels) } };
}

/**
 * The label that an update has given the controller is left as it is, unless the manifest speaks of it itself: selectors are
 * replaced as a whole.
 */
function withLabel(body: JsonObject, live: ReplicationController): JsonObject {
  const key = keyOf(live);
  const value = key === undefined ? undefined : labelValue(live.spec.selector, key);
  const spec = asRecord(body['spec']);
  const template = asRecord(spec['template']);
  const metadata = asRecord(template['metadata']);
  if (key === undefined || value === undefined || ownField(asRecord(metadata['labels']), key) !== undefined)
    return body;
  const labels = { ...asRecord(metadata['labels']), [key]: value };
  return {
    ...body,
    spec: {
      ...spec,
      ...(spec['selector'] !== undefined && { selector: { ...asRecord(spec['selector']), [key]: value } }),
      template: { ...template, metadata: { ...metadata, labels } },
    },
  };
}

function keyOf(live: ReplicationController): string | undefined {
  const { metadata, spec } = live;
  const own = metadata.annotations?.[ANNOTATION.deploymentLabelKey];
  // kubectl's key is a plain word: somebody may have a label of this name for something else.
  const isOfUpdate = (key: string) => ownLabel(live, key) === undefined;
  return [own, ROLLING_UPDATE.deployment, SHIPPED_ROLLING_UPDATE.deployment].find(
    (key) => key !== undefined && labelValue(spec.selector, key) !== undefined && isOfUpdate(key),
  );
}

/**
 * Begins the rolling update that the manifest asks for; false when it asks for none and is to be applied. Safe to repeat: an
 * update of this very manifest is only made sure to run; one of another manifest is turned round first.
 * @throws ApiError; NotYetError while an update has to end first
 */
export async function rollController(
  context: CommitContext,
  object: PreparedObject,
  live: ReplicationController | undefined,
): Promise<boolean> {
  const reference = updateOf(object);
  const view = viewUpdate(await readUpdate(context.worker, reference, context.signal));
  const replaced = replacedBy(view);
  if (replaced !== undefined)
    throw new NotYetError(`${object.label}: it is to take the place of ${replaced}, which has to end first`);
  const isInProgress = view.record !== undefined || view.nextController !== undefined || view.isRollback;
  // What git wants is made anew, or was, and not taken up by an update of before.
  const isEnded = isInProgress && isNothingLeft(view);
  if (isEnded) await turnUpdate(context.worker, reference, context.sha, Date.now());
  if (live === undefined) {
    if (isInProgress && !isEnded) {
      // What is between two names nobody else may bring back: its run may have failed, or was ended.
      await start(context, reference);
      throw new NotYetError(
        `${object.label}: it is being renamed, its pods are there${await whyNot(context, reference)}`,
      );
    }
    return false;
  }
  // One that only waits for its pods is joined by its own manifest; another one is rolled out instead.
  const isOver = isEnded || (view.isRenamed && recordedHash(view) !== object.manifest.hash);
  if (isInProgress && !isOver) return await joinUpdate(context, object, reference, { view, live });
  if (sizeOf(live) === 0) return false;
  const wanted = await dryRun(context, object, live);
  const again = makesSamePods(wanted.spec, live.spec);
  if (again && !(await isAhead(context, view, live))) return false;
  // The account may change the controller, as the dry run has shown; the record is the worker's own.
  const request = { ...requestFor(object, wanted, live), again };
  const { cluster } = context;
  const settings = { ...SETTINGS, ...(cluster !== undefined && { cluster }) };
  const { decision } = await beginUpdate(context.worker, reference, request, settings);
  if (decision.do === 'finished') return false;
  if (decision.do === 'refuse') {
    if (decision.code === 'NoChange' || decision.code === 'NoReplicas') return false;
    const next = decision.code === 'SelectorShared' ? '; give one of the two a selector of its own' : '';
    throw new NotYetError(`${object.label}: ${decision.message}${next}`);
  }
  await start(context, reference, isEnded);
  return true;
}

/**
 * Whether the template of a controller that is under no update was changed under its pods: a commit that wants the very same has to
 * replace them. @throws ApiError
 */
export async function isAheadOfItsPods(
  context: CommitContext,
  object: PreparedObject,
  live: ReplicationController,
): Promise<boolean> {
  const view = viewUpdate(await readUpdate(context.worker, updateOf(object), context.signal));
  const isUnderWay = view.record !== undefined || view.nextController !== undefined;
  return !isUnderWay && sizeOf(live) > 0 && (await isAhead(context, view, live));
}

/** Where admission makes other pods of the template than it says (another registry, say), pods that differ from it tell nothing. */
async function isAhead(
  context: CommitContext,
  view: UpdateView,
  live: ReplicationController,
): Promise<boolean> {
  const { template } = live.spec;
  if (template === undefined || !isAheadOfPods(view, live)) return false;
  const { namespace = '', name } = live.metadata;
  const path = { group: '', version: 'v1', resource: 'pods', namespace } as const;
  const pod = { apiVersion: 'v1', kind: 'Pod', ...template };
  const body = { ...pod, metadata: { ...template.metadata, generateName: `${name}-` } };
  const options = { dryRun: true, ...withSignal(context.signal) } as const;
  return isMadeOf(await context.worker.create<Pod>(path, body, options), template);
}

/**
 * Hash of the manifest that an update of this controller rolls out now, which a commit that goes back to the one of before turns round:
 * the controller itself still has the older one. Undefined where there is none, or none from git. @throws ApiError
 */
export async function rolledManifest(
  context: CommitContext,
  object: PreparedObject,
): Promise<string | undefined> {
  if (!isController(object.manifest)) return undefined;
  const view = viewUpdate(await readUpdate(context.worker, updateOf(object), context.signal));
  return view.isRenamed ? undefined : recordedHash(view);
}

/** Of the manifest that the update under way rolls out, if it is one from git. */
function recordedHash({ record }: UpdateView): string | undefined {
  return record?.controller.metadata.annotations?.[ANNOTATION.manifestHash];
}

async function joinUpdate(
  context: CommitContext,
  object: PreparedObject,
  reference: UpdateReference,
  { view, live }: { readonly view: UpdateView; readonly live: ReplicationController },
): Promise<boolean> {
  if (recordedHash(view) === object.manifest.hash && !view.isRollback) {
    await start(context, reference);
    return true;
  }
  if (await rollsOutTheSame(context, object, { view, live })) {
    await start(context, reference);
    throw new NotYetError(`${object.label}: its rolling update, to the same pods, has to end first`);
  }
  // A try before may have written it, and have told nobody.
  const { message, isTurned } = await turnUpdate(context.worker, reference, context.sha, Date.now());
  await start(context, reference, isTurned);
  throw new NotYetError(`${object.label}: another update of it has to end first (${message})`);
}

/** Only the size, or what no pod has, is another: nobody's pods are to be taken back for that. @throws ApiError */
async function rollsOutTheSame(
  context: CommitContext,
  object: PreparedObject,
  { view, live }: { readonly view: UpdateView; readonly live: ReplicationController },
): Promise<boolean> {
  if (view.isRollback || view.record === undefined) return false;
  const wanted = await dryRun(context, object, live);
  return decideStart(view, requestFor(object, wanted, live)).do === 'attach';
}

/** What the manifest makes of the controller, without what others have put there that cannot be beside it. @throws ApiError */
export async function dryRun(
  context: CommitContext,
  object: PreparedObject,
  live: ReplicationController,
): Promise<ReplicationController> {
  const body = bodyToApply(context, object, live);
  const options = {
    dryRun: true,
    force: true,
    fieldValidation: 'Strict',
    ...withSignal(context.signal),
  } as const;
  const tried = async () =>
    await context.client.patch<ReplicationController>(object.path, 'apply', body, options);
  try {
    return await tried();
  } catch (error) {
    const foreign = collisions(error, body, live);
    if (foreign.length === 0) throw error;
    await takeOverFields(context.client, object, live, foreign);
    return await tried();
  }
}

function requestFor(
  { manifest: { body } }: PreparedObject,
  wanted: ReplicationController,
  live: ReplicationController,
): StartRequest {
  const manifest = plainController(wanted, live.metadata.name);
  const { managedFields: owners } = wanted.metadata;
  // That an update of before was given the key is what the controller says; the manifest may have a use for it by now.
  const git = trusted<ReplicationController>(body);
  const { annotations: _, ...metadata } = git.metadata;
  const ofGit = { metadata, spec: git.spec };
  const isFree = (key: string) => ownLabel(ofGit, key) === undefined;
  const given = keyOf(live);
  const key =
    given !== undefined && isFree(given)
      ? given
      : KEYS.find((one) => [ofGit, live, wanted].every((each) => ownLabel(each, one) === undefined));
  return { change: { kind: 'manifest', manifest }, key: key ?? ROLLING_UPDATE.deployment, owners };
}

/** A manifest may use the first for something else. */
const KEYS = [ROLLING_UPDATE.deployment, LABEL.deployment] as const;

/** What keeps its run from going on, as the end of a sentence; empty: nothing, as far as Temporal tells. */
async function whyNot({ rollingUpdateRun }: CommitContext, reference: UpdateReference): Promise<string> {
  const run = await rollingUpdateRun?.(reference);
  return run?.state === 'running' && run.failing !== undefined ? `: ${run.failing.message}` : '';
}

async function start(
  { startRollingUpdate, repository, sha }: CommitContext,
  reference: UpdateReference,
  isTurned = false,
): Promise<void> {
  const turned = isTurned && { isTurned };
  await startRollingUpdate({ ...reference, repository: repository.name, commit: sha, ...turned });
}
