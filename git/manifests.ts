/** Files of a commit to Kubernetes objects, each knowing its place in the repository, with every error of the commit. */

import { fullStop } from '../kubernetes/sentence.ts';
import { createHash } from 'node:crypto';
import { ANNOTATION, APPLYSET_LABEL, GIT_ANNOTATIONS, LAST_APPLIED } from '../planners/names.ts';
import type { JsonObject } from '../planners/objects.ts';
import { badConfigValues, withData } from './config-data.ts';
import type { ObjectReference } from './depends-on.ts';
import { DEPENDS_ON, parseDependsOn } from './depends-on.ts';
import { findFieldLine } from './field-line.ts';
import { INVENTORY_LABEL } from './inventory-content.ts';
import { DEFAULT_WAVE, parseWave } from './order.ts';
import type { ProblemCode, Problem } from './problems.ts';
import { problem, quotedName } from './problems.ts';
import { READ_LIMITS, ReadBudget } from './read-budget.ts';
import { SourceText } from './source-text.ts';
import type { TreeFile } from './tree.ts';
import { isMapping, kindOf } from './value-kind.ts';
import type { YamlDocument } from './yaml-builder.ts';
import { readDocuments } from './yaml.ts';

/** A Kubernetes object as written in git, checked for what needs no cluster. */
export interface Manifest {
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly name: string;
  /** As written; whether the kind has namespaces only the cluster knows. */
  readonly namespace?: string;
  /** With the `stringData` of a Secret in its `data`. */
  readonly body: JsonObject;
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** Annotation `fairlead.dev/wave`, see order.ts. */
  readonly wave: number;
  /** Annotation `config.kubernetes.io/depends-on`, and its line. */
  readonly dependsOn?: { readonly line: number; readonly objects: readonly ObjectReference[] };
  /** Of the body as written: changes exactly when the manifest does, whatever its key order or its place. */
  readonly hash: string;
}

/** etcd takes 1.5 MiB a request; what the apiserver adds (managedFields, defaults) needs room. Bytes of JSON. */
const MAX_OBJECT_BYTES = 1024 * 1024;

/**
 * Reads every object of a commit, file by file. Lists are flattened, empty documents skipped. An object that is not usable
 * becomes a problem; the others are still read, so that the problems of a commit are reported together.
 */
export class ManifestReader {
  readonly manifests: Manifest[] = [];
  readonly #problems: Problem[] = [];
  readonly #texts = new Map<string, SourceText>();
  readonly #budget = new ReadBudget();

  /** By path. */
  get texts(): ReadonlyMap<string, SourceText> {
    return this.#texts;
  }

  /** The first of them says so where reading was given up. */
  get problems(): readonly Problem[] {
    if (!this.#budget.isExhausted) return this.#problems;
    const message = `reading was given up after ${READ_LIMITS.problems} problems; there may be more.`;
    return [problem('TooManyProblems', message), ...this.#problems];
  }

  /** Reads a file. Between its documents the caller has the word: a large one takes seconds. */
  *read({ path, text }: TreeFile): Generator<void> {
    const source = new SourceText(text);
    this.#texts.set(path, source);
    if (this.#budget.isExhausted) return;
    for (const item of readDocuments(text, this.#budget)) {
      if ('code' in item) {
        this.#add(problem(item.code, fullStop(item.message), { file: path, line: item.line }));
      } else {
        for (const found of objectsOf(item)) {
          this.#add(toManifest(found, path, source));
          if (this.#budget.isExhausted) break;
        }
      }
      if (this.#budget.isExhausted) return;
      yield;
    }
  }

  #add(result: Manifest | Problem | readonly Problem[]): void {
    if ('hash' in result) {
      this.manifests.push(result);
      return;
    }
    for (const item of 'code' in result ? [result] : result) {
      this.#problems.push(item);
      this.#budget.countProblem();
      if (this.#budget.isExhausted) return;
    }
  }
}

const DOCUMENT = 'the document';

/** An object of a file, and the line that it begins in. */
export interface Found {
  readonly value: unknown;
  readonly line: number;
  /** As a person would point at it. */
  readonly what: string;
}

/**
 * `v1 List` and typed lists (`ConfigMapList`), also nested, become their items; `items: null` is none, as to kubectl. Items of a typed
 * list need not say their kind: those in the apiserver's answers do not. A list that has lost its items to a typing mistake stays what it is, and is refused: all of them would be pruned.
 */
export function objectsOf(document: YamlDocument): readonly Found[] {
  return flatten({ value: document.value, line: document.line, what: DOCUMENT }, document, 0);
}

function flatten(found: Found, document: YamlDocument, depth: number): Found[] {
  const { value, line } = found;
  if (!isMapping(value) || !isList(value) || depth > 10) return [found];
  const items = value['items'];
  if (items === null) return [];
  if (!Array.isArray(items)) return [found];
  return items.flatMap((item: unknown, index) => {
    const own = typeof item === 'object' && item !== null ? document.lines.get(item) : undefined;
    const what = `items[${String(index)}] of the list`;
    return flatten({ value: withKindOf(value, item), line: own ?? line, what }, document, depth + 1);
  });
}

function withKindOf({ apiVersion, kind }: JsonObject, item: unknown): unknown {
  if (typeof kind !== 'string' || kind === 'List' || !isMapping(item)) return item;
  if (item['kind'] !== undefined || item['apiVersion'] !== undefined) return item;
  return { apiVersion, kind: kind.slice(0, -'List'.length), ...item };
}

function isList(value: JsonObject): boolean {
  const kind = value['kind'];
  return (
    typeof kind === 'string' &&
    kind.endsWith('List') &&
    ('items' in value || kind === 'List') &&
    !('spec' in value)
  );
}

function notAllowed(name: string): string {
  return `is ${quotedName(name)}, which is not a name Kubernetes allows`;
}

const MEND_ITEM = 'Make it a Kubernetes object, or take it out of the list.';
const CORRECT_FIELD = 'Correct the field.';
const CORRECT_NAME = 'Correct it: lower-case letters, digits, "-" and ".", at most 253 of them.';

/** A custom kind that is called like a list has a name, and may have whatever it likes in `items`. */
function isSpoiltList(value: JsonObject): boolean {
  const { kind, metadata, items } = value;
  if (!isList(value) || Array.isArray(items)) return false;
  return kind === 'List' || !isMapping(metadata) || metadata['name'] === undefined;
}

function isKustomization(file: string): boolean {
  return /(?:^|\/)(?:kustomization\.ya?ml|Kustomization)$/.test(file);
}

/** The object, or all that is wrong with it. */
function toManifest(
  { value, line, what }: Found,
  file: string,
  source: SourceText,
): Manifest | Problem | readonly Problem[] {
  const fail = (code: ProblemCode, message: string, object?: string, next?: string): Problem =>
    problem(code, message, { file, line, object, ...(next !== undefined && { next }) });
  /** Of a field without which nobody can tell what the object is: absent, or nothing of use. */
  const unusable = (field: string, found: unknown, why: string, object?: string, next?: string): Problem => {
    const isAbsent = found === undefined || found === null || found === '';
    return problem('ObjectIncomplete', `${field} ${why}.`, {
      file,
      line: (isAbsent ? undefined : findFieldLine(source, line, field)) ?? line,
      object,
      ...(!isAbsent && { next: next ?? CORRECT_FIELD }),
    });
  };
  const noObject = (why: string): Problem =>
    fail('NotAnObject', `${what} ${why}.`, undefined, what === DOCUMENT ? undefined : MEND_ITEM);
  if (!isMapping(value)) return noObject(`is ${describe(value)}, not a Kubernetes object`);
  const { apiVersion, kind, metadata } = value;
  // kustomize itself takes the file by its name, and without these.
  if (apiVersion === undefined && kind === undefined && isKustomization(file))
    return fail('NotRendered', 'a kustomization is not a manifest.');
  if (apiVersion === undefined && kind === undefined) return noObject('has neither apiVersion nor kind');
  if (typeof kind !== 'string' || kind === '') return unusable('kind', kind, `is ${describe(kind)}`);
  if (typeof apiVersion !== 'string' || apiVersion === '')
    return unusable('apiVersion', apiVersion, `is ${describe(apiVersion)}`, kind);
  const parts = apiVersion.split('/');
  if (parts.length > 2 || parts.includes(''))
    return unusable('apiVersion', apiVersion, `${apiVersion} is not GROUP/VERSION`, kind);
  const [group, version] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : ['', apiVersion];
  if (group === 'kustomize.config.k8s.io')
    return fail('NotRendered', 'a kustomization is not a manifest.', kind);
  if (isSpoiltList(value)) {
    const items = value['items'];
    return unusable('items', items, `is ${describe(items)}, and must be a list`, kind);
  }
  if (!isMapping(metadata)) return unusable('metadata', metadata, `is ${describe(metadata)}`, kind);
  const { name, namespace } = metadata;
  if (name === undefined && metadata['generateName'] !== undefined)
    return fail('GenerateName', 'metadata.generateName without metadata.name.', kind);
  const mistyped = (field: string, found: unknown, whose: string): Problem =>
    problem('Invalid', `metadata.${field} is ${describe(found)}, and must be text.`, {
      file,
      line: findFieldLine(source, line, `metadata.${field}`) ?? line,
      object: whose,
      isInFile: true,
      // YAML reads `y`, `no` and `1.30` as something else.
      ...(['boolean', 'number'].includes(typeof found) && { next: 'Quote the value.' }),
    });
  if (name === undefined || name === null || name === '')
    return unusable('metadata.name', name, `is ${describe(name)}`, kind);
  if (typeof name !== 'string') return mistyped('name', name, kind);
  if (namespace !== undefined && typeof namespace !== 'string')
    return mistyped('namespace', namespace, `${kind} ${name}`);
  const object = objectLabel({ group, kind, name, ...(namespace === undefined ? {} : { namespace }) });
  if (!isPathSegment(name)) return unusable('metadata.name', name, notAllowed(name), kind, CORRECT_NAME);
  if (namespace !== undefined && namespace !== '' && !isPathSegment(namespace))
    return unusable('metadata.namespace', namespace, notAllowed(namespace), object, CORRECT_NAME);
  const wrong = (code: ProblemCode, message: string, field: string): Problem =>
    problem(code, message, {
      file,
      line: findFieldLine(source, line, field) ?? line,
      object,
      isInFile: true,
    });
  const forbidden = forbiddenFields(value, metadata, kind, group);
  const problems = [
    // One mistake, however many fields: the object was copied from a cluster.
    ...(forbidden.length === 0
      ? []
      : [
          wrong(
            'ForbiddenField',
            `${forbidden.map(({ told }) => told).join(', ')} must not be in a manifest.`,
            forbidden[0]?.field ?? '',
          ),
        ]),
    ...badConfigValues(kind, group, value).map((bad) => wrong('Invalid', `${bad.message}.`, bad.field)),
  ];
  const wave = readWave(metadata);
  if (typeof wave !== 'number')
    problems.push(wrong('BadWave', wave.why, `metadata.annotations[${ANNOTATION.wave}]`));
  const dependencies = readDependencies(metadata);
  const dependsOn = `metadata.annotations[${DEPENDS_ON}]`;
  const isBad = dependencies !== undefined && 'why' in dependencies;
  if (isBad) problems.push(wrong('BadDependency', dependencies.why, dependsOn));
  if (problems.length > 0 || typeof wave !== 'number' || isBad) return problems;
  const text = canonicalJson(value, MAX_OBJECT_BYTES);
  if (text === undefined || Buffer.byteLength(text) > MAX_OBJECT_BYTES)
    return fail('ObjectTooLarge', `the object has more than ${MAX_OBJECT_BYTES} bytes as JSON.`, object);
  return {
    apiVersion,
    group,
    version,
    kind,
    name,
    ...(namespace === undefined || namespace === '' ? {} : { namespace }),
    body: withData(kind, group, value),
    file,
    line,
    wave,
    ...(dependencies !== undefined && {
      dependsOn: { line: findFieldLine(source, line, dependsOn) ?? line, objects: dependencies },
    }),
    hash: createHash('sha256').update(text).digest('hex').slice(0, 32),
  };
}

function readWave(metadata: JsonObject): number | { readonly why: string } {
  const annotations = isMapping(metadata['annotations']) ? metadata['annotations'] : {};
  const value = annotations[ANNOTATION.wave];
  if (value === undefined || value === null) return DEFAULT_WAVE;
  // Kubernetes takes no annotation but a string; said here, the reader learns of the quotes and of the number at once.
  if (typeof value !== 'string')
    return { why: `${ANNOTATION.wave} is ${describe(value)}, and must be a whole number in quotes.` };
  return (
    parseWave(value) ?? {
      why: `${ANNOTATION.wave} is "${value}", and must be a whole number of at most nine digits, such as "1" or "-5".`,
    }
  );
}

function readDependencies(
  metadata: JsonObject,
): readonly ObjectReference[] | { readonly why: string } | undefined {
  const annotations = isMapping(metadata['annotations']) ? metadata['annotations'] : {};
  const value = annotations[DEPENDS_ON];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return { why: `${DEPENDS_ON} is ${describe(value)}, and must be text.` };
  const read = parseDependsOn(value);
  return 'bad' in read ? { why: `${DEPENDS_ON} names "${read.bad}", which is no object.` } : read;
}

const SERVER_METADATA = [
  'managedFields',
  'resourceVersion',
  'uid',
  'ownerReferences',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
  'generateName',
] as const;

/**
 * Fields that only the cluster writes, each as it is told and as a path. `creationTimestamp: null` and an empty status are what `kubectl create --dry-run`
 * prints; they mean nothing and pass (they are taken out before the apply).
 */
function forbiddenFields(
  value: JsonObject,
  metadata: JsonObject,
  kind: string,
  group: string,
): readonly { readonly told: string; readonly field: string }[] {
  const annotations = Object.keys(isMapping(metadata['annotations']) ? metadata['annotations'] : {});
  const labels = Object.keys(isMapping(metadata['labels']) ? metadata['labels'] : {});
  const status = value['status'];
  const isEmpty =
    status === null || status === undefined || (isMapping(status) && Object.keys(status).length === 0);
  const isCrd = kind === 'CustomResourceDefinition' && group === 'apiextensions.k8s.io';
  return [
    ...SERVER_METADATA.filter((field) => metadata[field] !== undefined && metadata[field] !== null).map(
      (field) => ({ told: `metadata.${field}`, field: `metadata.${field}` }),
    ),
    ...annotations
      .filter((key) => OWN_ANNOTATIONS.has(key))
      .map((key) => ({ told: `the annotation ${key}`, field: `metadata.annotations[${key}]` })),
    ...labels
      .filter((key) => OWN_LABELS.has(key))
      .map((key) => ({ told: `the label ${key}`, field: `metadata.labels[${key}]` })),
    ...(isEmpty || isCrd ? [] : [{ told: 'status', field: 'status' }]),
  ];
}

/** What Fairlead writes itself; a manifest copied from the cluster would carry another object's. */
const OWN_ANNOTATIONS: ReadonlySet<string> = new Set([...GIT_ANNOTATIONS, ANNOTATION.pinned, LAST_APPLIED]);

/** As the annotations: whose object it is, and whose inventory. */
const OWN_LABELS: ReadonlySet<string> = new Set([APPLYSET_LABEL, INVENTORY_LABEL]);

/** `Kind.group namespace/name`: how objects are named in every message. */
export function objectLabel(object: {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}): string {
  const kind = object.group === '' ? object.kind : `${object.kind}.${object.group}`;
  return `${kind} ${object.namespace === undefined ? '' : `${object.namespace}/`}${object.name}`;
}

/**
 * JSON with sorted keys: equal objects give equal text. Undefined as soon as there would be more than `limit` characters: what
 * aliases share may be written out a thousand times.
 */
export function canonicalJson(value: unknown, limit: number): string | undefined {
  const parts: string[] = [];
  let length = 0;
  const put = (part: string): boolean => {
    parts.push(part);
    length += part.length;
    return length <= limit;
  };
  const write = (item: unknown): boolean => {
    if (Array.isArray(item)) {
      return put('[') && item.every((inner, index) => (index === 0 || put(',')) && write(inner)) && put(']');
    }
    if (!isMapping(item)) return put(JSON.stringify(item));
    const keys = Object.keys(item).sort();
    return (
      put('{') &&
      keys.every(
        (key, index) => put(`${index === 0 ? '' : ','}${JSON.stringify(key)}:`) && write(item[key]),
      ) &&
      put('}')
    );
  };
  return write(value) ? parts.join('') : undefined;
}

/** Names go into request paths: what could leave its place there is refused here, the rest the apiserver judges. */
function isPathSegment(name: string): boolean {
  return name.length <= 253 && name !== '.' && name !== '..' && !/[/%\s\\?#]/.test(name);
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  return value === '' ? 'empty' : kindOf(value);
}
