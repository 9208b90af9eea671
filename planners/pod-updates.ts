/** Bringing one pod from its revision to another, in place or by a new pod: the same for every kind (A18–A31, design "In-place update"). */

import type { NodeFault } from './down-nodes.ts';
import { hasGate, isGateOpen, resizeRefusal } from './in-place-state.ts';
import { openGateAction } from './in-place-writes.ts';
import type { InPlaceContext } from './in-place-writes.ts';
import { obstacles, startInPlace, stepInPlace } from './in-place.ts';
import { deletePod } from './member.ts';
import type { Member } from './member.ts';
import type { ControllerRevision, JsonObject } from './objects.ts';
import type { Action, Refusal } from './plan.ts';
import { actionKey } from './plan.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { templateOfRevision } from './template-revision.ts';
import { diffTemplates } from './template-diff.ts';
import type { TemplateDiff } from './template-diff.ts';
import type { PodUpdatePolicy, Workload } from './workload.ts';

/** So long a pod is left to a node that puts its resize off: other pods may go meanwhile. */
const DEFERRED_PATIENCE_MS = 60_000;

/** What updates of pods need to know of their workload. `M` is the kind's own view of a pod. */
export interface UpdateView<M extends Member> {
  readonly workload: Workload & {
    readonly podUpdatePolicy: PodUpdatePolicy;
    readonly gracePeriodSeconds: number;
  };
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The revision of the present template; undefined until it is created. */
  readonly update: ControllerRevision | undefined;
  /** Revisions by what the label of their pods says: the name (S1), or the hash (D4). */
  readonly byLabel: ReadonlyMap<string, ControllerRevision>;
  readonly downNodes: ReadonlyMap<string, NodeFault>;
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** What the label of a pod at {@link update} says. */
  readonly updateLabel: string | undefined;
  /** Whether the present strategy may bring the pod to the update revision. */
  readonly isTarget: (member: M) => boolean;
  /** What is made in the place of a pod. */
  readonly successor: (member: M, update: ControllerRevision) => JsonObject;
  /** What a pod lacks that is not in a revision, and that only a new one has. @default nothing */
  readonly lacks?: (member: M) => readonly string[];
}

/** Steps of updates in place that were begun, and gates to open: steady state, in any order, paused or not. */
export function planInPlaceSteps<M extends Member>(
  view: UpdateView<M>,
  members: Iterable<M>,
  plan: PlanBuilder,
): void {
  for (const member of members) {
    if (!member.owned || member.terminating || member.finished) continue;
    if (plan.writesPod(member.name)) continue;
    if (member.inPlace !== undefined) {
      if (isInfeasible(view, member)) continue;
      // What a dead kubelet said last is no proof that it did what it was to do.
      const isApplied = member.inPlace.revision === member.revision;
      if (isApplied && view.downNodes.has(member.pod.spec.nodeName ?? '')) continue;
      const step = stepInPlace(member.pod, member.inPlace, contextOf(view, member));
      if ('action' in step) plan.addSteady(step.action);
      else {
        const replacedAt = infeasibleAt(view, member);
        const until = step.until ?? (step.wait === 'ResizePending' ? replacedAt : undefined);
        if (replacedAt !== undefined) plan.requeue(replacedAt);
        plan.wait(step.wait, {
          pod: member.name,
          ...(step.detail !== '' && { detail: step.detail }),
          ...(until !== undefined && { until }),
        });
      }
    } else if (hasGate(member.pod) && !isGateOpen(member.pod)) {
      plan.addSteady(openGateAction(member.pod, contextOf(view, member)));
    }
  }
}

/**
 * The write that begins to bring a pod to the update revision, by the policy of the workload: in place, or a delete.
 * Undefined, with the reason given to `plan`, where the policy allows neither.
 */
export function updateAction<M extends Member>(
  view: UpdateView<M>,
  plan: PlanBuilder,
  member: M,
  update: ControllerRevision,
): Action | undefined {
  const policy = view.workload.podUpdatePolicy;
  const context = contextOf(view, member);
  const { diff } = context;
  // Templates that mean the same under another name: a new label is all that is needed (D21).
  if (diff?.empty === true && member.inPlace === undefined) return startInPlace(member.pod, diff, context);
  const infeasible = member.inPlace !== undefined && isInfeasible(view, member);
  const refused = refusedResize(view, member) ?? (infeasible ? resizeRefusal(member.pod) : undefined);
  const lacks = view.lacks?.(member) ?? [];
  const why =
    (refused === undefined ? '' : ` and cannot be resized in place: ${refused.message}`) +
    (lacks.length === 0 ? '' : ` and runs without ${lacks.join(', ')}`);
  const recreate = {
    ...deletePod(
      view.workload,
      member.pod,
      'Recreate',
      `it is to be at revision ${update.metadata.name}${why}`,
    ),
    revision: update.metadata.name,
    successor: view.successor(member, update),
    ...(member.ready && { charged: true }),
  };
  if (policy === 'ReCreate') return recreate;
  const problems =
    diff === undefined
      ? [`revision ${member.revision === '' ? 'of its label' : member.revision} is not known`]
      : obstacles(member.pod, diff);
  const resizable = policy === 'InPlaceOnly' || (refused === undefined && !infeasible);
  // Who rules a new pod out has it go on without.
  const complete = policy === 'InPlaceOnly' || lacks.length === 0;
  const possible = problems.length === 0 && resizable && complete;
  if (possible && diff !== undefined) return startInPlace(member.pod, diff, context);
  if (policy === 'InPlaceIfPossible') return recreate;
  plan.wait('InPlaceImpossible', { pod: member.name, detail: problems.join(', ') });
  return undefined;
}

/**
 * The pod is in an update in place that its node, or the apiserver, does not give the resources for, there or back, and the policy
 * allows to make a new one instead.
 */
export function isInfeasible<M extends Member>(view: UpdateView<M>, member: M): boolean {
  const at = infeasibleAt(view, member);
  return at !== undefined && at <= view.now;
}

/**
 * From when on that is so, milliseconds, if nothing else changes. What the node only puts off is awaited for a while, and for as long as
 * it takes where a new pod would come to the same node, which has no more room for that one.
 */
function infeasibleAt<M extends Member>(view: UpdateView<M>, member: M): number | undefined {
  const { inPlace, pod } = member;
  const { podUpdatePolicy, ref } = view.workload;
  if (podUpdatePolicy !== 'InPlaceIfPossible' || inPlace?.resources === undefined) return undefined;
  if (!view.isTarget(member)) return undefined;
  if (refusedResize(view, member) !== undefined) return -Infinity;
  const pending = inPlace.revision === view.updateLabel ? resizeRefusal(pod) : undefined;
  if (pending === undefined) return undefined;
  if (pending.infeasible) return -Infinity;
  const appliedAt = Date.parse(inPlace.appliedAt ?? '');
  const isDown = view.downNodes.has(pod.spec.nodeName ?? '');
  if (ref.kind === 'DaemonSet' || isDown || Number.isNaN(appliedAt)) return undefined;
  // The condition may be older than this update, or newer.
  return (pending.since > appliedAt ? pending.since : appliedAt) + DEFERRED_PATIENCE_MS;
}

/**
 * That the apiserver does not resize this pod on its way to the update revision. It is not written to the pod: who does not know of it
 * tries once more and is told the same, at no cost.
 */
function refusedResize<M extends Member>(
  { refusals, updateLabel }: UpdateView<M>,
  { pod }: M,
): Refusal | undefined {
  if (refusals.size === 0) return undefined;
  const { name, uid } = pod.metadata;
  const refusal = refusals.get(actionKey({ verb: 'patch', resource: 'pods', name }));
  return refusal?.unresizable === uid && refusal.revision === updateLabel ? refusal : undefined;
}

function contextOf<M extends Member>(view: UpdateView<M>, member: M): InPlaceContext {
  const { workload, now, update } = view;
  const target = update !== undefined && view.isTarget(member) ? update : undefined;
  const from = view.byLabel.get(member.revision);
  return {
    owner: `${workload.ref.kind} ${workload.ref.name}`,
    now,
    gracePeriodSeconds: workload.gracePeriodSeconds,
    target: target === undefined ? undefined : view.updateLabel,
    diff: target !== undefined && from !== undefined ? diffOf(from, target) : undefined,
  };
}

const diffs = new WeakMap<ControllerRevision, WeakMap<ControllerRevision, TemplateDiff>>();

/** Few revisions, many pods: each pair is compared once. */
function diffOf(from: ControllerRevision, to: ControllerRevision): TemplateDiff {
  let byTarget = diffs.get(from);
  if (byTarget === undefined) {
    byTarget = new WeakMap();
    diffs.set(from, byTarget);
  }
  let diff = byTarget.get(to);
  if (diff === undefined) {
    diff = diffTemplates(templateOfRevision(from), templateOfRevision(to));
    byTarget.set(to, diff);
  }
  return diff;
}
