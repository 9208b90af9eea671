/**
 * YAML and JSON text to plain values, as `kubectl` reads them, with the line of every mapping. js-yaml turns text into
 * events; the values are built here, because errors must name lines, keys must not reach prototypes, and expansion must
 * be bounded.
 */

import { EVENT_ID, SCALAR_STYLE, YAMLException, getScalarValue, parseEvents } from 'js-yaml';
import type { Event, ScalarEvent } from 'js-yaml';
import type { ProblemCode } from './problems.ts';
import { keyText, plainScalar, taggedScalar } from './yaml-scalars.ts';

/** One document that is not empty. */
export interface YamlDocument {
  readonly value: unknown;
  /** 1-based line of the document's content. */
  readonly line: number;
  /** 1-based first line of each mapping and list in it, so that items of a List have their own. */
  readonly lines: ReadonlyMap<object, number>;
}

export interface YamlProblem {
  readonly code: ProblemCode;
  readonly message: string;
  /** 1-based. */
  readonly line: number;
}

export interface YamlContent {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly YamlProblem[];
}

/** Limits of one document (gitops checklist 12–15). */
export const YAML_LIMITS = { depth: 100, aliases: 200, nodes: 100_000 } as const;

/**
 * Reads every document of a file. A document that cannot be read becomes a problem; the others are still read, so that
 * one look shows everything that is wrong. Empty and comment-only documents are left out. Never throws.
 */
export function readYaml(text: string): YamlContent {
  const documents: YamlDocument[] = [];
  const problems: YamlProblem[] = [];
  for (const chunk of splitDocuments(text.startsWith('\uFEFF') ? text.slice(1) : text)) {
    try {
      documents.push(...readChunk(chunk.text, chunk.line));
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
    if (
      before.some((line) => line.startsWith('%')) &&
      before.every((line) => /^(?:%.*|\s*(?:#.*)?)$/.test(line))
    )
      continue;
    chunks.push({ text: before.join('\n'), line: start + 1 });
    start = index;
  }
  chunks.push({ text: lines.slice(start).join('\n'), line: start + 1 });
  return chunks;
}

function readChunk(text: string, firstLine: number): YamlDocument[] {
  const events = parseEvents(text, { maxDepth: YAML_LIMITS.depth });
  const builder = new Builder(text, firstLine);
  for (const event of events) builder.add(event);
  return builder.documents;
}

class ReadError extends Error {
  readonly item: YamlProblem;
  constructor(item: YamlProblem) {
    super(item.message);
    this.item = item;
  }
}

function asProblem(error: unknown, chunkLine: number): YamlProblem {
  if (error instanceof ReadError) return error.item;
  if (error instanceof YAMLException) {
    const code = error.reason.includes('nesting') ? 'TooComplex' : 'YamlSyntax';
    return { code, message: error.reason, line: chunkLine + (error.mark?.line ?? 0) };
  }
  return {
    code: 'YamlSyntax',
    message: error instanceof Error ? error.message : String(error),
    line: chunkLine,
  };
}

interface Frame {
  readonly kind: 'document' | 'sequence' | 'mapping';
  readonly value: unknown[] | Record<string, unknown> | undefined;
  readonly line: number;
  readonly nodesBefore: number;
  readonly anchor?: string;
  key?: string | undefined;
  keyLine: number;
  /** Keys that are there only by a merge: an explicit one may follow. */
  merged?: Set<string>;
}

class Builder {
  readonly documents: YamlDocument[] = [];
  readonly #source: string;
  readonly #firstLine: number;
  readonly #lineStarts: number[] = [0];
  readonly #frames: Frame[] = [];
  #anchors = new Map<string, { value: unknown; nodes: number; open: boolean }>();
  #lines = new Map<object, number>();
  #tags = new Map<string, string>();
  #mergePending = false;
  #root: { value: unknown; line: number } | undefined;
  #nodes = 0;
  #aliases = 0;

  constructor(source: string, firstLine: number) {
    this.#source = source;
    this.#firstLine = firstLine;
    for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1))
      this.#lineStarts.push(at + 1);
  }

  add(event: Event): void {
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        this.#anchors = new Map();
        this.#lines = new Map();
        this.#tags = new Map();
        for (const directive of event.directives) {
          if (directive.kind === 'tag') this.#tags.set(directive.handle, directive.prefix);
        }
        this.#root = undefined;
        this.#nodes = 0;
        this.#aliases = 0;
        this.#frames.push({ kind: 'document', value: undefined, line: 0, nodesBefore: 0, keyLine: 0 });
        return;
      case EVENT_ID.SCALAR:
        this.#scalar(event);
        return;
      case EVENT_ID.SEQUENCE:
      case EVENT_ID.MAPPING: {
        const line = this.#lineAt(event.start);
        const kind = event.type === EVENT_ID.SEQUENCE ? 'sequence' : 'mapping';
        this.#collectionTag(event.tagStart, event.tagEnd, kind, line);
        const value = kind === 'sequence' ? [] : emptyObject();
        const anchor =
          event.anchorStart < 0 ? undefined : this.#source.slice(event.anchorStart, event.anchorEnd);
        if (anchor !== undefined) this.#anchors.set(anchor, { value, nodes: 0, open: true });
        this.#lines.set(value, line);
        this.#count(1, line);
        const frame = { kind, value, line, nodesBefore: this.#nodes, keyLine: line } as const;
        this.#frames.push(anchor === undefined ? frame : { ...frame, anchor });
        return;
      }
      case EVENT_ID.ALIAS:
        this.#alias(this.#source.slice(event.anchorStart, event.anchorEnd), this.#lineAt(event.anchorStart));
        return;
      case EVENT_ID.POP:
        this.#pop();
    }
  }

  #scalar(event: ScalarEvent): void {
    const line = this.#lineAt(
      event.valueStart >= 0 ? event.valueStart : Math.max(event.tagStart, event.anchorStart, 0),
    );
    const source = getScalarValue(this.#source, event);
    const tag = event.tagStart < 0 ? undefined : this.#tagName(event.tagStart, event.tagEnd);
    const isPlain = event.style === SCALAR_STYLE.PLAIN;
    const frame = this.#frame();
    if (
      frame.kind === 'mapping' &&
      frame.key === undefined &&
      isPlain &&
      tag === undefined &&
      source === '<<'
    ) {
      this.#mergePending = true;
      frame.key = '<<';
      frame.keyLine = line;
      return;
    }
    const scalar =
      tag !== undefined ? taggedScalar(source, tag) : isPlain ? plainScalar(source) : { value: source };
    if (!('value' in scalar)) {
      throw this.#refuse(scalar.refused === 'Tag' ? 'YamlSyntax' : scalar.refused, scalar.message, line);
    }
    this.#count(1, line);
    if (event.anchorStart >= 0) {
      const name = this.#source.slice(event.anchorStart, event.anchorEnd);
      this.#anchors.set(name, { value: scalar.value, nodes: 1, open: false });
    }
    this.#put(scalar.value, line);
  }

  #alias(name: string, line: number): void {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined)
      throw this.#refuse('YamlSyntax', `the alias *${name} has no anchor before it`, line);
    if (anchor.open) throw this.#refuse('YamlSyntax', `the anchor &${name} contains itself`, line);
    if (++this.#aliases > YAML_LIMITS.aliases) {
      throw this.#refuse('TooComplex', `more than ${YAML_LIMITS.aliases} aliases in one document`, line);
    }
    this.#count(anchor.nodes, line);
    this.#put(anchor.value, line);
  }

  #pop(): void {
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    if (frame.kind === 'document') {
      const root = this.#root;
      if (root !== undefined && root.value !== null) this.documents.push({ ...root, lines: this.#lines });
      return;
    }
    if (frame.anchor !== undefined) {
      const nodes = this.#nodes - frame.nodesBefore + 1;
      this.#anchors.set(frame.anchor, { value: frame.value, nodes, open: false });
    }
    this.#put(frame.value, frame.line);
  }

  /** Adds a complete value to whatever is open. */
  #put(value: unknown, line: number): void {
    const frame = this.#frame();
    if (frame.kind === 'document') {
      this.#root = { value, line };
    } else if (frame.kind === 'sequence') {
      (frame.value as unknown[]).push(value);
    } else if (frame.key === undefined) {
      const key = keyText(value);
      if (key === undefined) {
        throw this.#refuse(
          'YamlSyntax',
          `a key must be text, not ${value === null ? 'null' : typeof value}`,
          line,
        );
      }
      frame.key = key;
      frame.keyLine = line;
    } else {
      const key = frame.key;
      frame.key = undefined;
      if (this.#mergePending && key === '<<') {
        this.#mergePending = false;
        this.#merge(frame, value);
      } else {
        this.#set(frame, key, value);
      }
    }
  }

  #set(frame: Frame, key: string, value: unknown): void {
    const object = frame.value as Record<string, unknown>;
    if (Object.hasOwn(object, key) && frame.merged?.has(key) !== true) {
      throw this.#refuse(
        'DuplicateKey',
        `the key ${JSON.stringify(key)} appears twice in one mapping`,
        frame.keyLine,
      );
    }
    frame.merged?.delete(key);
    define(object, key, value);
  }

  /** kubectl's reader merges where the `<<` stands: it overrides keys before it and is overridden by keys after it. */
  #merge(frame: Frame, source: unknown): void {
    const sources = Array.isArray(source) ? (source as unknown[]).toReversed() : [source];
    frame.merged ??= new Set();
    for (const item of sources) {
      if (typeof item !== 'object' || item === null || Array.isArray(item)) {
        throw this.#refuse(
          'YamlSyntax',
          'a merge key (<<) needs a mapping or a list of mappings',
          frame.keyLine,
        );
      }
      for (const [key, value] of Object.entries(item)) {
        this.#count(1, frame.keyLine);
        frame.merged.add(key);
        define(frame.value as Record<string, unknown>, key, value);
      }
    }
  }

  #frame(): Frame {
    const frame = this.#frames.at(-1);
    if (frame === undefined) throw new Error('YAML event outside of a document');
    return frame;
  }

  #count(nodes: number, line: number): void {
    this.#nodes += nodes;
    if (this.#nodes > YAML_LIMITS.nodes) {
      throw this.#refuse('TooComplex', `the document expands to more than ${YAML_LIMITS.nodes} values`, line);
    }
  }

  #collectionTag(start: number, end: number, kind: 'sequence' | 'mapping', line: number): void {
    if (start < 0) return;
    const tag = this.#tagName(start, end);
    const expected = kind === 'sequence' ? 'tag:yaml.org,2002:seq' : 'tag:yaml.org,2002:map';
    if (tag !== expected && tag !== '!') {
      throw this.#refuse(
        'YamlSyntax',
        `the tag ${this.#source.slice(start, end)} has no meaning in a manifest`,
        line,
      );
    }
  }

  #tagName(start: number, end: number): string {
    const raw = this.#source.slice(start, end);
    if (raw.startsWith('!<')) return raw.slice(2, -1);
    const handle = /^!(?:[^!]*!)?/.exec(raw)?.[0] ?? '!';
    const prefix = this.#tags.get(handle) ?? (handle === '!!' ? 'tag:yaml.org,2002:' : handle);
    return prefix + raw.slice(handle.length);
  }

  #refuse(code: ProblemCode, message: string, line: number): ReadError {
    return new ReadError({ code, message, line });
  }

  #lineAt(position: number): number {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return this.#firstLine + low;
  }
}

/** An ordinary object; {@link define} keeps `__proto__` an own key. */
function emptyObject(): Record<string, unknown> {
  return {};
}

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}
