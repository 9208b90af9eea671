/** Files that several processes, and several callers in one, write and read at the same time. */

import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';

/** Writes JSON that its owner alone may read. Replaced at once: a reader sees the old file or the new one, never a part. */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, JSON.stringify(value, null, 2), { mode: 0o600 });
  await rename(temporary, path);
}
