/**
 * The template of a next controller that somebody edits in the middle (`kubectl set image`): the record says what is rolled out, so it
 * is put back, and pods that were made of the edited one do not count as replaced.
 */

import { isActive, isAvailable } from './availability.ts';
import { canonicalJson } from './canonical-json.ts';
import { ANNOTATION } from './names.ts';
import type { JsonObject, Pod, PodTemplate } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { podsOf, templateEditors } from './replication-controller.ts';
import type { UpdateRecord } from './rolling-update-record.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { patch, remove, wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { countPods } from './rolling-update-view.ts';
import { asFields, trusted } from './values.ts';

/** Code of what is waited for here. */
export const EDITED = 'PodOfEditedTemplate';

/** So many images are remembered. */
const KEPT_IMAGES = 10;

/**
 * The write that gives the next controller the template of its record again, and remembers which images the edited one had; undefined
 * when it has it. What nobody but a rolling update has written is left: a webhook made it, and would make it again.
 */
export function putBack(view: UpdateView, next: ReplicationController): UpdateStep | undefined {
  const template = changeBack(view.record, next);
  const wanted = view.record?.controller.spec.template;
  const present = next.spec.template;
  if (template === undefined || wanted === undefined || present === undefined) return undefined;
  if (view.paused !== undefined) return undefined;
  const right = imagesOf(wanted.spec);
  const images = [...imagesOf(present.spec)].flatMap(([name, image]) =>
    right.get(name) === image ? [] : [image],
  );
  const edited = [...new Set([...editedImages(next), ...images])].slice(-KEPT_IMAGES);
  const annotations = edited.length === 0 ? {} : { [ANNOTATION.editedImages]: JSON.stringify(edited) };
  const { name } = next.metadata;
  const who = templateEditors(next)?.join(', ') ?? 'somebody';
  const message = `the template of ${name} was changed by ${who}: put back as the update rolls it out`;
  return patch(
    'replicationcontrollers',
    next,
    { metadata: { annotations }, spec: { template } },
    'PutBack',
    message,
  );
}

/** Whether anybody but a rolling update has given a controller another template than the record of one says. */
export function editedSince(record: UpdateRecord | undefined, controller: ReplicationController): boolean {
  return changeBack(record, controller) !== undefined;
}

/** The merge patch of its template; undefined where nobody has edited it. */
function changeBack(
  record: UpdateRecord | undefined,
  controller: ReplicationController,
): JsonObject | undefined {
  const wanted = record?.controller.spec.template;
  const present = controller.spec.template;
  if (wanted === undefined || present === undefined || templateEditors(controller)?.length === 0)
    return undefined;
  return patchTowards(trusted<JsonObject>(present), trusted<JsonObject>(wanted));
}

/** Pods of the next controller with an image that an edited template had, and its own has not. */
export function editedPods({ record, pods }: UpdateView, next: ReplicationController): readonly Pod[] {
  const edited = editedImages(next);
  const template = record?.controller.spec.template;
  if (edited.length === 0 || template === undefined) return [];
  const right = imagesOf(template.spec);
  const isEdited = (pod: Pod) =>
    [...imagesOf(pod.spec)].some(([name, image]) => edited.includes(image) && right.get(name) !== image);
  return podsOf(next, pods).filter((pod) => isActive(pod) && isEdited(pod));
}

/**
 * Deletes one of them where enough others are available (K5); its controller makes another. `now` in milliseconds since the epoch.
 */
export function deleteEdited(
  view: UpdateView,
  next: ReplicationController,
  now: number,
): UpdateStep | undefined {
  if (view.paused !== undefined) return undefined;
  const edited = editedPods(view, next);
  const both = new Set([view.old, next]);
  const available = [...both].reduce((sum, one) => sum + countPods(one, view.pods, now).available, 0);
  const minReadySeconds = next.spec.minReadySeconds ?? 0;
  const isSpare = available - 1 >= view.state.desired - view.budget.unavailable;
  const victim = edited.find((pod) => isSpare || !isAvailable(pod, minReadySeconds, now));
  if (victim === undefined) return undefined;
  const message = `delete pod ${victim.metadata.name}: made of a template of ${next.metadata.name} that somebody had changed`;
  return remove('pods', victim, false, 'DeleteEdited', message);
}

/** Where none may go: what was rolled out is not all that there is. */
export function awaitEdited(view: UpdateView, next: ReplicationController): UpdateStep | undefined {
  const names = editedPods(view, next).map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  const message =
    `${names.slice(0, KEPT_IMAGES).join(', ')} of ${next.metadata.name}: made of a template that somebody had changed, ` +
    `and none may be unavailable`;
  return wait(EDITED, message, names);
}

function editedImages({ metadata }: ReplicationController): readonly string[] {
  try {
    const found: unknown = JSON.parse(metadata.annotations?.[ANNOTATION.editedImages] ?? '[]');
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

function imagesOf({ containers, initContainers = [] }: PodTemplate['spec']): ReadonlyMap<string, string> {
  return new Map([...initContainers, ...containers].map(({ name, image = '' }) => [name, image]));
}

/** The merge patch that makes `wanted` of `present` (RFC 7386: what is null goes); undefined where they are one. */
function patchTowards(present: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const change: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(present), ...Object.keys(wanted)])) {
    const [from, to] = [present[name] ?? null, wanted[name] ?? null];
    const [inner, outer] = [asFields(from), asFields(to)];
    if (inner !== undefined && outer !== undefined) {
      const nested = patchTowards(inner, outer);
      if (nested !== undefined) change[name] = nested;
    } else if (canonicalJson(from) !== canonicalJson(to)) {
      change[name] = to;
    }
  }
  return Object.keys(change).length === 0 ? undefined : change;
}
