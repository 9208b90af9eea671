/** What Fairlead reads in a file of manifests beside what kubectl reads there, and where the two differ on purpose. */

import { isDeepStrictEqual } from 'node:util';

import { ManifestReader } from '../../git/manifests.ts';
import type { Problem } from '../../git/problems.ts';
import type { JsonObject } from '../../planners/objects.ts';
import { trusted } from '../../kubernetes/values.ts';
import type { Reading } from './kubectl-reading.ts';

interface Read {
  readonly objects: readonly unknown[];
  readonly problems: readonly Problem[];
}

/** Refused by us alone: by code, and by the beginning of the message. */
interface Refusal {
  readonly code: string;
  readonly message?: RegExp;
  /** What is in the text of the file. */
  readonly text?: RegExp;
  readonly why: string;
}

/** kubectl reads something there that nobody meant, or leaves it to the apiserver. */
const REFUSED_BY_US: readonly Refusal[] = [
  { code: 'DuplicateKey', why: 'kubectl takes the last one: the first is lost without a word' },
  { code: 'NumberTooLarge', why: 'JavaScript would round it' },
  { code: 'NumberNotFinite', why: 'as a key kubectl has it as ".inf"; as a value it refuses it too' },
  { code: 'ObjectIncomplete', why: 'what an object must have, kubectl leaves to the apiserver' },
  { code: 'NotAnObject', why: 'kubectl makes an object without a name of a null in a typed list' },
  { code: 'TooComplex', why: 'limits of one document' },
  {
    code: 'YamlSyntax',
    message:
      /^a tag \(!\) (?:has no meaning|wants a blank)|^tag suffix cannot|^the value does not fit its tag/,
    why: 'kubectl forgets a tag that it does not know or that does not fit: the text was meant as something else',
  },
  {
    code: 'YamlSyntax',
    message: /^U\+(?:0085|2028|2029) ends a line/,
    why: 'a character that nobody sees: kubectl makes a blank of it, or loses it',
  },
  {
    code: 'YamlSyntax',
    message: /^between brackets, \? begins a key/,
    why: 'kubectl drops the question mark',
  },
  {
    code: 'YamlSyntax',
    message: /^a carriage return alone|^end of the stream or a document separator|^directives end mark/,
    why: 'kubectl drops what comes after the end of a document, or after a "---" that is at the end of no line',
  },
  {
    code: 'YamlSyntax',
    message: /^unknown escape sequence/,
    why: String.raw`\' is no escape in YAML; kubectl knows it`,
  },
  {
    code: 'YamlSyntax',
    message: /^missed comma between flow/,
    why: 'text that is a "-", or ends with ":" or begins with "#", directly before a bracket: kubectl guesses',
  },
  {
    code: 'YamlSyntax',
    message: /^bad indentation of a mapping entry/,
    text: /[|>][-+\d]*(?: .*)?\n\s*\n|["'\]}]#/,
    why: 'an empty line further right than the text that begins after it; a comment without a blank before it',
  },
  {
    code: 'YamlSyntax',
    message: /^deficient indentation/,
    text: /["'[{]/,
    why: 'quotes and brackets that go on further left than where they stand',
  },
  {
    code: 'YamlSyntax',
    message: /^between brackets, a colon wants/,
    why: 'one reader has a key where the other has text',
  },
  {
    code: 'YamlSyntax',
    message: /^an escape is no character/,
    why: 'kubectl writes U+FFFD for half a pair in JSON',
  },
];

/** Refused by kubectl alone: both its words and the text must be of the kind. What is there has one meaning. */
interface Reading12 {
  readonly said: RegExp;
  readonly text: RegExp;
  readonly why: string;
}

const READ_BY_US: readonly Reading12[] = [
  {
    said: /invalid Unicode character escape|unknown escape character/,
    text: /\\\/|\\u[dD][89a-fA-F]/,
    why: String.raw`\/ and pairs of \u are escapes of JSON and YAML 1.2`,
  },
  {
    said: /did not find expected <document start>|incompatible YAML document|unknown directive name|undefined tag handle|unexpected non-alphabetical character/,
    text: /^%/m,
    why: 'kubectl takes the directives before a "---" for a document of their own',
  },
  {
    said: /cannot start any token|tab character/,
    text: /^ *\t|[-:?] *\t/m,
    why: 'tabs in lines that are otherwise empty, before text, after an indicator',
  },
  {
    said: /did not find expected node content|did not find expected <document start>/,
    text: /^\.\.\./m,
    why: 'the end of a document that has not begun',
  },
];

/** Where kubectl has read less without a word: it drops what stands after "..." up to the next "---". */
const DROPPED = /^\.\.\.\s/m;

/** Undefined where both read the same, or differ on purpose; else what the difference is. */
export function difference(text: string, kubectl: Reading): string | undefined {
  const ours = readByFairlead(text);
  if ('refused' in kubectl) {
    // A kind that the cluster does not have: that is none of the text.
    if (ours.problems.length > 0 || kubectl.refused.includes('no matches for kind')) return undefined;
    // Of what begins with a bracket kubectl tells why it is no JSON, and not what is wrong with the YAML.
    const said = (pattern: RegExp): boolean =>
      pattern.test(kubectl.refused) || /: json: offset \d+: invalid character/.test(kubectl.refused);
    return READ_BY_US.some((known) => said(known.said) && known.text.test(text))
      ? undefined
      : `kubectl alone refuses: ${kubectl.refused}`;
  }
  if (ours.problems.length > 0) {
    const dropped = DROPPED.exec(text);
    const lastRead =
      dropped === null ? Number.POSITIVE_INFINITY : text.slice(0, dropped.index).split('\n').length;
    const unknown = ours.problems.find(
      (problem) => (problem.line ?? 0) <= lastRead && !isOnPurpose(problem, text),
    );
    return unknown === undefined ? undefined : `Fairlead alone refuses: ${unknown.code} ${unknown.message}`;
  }
  const theirs = kubectl.objects.map((json) =>
    withoutDefaultNamespace(trusted<JsonObject>(JSON.parse(json))),
  );
  if (isDeepStrictEqual(ours.objects, theirs)) return undefined;
  if (
    DROPPED.test(text) &&
    theirs.every((object) => ours.objects.some((own) => isDeepStrictEqual(own, object)))
  )
    return undefined;
  return `kubectl reads ${JSON.stringify(theirs)}, Fairlead ${JSON.stringify(ours.objects)}`;
}

function isOnPurpose({ code, message }: Problem, text: string): boolean {
  return REFUSED_BY_US.some(
    (known) =>
      known.code === code && (known.message?.test(message) ?? true) && (known.text?.test(text) ?? true),
  );
}

function readByFairlead(text: string): Read {
  const reader = new ManifestReader();
  for (const _ of reader.read({ path: 'file.yaml', text })) continue;
  const { manifests, problems } = reader;
  return {
    objects: manifests.map(({ body }) => trusted<unknown>(JSON.parse(JSON.stringify(body)))),
    problems,
  };
}

/** kubectl adds the namespace of its context. */
function withoutDefaultNamespace(object: JsonObject): JsonObject {
  const metadata = trusted<JsonObject | undefined>(object['metadata']);
  if (metadata?.['namespace'] !== 'default') return object;
  const { namespace: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}
