/** What a value of YAML is, in words that do not quote it. */

/** `null`, `a list`, `a mapping`, `a string`, `a number`, `a boolean`. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`;
}
