/**
 * What the apiserver refuses around a rename: between the end of the next controller and the creation of the renamed one its pods have no
 * controller, so whatever would refuse the creation (a quota, an admission policy) is asked before, and what refuses it all the same
 * ends no run.
 */

import { ApplicationFailure } from '@temporalio/common';

import {
  isAlreadyExists,
  isForbidden,
  isNamespaceTerminating,
  isNoDryRun,
  isRefusal,
  toMessage,
} from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { isFilledByOthers } from '../kubernetes/quota-refusal.ts';
import { pathOf } from '../kubernetes/rolling-update-objects.ts';
import { TakenBackError } from '../kubernetes/taken-back-error.ts';
import { UPDATE_FIELD_MANAGER } from '../planners/names.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { finalManifest } from '../planners/rolling-update-definition.ts';
import { isInGap, isTowardsGap } from '../planners/rolling-update-handover.ts';

/** Types of failures: while a rename is held, while pods have no controller, and of a write that would only make others try again. */
const [HELD, IN_GAP, ASKING] = ['RenameHeld', 'RenameRefused', 'AskingRefused'];

/** Milliseconds to the next try of a rename that is held: both controllers, or the next one, are there meanwhile. */
const HELD_RETRY_MS = 3_000;
/** Milliseconds to the next try while pods have no controller. */
const GAP_RETRY_MS = 1_000;
/** Milliseconds to the next try of a write that only asks for something. */
const ASKING_RETRY_MS = 10_000;

/**
 * Before the step that brings a rename nearer to its gap (the old controller deleted, the next one held or deleted): tries the creation
 * of the renamed controller without keeping it. Admission and quotas answer also while the name is taken.
 * @throws ApplicationFailure, to be tried again, where it would be refused; ApiError where nothing answers
 */
export async function assertRenamePossible(
  client: KubernetesClient,
  { step, view }: RollingUpdatePlan,
  signal: AbortSignal,
): Promise<void> {
  const { record, old, nextController: next, name, namespace } = view;
  if (record === undefined || next === undefined || !isTowardsGap(view, step)) return;
  try {
    await client.create(
      pathOf('replicationcontrollers', namespace),
      finalManifest(record, view.state.desired),
      {
        dryRun: true,
        fieldManager: UPDATE_FIELD_MANAGER,
        signal,
      },
    );
  } catch (error) {
    if (isAlreadyExists(error) || isNamespaceTerminating(error) || isNoDryRun(error)) return;
    if (!isRefusal(error)) throw error;
    const freed = [old, next].filter((one) => one !== undefined).length;
    if (isFilledByOthers(error.message, freed) === false) return;
    throw ApplicationFailure.create({
      type: HELD,
      nextRetryDelay: HELD_RETRY_MS,
      message: `${next.metadata.name} keeps its name for now: a creation of ${name} would be refused, and its pods be without a controller: ${error.message}`,
    });
  }
}

/**
 * Refusals end a run, for the same request would be refused again; but not while pods have no controller, where nothing else brings one
 * back, nor for a read, without which it is not known whether they have one. What is taken back ends none, and is tried again as soon there.
 * Nor of a step towards that gap: both controllers can wait, as they do for a creation that would be refused; nor of one that only
 * makes others try again.
 * @param plan What the last look has shown; undefined: there was none
 * @returns what is to be thrown instead
 */
export function insteadOfEnding(error: unknown, plan: RollingUpdatePlan | undefined): unknown {
  const isRefused = isRefusal(error);
  if (!isRefused && !(error instanceof TakenBackError)) return error;
  const message = toMessage(error);
  const isRead = isForbidden(error) && error.method === 'GET';
  if (isRead || (plan !== undefined && isInGap(plan.view)))
    return ApplicationFailure.create({ type: IN_GAP, nextRetryDelay: GAP_RETRY_MS, message });
  if (!isRefused || plan === undefined) return error;
  const { view, step } = plan;
  if (isTowardsGap(view, step)) {
    const kept = `${view.nextController?.metadata.name ?? view.name} keeps its name for now: ${message}`;
    return ApplicationFailure.create({ type: HELD, nextRetryDelay: HELD_RETRY_MS, message: kept });
  }
  return step.do === 'await'
    ? ApplicationFailure.create({ type: ASKING, nextRetryDelay: ASKING_RETRY_MS, message })
    : error;
}
