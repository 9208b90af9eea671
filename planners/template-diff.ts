/** What differs between two pod templates, and whether a running pod can be changed from one to the other (A19–A22). */

import { canonicalJson } from './canonical-json.ts';
import { ANNOTATION } from './names.ts';
import type { Container, JsonObject, PodSpec, PodTemplate } from './objects.ts';
import { qosClass, resizeOf } from './resources.ts';
import type { ContainerList, ResourceChange } from './resources.ts';
import { defaultPullPolicy, normaliseTemplate } from './template-defaults.ts';
import { asFields, asList, asText, ownField, trusted } from './values.ts';

interface ImageChange {
  readonly list: ContainerList;
  readonly container: string;
  readonly image: string;
}

/** Values to set; null removes the key. */
type KeyChanges = Readonly<Record<string, string | null>>;

export interface TemplateDiff {
  readonly images: readonly ImageChange[];
  readonly resources: readonly ResourceChange[];
  readonly labels: KeyChanges;
  readonly annotations: KeyChanges;
  /** Fields that no running pod can change, by path; empty when the update can be done in place. */
  readonly impossible: readonly string[];
  /** Nothing differs at all. */
  readonly empty: boolean;
}

/** Set by `rollout restart`, kubectl's and ours. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/**
 * Compares by meaning: defaults, spellings of quantities and empty lists do not count, nor does an imagePullPolicy that only
 * follows from the image's tag (A20). Possible in place are images of containers and native sidecars, labels and annotations
 * of the template, and cpu and memory that keep the QoS class.
 */
export function diffTemplates(from: PodTemplate, to: PodTemplate): TemplateDiff {
  const [before, after] = [normaliseTemplate(from), normaliseTemplate(to)];
  const found = {
    images: [] as ImageChange[],
    resources: [] as ResourceChange[],
    impossible: [] as string[],
  };
  const labels = keyChanges(before.metadata?.labels, after.metadata?.labels);
  const annotations = keyChanges(before.metadata?.annotations, after.metadata?.annotations);
  for (const field of differingFields(before.metadata ?? {}, after.metadata ?? {}, [
    'labels',
    'annotations',
  ])) {
    found.impossible.push(`metadata.${field}`);
  }
  for (const field of differingFields(before.spec, after.spec, ['containers', 'initContainers'])) {
    found.impossible.push(`spec.${field}`);
  }
  diffContainers('initContainers', before.spec, after.spec, found);
  diffContainers('containers', before.spec, after.spec, found);
  if (found.resources.length > 0 && qosClass(before.spec) !== qosClass(after.spec)) {
    found.impossible.push(`spec (QoS class ${qosClass(before.spec)} → ${qosClass(after.spec)})`);
  }
  // `rollout restart` changes nothing else: in place it would be a restart that restarts nothing.
  if (annotations[RESTARTED_AT] !== undefined && annotations[RESTARTED_AT] !== null) {
    found.impossible.push(`metadata.annotations[${RESTARTED_AT}] (a restart, which replaces pods)`);
  }
  found.impossible.push(...staleEnvironment(after.spec, found, labels, annotations));
  const changes = found.images.length + found.resources.length + found.impossible.length;
  return {
    ...found,
    labels,
    annotations,
    empty: changes + Object.keys(labels).length + Object.keys(annotations).length === 0,
  };
}

/** Paths of all fields that differ, also of those that a running pod can be given. */
export function changedFields(diff: TemplateDiff): readonly string[] {
  const keys = (map: 'labels' | 'annotations') =>
    Object.keys(diff[map]).map((key) => `metadata.${map}[${key}]`);
  return [
    ...new Set([
      ...keys('labels'),
      ...keys('annotations'),
      ...diff.images.map(({ list, container }) => `spec.${list}[${container}].image`),
      ...diff.resources.map(({ list, container }) => `spec.${list}[${container}].resources`),
      ...diff.impossible,
    ]),
  ];
}

interface Found {
  readonly images: ImageChange[];
  readonly resources: ResourceChange[];
  readonly impossible: string[];
}

function diffContainers(list: ContainerList, before: PodSpec, after: PodSpec, found: Found): void {
  const [old, wanted] = [before[list] ?? [], after[list] ?? []];
  if (canonicalJson(old.map(({ name }) => name)) !== canonicalJson(wanted.map(({ name }) => name))) {
    found.impossible.push(`spec.${list} (added, removed, renamed or reordered)`);
    return;
  }
  for (const [index, container] of wanted.entries()) {
    diffContainer(list, old[index] ?? container, container, found);
  }
}

function diffContainer(list: ContainerList, old: Container, wanted: Container, found: Found): void {
  const path = `spec.${list}[${wanted.name}]`;
  const running =
    list === 'containers' || (old.restartPolicy === 'Always' && wanted.restartPolicy === 'Always');
  for (const field of differingFields(old, wanted, ['resources'])) {
    if (field === 'image' && running && wanted.image !== undefined) {
      found.images.push({ list, container: wanted.name, image: wanted.image });
    } else if (field !== 'imagePullPolicy' || !followsFromTag(old) || !followsFromTag(wanted)) {
      found.impossible.push(`${path}.${field}`);
    }
  }
  const resize = resizeOf(list, old, wanted);
  if (resize === 'impossible' || (resize !== 'none' && !running)) {
    found.impossible.push(`${path}.resources`);
  } else if (resize !== 'none') {
    found.resources.push(resize);
  }
}

function followsFromTag(container: Container): boolean {
  return container.imagePullPolicy === defaultPullPolicy(container.image);
}

/** Keys of either object whose values differ, sorted, without the excepted ones. */
function differingFields(before: object, after: object, except: readonly string[]): readonly string[] {
  const [old, wanted] = [trusted<JsonObject>(before), trusted<JsonObject>(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(wanted)])]
    .filter((key) => !except.includes(key) && canonicalJson(old[key]) !== canonicalJson(wanted[key]))
    .sort();
}

function keyChanges(
  before: Readonly<Record<string, string>> = {},
  after: Readonly<Record<string, string>> = {},
): KeyChanges {
  const changes: Record<string, string | null> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, wanted] = [ownField(before, key), ownField(after, key)];
    if (old !== wanted && key !== ANNOTATION.inPlaceUpdate) changes[key] = wanted ?? null;
  }
  return changes;
}

/** Changed labels, annotations and amounts that a container reads into its environment need a restart of that container (A22). */
function staleEnvironment(
  spec: PodSpec,
  { images, resources }: Found,
  labels: KeyChanges,
  annotations: KeyChanges,
): readonly string[] {
  const resized = resources.filter(({ restarts }) => restarts);
  const restarted = new Set([...images, ...resized].map(({ container }) => container));
  return [...(spec.initContainers ?? []), ...spec.containers]
    .filter(({ name }) => !restarted.has(name))
    .flatMap((container) =>
      [
        ...sourcesOf(container, 'fieldRef')
          .flatMap((source) => asText(source['fieldPath']) ?? [])
          .filter((path) => readsChanged(path, labels, annotations)),
        ...sourcesOf(container, 'resourceFieldRef').flatMap(
          (source) => changedAmount(container, source, resources) ?? [],
        ),
      ].map((path) => `${path} (read by the environment of container ${container.name})`),
    );
}

function sourcesOf(container: Container, kind: 'fieldRef' | 'resourceFieldRef'): readonly JsonObject[] {
  const sources = asList(container['env']).map((variable) =>
    asFields(asFields(variable['valueFrom'])?.[kind]),
  );
  return sources.filter((source) => source !== undefined);
}

/** The path of the amount that a `resourceFieldRef` reads, of its own container or of another one, if it changes. */
function changedAmount(
  { name }: Container,
  source: JsonObject,
  changes: readonly ResourceChange[],
): string | undefined {
  const [kind = '', amount = ''] = (asText(source['resource']) ?? '').split('.');
  const read = asText(source['containerName']) ?? '';
  const change = changes.find(({ container }) => container === (read === '' ? name : read));
  const amounts = kind === 'limits' || kind === 'requests' ? change?.resources[kind] : undefined;
  if (change === undefined || amounts?.[amount] === undefined) return undefined;
  return `spec.${change.list}[${change.container}].resources.${kind}.${amount}`;
}

function readsChanged(path: string, labels: KeyChanges, annotations: KeyChanges): boolean {
  const match = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path);
  if (match === null) return false;
  return Object.hasOwn(match[1] === 'labels' ? labels : annotations, match[2] ?? '');
}
