/**
 * YAML and JSON text to plain values, as `kubectl` reads them, with the line of every mapping. js-yaml turns text into
 * events; the values are built here, because errors must name lines, keys must not reach prototypes, and expansion must
 * be bounded.
 */

import { YAMLException, parseEvents } from 'js-yaml';
import { toMessage } from '../kubernetes/api-error.ts';
import type { YamlDocument, YamlProblem } from './yaml-builder.ts';
import { YAML_LIMITS, YamlBuilder, YamlReadError } from './yaml-builder.ts';

export interface YamlContent {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly YamlProblem[];
}

/**
 * Reads every document of a file. A document that cannot be read becomes a problem; the others are still read, so that
 * one look shows everything that is wrong. Empty and comment-only documents are left out. Never throws.
 */
export function readYaml(text: string): YamlContent {
  const documents: YamlDocument[] = [];
  const problems: YamlProblem[] = [];
  for (const chunk of splitDocuments(text.startsWith('\uFEFF') ? text.slice(1) : text)) {
    try {
      documents.push(...readChunk(chunk));
    } catch (error) {
      problems.push(asProblem(error, chunk.line));
    }
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
  for (let index = 1; index < lines.length; index++) {
    if (!/^---(?:[ \t]|$)/.test(lines[index] ?? '')) continue;
    const before = lines.slice(start, index);
    if (isDirectives(before)) continue;
    chunks.push({ text: before.join('\n'), line: start + 1 });
    start = index;
  }
  chunks.push({ text: lines.slice(start).join('\n'), line: start + 1 });
  return chunks;
}

function isDirectives(lines: readonly string[]): boolean {
  return (
    lines.some((line) => line.startsWith('%')) && lines.every((line) => /^(?:%.*|\s*(?:#.*)?)$/.test(line))
  );
}

function readChunk(chunk: Chunk): readonly YamlDocument[] {
  const builder = new YamlBuilder(chunk.text, chunk.line);
  for (const event of parseEvents(chunk.text, { maxDepth: YAML_LIMITS.depth })) builder.add(event);
  return builder.documents;
}

function asProblem(error: unknown, chunkLine: number): YamlProblem {
  if (error instanceof YamlReadError) return error.item;
  if (error instanceof YAMLException) {
    const code = error.reason.includes('maxDepth') ? 'TooComplex' : 'YamlSyntax';
    return { code, message: error.reason, line: chunkLine + (error.mark?.line ?? 0) };
  }
  return { code: 'YamlSyntax', message: toMessage(error), line: chunkLine };
}
