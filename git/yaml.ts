/**
 * YAML and JSON text to plain values, as `kubectl` reads them, with the line of every mapping. js-yaml turns text into
 * events; the values are built here, because errors must name lines, keys must not reach prototypes, and expansion must
 * be bounded.
 */

import { YAMLException, parseEvents } from 'js-yaml';
import { toMessage } from '../kubernetes/api-error.ts';
import { ReadBudget } from './read-budget.ts';
import type { YamlDocument, YamlProblem } from './yaml-builder.ts';
import { YAML_LIMITS, YamlBuilder, YamlReadError } from './yaml-builder.ts';

export interface YamlContent {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly YamlProblem[];
}

/**
 * Reads every document of a file, one at a time: the caller may stop. A document that cannot be read is a problem, and the others
 * are still read. Empty and comment-only documents are left out. Never throws.
 */
export function* readDocuments(text: string, budget: ReadBudget): Generator<YamlDocument | YamlProblem> {
  for (const chunk of splitDocuments(text.startsWith('\uFEFF') ? text.slice(1) : text)) {
    let read: readonly (YamlDocument | YamlProblem)[];
    try {
      read = readChunk(chunk, budget);
    } catch (error) {
      read = [asProblem(error, chunk)];
    }
    yield* read;
  }
}

/** As {@link readDocuments}, all of a file that is not of a commit. */
export function readYaml(text: string): YamlContent {
  const documents: YamlDocument[] = [];
  const problems: YamlProblem[] = [];
  for (const item of readDocuments(text, new ReadBudget())) {
    if ('code' in item) problems.push(item);
    else documents.push(item);
  }
  return { documents, problems };
}

interface Chunk {
  readonly text: string;
  /** 1-based line at which the chunk begins. */
  readonly line: number;
}

/** Documents begin at `---` in the first column; nothing else in YAML may stand there. Directives stay with their document. */
function splitDocuments(text: string): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const lines = text.split(/\r\n|\n|\r/);
  let start = 0;
  const cut = (end: number): void => {
    const part = lines.slice(start, end);
    if (!part.every((line) => NOTHING.test(line))) chunks.push({ text: part.join('\n'), line: start + 1 });
    start = end;
  };
  for (let index = 1; index < lines.length; index++) {
    if (!/^---(?:[ \t]|$)/.test(lines[index] ?? '')) continue;
    if (!isDirectives(lines.slice(start, index))) cut(index);
  }
  cut(lines.length);
  return chunks;
}

/** A line without content. */
const NOTHING = /^(?:---(?=[ \t]|$))?[ \t]*(?:#.*)?$/;

function isDirectives(lines: readonly string[]): boolean {
  return (
    lines.some((line) => line.startsWith('%')) && lines.every((line) => /^(?:%.*|\s*(?:#.*)?)$/.test(line))
  );
}

function readChunk(chunk: Chunk, budget: ReadBudget): readonly YamlDocument[] {
  const builder = new YamlBuilder(chunk.text, chunk.line, budget);
  for (const event of parseEvents(chunk.text, { maxDepth: YAML_LIMITS.depth })) builder.add(event);
  return builder.documents;
}

const DEFICIENT = 'deficient indentation';

function asProblem(error: unknown, { text, line: chunkLine }: Chunk): YamlProblem {
  if (error instanceof YamlReadError) return error.item;
  if (error instanceof YAMLException) {
    const code = error.reason.includes('maxDepth') ? 'TooComplex' : 'YamlSyntax';
    // Names of tags, which the parser quotes after a colon or in quotes, may be values.
    const reason = error.reason.replace(/(?:: | ").*$/s, '');
    // Within brackets that is how the parser misses the one that closes them.
    const message = reason === DEFICIENT ? `${reason}, or a bracket that is not closed` : reason;
    // What is not closed is missed at the very end, which is a line that no editor shows.
    const last = text.trimEnd().split('\n').length - 1;
    return { code, message, line: chunkLine + Math.min(error.mark?.line ?? 0, last) };
  }
  return { code: 'YamlSyntax', message: toMessage(error), line: chunkLine };
}
