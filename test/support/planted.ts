/** Searching for values that must not be there: in payloads, decoded or not, and in whatever else was kept as text. */

/** Everything that a value holds, a line each; bytes (payloads of Temporal) both as what they say and as they are exported. */
export function textOf(value: unknown): string {
  const lines: string[] = [];
  const walk = (inner: unknown): void => {
    if (ArrayBuffer.isView(inner)) {
      const bytes = Buffer.from(inner.buffer, inner.byteOffset, inner.byteLength);
      lines.push(bytes.toString('utf8'), bytes.toString('base64'));
    } else if (typeof inner === 'object' && inner !== null) {
      for (const [name, item] of Object.entries(inner)) {
        lines.push(name);
        walk(item);
      }
    } else if (typeof inner === 'string') lines.push(inner);
    else lines.push(String(inner));
  };
  walk(value);
  return lines.join('\n');
}

/** Which of the values a text holds, as they are or in base64, wherever they began in what was encoded. */
export function plantedIn(text: string, values: readonly string[]): readonly string[] {
  return values.filter((value) => encodings(value).some((form) => text.includes(form)));
}

/** Without the characters at both ends that belong to the neighbours too. */
function encodings(value: string): readonly string[] {
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.from(`${'-'.repeat(shift)}${value}`)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  );
  return [value, ...shifted];
}
