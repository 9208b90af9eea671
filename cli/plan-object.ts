/** What a commit would change in one object: the decision of sync, with a dry run instead of a write. */

import { isForbidden, isNotFound, isUnconverted, isUnreached } from '../kubernetes/api-error.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { compareApplied } from '../git/applied-difference.ts';
import { bodyToApply, isAheadOfItsPods } from '../git/apply-controller.ts';
import type { Foreign } from '../git/collisions.ts';
import { collisions } from '../git/collisions.ts';
import type { CommitContext } from '../git/commit.ts';
import { describeCarried, withCarried } from '../git/carried-fields.ts';
import { allDropped, inTheWay, valueIn } from '../git/dropped-fields.ts';
import { findConflicts } from '../git/conflicts.ts';
import { findCounterpart } from '../git/counterpart.ts';
import { decide, describeConflicts, isTakenByForce, isUndone } from '../git/decision.ts';
import { heldBack } from '../git/drift.ts';
import { decisionInput } from '../git/former-owner.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { applyBody, isController, isWorkload, namedFields, problemOf } from '../git/prepare.ts';
import type { Problem } from '../git/problems.ts';
import { toProblems } from '../git/refusals.ts';
import { ownedAndDropped } from '../git/restored-owners.ts';
import { acceptedFields } from '../git/take-over.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import { appliedFields, ownsAll } from '../kubernetes/managed-fields.ts';
import { withoutStop } from '../kubernetes/safe-text.ts';
import type { JsonObject, KubernetesObject, PodTemplate } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import { differences } from '../git/differences.ts';
import type { PlannedChange } from './planned-change.ts';
import { firstOf } from '../planners/first-of.ts';

/** What planning one object has come to. */
export type Outcome = PlannedChange | 'unchanged' | RefusedObject;

/** What the check has not refused may be refused when it is tried again: somebody has written in between. */
interface RefusedObject {
  readonly refused: readonly Problem[];
  /** Its namespace is not there, or is about to come with the commit. */
  readonly isMissing?: true;
}

/** It was tried, and the cluster takes it not. */
export function isRefused(outcome: Outcome | undefined): outcome is RefusedObject {
  return typeof outcome === 'object' && 'refused' in outcome;
}

/** Refused because its namespace is not there. */
export function isMissing(outcome: Outcome | undefined): boolean {
  return isRefused(outcome) && outcome.isMissing === true;
}

/** Neither refused nor as it is. */
export function isChange(outcome: Outcome): outcome is PlannedChange {
  return typeof outcome === 'object' && !isRefused(outcome);
}

/** Plans what the check has not tried; what cannot be reached is put off, and is among the problems of the check where it holds the commit up. @throws ApiError */
export async function planOrPutOff(...plan: Parameters<typeof planObject>): Promise<Outcome> {
  try {
    return await planObject(...plan);
  } catch (error) {
    if (!isUnreached(error)) throw error;
    const [, { label }] = plan;
    return {
      object: label,
      action: 'later',
      why: `it cannot be looked at now: ${error.message}`,
      differences: [],
    };
  }
}

/** @throws ApiError when the apiserver cannot be asked, or could not reach what it hands the request on to */
async function planObject(
  context: CommitContext,
  object: PreparedObject,
  heals: boolean | undefined,
): Promise<Outcome> {
  const { label } = object;
  if (object.deferred) return await planDeferred(context, object);
  const live = await getOrUndefined(context.client, object.path);
  const input = await decisionInput(context, object, live);
  const decision = decide(input);
  switch (decision.do) {
    case 'nothing': {
      const outcome = await dryRun(context, object, live);
      if (!isChange(outcome) || outcome.differences.length === 0) return 'unchanged';
      const held = heals === true ? heldBack(input, object) : undefined;
      return await driftOf(context, object, live, outcome, { heals, held });
    }
    case 'refuse':
      return {
        refused: [
          {
            ...problemOf(object, decision.code, decision.message),
            ...(decision.next !== undefined && { next: decision.next }),
          },
        ],
      };
    case 'leave':
      return { object: label, action: 'leave', why: decision.why, differences: [] };
    case 'wait':
      return { object: label, action: 'later', why: decision.why, differences: [] };
    case 'unpin':
      return { object: label, action: 'change', why: 'the pin is taken away', differences: [] };
    case 'apply':
      return await moved(context, object, await dryRun(context, object, live));
  }
}

/** What its kind has to come for first cannot be tried; of a kind that is served in other versions the object may be there already. */
async function planDeferred(
  { client, discovery }: CommitContext,
  { label, path, manifest }: PreparedObject,
): Promise<PlannedChange> {
  const kinds = await discovery.resourcesOfGroup(path.group);
  const served = kinds.find(({ resource }) => resource === path.resource);
  const isNewVersion = served !== undefined && served.version !== path.version;
  const live = isNewVersion ? await getOrUndefined(client, { ...path, version: served.version }) : undefined;
  if (live === undefined)
    return { object: label, action: 'create', why: 'its kind comes with this commit', differences: [] };
  const why = `${manifest.version} of its kind comes with this commit: what changes is known when that is there`;
  return { object: label, action: 'change', why, differences: [] };
}

/** A workload that is created while the same one of this repository exists under the other API takes its pods over. */
export async function moved(
  context: CommitContext,
  object: PreparedObject,
  outcome: Outcome,
): Promise<Outcome> {
  if (!isChange(outcome) || outcome.action !== 'create') return outcome;
  const found = await findCounterpart(context, object).catch((error: unknown) => {
    // It is among the problems of the check.
    if (isForbidden(error)) return undefined;
    throw error;
  });
  const old = found?.live;
  if (found === undefined || old?.metadata.annotations?.[ANNOTATION.repository] !== context.repository.name)
    return outcome;
  const { path } = found;
  const carried = await acceptedFields(context, object, old).catch((error: unknown) => {
    // The check tells of it.
    if (toProblems(error, object) === undefined) throw error;
    return undefined;
  });
  const next = withCarried(object.manifest.body, carried);
  const changed = differences(sizeAndTemplate(old), sizeAndTemplate(next));
  const { rollout, ...rest } = outcome;
  const isRolledOut = rollout !== undefined && changed.some((one) => one.path.startsWith('spec.template'));
  const pods = podsOf(object, old, trusted(next));
  const beside =
    carried === undefined
      ? ''
      : `, and keeps what git leaves to others: ${firstOf(describeCarried(carried), MOST_TOLD)}`;
  return {
    ...rest,
    action: 'move',
    why: `it comes from ${path.group}/${path.version} and takes over pods, claims and revisions as they are${beside}`,
    differences: changed,
    ...(isRolledOut && { rollout: { ...(pods !== undefined && { pods }) } }),
  };
}

/** Fields that one sentence names. */
const MOST_TOLD = 5;

/** What its pods follow from, with the defaults of apps/v1, below `spec`. */
function sizeAndTemplate(object: unknown): JsonObject {
  const { kind } = asRecord(object);
  const { replicas = 1, template } = asRecord(asRecord(object)['spec']);
  const size = kind === 'DaemonSet' ? {} : { replicas };
  return { spec: { ...size, template: normaliseTemplate(trusted<PodTemplate>(template)) } };
}

/** A manifest that is applied already is not applied again, whatever has become of its object; only `heal` puts it back. */
async function driftOf(
  context: CommitContext,
  prepared: PreparedObject,
  live: KubernetesObject | undefined,
  { object, differences: found, why: beside }: PlannedChange,
  { heals, held }: { readonly heals: boolean | undefined; readonly held: string | undefined },
): Promise<PlannedChange> {
  if (beside === undefined && isAllOurs(context, prepared, live))
    return { object, action: 'leave', why: BY_ADMISSION, differences: found };
  const conflicts = await findConflicts(context, prepared, live);
  // What was put beside it holds nothing up, see takenOut.
  const owners =
    beside !== undefined || conflicts.length === 0 || isTakenByForce(conflicts)
      ? undefined
      : withoutStop(describeConflicts(conflicts));
  const isPutBack = heals === true && held === undefined && !isUndone(conflicts);
  const atOnce = heals === undefined ? '; a worker with `heal: true` puts it back at once' : '';
  const next = isPutBack
    ? `${owners === undefined ? '' : `${owners}; `}with \`heal: true\` it is put back at once`
    : owners === undefined
      ? `the next change of the manifest takes it back${atOnce}`
      : `${owners}, and a change of the manifest is refused as long as both do${atOnce}`;
  const stays = held === undefined ? '' : `, and stays so: ${held}`;
  const why = `it was changed in the cluster after this manifest was applied${stays}; ${next}`;
  return { object, action: 'leave', why, differences: found };
}

const BY_ADMISSION =
  'nobody has changed it since this manifest was applied: an admission webhook or policy did as it was, or would now; the next change of the manifest applies it again';

/** What the dry run changes all the same, admission has changed, now or then: it leaves no trace among the owners of fields. */
function isAllOurs(
  { repository, sha, store }: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): boolean {
  if (live === undefined || isController(object.manifest)) return false;
  const body = applyBody(object, { repository: repository.name, sha, applySetId: store.applySetId });
  return ownsAll(namedFields(body), appliedFields(live, FIELD_MANAGER));
}

async function dryRun(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<Outcome> {
  const { client } = context;
  const body = bodyToApply(context, object, live);
  try {
    const result = await client.patch(object.path, 'apply', body, {
      dryRun: true,
      force: true,
      fieldValidation: 'Strict',
    });
    const change = describeChange(object, live, result);
    return live !== undefined && change.rollout === undefined && isController(object.manifest)
      ? await replaced(context, object, trusted<ReplicationController>(live), change)
      : change;
  } catch (error) {
    const foreign = collisions(error, body, live);
    if (foreign.length > 0) return takenOut(object, foreign);
    const { dropped } = await ownedAndDropped(context, object, live, body);
    const some = inTheWay(error, allDropped(dropped));
    if (some.length > 0)
      return takenOut(
        object,
        some.map((one) => ({ ...one, value: valueIn(live, one) })),
      );
    const found = toProblems(error, object);
    if (found === undefined || isUnconverted(error)) throw error;
    return { refused: found, ...(isNotFound(error) && { isMissing: true }) };
  }
}

/** Of a ReplicationController the commit replaces pods as well whose template somebody has changed under them. */
async function replaced(
  context: CommitContext,
  object: PreparedObject,
  live: ReplicationController,
  change: PlannedChange,
): Promise<PlannedChange> {
  if (!(await isAheadOfItsPods(context, object, live))) return change;
  const pods = podsOf(object, live, live);
  const why = 'its template was changed in the cluster, and its pods are of before: they are replaced';
  return { ...change, why, rollout: { ...(pods !== undefined && { pods }) } };
}

/** What the dry run of the apply alone cannot show: only after it is taken out the manifest can be applied. */
function takenOut(
  { label }: PreparedObject,
  foreign: readonly Pick<Foreign, 'label' | 'managers' | 'value'>[],
): PlannedChange {
  const owners = foreign.map((one) => `"${one.managers.join('", "')}" has put ${one.label} there`);
  return {
    object: label,
    action: 'change',
    why: `the manifest is applied, and what cannot be beside it is taken out: ${owners.join('; ')}`,
    differences: foreign.map((one) => ({ path: one.label, before: one.value })),
  };
}

/** From what the dry run of the apply has answered. */
export function describeChange(
  object: PreparedObject,
  live: KubernetesObject | undefined,
  result: KubernetesObject,
): PlannedChange {
  const found = live === undefined ? [] : compareApplied(object, live, result);
  const rolls =
    (isWorkload(object.manifest) || isController(object.manifest)) &&
    (live === undefined || found.some(({ path }) => path.startsWith('spec.template')));
  const pods = podsOf(object, live, result);
  return {
    object: object.label,
    action: live === undefined ? 'create' : 'change',
    ...(live !== undefined && found.length === 0 && { why: 'only where it comes from' }),
    differences: found,
    ...(rolls && { rollout: { ...(pods !== undefined && { pods }) } }),
  };
}

/** Of a DaemonSet as many as there were nodes for it; of a new one that is not known. */
function podsOf(
  { manifest }: PreparedObject,
  live: KubernetesObject | undefined,
  result: KubernetesObject,
): number | undefined {
  const isDaemonSet = manifest.kind === 'DaemonSet';
  const found = isDaemonSet
    ? asRecord(asRecord(live)['status'])['desiredNumberScheduled']
    : (asRecord(asRecord(result)['spec'])['replicas'] ?? 1);
  return typeof found === 'number' ? found : undefined;
}
