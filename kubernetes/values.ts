/** Values of unknown shape: JSON from outside, and caught errors. */

/** The value as a mapping; anything else gives an empty one. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? trusted(value) : {};
}

/** Takes the shape of a value from outside on trust. The one place for it, so that it can be found. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says which type
export function trusted<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what this function is for
  return value as T;
}

/** The value as an error, to pass on or to destroy a stream with. */
export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}

/** The system's code of an error (`ENOENT`, `ECONNRESET`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  const { code } = asRecord(error);
  return typeof code === 'string' ? code : undefined;
}

/** A variable of the environment that is set to nothing counts as not set. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
