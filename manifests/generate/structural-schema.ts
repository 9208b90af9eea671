/** Turns schemas of the apiserver's OpenAPI v3 document into structural schemas, the dialect of CustomResourceDefinitions. */

import { constraintsOf } from './constraints.ts';

/** A JSON schema as plain data; both dialects use this type. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** The document at `/openapi/v3/apis/<group>/<version>`. */
export interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Characters kept of a description: with whole descriptions the CRD is too big for a client-side `kubectl apply`. */
const DESCRIPTION_LENGTH = 80;

const REF_PREFIX = '#/components/schemas/';

/** Keywords that mean the same in both dialects. All others (patch-*, group-version-kind, unions) are dropped. */
const KEPT = [
  'type',
  'format',
  'enum',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const;

const QUANTITY_PATTERN = '^[+-]?([0-9]+|[0-9]+\\.[0-9]*|\\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$';

/**
 * Schemas that are not translated but written by hand, by definition name.
 *
 * Quantity: manifests say `cpu: 0.5` as often as `cpu: 500m`, so it must take a JSON number as well as a string, which no
 * structural type does. Without a type, each bound below binds only the JSON type it belongs to: together they leave
 * strings that match and numbers. (CEL in the CRD cannot see such a field; policies can.)
 */
const BY_HAND: Readonly<Record<string, Schema>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { 'x-kubernetes-int-or-string': true },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': {
    'x-kubernetes-preserve-unknown-fields': true,
    pattern: QUANTITY_PATTERN,
    maxItems: 0,
    minItems: 1,
    maxProperties: 0,
    minProperties: 1,
    not: { enum: [true, false] },
  },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: 'string', format: 'date-time' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': { type: 'string', format: 'date-time' },
};

/** What of ObjectMeta may stand in a template; none nullable, so that `creationTimestamp: null` is pruned, not refused. */
const TEMPLATE_META = [
  'name',
  'generateName',
  'namespace',
  'labels',
  'annotations',
  'finalizers',
  'creationTimestamp',
] as const;
const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/**
 * The structural schema of definition `name` and of everything below it.
 * Throws if the document lacks a definition, or if a definition contains itself (no schema of `apps/v1` does).
 */
export function structuralSchema(openapi: OpenApi, name: string, ancestors: readonly string[] = []): Schema {
  const byHand = BY_HAND[name];
  if (byHand !== undefined) return byHand;
  const definition = openapi.components.schemas[name];
  if (definition === undefined) throw new Error(`OpenAPI document has no schema ${name}`);
  if (ancestors.includes(name)) throw new Error(`OpenAPI schema ${name} contains itself`);
  const within = name === OBJECT_META ? pick(definition, TEMPLATE_META) : definition;
  return { ...translate(openapi, within, [...ancestors, name]), ...constraintsOf(name, '') };
}

function translate(openapi: OpenApi, schema: Schema, ancestors: readonly string[]): Schema {
  const target = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (target !== undefined) {
    const referenced = structuralSchema(openapi, target.slice(REF_PREFIX.length), ancestors);
    return withDescription(referenced, schema.description);
  }
  const owner = ancestors.at(-1) ?? '';
  const result: Record<string, unknown> = {};
  for (const keyword of KEPT) if (schema[keyword] !== undefined) result[keyword] = schema[keyword];
  if (schema.properties !== undefined) {
    const properties: Record<string, Schema> = {};
    for (const [field, value] of Object.entries(schema.properties)) {
      const translated = translate(openapi, value, ancestors);
      properties[field] = { ...translated, ...constraintsOf(owner, field) };
    }
    result['properties'] = properties;
  }
  if (schema.required !== undefined && schema.required.length > 0) result['required'] = schema.required;
  if (schema.additionalProperties !== undefined) {
    result['additionalProperties'] = translate(openapi, schema.additionalProperties, ancestors);
  }
  if (schema.items !== undefined) result['items'] = itemsOf(openapi, schema, schema.items, ancestors);
  return withDescription(result, schema.description);
}

/** Keys of a map-like list must be required or have a default; those are the only defaults kept below the top level. */
function itemsOf(openapi: OpenApi, list: Schema, items: Schema, ancestors: readonly string[]): Schema {
  const translated = translate(openapi, items, ancestors);
  const keys = list['x-kubernetes-list-map-keys'];
  if (keys === undefined || translated.properties === undefined) return translated;
  const properties = { ...translated.properties };
  const original = dereference(openapi, items);
  for (const key of keys) {
    const property = properties[key];
    if (property === undefined) throw new Error(`list key ${key} is no property of its items`);
    if (translated.required?.includes(key) === true) continue;
    properties[key] = { ...property, default: original.properties?.[key]?.default ?? '' };
  }
  return { ...translated, properties };
}

function dereference(openapi: OpenApi, schema: Schema): Schema {
  const target = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (target === undefined) return schema;
  return openapi.components.schemas[target.slice(REF_PREFIX.length)] ?? schema;
}

function pick(definition: Schema, fields: readonly string[]): Schema {
  const properties = Object.entries(definition.properties ?? {}).filter(([field]) => fields.includes(field));
  return { type: 'object', properties: Object.fromEntries(properties) };
}

function withDescription(schema: Schema, description: string | undefined): Schema {
  const text = description === undefined ? schema.description : shortened(description);
  const { description: _replaced, ...rest } = schema;
  return text === undefined || text === '' ? rest : { description: text, ...rest };
}

/** The first sentence if it fits, else as many whole words as fit. */
function shortened(description: string): string {
  const line = description.replace(/\s+/g, ' ').trim();
  if (line.length <= DESCRIPTION_LENGTH) return line;
  const sentence = /^.*?[.](?= |$)/.exec(line)?.[0];
  if (sentence !== undefined && sentence.length <= DESCRIPTION_LENGTH) return sentence;
  return `${line.slice(0, DESCRIPTION_LENGTH).replace(/ [^ ]*$/, '')}…`;
}
