/** Small builders of CEL text, so that rules read as rules. Every builder returns an expression. */

/** A string literal. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** A list of string literals. */
export function literals(texts: readonly string[]): string {
  return `[${texts.map((text) => literal(text)).join(', ')}]`;
}

/** A list of one message where `when` holds, else an empty one: what each rule of a policy is. */
export function refusedIf(when: string, message: string): string {
  return `(${when}) ? [${message}] : []`;
}

/** Concatenation of strings; parts that are not CEL are given through {@link literal}. */
export function joined(...parts: readonly string[]): string {
  return parts.join(' + ');
}

/** Keys that differ between two maps. */
export function changedKeys(newer: string, older: string): string {
  return (
    `${newer}.map(k, !(k in ${older}) || ${newer}[k] != ${older}[k], k) + ` +
    `${older}.map(k, !(k in ${newer}), k)`
  );
}

/** `Unsupported value: "x": supported values: "a", "b"`, as the apiserver words it; `value` is CEL. */
export function unsupported(field: string, value: string, supported: readonly string[]): string {
  const list = supported.map((item) => `"${item}"`).join(', ');
  return joined(literal(`${field}: Unsupported value: "`), value, literal(`": supported values: ${list}`));
}
