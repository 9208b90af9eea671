/** What server-side apply and strict decoding object to, field by field, read out of a refusal that names no causes. Pure. */

import type { ErrorCause } from './api-error.ts';

/** Server-side apply answers a field that is not in the schema, or a value of no use, with a plain 500 without a reason. */
export const SCHEMA_REFUSAL = /^failed to (?:create typed patch object|convert new object)/;

/** Reasons of the causes that are made here; no server has them. */
const NOT_DECLARED = 'FieldNotDeclared';
const WRONG_TYPE = 'FieldOfWrongType';
const SCHEMA_REASONS: ReadonlySet<string | undefined> = new Set([NOT_DECLARED, WRONG_TYPE]);

/** Names as Kubernetes' fields have them, and as people write those that are none (`my_field`, `my-field`). */
const FIELD_NAMES = /^\.?[A-Za-z_][-\w]{0,62}(?:\.[A-Za-z_][-\w]{0,62}|\[\d+\])*$/;
/** Keys of a Secret, which are told elsewhere too (`data[key]`). */
const DATA_KEY = /^\.?(?:data|stringData)\.[-._a-zA-Z0-9]{1,253}$/;
const HARMLESS = /^(?:field not declared in schema|expected \w+, got (?:a |something )\w+)$/;

/** Whether this cause was read out of a refusal by {@link schemaCauses}: its message quotes no value of a field. */
export function isSchemaCause({ reason }: ErrorCause): boolean {
  return SCHEMA_REASONS.has(reason);
}

/**
 * One cause for each field that the message names; none where it is another kind of refusal. Of a mapping's unknown fields
 * server-side apply names the first alone, strict decoding all of them.
 * @param message Without the values that it quotes (quoted-values.ts).
 * @param secret Names alone are told, and only those that are made like names; the first line that is not ends the list.
 */
export function schemaCauses(message: string, secret: boolean): readonly ErrorCause[] {
  const causes: ErrorCause[] = [];
  for (const { field, text } of schemaErrors(message)) {
    if (secret && !(HARMLESS.test(text) && (FIELD_NAMES.test(field) || DATA_KEY.test(field)))) break;
    const reason = text === UNKNOWN ? NOT_DECLARED : WRONG_TYPE;
    causes.push({ field, reason, message: text });
  }
  return causes;
}

const UNKNOWN = 'field not declared in schema';

interface SchemaError {
  readonly field: string;
  readonly text: string;
}

function schemaErrors(message: string): readonly SchemaError[] {
  const [, typed] = /^failed to create typed patch object \(.*?\): (.*)$/s.exec(message) ?? [];
  if (typed !== undefined) {
    const lines = typed.replace(/^errors:\n/, '').split('\n');
    return lines.map((line) => {
      const [, field = '', text = line.trim()] = /^\s*(\.[^\n]+?): (.*)$/.exec(line) ?? [];
      return { field, text };
    });
  }
  const [, strict = ''] = /strict decoding error: (.*)$/s.exec(message) ?? [];
  return [...strict.matchAll(/unknown field "((?:[^"\\]|\\.)+)"/g)].map(([, field = '']) => ({
    field,
    text: UNKNOWN,
  }));
}
