/** Taking secrets out of what a server makes git say: it was told them, and may say them again. */

/** Shorter ones are no secrets, and would be found in any text. */
const SHORTEST = 4;

/** The text without these secrets: as they are, in base64 (alone, or after a user name), hexadecimal digits or percent-encoded. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const forms = new Set(secrets.flatMap(formsOf).filter((form) => form.length >= SHORTEST));
  // The longest first: what is left of one would show the rest of another.
  return [...forms]
    .sort((one, other) => other.length - one.length)
    .reduce((left, form) => left.replaceAll(form, '***'), text);
}

function formsOf(secret: string): readonly string[] {
  if (secret.length < SHORTEST) return [];
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((before) => withinBase64(bytes, before));
  const hex = bytes.toString('hex');
  return [
    secret,
    encodeURIComponent(secret),
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
    hex,
    hex.toUpperCase(),
  ];
}

/** The characters that all encodings have in common in which so many bytes (modulo 3) come before these. */
function withinBase64(bytes: Buffer, before: number): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  const first = Math.ceil((before * 8) / 6);
  const last = Math.floor(((before + bytes.length) * 8) / 6);
  return encoded.slice(first, last);
}
