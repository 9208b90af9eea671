/** A pack of a few kB that inflates to as much as is asked for. */

import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

const BLOB = 3;
const REF_DELTA = 7;
const BASE_BYTES = 0xff_00_00;

/** A blob of 16 MB of zeros, and another one made of it by a delta that copies it again and again. */
export function deltaBomb(bytes: number): Buffer {
  const base = Buffer.alloc(BASE_BYTES);
  const times = Math.ceil(bytes / BASE_BYTES);
  const sha = createHash('sha1')
    .update(`blob ${String(base.length)}\0`)
    .update(base)
    .digest();
  // Copy from offset 0 the 0xff0000 bytes that the third byte of a size tells.
  const copies = Buffer.concat(Array.from({ length: times }, () => Buffer.from([0x80 | 0x40, 0xff])));
  const delta = Buffer.concat([sizeOf(base.length), sizeOf(base.length * times), copies]);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(2);
  const pack = Buffer.concat([
    Buffer.from('PACK'),
    Buffer.from([0, 0, 0, 2]),
    count,
    headerOf(BLOB, base.length),
    deflateSync(base),
    headerOf(REF_DELTA, delta.length),
    sha,
    deflateSync(delta),
  ]);
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()]);
}

/** Seven bits at a time, the lowest first. */
function sizeOf(size: number): Buffer {
  const bytes: number[] = [];
  for (let left = size; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 0x80);
  }
}

function headerOf(type: number, size: number): Buffer {
  const first = (type << 4) | (size & 0x0f);
  const rest = Math.floor(size / 16);
  return rest === 0 ? Buffer.from([first]) : Buffer.concat([Buffer.from([first | 0x80]), sizeOf(rest)]);
}
