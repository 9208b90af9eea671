/** The marks of both halves of a rolling update: who the other is, and how many replicas are wanted (seed 001 "Recovery", K1). */

import { ROLLING_UPDATE, SHIPPED_ROLLING_UPDATE } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import { desiredOf, inReplicas, originalSizeOf, partnerOf } from './replication-controller.ts';
import { selectsSame } from './rolling-update-definition.ts';
import { livePartnerOf } from './rolling-update-roles.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { annotate, refuse, setState } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';

/** Marks by which the two cannot be halves of one update, or selectors with which neither would have pods of its own. */
export function contradiction(
  { controllers }: UpdateView,
  old: ReplicationController,
  next: ReplicationController,
): UpdateStep | undefined {
  for (const [one, other] of [
    [old, next],
    [next, old],
  ] as const) {
    const partner = livePartnerOf(one, controllers);
    // Of an update whose next controller is gone a mark may be left.
    const isThere = controllers.some(({ metadata }) => metadata.name === partner);
    if (partner !== undefined && partner !== other.metadata.name && (isThere || one === next)) {
      return refuse(
        'OtherUpdate',
        `${one.metadata.name} belongs to another update, with ${partner} and not with ${other.metadata.name}`,
      );
    }
  }
  if (selectsSame(old.spec, next.spec)) {
    return refuse(
      'SelectorSame',
      `${old.metadata.name} and ${next.metadata.name} have the same selector: each would count the pods of the other`,
    );
  }
  return undefined;
}

/** Seed, "Recovery": on both, who the other is and how many replicas are wanted; shipped marks will do (K1). */
export function setMarks(
  { state }: UpdateView,
  old: ReplicationController,
  next: ReplicationController,
): UpdateStep | undefined {
  const [oldName, nextName] = [old.metadata.name, next.metadata.name];
  if ((desiredOf(next) ?? 0) === 0 || partnerOf(next) === undefined) {
    const marks = {
      [ROLLING_UPDATE.desiredReplicas]: String(state.desired),
      [ROLLING_UPDATE.partner]: oldName,
    };
    return annotate(
      next,
      marks,
      'Annotate',
      `${nextName} is to replace ${oldName}, with ${inReplicas(state.desired)}`,
    );
  }
  const isSized = originalSizeOf(old) === state.desired;
  if (desiredOf(old) === undefined || partnerOf(old) !== nextName || !isSized) {
    const marks = {
      [ROLLING_UPDATE.desiredReplicas]: '0',
      [ROLLING_UPDATE.partner]: nextName,
      // Were the next one and the record deleted together, nothing else would say it.
      [SHIPPED_ROLLING_UPDATE.originalReplicas]: String(state.desired),
    };
    return annotate(old, marks, 'Annotate', `${oldName} is replaced by ${nextName}`);
  }
  return undefined;
}

/**
 * Seed, "Abort": the desired size is with the old controller by now, so it is taken from the next. The other way round nothing would
 * say any more how much is wanted.
 */
export function moveMarks(
  { state, record, name }: UpdateView,
  old: ReplicationController,
  next: ReplicationController,
): UpdateStep | undefined {
  const nextName = next.metadata.name;
  if (desiredOf(old) !== state.desired || partnerOf(old) !== nextName) {
    const marks = {
      [ROLLING_UPDATE.desiredReplicas]: String(state.desired),
      [ROLLING_UPDATE.partner]: nextName,
    };
    return annotate(old, marks, 'Annotate', `${name} is to come back, with ${inReplicas(state.desired)}`);
  }
  if (desiredOf(next) !== 0 || partnerOf(next) === undefined) {
    return markBack({ name }, next);
  }
  if (record?.state.phase === 'Renaming') {
    return setState(record, { phase: 'Rolling' }, `${name} is not renamed: it rolls back`);
  }
  return undefined;
}

/** The next controller as the half that goes. */
export function markBack({ name }: Pick<UpdateView, 'name'>, next: ReplicationController): UpdateStep {
  const marks = { [ROLLING_UPDATE.desiredReplicas]: '0', [ROLLING_UPDATE.partner]: name };
  return annotate(next, marks, 'Annotate', `${next.metadata.name} gives its place back to ${name}`);
}

/** `the abort cannot be done any more: foo was deleted`; undefined where it is not so. The next one is marked as the one that was to go. */
export function describeVainTurn({ old, nextController: next, name }: UpdateView): string | undefined {
  if (old !== undefined || next === undefined || partnerOf(next) !== name) return undefined;
  return desiredOf(next) === 0 ? `the abort cannot be done any more: ${name} was deleted` : undefined;
}

/** Writes that begin the way forward again. */
const FORWARD: readonly string[] = ['Phase', 'Record', 'ScaleUp', 'Strip'];

/** The same step, which says so where somebody wanted the old controller back that is gone. */
export function sayVainTurn(view: UpdateView, step: UpdateStep): UpdateStep {
  const vain = describeVainTurn(view);
  if (vain === undefined || step.do !== 'write' || !FORWARD.includes(step.write.purpose)) return step;
  return { ...step, write: { ...step.write, message: `${vain}; ${step.write.message}` } };
}
