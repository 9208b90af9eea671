/**
 * The selector of one half of an update, made that of the other by somebody in the middle: neither would have pods of its own. The record
 * says what both had.
 */

import { ANNOTATION } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import { selectsSame } from './rolling-update-definition.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { annotate, patch } from './rolling-update-steps.ts';
import { editedImagesWith, patchTowards } from './rolling-update-template.ts';
import type { UpdateView } from './rolling-update-view.ts';

/**
 * The next write that gives the one that was changed its selector again, with the labels in its template that go with it; undefined where
 * the two differ, or no record says how. Pods that it has made meanwhile are the other's then, which must not count them as its own.
 */
export function putSelectorBack(
  { record }: UpdateView,
  old: ReplicationController,
  next: ReplicationController,
): UpdateStep | undefined {
  if (record === undefined || !selectsSame(old.spec, next.spec)) return undefined;
  const halves = [
    { one: next, other: old, selector: record.controller.spec.selector },
    { one: old, other: next, selector: record.replaced?.selector },
  ] as const;
  const changed = halves.find(({ one, selector }) => selector && !selectsSame(one.spec, { selector }));
  if (changed?.selector === undefined) return undefined;
  const { one, other, selector } = changed;
  const images = editedImagesWith(other, one.spec.template);
  if (images !== undefined) {
    const message = `${other.metadata.name} is about to get pods that ${one.metadata.name} has made`;
    return annotate(other, { [ANNOTATION.editedImages]: images }, 'Annotate', message);
  }
  const change = patchTowards(one.spec.selector ?? {}, selector);
  return patch(
    'replicationcontrollers',
    one,
    { spec: { selector: change, template: { metadata: { labels: selector } } } },
    'PutBack',
    `${one.metadata.name} was given the selector of ${other.metadata.name} by somebody: put back as the update has it`,
  );
}
