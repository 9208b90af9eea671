/** Secrets and ConfigMaps: what is wrong with their values, said here because the apiserver's words are withheld (they may quote a Secret). */

import type { JsonObject } from '../planners/objects.ts';
import { isMapping, kindOf } from './value-kind.ts';
import { whyUnfound } from './yaml-scalars.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A value that cannot be, without the value itself. */
interface BadValue {
  readonly field: string;
  readonly message: string;
}

/**
 * The object with the `stringData` of a Secret in its `data`, where it wins, as the apiserver does it. Said so, server-side apply knows
 * whose each value is, as of any other field: of `stringData` it keeps no owner once it has become `data`. Anything else, and what the
 * apiserver itself is to judge, is answered as it is. Expects what {@link badConfigValues} lets pass.
 */
export function withData(kind: string, group: string, body: JsonObject): JsonObject {
  const { stringData, ...rest } = body;
  if (group !== '' || kind !== 'Secret' || !isMapping(stringData)) return body;
  const data = rest['data'] ?? {};
  const values = Object.entries(stringData);
  if (!isMapping(data) || values.some(([, value]) => typeof value !== 'string')) return body;
  const encoded = values.map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
  return { ...rest, data: { ...data, ...Object.fromEntries(encoded) } };
}

/** Every value that cannot be: `data[password] is not base64`. None for any other kind. */
export function badConfigValues(kind: string, group: string, body: JsonObject): readonly BadValue[] {
  if (group !== '' || (kind !== 'Secret' && kind !== 'ConfigMap')) return [];
  const bad: BadValue[] = [];
  const encoded = kind === 'Secret' ? 'data' : 'binaryData';
  const fields = kind === 'Secret' ? ['data', 'stringData'] : ['data', 'binaryData'];
  for (const field of fields) {
    const values = body[field];
    if (values === undefined || values === null) continue;
    if (!isMapping(values)) {
      bad.push({
        field,
        message: `${field} must be a mapping and is ${kindOf(values)}: write each value under its key`,
      });
      continue;
    }
    for (const [key, value] of Object.entries(values)) {
      const where = `${field}[${key}]`;
      const why = whyUnfound(key);
      const note = why === undefined ? '' : ` (${why}: quote the key, too, if that is meant)`;
      if (value === null) continue;
      if (typeof value !== 'string') {
        // Quotes make no string of what has parts.
        const mend = typeof value === 'object' ? 'write it as a block of text (`|`)' : 'quote it';
        bad.push({
          field: where,
          message: `${where} must be a string and is ${kindOf(value)}: ${mend}${note}`,
        });
      } else if (field === encoded && !BASE64.test(value.replace(/[\r\n]/g, ''))) {
        const plain = kind === 'Secret' ? 'stringData' : 'data';
        bad.push({
          field: where,
          message: `${where} is not base64: plain text belongs into ${plain}${note}`,
        });
      }
    }
  }
  return bad;
}
