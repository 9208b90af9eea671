/** Writes one object of a commit: server-side apply, field manager `fairlead`, forced only where an operator's undo is meant. */

import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import { appliedEntry } from '../kubernetes/managed-fields.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { bodyToApply, rollController } from './apply-controller.ts';
import { carriedWishes, pauseDenied } from './carried-wishes.ts';
import type { CommitContext } from './commit.ts';
import { collisions } from './collisions.ts';
import { describeOrphaning, findCounterpart } from './counterpart.ts';
import { findConflicts } from './conflicts.ts';
import { decide, isTakenByForce, isUndone } from './decision.ts';
import { decisionInput } from './former-owner.ts';
import { awaitInPlaceUpdates } from './in-place-departure.ts';
import type { PreparedObject } from './prepare.ts';
import { counterpartPath, isController } from './prepare.ts';
import type { ProblemCode } from './problems.ts';
import { rejectedMeanwhile } from './rejected-meanwhile.ts';
import { describeRolledBack } from './rollout-state.ts';
import type { DroppedField } from './dropped-fields.ts';
import { describeTaken, inTheWay } from './dropped-fields.ts';
import { BeingDeletedError, NotYetError, fieldConflicts } from './refusals.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { isSaidAlike } from './said-alike.ts';
import type { CarriedOver } from './take-over.ts';
import { NOTHING, acceptedFields, createCarrying, isNothing, remember, remembered } from './take-over.ts';
import { takeOverFields } from './take-over-fields.ts';
import { takenBack } from './taken-back.ts';
import { ownedAndDropped } from './restored-owners.ts';

export type Applied =
  /** `takenBack`: what somebody had changed in the cluster, and git has now again. */
  | { readonly outcome: 'created' | 'changed'; readonly uid: string; readonly takenBack?: string }
  /** `commit`: the one that changed it last; `appliedAt`: when that was (RFC 3339, in seconds). */
  | {
      readonly outcome: 'unchanged';
      readonly uid: string;
      readonly commit: string | undefined;
      readonly appliedAt: string | undefined;
    }
  /** A pin holds it. */
  | { readonly outcome: 'left'; readonly uid: string; readonly why: string }
  /** Somebody else took it since the check. */
  | {
      readonly outcome: 'refused';
      readonly code: ProblemCode;
      readonly message: string;
      readonly next?: string;
    };

/**
 * Brings one object to its manifest. Safe to repeat after any crash: what is applied already is recognised by its hash, and
 * the step between two workload APIs goes on where it stopped.
 * @throws ApiError as the apiserver refuses (see refusals.ts); BeingDeletedError, or another NotYetError, while the old object is going away
 */
export async function applyObject(context: CommitContext, object: PreparedObject): Promise<Applied> {
  const { resource, namespace = '', name = '' } = object.path;
  // Two repositories that both see that there is none would both make it, and the second would take it from the first.
  const turn = `${resource}/${namespace}/${name}`;
  return await context.inTurn(turn, async () => await bringToManifest(context, object));
}

async function bringToManifest(context: CommitContext, object: PreparedObject): Promise<Applied> {
  const { client } = context;
  const live = await getOrUndefined(client, object.path, context.signal);
  const { manifest } = object;
  const heal = context.heal !== undefined;
  const decision = decide(await decisionInput(context, object, live));
  if (decision.do === 'refuse') {
    const { code, message, next } = decision;
    return { outcome: 'refused', code, message, ...(next !== undefined && { next }) };
  }
  if (decision.do === 'wait') throw new BeingDeletedError(`${object.label}: ${decision.why}`);
  const mayRoll = isController(manifest) && (decision.do === 'apply' || decision.do === 'leave');
  const controller = mayRoll ? trusted<ReplicationController | undefined>(live) : undefined;
  const pin = controller && (await rejectedMeanwhile(context, object, controller));
  if (pin !== undefined)
    return { outcome: 'refused', code: 'RolledBack', message: `${describeRolledBack(pin)}.` };
  if (decision.do === 'apply') {
    if (heal && live !== undefined && isUndone(await findConflicts(context, object, live)))
      return { outcome: 'left', uid: live.metadata.uid, why: 'an operator has gone back meanwhile' };
    if (isController(manifest) && (await rollController(context, object, controller))) {
      if (decision.unpin) await unpin(client, object.path, live);
      return { outcome: 'changed', uid: live?.metadata.uid ?? '' };
    }
    const over = decision.create
      ? await orphanCounterpart(context, object)
      : await unfinished(context, object, live);
    if (over === undefined) {
      const message =
        'the same workload has appeared under the other workload API, and this repository may not take it over.';
      return { outcome: 'refused', code: 'OwnedByOther', message };
    }
    if (!isNothing(over))
      return { outcome: 'created', uid: await createCarrying(context, object, over, live) };
    const written = await write(context, object, decision.force, live);
    if (decision.unpin) await unpin(client, object.path, written.object);
    return {
      outcome: decision.create ? 'created' : 'changed',
      uid: written.object.metadata.uid,
      ...(written.takenBack !== undefined && { takenBack: written.takenBack }),
    };
  }
  const uid = live?.metadata.uid ?? '';
  if (decision.do === 'leave') return { outcome: 'left', uid, why: decision.why };
  if (decision.do === 'nothing')
    return {
      outcome: 'unchanged',
      uid,
      commit: live?.metadata.annotations?.[ANNOTATION.commit],
      appliedAt: live && appliedEntry(live, FIELD_MANAGER)?.time,
    };
  await unpin(client, object.path, live);
  return { outcome: 'changed', uid };
}

interface Written {
  readonly object: KubernetesObject;
  /** What was changed in the cluster, and by whom. */
  readonly takenBack?: string;
}

/**
 * Applies; a conflict that is only a template changed by an undo, or drift of a repository that heals, is taken back, any other is the
 * caller's. What others have put beside the manifest's own so that the two cannot be together is taken out by the same write.
 */
async function write(
  context: CommitContext,
  object: PreparedObject,
  force: boolean,
  live: KubernetesObject | undefined,
): Promise<Written> {
  const { client } = context;
  const body = bodyToApply(context, object, live);
  // What was decided is about this very object: one that was made anew since is read first (409).
  const uid = live?.metadata.uid;
  let bound = uid === undefined ? body : { ...body, metadata: { ...asRecord(body['metadata']), uid } };
  // Without the signal: whoever is cancelled ends the write in flight, or it could come after those of the next commit.
  const options = { fieldValidation: 'Strict' } as const;
  const { owned, dropped } = await ownedAndDropped(context, object, live, body);
  const { taken, kept } = dropped;
  let present =
    owned !== undefined && taken.length > 0 ? await takeOverFields(client, object, owned, taken) : owned;
  let isForced = force;
  let isTakenOver = false;
  let back: string | undefined;
  const takenOut: DroppedField[] = [];
  for (;;) {
    try {
      const written = await client.patch(object.path, 'apply', bound, { ...options, force: isForced });
      const told = [
        ...(takenOut.length === 0 ? [] : [describeTaken(object.label, takenOut)]),
        back ?? [],
      ].flat();
      return { object: written, ...(told.length > 0 && { takenBack: told.join('; ') }) };
    } catch (error) {
      const foreign = isTakenOver ? [] : collisions(error, body, present);
      if (present !== undefined && foreign.length > 0) {
        await takeOverFields(client, object, present, foreign);
        isTakenOver = true;
        continue;
      }
      // What else others keep stays theirs. The next answer may be about another: values are judged once the object is of the schema.
      const left = kept.filter((one) => !takenOut.includes(one));
      const some = inTheWay(error, left);
      if (present !== undefined && some.length > 0) {
        present = await takeOverFields(client, object, present, some);
        takenOut.push(...some);
        continue;
      }
      const conflicts = fieldConflicts(error);
      if (isForced || conflicts === undefined) throw error;
      back = await takenBack(context, object, owned, conflicts);
      if (back === undefined && !isTakenByForce(conflicts)) {
        if (!(await isSaidAlike(context, object, body, present, conflicts))) throw error;
        // What somebody changes now is no longer the same: then all of it is looked at again (409).
        const { resourceVersion } = present?.metadata ?? {};
        bound = { ...bound, metadata: { ...asRecord(bound['metadata']), resourceVersion } };
      }
      isForced = true;
    }
  }
}

/** Takes the pin away, unless it was set anew since `seen` was read. */
async function unpin(
  client: KubernetesClient,
  path: ResourcePath,
  seen: KubernetesObject | undefined,
): Promise<void> {
  if (seen?.metadata.annotations?.[ANNOTATION.pinned] === undefined) return;
  const { uid, resourceVersion } = seen.metadata;
  await client.patch(path, 'merge', {
    metadata: { uid, resourceVersion, annotations: { [ANNOTATION.pinned]: null } },
  });
}

/**
 * Migration between the workload APIs: deletes the same workload under the other API without its pods, claims and revisions,
 * and waits until it is gone, so that the two never own the same pods. Answers what to carry over; undefined when the
 * old object is somebody else's.
 * @throws NotYetError while the old object is still there, has pods that are being updated in place, or is held against what git says
 */
async function orphanCounterpart(
  context: CommitContext,
  object: PreparedObject,
): Promise<CarriedOver | undefined> {
  if (counterpartPath(object) === undefined) return NOTHING;
  const { client, repository } = context;
  const found = await findCounterpart(context, object);
  if (found === undefined) return await remembered(context, object);
  // It has appeared since the check, which refuses what the account may not read.
  const { path, live: old } = found;
  if (old === undefined) return undefined;
  const { uid, annotations, deletionTimestamp } = old.metadata;
  if (annotations?.[ANNOTATION.repository] !== repository.name) return undefined;
  if (deletionTimestamp === undefined) await awaitInPlaceUpdates(context, object, old);
  const wishes = carriedWishes(old, object.manifest);
  const denied = deletionTimestamp === undefined && pauseDenied(wishes, object.manifest.body);
  if (denied) throw new NotYetError(`${object.label}: ${denied}`);
  const over = { wishes, fields: await acceptedFields(context, object, old) };
  await remember(context, object, over, context.signal);
  if (deletionTimestamp === undefined) await client.delete(path, { uid, propagationPolicy: 'Orphan' });
  await awaitGone(client, path, uid, object, context.signal);
  return over;
}

/** Of a take-over that a crash interrupted: the object is there, its manifest's hash is not yet. */
async function unfinished(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<CarriedOver> {
  const isFinished = live?.metadata.annotations?.[ANNOTATION.manifestHash] !== undefined;
  return isFinished || counterpartPath(object) === undefined ? NOTHING : await remembered(context, object);
}

const GONE_WAIT_MS = 5_000;
const GONE_POLL_MS = 100;

/** The garbage collector needs a moment to orphan the children; longer waits are left to the next attempt. */
async function awaitGone(
  client: KubernetesClient,
  path: ResourcePath,
  uid: string,
  successor: PreparedObject,
  signal?: AbortSignal,
): Promise<void> {
  const until = Date.now() + GONE_WAIT_MS;
  for (;;) {
    const live = await getOrUndefined(client, path, signal);
    if (live === undefined || live.metadata.uid !== uid) return;
    if (Date.now() > until) throw new NotYetError(describeOrphaning(path, live, successor.path));
    await new Promise((resolve) => {
      setTimeout(resolve, GONE_POLL_MS);
    });
    signal?.throwIfAborted();
  }
}
