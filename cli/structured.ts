/** `-o json` and `-o yaml`: one stable, documented shape a verb (docs/cli.md). */

import { stringifyJson } from '../kubernetes/json.ts';
import { escapeUnsafe, stripDirectionMarks } from '../kubernetes/safe-text.ts';
import type { GlobalOptions, Io } from './io.ts';

export const CLI_API_VERSION = 'cli.fairlead.dev/v1';

/** Every structured output starts with these two. */
export interface Document {
  readonly apiVersion: typeof CLI_API_VERSION;
  readonly kind: string;
}

/** Prints `document` if `-o json` or `-o yaml` was asked for; answers whether it did. */
export async function printStructured(
  io: Pick<Io, 'out'>,
  options: Pick<GlobalOptions, 'output'>,
  document: Document,
): Promise<boolean> {
  if (options.output === 'json') {
    io.out(`${escapeUnsafe(stringifyJson(document, 2))}\n`);
    return true;
  }
  if (options.output === 'yaml') {
    io.out(await toYaml(document));
    return true;
  }
  return false;
}

/** YAML in the style of kubectl: no anchors, no folding, block scalars where lines are many. */
export async function toYaml(value: unknown): Promise<string> {
  const { dump } = await import('js-yaml');
  // By way of JSON, which leaves undefined fields out. A number that JavaScript cannot hold becomes a string.
  const plain: unknown = JSON.parse(
    JSON.stringify(value, (_, entry: unknown) => (typeof entry === 'bigint' ? String(entry) : entry)),
  );
  // The dumper escapes control characters itself, but not the marks that turn text around.
  return stripDirectionMarks(dump(plain, { lineWidth: -1, noRefs: true }));
}
