/** Builds plain values out of js-yaml's events, with the line of every mapping and list, and bounded expansion. */

import { COLLECTION_STYLE, EVENT_ID, SCALAR_STYLE, getScalarValue } from 'js-yaml';
import type { Event, MappingEvent, ScalarEvent, SequenceEvent } from 'js-yaml';
import type { ProblemCode } from './problems.ts';
import { LineIndex } from './line-index.ts';
import type { ReadBudget } from './read-budget.ts';
import { UNKNOWN_TAG, keyText, plainScalar, taggedScalar } from './yaml-scalars.ts';

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

/** Limits of one document (gitops checklist 12–15); those of a whole commit are {@link ReadBudget}'s. */
export const YAML_LIMITS = { depth: 100, aliases: 200, expanded: 100_000 } as const;

/**
 * Thrown where a document cannot be read. Messages quote keys only: an alias, a tag or a number may be a password that nobody has
 * put into quotes, and problems go into Events, logs and histories.
 */
export class YamlReadError extends Error {
  readonly item: YamlProblem;
  constructor(item: YamlProblem) {
    super(item.message);
    this.item = item;
  }
}

interface Anchor {
  readonly value: unknown;
  /** Of a scalar that is another text as a key. */
  readonly key?: string | undefined;
  readonly nodes: number;
  readonly characters: number;
  /** Levels of mappings and lists; 0 of a scalar. */
  readonly height: number;
  readonly open: boolean;
}

interface OpenNode {
  readonly line: number;
  readonly anchor: string | undefined;
  /** Between brackets. */
  readonly isFlow: boolean;
  /** Counts of nodes and characters when it was opened. */
  readonly nodesBefore: number;
  readonly charactersBefore: number;
  height: number;
}

interface DocumentFrame {
  readonly kind: 'document';
}

interface SequenceFrame extends OpenNode {
  readonly kind: 'sequence';
  readonly value: unknown[];
}

interface MappingFrame extends OpenNode {
  readonly kind: 'mapping';
  readonly value: Record<string, unknown>;
  key: string | undefined;
  keyLine: number;
  /** The key is a merge key (`<<`). */
  keyIsMerge: boolean;
  /** Keys that are there only by a merge: an explicit one may follow. */
  readonly merged: Set<string>;
}

type Frame = DocumentFrame | SequenceFrame | MappingFrame;

export class YamlBuilder {
  readonly documents: YamlDocument[] = [];
  readonly #source: string;
  readonly #isJson: boolean;
  readonly #position: LineIndex;
  readonly #budget: ReadBudget;
  readonly #frames: Frame[] = [];
  #anchors = new Map<string, Anchor>();
  #lines = new Map<object, number>();
  #tags = new Map<string, string>();
  #root: { value: unknown; line: number } | undefined;
  #nodes = 0;
  /** Of scalars and keys. */
  #characters = 0;
  #expanded = 0;
  #aliases = 0;

  /** `firstLine` is the 1-based line of the file at which `source` begins; `isJson` where it is JSON and no more. */
  constructor(source: string, firstLine: number, budget: ReadBudget, isJson: boolean) {
    this.#source = source;
    this.#isJson = isJson;
    this.#budget = budget;
    this.#position = new LineIndex(source, firstLine);
  }

  /** @throws YamlReadError */
  add(event: Event): void {
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        this.#anchors = new Map();
        this.#lines = new Map();
        this.#tags = new Map(
          event.directives.flatMap((item) => (item.kind === 'tag' ? [[item.handle, item.prefix]] : [])),
        );
        this.#root = undefined;
        this.#nodes = 0;
        this.#characters = 0;
        this.#expanded = 0;
        this.#aliases = 0;
        this.#frames.push({ kind: 'document' });
        return;
      case EVENT_ID.SCALAR:
        this.#scalar(event);
        return;
      case EVENT_ID.SEQUENCE:
      case EVENT_ID.MAPPING:
        this.#open(event);
        return;
      case EVENT_ID.ALIAS: {
        const line = this.#position.lineAt(event.anchorStart);
        this.#alias(this.#anchorName(event.anchorStart, event.anchorEnd, line), line);
        return;
      }
      case EVENT_ID.POP:
        this.#pop();
    }
  }

  #open(event: SequenceEvent | MappingEvent): void {
    const line = this.#position.lineAt(event.start);
    const kind = event.type === EVENT_ID.SEQUENCE ? 'sequence' : 'mapping';
    this.#collectionTag(event.tagStart, event.tagEnd, kind, line);
    const anchor =
      event.anchorStart < 0 ? undefined : this.#anchorName(event.anchorStart, event.anchorEnd, line);
    this.#nodes += 1;
    const node = {
      line,
      anchor,
      isFlow: event.style === COLLECTION_STYLE.FLOW || this.#isFlow(),
      nodesBefore: this.#nodes,
      charactersBefore: this.#characters,
      height: 1,
    };
    const frame: SequenceFrame | MappingFrame =
      kind === 'sequence'
        ? { kind, value: [], ...node }
        : { kind, value: {}, ...node, key: undefined, keyLine: line, keyIsMerge: false, merged: new Set() };
    if (anchor !== undefined)
      this.#anchors.set(anchor, { value: frame.value, nodes: 0, characters: 0, height: 0, open: true });
    this.#lines.set(frame.value, line);
    this.#frames.push(frame);
  }

  #scalar(event: ScalarEvent): void {
    const line = this.#position.lineAt(
      event.valueStart >= 0 ? event.valueStart : Math.max(event.tagStart, event.anchorStart, 0),
    );
    const source = valueOf(this.#source, event);
    const tag = event.tagStart < 0 ? undefined : this.#tagName(event.tagStart, event.tagEnd);
    const isPlain = event.style === SCALAR_STYLE.PLAIN;
    if (/\p{Surrogate}/u.test(source)) throw refusal('YamlSyntax', 'an escape is no character', line);
    if (isPlain && this.#isFlow()) this.#checkPlainInFlow(source, event.valueEnd, line);
    const frame = this.#frame();
    if (frame.kind === 'mapping' && frame.key === undefined) this.#checkKey(frame, event, line);
    if (
      frame.kind === 'mapping' &&
      frame.key === undefined &&
      isPlain &&
      tag === undefined &&
      source === '<<'
    ) {
      frame.key = '<<';
      frame.keyLine = line;
      frame.keyIsMerge = true;
      return;
    }
    const scalar =
      tag === undefined ? (isPlain ? plainScalar(source) : { value: source }) : taggedScalar(source, tag);
    if (!('value' in scalar)) {
      throw refusal(scalar.refused === 'Tag' ? 'YamlSyntax' : scalar.refused, scalar.message, line);
    }
    if (this.#isJson && isPlain && typeof scalar.value === 'string')
      throw refusal('NumberTooLarge', 'a number is beyond what 64 bits hold', line);
    this.#nodes += 1;
    this.#characters += source.length;
    if (event.anchorStart >= 0) {
      const name = this.#anchorName(event.anchorStart, event.anchorEnd, line);
      const characters = source.length;
      const { value, key } = scalar;
      this.#anchors.set(name, { value, key, nodes: 1, characters, height: 0, open: false });
    }
    this.#put(scalar.value, line, 0, scalar.key);
  }

  /** Between brackets, kubectl ends text without quotes elsewhere than the parser. */
  #checkPlainInFlow(source: string, end: number, line: number): void {
    if (source.includes('?'))
      throw refusal('YamlSyntax', 'between brackets, ? begins a key to kubectl; quote the text', line);
    if (source.startsWith(':') || /^:[,[\]{}]/.test(this.#source.slice(end, end + 2)))
      throw refusal(
        'YamlSyntax',
        'between brackets, a colon wants a blank after it; or quote the text',
        line,
      );
  }

  /** Keys that the parser takes and kubectl does not. */
  #checkKey(frame: MappingFrame, event: ScalarEvent, line: number): void {
    const parent = this.#frames.at(-2);
    const isOnLineOfKey = parent?.kind === 'mapping' && parent.key !== undefined && parent.keyLine === line;
    if (!frame.isFlow && isOnLineOfKey)
      throw refusal('YamlSyntax', 'a mapping does not begin on the line of its key', line);
    const starts = [event.valueStart, event.tagStart, event.anchorStart].filter((start) => start >= 0);
    const start = Math.min(...starts);
    const end = Math.max(event.valueEnd, event.tagEnd, event.anchorEnd);
    if (starts.length === 0 || /\?\s+["']?$/.test(this.#source.slice(Math.max(start - 100, 0), start)))
      return;
    const colon = this.#source.indexOf(':', end);
    const written = this.#source.slice(start, colon < 0 ? end : colon);
    if (Array.from(written).length > MAX_KEY || this.#source.slice(start, end).includes('\n'))
      throw refusal('YamlSyntax', `a key without ? before it has one line and ${MAX_KEY} characters`, line);
  }

  /** YAML 1.2 takes almost anything; to kubectl a colon ends the name, and `&a: b` is a key. */
  #anchorName(start: number, end: number, line: number): string {
    const name = this.#source.slice(start, end);
    if (/^[-\w]+$/.test(name)) return name;
    throw refusal('YamlSyntax', 'the name of an anchor (&, *) has letters, digits, "-" and "_"', line);
  }

  #alias(name: string, line: number): void {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined) throw refusal('YamlSyntax', 'an alias (*) has no anchor before it', line);
    if (anchor.open) throw refusal('YamlSyntax', 'an anchor (&) contains itself', line);
    if (++this.#aliases > YAML_LIMITS.aliases) {
      throw refusal('TooComplex', `more than ${YAML_LIMITS.aliases} aliases in one document`, line);
    }
    this.#expand(anchor.nodes, anchor.characters, line);
    if (this.#frames.length + anchor.height > YAML_LIMITS.depth) {
      throw refusal('TooComplex', `its aliases nest more than ${YAML_LIMITS.depth} levels`, line);
    }
    this.#put(anchor.value, line, anchor.height, anchor.key);
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
      const characters = this.#characters - frame.charactersBefore;
      this.#anchors.set(frame.anchor, {
        value: frame.value,
        nodes,
        characters,
        height: frame.height,
        open: false,
      });
    }
    this.#put(frame.value, frame.line, frame.height);
  }

  /** Adds a complete value of so many levels to whatever is open; `asKey` is its text where a key is due. */
  #put(value: unknown, line: number, height: number, asKey?: string): void {
    const frame = this.#frame();
    if (frame.kind !== 'document') frame.height = Math.max(frame.height, height + 1);
    if (frame.kind === 'document') {
      this.#root = { value, line };
    } else if (frame.kind === 'sequence') {
      frame.value.push(value);
    } else if (frame.key === undefined) {
      const key = asKey ?? keyText(value);
      if (key === undefined) throw refusal('YamlSyntax', `a key must be text, not ${nameOf(value)}`, line);
      frame.key = key;
      frame.keyLine = line;
    } else {
      this.#pair(frame, frame.key, value);
      frame.key = undefined;
      frame.keyIsMerge = false;
    }
  }

  #pair(frame: MappingFrame, key: string, value: unknown): void {
    if (frame.keyIsMerge) {
      this.#merge(frame, value);
      return;
    }
    if (Object.hasOwn(frame.value, key) && !frame.merged.has(key)) {
      throw refusal(
        'DuplicateKey',
        `the key ${JSON.stringify(key)} appears twice in one mapping`,
        frame.keyLine,
      );
    }
    frame.merged.delete(key);
    define(frame.value, key, value);
  }

  /** kubectl's reader merges where the `<<` stands: it overrides keys before it and is overridden by keys after it. */
  #merge(frame: MappingFrame, source: unknown): void {
    const sources: readonly unknown[] = Array.isArray(source) ? source.toReversed() : [source];
    for (const item of sources) {
      if (typeof item !== 'object' || item === null || Array.isArray(item)) {
        throw refusal('YamlSyntax', 'a merge key (<<) needs a mapping or a list of mappings', frame.keyLine);
      }
      for (const [key, value] of Object.entries(item)) {
        this.#expand(1, key.length, frame.keyLine);
        frame.merged.add(key);
        define(frame.value, key, value);
      }
    }
  }

  #isFlow(): boolean {
    const frame = this.#frame();
    return frame.kind !== 'document' && frame.isFlow;
  }

  #frame(): Frame {
    const frame = this.#frames.at(-1);
    if (frame === undefined) throw new Error('YAML event outside of a document');
    return frame;
  }

  /** What the text itself holds is bounded by the size of files; what aliases and merge keys make of it is not. */
  #expand(nodes: number, characters: number, line: number): void {
    this.#nodes += nodes;
    this.#characters += characters;
    this.#expanded += nodes;
    const tooMany =
      this.#expanded > YAML_LIMITS.expanded
        ? `${YAML_LIMITS.expanded} values`
        : this.#budget.expand(nodes, characters);
    if (tooMany !== undefined)
      throw refusal('TooComplex', `its aliases and merge keys expand to more than ${tooMany}`, line);
  }

  #collectionTag(start: number, end: number, kind: 'sequence' | 'mapping', line: number): void {
    if (start < 0) return;
    const tag = this.#tagName(start, end);
    const expected = kind === 'sequence' ? 'tag:yaml.org,2002:seq' : 'tag:yaml.org,2002:map';
    if (tag !== expected && tag !== '!') {
      throw refusal('YamlSyntax', UNKNOWN_TAG, line);
    }
  }

  #tagName(start: number, end: number): string {
    const raw = this.#source.slice(start, end);
    if (/[,[\]{}]/.test(this.#source.charAt(end)))
      throw refusal('YamlSyntax', 'a tag (!) wants a blank after it', this.#position.lineAt(start));
    if (raw.startsWith('!<')) return raw.slice(2, -1);
    const handle = /^!(?:[^!]*!)?/.exec(raw)?.[0] ?? '!';
    const prefix = this.#tags.get(handle) ?? (handle === '!!' ? 'tag:yaml.org,2002:' : handle);
    return prefix + raw.slice(handle.length);
  }
}

/** Of a key without `?`, in characters. */
const MAX_KEY = 1024;

/** An escape, one after the other, for a backslash may be escaped itself; of a line break that is escaped, with the empty lines after it. */
const ESCAPE = /\\(?:\n((?:[ \t]*\n)+)|[^])/g;

/** The parser loses empty lines after an escaped line break; each of them is a line feed. */
function valueOf(source: string, event: ScalarEvent): string {
  if (event.style !== SCALAR_STYLE.DOUBLE_QUOTED || event.fast) return getScalarValue(source, event);
  const written = source.slice(event.valueStart, event.valueEnd);
  const text = written.replaceAll(ESCAPE, (escape, empty: string | undefined) =>
    empty === undefined ? escape : `${empty.replaceAll(/[ \t]*\n/g, '\\n')}\\\n`,
  );
  return getScalarValue(text, { ...event, valueStart: 0, valueEnd: text.length });
}

function refusal(code: ProblemCode, message: string, line: number): YamlReadError {
  return new YamlReadError({ code, message, line });
}

function nameOf(value: unknown): string {
  return value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'a mapping'
        : typeof value;
}

/** Assignment that never reaches a prototype (`__proto__` stays an own key). */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}
