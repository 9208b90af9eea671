/**
 * The template of the controller that grows, edited by somebody in the middle (`kubectl set image`): the record says what is rolled out,
 * and what there was before, so it is put back, and pods that were made of the edited one do not count.
 */

import { isActive, isAvailable } from './availability.ts';
import { canonicalJson } from './canonical-json.ts';
import { ANNOTATION } from './names.ts';
import type { JsonObject, Pod, PodTemplate } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import { byTemplateEditors, isMadeByUpdate, podsOf, templateEditors } from './replication-controller.ts';
import {
  isHashValue,
  labelValue,
  plainController,
  proven,
  selectsSame,
} from './rolling-update-definition.ts';
import type { UpdateRecord } from './rolling-update-record.ts';
import type { UpdateStep } from './rolling-update-steps.ts';
import { patch, remove, wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { countPods } from './rolling-update-view.ts';
import { asFields, ownField, trusted } from './values.ts';

/** Code of what is waited for here. */
export const EDITED = 'PodOfEditedTemplate';

/** So many images are remembered. */
const KEPT_IMAGES = 10;

/**
 * The write that gives a controller of the update the template of the record again, and remembers which images the edited one had;
 * undefined when it has it. What nobody but a rolling update has written is left: a webhook made it, and would make it again.
 */
export function putBack(view: UpdateView, one: ReplicationController): UpdateStep | undefined {
  const wanted = wantedTemplate(view, one);
  const present = one.spec.template;
  const since = countedFrom(view.record, one, isGoingBackTo(view, one));
  const template = changeBack(wanted, one, since);
  if (template === undefined || wanted === undefined || present === undefined) return undefined;
  if (view.paused !== undefined) return undefined;
  const right = imagesOf(wanted.spec);
  const images = [...imagesOf(present.spec)].flatMap(([name, image]) =>
    right.get(name) === image ? [] : [image],
  );
  const edited = [...new Set([...editedImages(one), ...images])].slice(-KEPT_IMAGES);
  const annotations = edited.length === 0 ? {} : { [ANNOTATION.editedImages]: JSON.stringify(edited) };
  const { name } = one.metadata;
  const who = templateEditors(one, since)?.join(', ') ?? 'somebody';
  const as = isGoingBackTo(view, one) ? 'it was before' : 'the update rolls it out';
  const message = `the template of ${name} was changed by ${who}: put back as ${as}`;
  return patch(
    'replicationcontrollers',
    one,
    { metadata: { annotations }, spec: { template } },
    'PutBack',
    message,
  );
}

/** Whether a controller of the update has another template than {@link putBack} gives it. */
export function isEdited(view: UpdateView, one: ReplicationController): boolean {
  const since = countedFrom(view.record, one, isGoingBackTo(view, one));
  return changeBack(wantedTemplate(view, one), one, since) !== undefined;
}

/**
 * Since when whoever writes the template changes what the record says of it (RFC 3339). Who owned it before has not, though a rename gives
 * its owners back; and what a webhook adds to our own writes it would add again.
 */
function countedFrom(record: UpdateRecord | undefined, one: ReplicationController, isBack: boolean): string {
  const [made = '', recorded = ''] = [one, record?.revision].map((each) => each?.metadata.creationTimestamp);
  // A record that was made anew is younger than what the update has made.
  return !isBack && (isMadeByUpdate(one) || made > recorded) ? made : recorded;
}

/** ` by kubectl-set`, for a sentence about a template that is not what the record of an update that is over says. */
export function byEditorsSince(record: UpdateRecord, controller: ReplicationController): string {
  return byTemplateEditors(controller, countedFrom(record, controller, record.state.phase === 'Aborted'));
}

/** What its pods are to be made of: as the record rolls it out, and of what gets its pods back as it was when the update began. */
function wantedTemplate(view: UpdateView, one: ReplicationController): PodTemplate | undefined {
  const { record } = view;
  if (record === undefined || !isGoingBackTo(view, one)) return record?.controller.spec.template;
  return templateBefore(record, one);
}

/** Of the controller that was replaced, as it was when the update began; undefined where that is not known. */
function templateBefore(
  { replaced, key }: UpdateRecord,
  one: ReplicationController,
): PodTemplate | undefined {
  // One that somebody has made anew under the name is another, and its template theirs.
  if (replaced === undefined || !selectsSame(one.spec, replaced)) return undefined;
  const before = replaced.template;
  // Its label came when the update had begun.
  const label = labelValue(one.spec.template?.metadata?.labels, key);
  if (before === undefined || label === undefined) return before;
  const { labels } = before.metadata ?? {};
  return { ...before, metadata: { ...before.metadata, labels: { ...labels, [key]: label } } };
}

function isGoingBackTo({ old, isRollback, isRenamed }: UpdateView, one: ReplicationController): boolean {
  return isRollback && !isRenamed && one === old;
}

/** Whether anybody but a rolling update has given a controller another template than the record of one says. */
export function editedSince(record: UpdateRecord | undefined, controller: ReplicationController): boolean {
  return changeBack(record?.controller.spec.template, controller) !== undefined;
}

/** The same of one that got its pods back, where the record says what it was before. */
export function editedSinceBack(record: UpdateRecord, controller: ReplicationController): boolean {
  return changeBack(templateBefore(record, controller), controller) !== undefined;
}

/** Whether a controller that was edited since has a pod of before: only then do those that it makes from now on differ from others. */
export function hasPodOfBefore(
  { pods }: Pick<UpdateView, 'pods'>,
  record: UpdateRecord,
  controller: ReplicationController,
): boolean {
  const isBack = record.state.phase === 'Aborted';
  const before = isBack ? templateBefore(record, controller) : record.controller.spec.template;
  const present = controller.spec.template;
  if (before === undefined || present === undefined) return false;
  // Where the one says no more than the other, the pods of both have it.
  const tells = !holds(describedBy(present), describedBy(before));
  return podsOf(controller, pods)
    .filter(isActive)
    .some((pod) => {
      const own = describedBy(pod);
      return !holds(own, describedBy(present)) || (tells && holds(own, describedBy(before)));
    });
}

/** Whether a pod is made of this template, as far as what the template says tells; admission adds to pods. */
export function isMadeOf(pod: PodTemplate | Pod, template: PodTemplate): boolean {
  return holds(describedBy(pod), describedBy(template));
}

/**
 * Whether somebody has changed the template under the pods, which no ReplicationController replaces: an active one lacks what the template
 * says, or, where a record tells what it was, has what it said before.
 */
export function isAheadOfPods(
  { pods, last }: Pick<UpdateView, 'pods' | 'last'>,
  controller: ReplicationController,
): boolean {
  const { template } = controller.spec;
  if (template === undefined) return false;
  const isRecorded = last?.state.phase === 'Done' && last.to === controller.metadata.name;
  if (isRecorded && editedSince(last, controller) && hasPodOfBefore({ pods }, last, controller)) return true;
  return podsOf(controller, pods)
    .filter(isActive)
    .some((pod) => !isMadeOf(pod, template));
}

/** What a template says of a pod, and a pod has of a template. */
function describedBy({ metadata, spec }: PodTemplate | Pod): JsonObject {
  return { labels: metadata?.labels ?? {}, annotations: metadata?.annotations ?? {}, spec };
}

/** Whether a value has all that another says; admission adds to pods. Items of lists are found by their name, else by their place. */
function holds(value: unknown, said: unknown): boolean {
  if (Array.isArray(said) && Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return said.every((one: unknown, index) => {
      const name = asFields(one)?.['name'];
      const item =
        name === undefined ? items[index] : items.find((other) => asFields(other)?.['name'] === name);
      return holds(item, one);
    });
  }
  const [fields, wanted] = [asFields(value), asFields(said)];
  if (fields === undefined || wanted === undefined) return canonicalJson(value) === canonicalJson(said);
  return Object.entries(wanted).every(([name, one]) => holds(fields[name], one));
}

/** The merge patch of its template; undefined where nobody has edited it, or not `since` then. */
function changeBack(
  wanted: PodTemplate | undefined,
  controller: ReplicationController,
  since?: string,
): JsonObject | undefined {
  const present = controller.spec.template;
  if (wanted === undefined || present === undefined || templateEditors(controller, since)?.length === 0)
    return undefined;
  return patchTowards(trusted<JsonObject>(present), trusted<JsonObject>(wanted));
}

/** Field managers that have edited the template which a rolling update gave the controller; those that a rename gave back are older. */
function editorsOf(next: ReplicationController): readonly string[] {
  return isMadeByUpdate(next) ? (templateEditors(next, next.metadata.creationTimestamp) ?? []) : [];
}

/**
 * A next controller whose record is gone, as the update has made it. Where somebody has edited it, its label proves which of the
 * templates that are known it had: its own of now, those with images of its pods, or `others`. Undefined where none is proven.
 */
export function asMade(
  { pods }: Pick<UpdateView, 'pods'>,
  next: ReplicationController,
  others: readonly PodTemplate[] = [],
): ReplicationController | undefined {
  const { template: present, selector = {} } = next.spec;
  if (present === undefined || editorsOf(next).length === 0) return next;
  const ofPods = podsOf(next, pods).map(({ spec }) => {
    const images = imagesOf(spec);
    const containers = present.spec.containers.map((one) => ({ ...one, image: images.get(one.name) ?? '' }));
    return { ...present, spec: { ...present.spec, containers } };
  });
  for (const template of [present, ...others, ...ofPods]) {
    const plain = plainController({ ...next, spec: { ...next.spec, template } }, next.metadata.name);
    for (const [key, value] of Object.entries(selector)) {
      const found = isHashValue(value) ? proven(plain, key, value) : undefined;
      if (found !== undefined) return { ...next, spec: found.spec };
    }
  }
  return undefined;
}

/** `the template of foo-9f3a was changed by kubectl-set, and no record says what it was` */
export function describeUnknown(next: ReplicationController): string {
  return `the template of ${next.metadata.name} was changed by ${editorsOf(next).join(', ')}, and no record says what it was`;
}

/**
 * Pods of a controller of the update with an image that an edited template had, and its own has not. Where somebody has edited the next
 * one and put it back by hand, those that are not as its other pods are.
 */
export function editedPods(view: UpdateView, one: ReplicationController): readonly Pod[] {
  const edited = editedImages(one);
  const template = wantedTemplate(view, one);
  const isByHand = !isGoingBackTo(view, one) && editorsOf(one).length > 0;
  if ((edited.length === 0 && !isByHand) || template === undefined) return [];
  const right = imagesOf(template.spec);
  const own = podsOf(one, view.pods).filter(isActive);
  // Where none has it, something else than the template decides: a webhook that writes images of pods.
  const isPlain = (name: string) => own.some(({ spec }) => imagesOf(spec).get(name) === right.get(name));
  return own.filter(({ spec }) =>
    [...imagesOf(spec)].some(
      ([name, image]) =>
        right.has(name) &&
        right.get(name) !== image &&
        (edited.includes(image) || (isByHand && isPlain(name))),
    ),
  );
}

/**
 * Deletes one of them where enough others are available (K5); its controller makes another. `now` in milliseconds since the epoch.
 */
export function deleteEdited(
  view: UpdateView,
  one: ReplicationController,
  now: number,
): UpdateStep | undefined {
  if (view.paused !== undefined) return undefined;
  const edited = editedPods(view, one);
  const both = new Set([view.old, view.nextController, one]);
  const available = [...both].reduce((sum, half) => sum + countPods(half, view.pods, now).available, 0);
  const minReadySeconds = one.spec.minReadySeconds ?? 0;
  const isSpare = available - 1 >= view.state.desired - view.budget.unavailable;
  const victim = edited.find((pod) => isSpare || !isAvailable(pod, minReadySeconds, now));
  if (victim === undefined) return undefined;
  const message = `delete pod ${victim.metadata.name}: made of a template of ${one.metadata.name} that somebody had changed`;
  return remove('pods', victim, false, 'DeleteEdited', message);
}

/** Where none may go: what was rolled out is not all that there is. */
export function awaitEdited(view: UpdateView, one: ReplicationController): UpdateStep | undefined {
  const names = editedPods(view, one).map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  const message =
    `${names.slice(0, KEPT_IMAGES).join(', ')} of ${one.metadata.name}: made of a template that somebody had changed, ` +
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

/**
 * What {@link ANNOTATION.editedImages} of a controller is to be where it may get pods of another template; undefined where it has those
 * images, or remembers them.
 */
export function editedImagesWith(
  one: ReplicationController,
  other: PodTemplate | undefined,
): string | undefined {
  const [own, before] = [one.spec.template && imagesOf(one.spec.template.spec), editedImages(one)];
  const more = [...(other === undefined ? [] : imagesOf(other.spec))].flatMap(([name, image]) =>
    own?.get(name) === image || before.includes(image) ? [] : [image],
  );
  return more.length === 0 ? undefined : JSON.stringify([...before, ...more].slice(-KEPT_IMAGES));
}

function imagesOf({ containers, initContainers = [] }: PodTemplate['spec']): ReadonlyMap<string, string> {
  return new Map([...initContainers, ...containers].map(({ name, image = '' }) => [name, image]));
}

/** The merge patch that makes `wanted` of `present` (RFC 7386: what is null goes); undefined where they are one. */
export function patchTowards(present: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const change: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(present), ...Object.keys(wanted)])) {
    const [from, to] = [ownField(present, name) ?? null, ownField(wanted, name) ?? null];
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
