/** Values of unknown shape: fields of JSON objects that no type here names. */

/** An object that is being built. */
export type Fields = Record<string, unknown>;

/** Takes the shape of a value on trust: the apiserver has validated it. The one place for it, so that it can be found. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says which type
export function trusted<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what this function is for
  return value as T;
}

/** The value if it is an object and no list. */
export function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? trusted(value) : undefined;
}

/** The value if it is a list of objects, else an empty one. */
export function asList(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? trusted(value) : [];
}

/** What the object itself holds under a name from outside: `constructor` is a name like any other. */
export function ownField<T>(fields: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** The value if it is text. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
