/**
 * Everything that is wrong with one object. Server-side apply names the first unknown field of a mapping alone, and judges values only
 * once the object is of the schema; of a custom resource the rules (CEL) are asked only when each value by itself is good. So it is asked
 * again without what it has named.
 */

import { ApiError, isInvalid } from '../kubernetes/api-error.ts';
import { byCause } from '../kubernetes/response-errors.ts';
import { isSchemaCause } from '../kubernetes/schema-refusal.ts';
import { asRecord } from '../kubernetes/values.ts';
import type { JsonObject } from '../planners/objects.ts';
import type { FieldPath } from './field-path.ts';
import { locate } from './field-path.ts';
import { isMapping } from './value-kind.ts';

/** What is compared with another part of the object, wherever that is. */
const RELATED: ReadonlySet<string | number> = new Set(['selector', 'labels']);

/** Dry runs of one object; so many unknown fields of one mapping are told. */
const MOST_TRIES = 20;

/**
 * The refusal of a dry run and what else there is, one error for each field; any other error alone.
 * @param again A dry run of the body that is given to it.
 */
export async function everyRefusal(
  error: unknown,
  body: JsonObject,
  again: (rest: JsonObject) => Promise<void>,
): Promise<readonly unknown[]> {
  if (!(error instanceof ApiError)) return [error];
  const found = [...byCause(error)];
  const removed: FieldPath[] = [];
  let rest = body;
  let last = error;
  for (let tries = 0; tries < MOST_TRIES && (isOfSchema(last) || isIncomplete(last)); tries++) {
    const paths = (last.details?.causes ?? []).flatMap(({ field = '' }) => {
      const path = locate(rest, field);
      return path === undefined || path.length === 0 ? [] : [path];
    });
    if (paths.length === 0) break;
    removed.push(...paths);
    rest = paths.reduce(without, rest);
    const tried = rest;
    try {
      await again(tried);
      break;
    } catch (refusal) {
      // What the first answer said is enough where there is no other of that kind.
      if (!(refusal instanceof ApiError) || !isInvalid(refusal)) break;
      last = refusal;
      const told = new Set(found.map(({ message }) => message));
      const isNew = (one: ApiError): boolean =>
        !told.has(one.message) && !followsFrom(one, removed, { body, rest: tried });
      found.push(...byCause(refusal).filter(isNew));
    }
  }
  return found;
}

function isOfSchema({ details }: ApiError): boolean {
  const causes = details?.causes ?? [];
  return causes.length > 0 && causes.every(isSchemaCause);
}

/** Whether the apiserver says that it has not asked all rules: a cause without a field. */
function isIncomplete({ details }: ApiError): boolean {
  return details?.causes.some(({ field }) => field === '<nil>') === true;
}

/**
 * Whether a field may be refused only for what was taken out (`selector does not match`). A text or number that stands there is judged
 * by itself, and so is a part from which nothing was taken.
 */
function followsFrom(
  refusal: ApiError,
  removed: readonly FieldPath[],
  { body, rest }: { readonly body: JsonObject; readonly rest: JsonObject },
): boolean {
  if (isOfSchema(refusal)) return false;
  const { field = '', message = '' } = refusal.details?.causes[0] ?? {};
  const path = locate(rest, field);
  if (path?.length === 0) return true;
  // What was missing before is missing by itself.
  if (path === undefined) return !message.startsWith('Required value') || locate(body, field) !== undefined;
  if (typeof path.reduce<unknown>((inside, key) => asRecord(inside)[key], rest) !== 'object') return false;
  return removed.some(
    (taken) =>
      taken.some((key) => RELATED.has(key)) ||
      isWithin(taken, path) ||
      (isWithin(path, taken.slice(0, -1)) && (taken.length > 1 || path[0] !== 'metadata')),
  );
}

function isWithin(path: FieldPath, folder: FieldPath): boolean {
  return folder.every((key, index) => path[index] === key);
}

/** A copy without one field; an item of a list goes with all of the list, so that no other item changes its place. */
function without(body: JsonObject, path: FieldPath): JsonObject {
  const copy = structuredClone(body);
  const end = path.findLastIndex((key) => typeof key === 'string');
  let inside: unknown = copy;
  for (const key of path.slice(0, end)) inside = asRecord(inside)[key];
  if (isMapping(inside)) Reflect.deleteProperty(inside, path[end] ?? '');
  return copy;
}
