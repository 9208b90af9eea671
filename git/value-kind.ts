/** What a value of YAML is, in words that do not quote it. */

import type { JsonObject } from '../planners/objects.ts';

/** `null`, `a list`, `a mapping`, `a string`, `a number`, `a boolean`. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`;
}

/** Neither null nor a list. */
export function isMapping(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
