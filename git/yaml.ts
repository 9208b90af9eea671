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
export function* readDocuments(file: string, budget: ReadBudget): Generator<YamlDocument | YamlProblem> {
  const text = file.startsWith('\uFEFF') ? file.slice(1) : file;
  const lone = LONE_RETURN.exec(text);
  if (lone !== null && SEPARATOR.test(text)) {
    const message =
      'a carriage return alone ends no line for kubectl where documents are told apart; use line feeds';
    yield syntaxError({ text: text.replaceAll(LINE_END, '\n'), line: 1 }, lone.index, message).item;
    return;
  }
  for (const chunk of splitDocuments(text).flatMap(splitJson)) {
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
  readonly isJson?: true;
}

const LINE_END = /\r\n|\n|\r/g;
const LONE_RETURN = /\r(?!\n)/;
const SEPARATOR = /^(?:---|\.\.\.)/m;

/** Documents begin at `---` in the first column; nothing else in YAML may stand there. Directives stay with their document. */
function splitDocuments(text: string): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const lines = text.split(LINE_END);
  let start = 0;
  const cut = (end: number): void => {
    const part = lines.slice(start, end);
    // Each line has its line feed, also the last: `|+` keeps them.
    const lastBreak = end < lines.length || part.at(-1) !== '' ? '\n' : '';
    // Each document is a text of its own to kubectl, which may begin with a byte order mark.
    if (start > 0 && part[1]?.startsWith('\uFEFF') === true) part[1] = part[1].slice(1);
    if (!part.every((line) => NOTHING.test(line)))
      chunks.push({ text: part.join('\n') + lastBreak, line: start + 1 });
    start = end;
  };
  for (let index = 0; index < lines.length; index++) {
    if (!/^---(?:[ \t#]|$)/.test(lines[index] ?? '')) continue;
    // A comment without a blank before it, which is none to the parser; nor to kubectl on the very first line.
    if (index > 0 && lines[index]?.startsWith('---#') === true) lines[index] = '---';
    if (index > 0 && !isDirectives(lines.slice(start, index))) cut(index);
  }
  cut(lines.length);
  return chunks;
}

/** To kubectl, JSON is what stands first in its file: one object, or several without anything between them. */
function splitJson(chunk: Chunk): readonly Chunk[] {
  if (chunk.line !== 1 || !chunk.text.trimStart().startsWith('{')) return [chunk];
  if (isJson(chunk.text)) return [{ ...chunk, isJson: true }];
  const objects: Chunk[] = [];
  let start = 0;
  let line = 1;
  let depth = 0;
  for (const { 0: token, index } of chunk.text.matchAll(JSON_TOKEN)) {
    if (token === '{') depth += 1;
    else if (token === '}') depth -= 1;
    if (token !== '}' || depth !== 0) continue;
    const text = chunk.text.slice(start, index + 1);
    if (!isJson(text)) return [chunk];
    objects.push({ text, line, isJson: true });
    line += text.split('\n').length - 1;
    start = index + 1;
  }
  return chunk.text.slice(start).trim() === '' ? objects : [chunk];
}

/** A brace, or a string with the braces in it; one that is not closed goes to the end, or it would be looked through from each quote in it. */
const JSON_TOKEN = /"(?:[^"\\]|\\.|\\$)*(?:"|$)|[{}]/gs;

/** A line without content. */
const NOTHING = /^(?:---(?=[ \t]|$))?[ \t]*(?:#.*)?$/;

function isDirectives(lines: readonly string[]): boolean {
  return (
    lines.some((line) => line.startsWith('%')) && lines.every((line) => /^(?:%.*|\s*(?:#.*)?)$/.test(line))
  );
}

function readChunk(chunk: Chunk, budget: ReadBudget): readonly YamlDocument[] {
  if (chunk.isJson !== true) refuseForeign(chunk);
  const builder = new YamlBuilder(chunk.text, chunk.line, budget, chunk.isJson === true);
  for (const event of parseEvents(chunk.text, { maxDepth: YAML_LIMITS.depth })) builder.add(event);
  return builder.documents;
}

/**
 * What the parser, which reads YAML 1.2, takes otherwise than kubectl, which reads YAML 1.1: there some characters end a line, others
 * must not be, and a document does not begin on the line of its `---`.
 */
function refuseForeign(chunk: Chunk): void {
  const { text } = chunk;
  const begun = /^---(?![ \t]*(?:#.*)?$)/m.exec(text);
  if (begun !== null) throw syntaxError(chunk, begun.index, 'a document begins on the line after its ---');
  const at = text.search(FOREIGN);
  if (at < 0) return;
  const character = `U+${text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')}`;
  const what = LINE_BREAK.test(text.charAt(at)) ? 'ends a line to kubectl' : 'is no text to kubectl';
  throw syntaxError(chunk, at, `${character} ${what}; write it as an escape in double quotes`);
}

const LINE_BREAK = /[\u0085\u2028\u2029]/;
const FOREIGN = /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/;

function syntaxError({ text, line }: Chunk, at: number, message: string): YamlReadError {
  const before = text.slice(0, at).split('\n').length - 1;
  return new YamlReadError({ code: 'YamlSyntax', message, line: line + before });
}

function isJson(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
