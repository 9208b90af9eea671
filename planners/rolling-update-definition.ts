/** What controllers of a rolling update look like: the next one, and the one under the name that stays (seed 001, K2, K3). */

import { createHash } from 'node:crypto';

import { canonicalJson } from './canonical-json.ts';
import {
  ANNOTATION,
  APPLYSET_LABEL,
  GIT_ANNOTATIONS,
  LAST_APPLIED,
  ROLLING_UPDATE,
  SHIPPED_ROLLING_UPDATE,
} from './names.ts';
import type { Container, JsonObject, PodTemplate } from './objects.ts';
import type { ReplicationController, ReplicationControllerSpec } from './replication-controller.ts';
import { MARKS, sizeOf } from './replication-controller.ts';
import { withChanges } from './rolling-update-metadata.ts';
import { finalOwners, withoutController } from './rolling-update-owners.ts';
import type {
  ControllerManifest,
  PlainMetadata,
  RecordData,
  ReplacedController,
  UpdateRecord,
} from './rolling-update-record.ts';
import { ownField } from './values.ts';

/** Characters of a label's value. */
const LABEL_VALUE = 63;

/** What an operator has said of the update that is over by then. */
const WISHES: readonly string[] = [ANNOTATION.paused, ANNOTATION.pinned, ANNOTATION.retried, LAST_APPLIED];

/** A controller without marks, wishes, status and whatever the apiserver has filled in. */
export function plainController(controller: ReplicationController, name: string): ControllerManifest {
  const { labels, annotations, namespace = '' } = controller.metadata;
  const kept = without(annotations, [...MARKS, ...WISHES]);
  return {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: {
      name,
      namespace,
      ...(labels !== undefined && { labels }),
      ...(kept !== undefined && { annotations: kept }),
    },
    spec: controller.spec,
  };
}

/** Its labels and annotations, without what updates and wishes are told by. */
export function ownMetadata(controller: ReplicationController): PlainMetadata {
  const { labels, annotations } = plainController(controller, controller.metadata.name).metadata;
  return { ...(labels && { labels }), ...(annotations && { annotations }) };
}

/**
 * A controller as a file may have it that `kubectl get -o yaml` wrote: without what the apiserver has filled in, marks and wishes of then,
 * and what sync has written; the controller that it replaces has those, as they are now.
 */
export function controllerOfFile({
  apiVersion,
  kind,
  metadata,
  spec,
}: ControllerManifest): ControllerManifest {
  const { name, namespace } = metadata;
  const labels = without(metadata.labels, [APPLYSET_LABEL]);
  const annotations = without(metadata.annotations, [...MARKS, ...WISHES, ...GIT_ANNOTATIONS]);
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec,
  };
}

/**
 * The definition with the label that tells its pods apart: `key` is in its labels, its selector and its template. The value is
 * the hash of the complete JSON of the next controller, which depends on neither the label itself, nor a size, nor
 * the metadata (seed 001).
 * @param taken Value of the controller that is replaced. It may be this very hash: what was rolled out before is rolled out again
 * after somebody has edited the template. Then it is hashed in, so that another follows from the same two controllers each time.
 */
export function labelled(
  controller: ControllerManifest,
  key: string,
  taken?: string,
): { readonly controller: ControllerManifest; readonly hash: string } {
  const bare = relabelled(controller, key, undefined);
  const definition = { ...bare, metadata: {}, spec: { ...bare.spec, replicas: 0 } };
  const own = hashOf(definition);
  const hash = own === taken ? hashOf({ ...definition, replaces: taken }) : own;
  return { controller: relabelled(controller, key, hash), hash };
}

/** The same with the label, where its value proves that it was given for this very definition; undefined where it does not. */
export function proven(
  controller: ControllerManifest,
  key: string,
  value: string,
): ControllerManifest | undefined {
  const own = labelled(controller, key);
  return [own, labelled(controller, key, own.hash)].find(({ hash }) => hash === value)?.controller;
}

/** As long as the value of a label may be. */
function hashOf(value: JsonObject): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, LABEL_VALUE);
}

/** The value of the label for the controller that was there before (K2: `<hash>-orig`). */
function originalHash(controller: ReplicationController, key: string): string {
  const { hash } = labelled(plainController(controller, controller.metadata.name), key);
  return `${hash.slice(0, LABEL_VALUE - ORIGINAL.length)}${ORIGINAL}`;
}

/** End of the label's value of a controller that was there before the first update. */
export const ORIGINAL = '-orig';

/** Value of a label, whose key is from outside: `constructor` is one like any other. */
export function labelValue(
  labels: Readonly<Record<string, string>> | undefined,
  key: string,
): string | undefined {
  return labels && ownField(labels, key);
}

/** The value of the label that the controller of before has, or gets. */
export function labelOfOld(old: ReplicationController, key: string): string {
  const { selector, template } = old.spec;
  return labelValue(selector, key) ?? labelValue(template?.metadata?.labels, key) ?? originalHash(old, key);
}

/** Values that updates write: those of Fairlead, and of kubectl, whose hashes are shorter. */
const HASH_VALUE = /^[0-9a-f]{32,63}(?:-orig)?$/;

/** Whether an update may have written this value of a label. */
export function isHashValue(value: string): boolean {
  return HASH_VALUE.test(value);
}

/**
 * The value of a label that no update wrote, and that an update with this key would overwrite: Services may find the pods by it.
 * Undefined where the key is free, or one that an update of before was given.
 */
export function ownLabel(
  { metadata, spec }: { readonly metadata: Marks; readonly spec: ReplicationControllerSpec },
  key: string,
): string | undefined {
  if (metadata.annotations?.[ANNOTATION.deploymentLabelKey] === key) return undefined;
  return [spec.selector, spec.template?.metadata?.labels, metadata.labels]
    .map((labels) => labelValue(labels, key))
    .find((value) => value !== undefined && !isHashValue(value));
}

/** What a record keeps of the controller that it replaces. */
export function describeReplaced(
  { key, controller }: Pick<RecordData, 'key' | 'controller'>,
  old: ReplicationController,
): ReplacedController {
  const { selector = {}, template } = old.spec;
  const isLabelled = labelValue(controller.spec.selector, key) !== undefined;
  const containers = template?.spec.containers ?? [];
  return {
    selector: isLabelled ? { ...selector, [key]: labelOfOld(old, key) } : selector,
    images: Object.fromEntries(containers.map(({ name, image = '' }) => [name, image])),
    uid: old.metadata.uid,
  };
}

/** The same when the update begins: later nobody knows whether somebody has edited the template in the middle. */
export function describeBefore(
  data: Pick<RecordData, 'key' | 'controller'>,
  old: ReplicationController,
): ReplacedController {
  const { template } = old.spec;
  return {
    ...describeReplaced(data, old),
    ...(template && { template }),
    metadata: ownMetadata(old),
    size: sizeOf(old),
  };
}

/** As the apiserver has the selector of one that leaves it out, or has it empty. */
export function selectorOf({
  selector,
  template,
}: ReplicationControllerSpec): Readonly<Record<string, string>> {
  return Object.keys(selector ?? {}).length > 0 ? (selector ?? {}) : (template?.metadata?.labels ?? {});
}

/** The definition with this value of the label in its labels, its selector and its template; undefined: without the label. */
export function relabelled(
  controller: ControllerManifest,
  key: string,
  value: string | undefined,
): ControllerManifest {
  const { metadata, spec } = controller;
  const { template } = spec;
  const change = (labels: Readonly<Record<string, string>> | undefined): Record<string, string> => {
    const { [key]: _, ...rest } = labels ?? {};
    return value === undefined ? rest : { ...rest, [key]: value };
  };
  return {
    ...controller,
    metadata: { ...metadata, labels: change(metadata.labels) },
    spec: {
      ...spec,
      selector: change(spec.selector ?? template?.metadata?.labels),
      ...(template !== undefined && {
        template: {
          ...template,
          metadata: { ...template.metadata, labels: change(template.metadata?.labels) },
        },
      }),
    },
  };
}

/**
 * The next controller: without anything of git (a prune must not find it), and marked; `replicas` are none but where it finds the pods
 * of one that was deleted.
 * @param paused The mark of the old one, where that is paused: a pause is on both.
 */
export function nextManifest(
  data: RecordData,
  desired: number,
  replicas = 0,
  paused?: string,
): ControllerManifest {
  const { controller, from, next, ownerReferences } = data;
  const { labels, annotations, namespace } = controller.metadata;
  return {
    ...controller,
    metadata: {
      name: next,
      namespace,
      labels: without(labels, [APPLYSET_LABEL]) ?? {},
      annotations: {
        ...without(annotations, GIT_ANNOTATIONS),
        [ROLLING_UPDATE.desiredReplicas]: String(desired),
        [ROLLING_UPDATE.partner]: from,
        ...(paused !== undefined && { [ANNOTATION.paused]: paused }),
      },
      ...(ownerReferences && { ownerReferences: withoutController(ownerReferences) }),
    },
    spec: { ...controller.spec, replicas },
  };
}

/** The controller that stays, of its present size. */
export function finalManifest(
  { controller, to, owners, revision, state }: RecordData & Partial<Pick<UpdateRecord, 'revision' | 'state'>>,
  desired: number,
): ControllerManifest {
  // By name, for a record may hold a whole file: the apiserver creates nothing that has a resourceVersion.
  const { namespace } = controller.metadata;
  const { labels, annotations } = withChanges(controller.metadata, state?.changed);
  const ownerReferences = state === undefined ? [] : finalOwners({ controller, state });
  // Whoever creates an object owns all of it, whatever it says of owners: they follow in a write of their own.
  const mark =
    owners === undefined || revision === undefined
      ? {}
      : { [ANNOTATION.fieldOwners]: revision.metadata.name };
  return {
    ...controller,
    metadata: {
      name: to,
      namespace,
      ...(labels && { labels }),
      annotations: { ...annotations, ...mark },
      ...(ownerReferences.length > 0 && { ownerReferences }),
    },
    spec: { ...controller.spec, replicas: desired },
  };
}

type Marks = Pick<ControllerManifest['metadata'], 'labels' | 'annotations'>;

/** What a controller leaves to the one that gets its name: what sync has written, for it is the same object in git. */
export function inheritance(old: ReplicationController): Marks {
  const { metadata } = old;
  const only = (fields: Readonly<Record<string, string>> | undefined, names: readonly string[]) =>
    Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => names.includes(name)));
  return {
    labels: only(metadata.labels, [APPLYSET_LABEL]),
    annotations: only(metadata.annotations, GIT_ANNOTATIONS),
  };
}

/**
 * Of a next controller that has no record, or was changed since: the data of one. What comes from git is not on the next
 * controller; it is in `before`, the metadata of the record of before or the marks of the controller that has the name.
 */
export function dataOfNext(
  next: ReplicationController,
  names: Pick<RecordData, 'from' | 'to' | 'key'>,
  before: Marks | undefined,
): RecordData {
  const plain = plainController(next, names.to);
  const { labels, annotations } = before ?? {};
  const controller: ControllerManifest = {
    ...plain,
    metadata: {
      ...plain.metadata,
      labels: { ...labels, ...plain.metadata.labels },
      annotations: { ...annotations, ...plain.metadata.annotations },
    },
  };
  const whole = { controller, next: next.metadata.name };
  return { ...names, ...whole, hash: hashOf(whole) };
}

/** Whether two specs make the same pods: selector and template, not the size. */
export function makesSamePods(a: ReplicationControllerSpec, b: ReplicationControllerSpec): boolean {
  return canonicalJson(podsOfSpec(a)) === canonicalJson(podsOfSpec(b));
}

/** The same of two definitions, whatever the label with this key says: what is only about the controller (`minReadySeconds`) replaces no pod. */
export function rollsOutSamePods(a: ControllerManifest, b: ControllerManifest, key: string): boolean {
  const [one, other] = [a, b].map((controller) => relabelled(controller, key, undefined).spec);
  return one !== undefined && other !== undefined && makesSamePods(one, other);
}

function podsOfSpec({ selector, template }: ReplicationControllerSpec): JsonObject {
  return { selector, template };
}

/** Whether two controllers select by the same labels. */
export function selectsSame(a: ReplicationControllerSpec, b: ReplicationControllerSpec): boolean {
  return canonicalJson(a.selector ?? {}) === canonicalJson(b.selector ?? {});
}

/** Key of the label by which the next controller's pods are told apart, so that the old one gets it too; undefined where it has none. */
export function labelKeyOf(next: ReplicationControllerSpec, key: string | undefined): string | undefined {
  const keys = [key, ROLLING_UPDATE.deployment, SHIPPED_ROLLING_UPDATE.deployment];
  return keys.find((one) => one !== undefined && labelValue(next.selector, one) !== undefined);
}

/** The same as the next controller itself tells it, whose record is gone: a key that was asked for is in an annotation. */
export function ownKeyOf({ metadata, spec }: ReplicationController): string | undefined {
  return labelKeyOf(spec, metadata.annotations?.[ANNOTATION.deploymentLabelKey]);
}

/**
 * Whether no pod can be both controllers' (K3): some key has another value in each of the two selectors, the label counted that the
 * update is going to give the old one. Where one selector only has more keys than the other, or none in common, whichever
 * is deleted without its pods in the middle leaves them to the other, which has too many then and kills Ready ones.
 */
export function selectsApart(
  next: ReplicationControllerSpec,
  old: ReplicationController,
  key: string,
): boolean {
  const label = labelKeyOf(next, key);
  const { selector = {} } = old.spec;
  const labels = label === undefined ? selector : { ...selector, [label]: labelOfOld(old, label) };
  return Object.entries(next.selector ?? {}).some(([one, value]) => {
    const other = labelValue(labels, one);
    return other !== undefined && other !== value;
  });
}

/**
 * Whether what is rolled out would select by the very labels of the controller that it replaces. An earlier version wrote such records
 * for what had been rolled out before, after somebody had edited the template.
 */
export function selectsAsReplaced({ controller, replaced }: RecordData): boolean {
  return replaced !== undefined && selectsSame(controller.spec, replaced);
}

export type ImageChange =
  | { readonly outcome: 'changed'; readonly template: PodTemplate }
  | { readonly outcome: 'same' | 'noContainer' | 'severalContainers'; readonly message: string };

/** K2: the template with another image. A pod of several containers needs the name of one. */
export function withImage(template: PodTemplate, image: string, container: string | undefined): ImageChange {
  const { containers } = template.spec;
  const names = containers.map(({ name }) => name).join(', ');
  if (container === undefined && containers.length > 1) {
    return {
      outcome: 'severalContainers',
      message: `its pods have ${String(containers.length)} containers (${names})`,
    };
  }
  const chosen = container === undefined ? containers[0] : containers.find(({ name }) => name === container);
  if (chosen === undefined) {
    const isInit = template.spec.initContainers?.some(({ name }) => name === container) === true;
    const message = isInit
      ? `${container ?? ''} is an init container, whose image only a whole manifest (-f) changes; its pods have ${names}`
      : `its pods have no container ${container ?? ''}, but ${names}`;
    return { outcome: 'noContainer', message };
  }
  if (chosen.image === image) {
    return { outcome: 'same', message: `container ${chosen.name} has the image ${image} already` };
  }
  const changed = containers.map((one): Container => (one === chosen ? { ...one, image } : one));
  return { outcome: 'changed', template: { ...template, spec: { ...template.spec, containers: changed } } };
}

function without(
  fields: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (fields === undefined) return undefined;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
