/** What happens on a node before the pod of a DaemonSet on it is replaced, and after: images are pulled, other pods leave and come back. */

import { newDaemonPod } from './daemonset-pods.ts';
import { isSettled } from './daemonset-status.ts';
import type { DaemonMember, DaemonSetView, Place } from './daemonset-view.ts';
import { hashOf } from './daemonset-hash.ts';
import { deletePod } from './member.ts';
import {
  cordonAction,
  drainStateOf,
  evictAction,
  giveUpAction,
  isMarkOf,
  readDrainMark,
  toEvict,
  uncordonAction,
} from './node-drain.ts';
import type { ControllerRevision, Pod } from './objects.ts';
import type { PlanBuilder } from './plan-builder.ts';
import { imagesToPull, isOrphanedPuller, pullStateOf, pullerManifest, pullerName } from './pre-pull.ts';
import { targetNodeOf } from './target-node.ts';
import { templateOfRevision } from './template-revision.ts';
import { asFields } from './values.ts';

/** Steady state: nodes that need not be cordoned any more are let go, and pods that have pulled, or need not, are deleted. */
export function planHookEnds(view: DaemonSetView, plan: PlanBuilder): void {
  for (const place of view.places) endDrain(view, plan, place);
  const places = new Map(view.places.map((place) => [place.name, place]));
  for (const puller of view.pullers.values()) {
    const place = places.get(targetNodeOf(puller) ?? '');
    const isOrphaned = isOrphanedPuller(puller);
    if (puller.metadata.deletionTimestamp !== undefined) continue;
    if (!isOrphaned && isPullWanted(view, puller, place)) continue;
    // No event of an orphan's brings us here, and nobody else would delete it; its node has the images that it has pulled.
    const why = isOrphaned ? 'its owner is gone' : 'it has pulled, or need not any more';
    plan.addSteady({
      ...deletePod(view.workload, puller, 'PrePullDone', why),
      place: targetNodeOf(puller) ?? '',
    });
  }
}

/** Of a workload that is being deleted: every node of its is let go. */
export function releaseNodes(view: DaemonSetView, plan: PlanBuilder): void {
  for (const { node } of view.places) {
    const mark = readDrainMark(node);
    if (mark !== undefined && isMarkOf(mark, view.workload.ref))
      plan.addSteady(uncordonAction(node, mark, `DaemonSet ${mark.name} is being deleted`));
  }
}

function endDrain(view: DaemonSetView, plan: PlanBuilder, place: Place): void {
  const { workload, now } = view;
  const mark = readDrainMark(place.node);
  if (mark === undefined || !isMarkOf(mark, workload.ref)) return;
  if (mark.uid !== workload.ref.uid) {
    plan.addSteady(uncordonAction(place.node, mark, 'it was drained for an earlier workload of that name'));
    return;
  }
  if (workload.drain === undefined || !isReplacementDue(view, place)) {
    plan.addSteady(uncordonAction(place.node, mark, whyOver(view, place)));
    return;
  }
  const state = stateOf(view, place, workload.drain.timeoutSeconds);
  if (state.phase !== 'draining' || !place.pods.some(isOldAndReady)) return;
  plan.requeue(state.until);
  if (now >= state.until) plan.addSteady(giveUpAction(workload.ref, place.node, mark, now, state.left));
}

function whyOver({ workload }: DaemonSetView, place: Place): string {
  if (workload.drain === undefined) return 'the rollout does not drain any more';
  return isSettled(place) ? 'its pod is new and available' : 'its pod is not to be replaced now';
}

/** Something is still to come on the node; while paused only what has been begun. */
function isReplacementDue({ workload, update }: DaemonSetView, place: Place): boolean {
  // Until the template has a revision nothing is known of what is to come.
  if (update === undefined) return true;
  if (workload.updateStrategy !== 'RollingUpdate' || !place.isTarget || isSettled(place)) return false;
  return workload.paused === undefined || !place.pods.some(isOldAndReady);
}

function isOldAndReady({ isNew, ready, terminating, finished }: DaemonMember): boolean {
  return !isNew && ready && !terminating && !finished;
}

function stateOf({ workload, snapshot }: DaemonSetView, { name, node }: Place, timeoutSeconds: number) {
  return drainStateOf(workload.ref, node, snapshot.neighbours?.get(name), timeoutSeconds * 1000);
}

/** What a node needs before the pod on it may be replaced. `go`: nothing; `wait`: its slot is in use; `skip`: it is not its turn. */
export type Preparation = 'go' | 'wait' | 'skip';

/** Whether the node could not be drained a moment ago: it is in service and costs nothing meanwhile. */
export function isLeftForLater(
  { workload, now }: DaemonSetView,
  plan: PlanBuilder,
  place: Place,
  pod: string,
): boolean {
  if (workload.drain === undefined || place.gaveUpAt === undefined) return false;
  const until = place.gaveUpAt + workload.drain.timeoutSeconds * 1000;
  if (now >= until) return false;
  plan.wait('DrainTimedOut', { pod, detail: `node ${place.name}`, until });
  return true;
}

/** Plans the next steps of the drain; without the setting there is nothing to do. */
export function drainFirst(view: DaemonSetView, plan: PlanBuilder, place: Place, pod: string): Preparation {
  const { workload, now, snapshot } = view;
  if (workload.drain === undefined) return 'go';
  if (snapshot.neighbours === undefined) {
    plan.wait('DrainBlind', { pod });
    return 'skip';
  }
  const state = stateOf(view, place, workload.drain.timeoutSeconds);
  switch (state.phase) {
    case 'drained':
      return 'go';
    case 'unseen':
      plan.wait('Draining', { pod });
      return 'wait';
    case 'taken': {
      const { kind, namespace, name } = state.by;
      plan.wait('DrainTaken', { pod, detail: `Node ${place.name} for ${kind} ${namespace}/${name}` });
      return 'skip';
    }
    case 'none':
      return plan.addBatch(cordonAction(workload.ref, place.node, now)) ? 'wait' : 'skip';
    case 'draining':
      for (const neighbour of toEvict(state.left)) plan.addBatch(evictAction(place.name, neighbour));
      plan.wait('Draining', { pod, detail: describeLeft(state.left, state.stuck), until: state.until });
      return 'wait';
  }
}

function describeLeft(left: readonly Pod[], stuck: readonly Pod[]): string {
  const names = (pods: readonly Pod[]) =>
    `${pods
      .slice(0, 3)
      .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)
      .join(', ')}${pods.length > 3 ? ` and ${String(pods.length - 3)} more` : ''}`;
  return stuck.length === 0
    ? `${names(left)} ${left.length === 1 ? 'is' : 'are'} still there`
    : `${names(stuck)} ${stuck.length === 1 ? 'has' : 'have'} no controller that would make ${stuck.length === 1 ? 'it' : 'them'} again: delete ${stuck.length === 1 ? 'it' : 'them'} by hand`;
}

/**
 * Plans the pull of a node's images; without the setting, or where no image is new, there is nothing to do. A pull that cannot
 * begin, or takes too long, does not hold the node up; `mayBegin`: one more may be under way.
 */
export function pullFirst(
  view: DaemonSetView,
  plan: PlanBuilder,
  { place, member }: { readonly place: Place; readonly member: DaemonMember },
  update: ControllerRevision,
  mayBegin: boolean,
): Preparation {
  const { workload, now, byLabel, pullers } = view;
  if (workload.prePull === undefined) return 'go';
  const template = templateOfRevision(update);
  const from = byLabel.get(member.revision);
  const images = imagesToPull(from && templateOfRevision(from), template);
  if (images.length === 0) return 'go';
  const { timeoutSeconds } = workload.prePull;
  const name = pullerName(workload, place.name, hashOf(update));
  const state = pullStateOf(pullers.get(name), timeoutSeconds, now);
  switch (state.phase) {
    case 'pulled':
      return 'go';
    case 'late':
      plan.wait('PrePullLate', { pod: member.name, detail: state.detail });
      return 'go';
    case 'pulling':
      plan.wait('PrePulling', { pod: member.name, detail: state.detail, until: state.until });
      return 'wait';
    case 'none': {
      if (!mayBegin) return 'skip';
      const like = asFields(newDaemonPod(workload, name, place.name, update, true)['spec']) ?? {};
      const placed = { affinity: like['affinity'], tolerations: like['tolerations'] };
      const isBegun = plan.addBatch({
        verb: 'create',
        resource: 'pods',
        name,
        place: place.name,
        body: pullerManifest(workload, name, hashOf(update), images, placed, template, timeoutSeconds),
        purpose: 'PrePull',
        revision: update.metadata.name,
        message: `create Pod ${name}, which pulls images of revision ${update.metadata.name} on Node ${place.name}`,
      });
      return isBegun ? 'wait' : 'go';
    }
  }
}

function isPullWanted({ workload, update }: DaemonSetView, puller: Pod, place: Place | undefined): boolean {
  return (
    workload.prePull !== undefined &&
    update !== undefined &&
    place !== undefined &&
    Object.values(puller.metadata.labels ?? {}).includes(hashOf(update)) &&
    place.isTarget &&
    !isSettled(place)
  );
}
