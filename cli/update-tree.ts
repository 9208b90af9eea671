/** A rolling update as `watch` draws it: its controllers in the place of revisions. Pure. */

import { ANNOTATION } from '../planners/names.ts';
import { controllerOf } from '../planners/controller-ref.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import type { UpdateVerdict } from './update-state.ts';
import { isUnderWay, reasonOf } from './update-state.ts';
import type { RevisionLine, WatchView } from './watch-view.ts';
import { byName, podLine } from './watch-view.ts';

/** @param verdict As `rollout status` says it. */
export function viewUpdateTree(plan: RollingUpdatePlan, { outcome, sentence }: UpdateVerdict): WatchView {
  const { view, progress } = plan;
  const { old, nextController: next, paused, name, namespace, isRollback } = view;
  const isBusy = isUnderWay(plan);
  const [oldSize, nextSize] = [progress.old?.available ?? 0, progress.next?.available ?? 0];
  const available = oldSize + nextSize;
  const hasBegun = next !== undefined || view.isRenamed || isRollback || !isBusy;
  const reached = !hasBegun ? 0 : next === undefined || isRollback ? oldSize : nextSize;
  const isOver = outcome === 'done' || outcome === 'rolledBack';
  const waiting = isOver ? undefined : (reasonOf(plan) ?? (isBusy ? undefined : sentence));
  const commit = (old ?? next)?.metadata.annotations?.[ANNOTATION.commit];
  return {
    workload: `replicationcontroller/${name}`,
    namespace,
    state:
      paused !== undefined && isBusy
        ? 'Paused'
        : outcome === 'stalled'
          ? 'Stalled'
          : isOver
            ? 'Ready'
            : 'Progressing',
    reason: progress.phase,
    message: sentence,
    done: isOver,
    progress: {
      target: progress.desired,
      updated: reached,
      updatedReady: reached,
      updatedAvailable: reached,
      desired: progress.desired,
      ready: available,
      available,
      unavailable: Math.max(0, progress.desired - available),
      maxUnavailable: progress.unavailable,
    },
    updateRevision: next?.metadata.name,
    commit,
    waiting: waiting === undefined ? [] : [waiting],
    causes: waiting === undefined ? [] : [waiting],
    paused,
    pinned: undefined,
    revisions: controllerLines(plan),
  };
}

/** The new one first, as newer revisions are; then pods that nobody controls, which is what one has to see. */
function controllerLines({ view }: RollingUpdatePlan): readonly RevisionLine[] {
  const { old, nextController: next, pods, isRollback } = view;
  const known = [next, old].flatMap((one) => one ?? []);
  const isOwn = (uid: string | undefined) => known.some(({ metadata }) => metadata.uid === uid);
  const line = (controller: ReplicationController): RevisionLine => {
    const { name, uid } = controller.metadata;
    const isNew = isRollback ? controller === old : controller === next || next === undefined;
    const own = pods.filter((pod) => controllerOf(pod)?.uid === uid);
    return {
      name,
      number: undefined,
      what: 'controller',
      role: isNew ? 'new' : 'old',
      pods: own.map((pod) => podLine(pod, name)).sort(byName),
    };
  };
  const free = pods.filter((pod) => !isOwn(controllerOf(pod)?.uid));
  const lines = known.map(line);
  if (free.length === 0) return lines;
  const left = free.map((pod) => podLine(pod, undefined)).sort(byName);
  return [...lines, { name: '<none>', number: undefined, what: 'controller', role: 'old', pods: left }];
}
