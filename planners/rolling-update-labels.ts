/**
 * The label that tells the pods of the two controllers apart, given to the old one (seed "Lightweight rollout"; K2): template,
 * then pods, then selector, and at last pods that were made from the old template in between.
 */

import { isActive } from './availability.ts';
import { controllerOf } from './controller-ref.ts';
import { isMadeSince } from './rolling-update-abandoned.ts';
import type { ReplicationController } from './replication-controller.ts';
import { podsOf } from './replication-controller.ts';
import { isHashValue, labelKeyOf, labelOfOld, labelValue } from './rolling-update-definition.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { patch, remove, wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { matchesSelector } from './selector.ts';

/**
 * The next write that the label needs, or undefined when it is where it belongs. Where the next controller does not select by
 * such a label (made by hand, or from a file with a selector of its own) the old one needs none (K3).
 */
export function labelStep(
  view: UpdateView,
  old: ReplicationController,
  next: ReplicationController,
): UpdateStep | undefined {
  const key = labelKeyOf(next.spec, view.record?.key);
  const { name } = old.metadata;
  if (key === undefined) return undefined;
  const { selector = {}, template } = old.spec;
  const value = valueFor(view, old, key);
  if (labelValue(template?.metadata?.labels, key) !== value) {
    const change = { spec: { template: { metadata: { labels: { [key]: value } } } } };
    const message = `label the template of ${name}: its pods must not be taken for those of ${next.metadata.name}`;
    return patch('replicationcontrollers', old, change, 'LabelTemplate', message);
  }
  // A pause holds whatever takes pods away.
  if (labelValue(selector, key) === value)
    return view.paused === undefined ? strayStep(view, old, key) : undefined;
  const bare = podsOf(old, view.pods).find(
    (pod) => isActive(pod) && labelValue(pod.metadata.labels, key) !== value,
  );
  if (bare !== undefined) {
    const change = { metadata: { labels: { [key]: value } } };
    return patch('pods', bare, change, 'LabelPod', `label pod ${bare.metadata.name} of ${name}`);
  }
  // Until then it may be making pods from the template without the label.
  if ((old.status?.observedGeneration ?? 0) < (old.metadata.generation ?? 0)) {
    return wait(
      'ControllerBehind',
      `the controller of the cluster has not seen the new template of ${name} yet`,
    );
  }
  // Where its pod cache lags, it would take pods for unlabelled, let them go and make as many again.
  const labelled = podsOf(old, view.pods).filter(
    (pod) =>
      isActive(pod) &&
      matchesSelector({ matchLabels: template?.metadata?.labels ?? {} }, pod.metadata.labels),
  );
  if ((old.status?.fullyLabeledReplicas ?? 0) < labelled.length) {
    return wait(
      'ControllerBehind',
      `the controller of the cluster has not seen the new labels of all pods of ${name} yet`,
    );
  }
  const change = { spec: { selector: { ...selector, [key]: value } } };
  return patch(
    'replicationcontrollers',
    old,
    change,
    'LabelSelector',
    `${name} selects its pods by the label too`,
  );
}

/**
 * What the record finds its pods by: its template may have changed since then, and another value with it. One that somebody has made anew
 * is another controller, with a value of its own.
 */
function valueFor({ record }: UpdateView, old: ReplicationController, key: string): string {
  const recorded = labelValue(record?.replaced?.selector, key);
  const isOwn =
    labelValue(old.spec.selector, key) !== undefined || record === undefined || isMadeSince(old, record);
  return !isOwn && recorded !== undefined && isHashValue(recorded) ? recorded : labelOfOld(old, key);
}

/** Pods that the old controller made without the label and has released: nobody would ever delete them (K2). */
function strayStep(view: UpdateView, old: ReplicationController, key: string): UpdateStep | undefined {
  const { name } = old.metadata;
  const { [key]: _, ...before } = old.spec.selector ?? {};
  const stray = view.pods.find(
    (pod) =>
      isActive(pod) &&
      controllerOf(pod) === undefined &&
      pod.metadata.generateName === `${name}-` &&
      labelValue(pod.metadata.labels, key) === undefined &&
      matchesSelector({ matchLabels: before }, pod.metadata.labels),
  );
  if (stray === undefined) return undefined;
  const message = `delete pod ${stray.metadata.name}: made by ${name} from its template of before, controlled by nobody`;
  return remove('pods', stray, false, 'DeleteStray', message);
}
