/**
 * Other controllers that select the pods of an update. The pods' controller reference protects them, until a rename takes it away: whichever is
 * first adopts them, and deletes those that it has too many.
 */

import type { KubernetesObject, LabelSelector, PodTemplate } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { wait } from './rolling-update-steps.ts';
import type { RollingUpdateSnapshot, UpdateView } from './rolling-update-view.ts';
import { formatSelector, isEmptySelector, matchesSelector } from './selector.ts';

/** Code of what is waited for here, and of the refusal. */
export const RIVAL = 'SelectorShared';

/**
 * `ReplicationController bar (selector app=foo)`: the first other controller that would adopt pods of this template, were they nobody's;
 * undefined where there is none. `own`: names of the two controllers of the update.
 */
export function rivalOf(
  { controllers, adopters = [] }: Pick<RollingUpdateSnapshot, 'controllers' | 'adopters'>,
  template: PodTemplate | undefined,
  own: readonly string[],
): string | undefined {
  const others = controllers.filter(({ metadata }) => !own.includes(metadata.name));
  const candidates: readonly (readonly [string, Pick<KubernetesObject, 'metadata'>, LabelSelector])[] = [
    ...others.map((one) => ['ReplicationController', one, { matchLabels: one.spec.selector ?? {} }] as const),
    ...adopters.map((one) => [one.kind, one, one.spec.selector] as const),
  ];
  const found = candidates.find(
    ([, { metadata }, selector]) =>
      metadata.deletionTimestamp === undefined &&
      !isEmptySelector(selector) &&
      matchesSelector(selector, template?.metadata?.labels),
  );
  return found && `${found[0]} ${found[1].metadata.name} (selector ${formatSelector(found[2])})`;
}

/** Before the pods lose their controller: until the other one is gone, or has a selector of its own. Undefined where there is none. */
export function awaitRival(view: UpdateView, next: ReplicationController): UpdateStep | undefined {
  const rival = rivalOf(view, next.spec.template, [view.name, next.metadata.name]);
  return rival === undefined
    ? undefined
    : wait(
        RIVAL,
        `${rival} selects the pods of ${next.metadata.name} too: it would take them when that is renamed to ${view.name}, and delete those that it has too many`,
      );
}
