/** Who wrote what: read from the apiserver's audit log, which misses nothing. */

import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { createInterface } from 'node:readline';

import { asRecord, trusted } from '../kubernetes/values.ts';

/** One write request, whatever its answer was. */
export interface ApiWrite {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** It only asked what would become of it. */
  readonly isDryRun: boolean;
  /** HTTP status of the answer. */
  readonly code: number;
  /** When the apiserver received it, milliseconds since the epoch. */
  readonly at: number;
}

/** A place in the log. The file is held open, so that it can be read on after it was rotated away. */
export interface AuditMark {
  readonly file: FileHandle;
  readonly inode: number;
  readonly position: number;
}

export class AuditLog {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The present end. */
  async mark(): Promise<AuditMark> {
    const file = await open(this.#path, 'r');
    const { ino, size } = await file.stat();
    return { file, inode: ino, position: size };
  }

  /** The writes of a user since the mark, in the order of their answers. The mark is used up. */
  async since(mark: AuditMark, user: string): Promise<readonly ApiWrite[]> {
    const writes: ApiWrite[] = [];
    // Most lines are about others: only those that may matter are parsed.
    const needle = JSON.stringify(user);
    const read = async (stream: NodeJS.ReadableStream) => {
      for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
        const write = line.includes(needle) ? parse(line, user) : undefined;
        if (write !== undefined) writes.push(write);
      }
    };
    await read(mark.file.createReadStream({ start: mark.position, encoding: 'utf8' }));
    // One rotation holds a gigabyte: more than any run writes.
    if ((await stat(this.#path)).ino !== mark.inode)
      await read(createReadStream(this.#path, { encoding: 'utf8' }));
    return writes;
  }
}

function parse(line: string, user: string): ApiWrite | undefined {
  const event = asRecord(JSON.parse(line));
  if (asRecord(event['user'])['username'] !== user || event['stage'] !== 'ResponseComplete') return undefined;
  const { resource, subresource, namespace, name } = trusted<Record<string, string | undefined>>(
    asRecord(event['objectRef']),
  );
  return {
    verb: String(event['verb']),
    resource: resource ?? '',
    subresource,
    namespace,
    name,
    isDryRun: new URL(String(event['requestURI']), 'http://apiserver').searchParams.has('dryRun'),
    code: Number(asRecord(event['responseStatus'])['code']),
    at: Date.parse(String(event['requestReceivedTimestamp'])),
  };
}
