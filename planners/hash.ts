/** Hashes of names, as Kubernetes computes them (C7, C8). */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const encoder = new TextEncoder();

/** FNV-1 (multiply, then xor) of the UTF-8 bytes, 32 bits, unsigned (C8). `state` continues an earlier hash. */
export function fnv1(text: string, state: number = FNV_OFFSET): number {
  let hash = state;
  for (const byte of encoder.encode(text)) {
    hash = Math.imul(hash, FNV_PRIME) ^ byte;
  }
  return hash >>> 0;
}

/** Replaces each byte by a character that makes no words (C7). */
export function safeEncode(text: string): string {
  let encoded = '';
  for (const byte of encoder.encode(text)) {
    encoded += SAFE_ALPHABET.charAt(byte % SAFE_ALPHABET.length);
  }
  return encoded;
}
