/** The annotation `config.kubernetes.io/depends-on`: an object is applied when those that it names are ready. Pure. */

import { STAGES } from './order.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';

/** As cli-utils and other tools write it. */
export const DEPENDS_ON = 'config.kubernetes.io/depends-on';

/** An object by its kind, whatever the version. */
export interface ObjectReference {
  readonly group: string;
  readonly kind: string;
  /** Absent: the kind has no namespaces. */
  readonly namespace?: string;
  readonly name: string;
}

/**
 * `GROUP/namespaces/NAMESPACE/KIND/NAME`, or `GROUP/KIND/NAME` of a kind without namespaces; the group of core is empty; several with
 * commas. Answers the first part that is none.
 */
export function parseDependsOn(text: string): readonly ObjectReference[] | { readonly bad: string } {
  const found: ObjectReference[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    const reference = parseReference(part.split('/'));
    if (reference === undefined) return { bad: part };
    found.push(reference);
  }
  return found;
}

function parseReference(parts: readonly string[]): ObjectReference | undefined {
  const [group = '', first = '', second = '', kind = '', name = ''] = parts;
  const isNamespaced = parts.length === 5 && first === 'namespaces';
  if (!isNamespaced && parts.length !== 3) return undefined;
  const reference = isNamespaced
    ? { group, kind, namespace: second, name }
    : { group, kind: first, name: second };
  const { group: _, ...needed } = reference;
  return Object.values(needed).every((value) => /^[^\s/]+$/.test(value)) ? reference : undefined;
}

/** An object of a commit, as far as the order of dependencies reads it. */
export interface Dependent {
  readonly label: string;
  readonly stage: number;
  readonly wave: number;
  readonly namespace: string | undefined;
  readonly manifest: {
    readonly group: string;
    readonly kind: string;
    readonly name: string;
    readonly file: string;
    readonly line: number;
    readonly dependsOn?: { readonly line: number; readonly objects: readonly ObjectReference[] };
  };
}

export interface Dependencies<T> {
  /** What each object depends on; those without are not in it. */
  readonly of: ReadonlyMap<T, readonly T[]>;
  /** Within a wave: 0 for what depends on nothing in it, else one more than the highest that it depends on. */
  readonly ranks: ReadonlyMap<T, number>;
  readonly problems: readonly Problem[];
}

/**
 * Finds what objects depend on. Stages of kinds and waves come first: a dependency that is applied later by these, one that is not in
 * the commit, and every cycle are problems. The same objects give the same problems, whatever their order.
 */
export function resolveDependencies<T extends Dependent>(objects: readonly T[]): Dependencies<T> {
  const byKey = new Map(objects.map((object) => [keyOf(object.manifest, object.namespace), object]));
  const of = new Map<T, readonly T[]>();
  const problems: Problem[] = [];
  for (const object of objects) {
    const { dependsOn } = object.manifest;
    if (dependsOn === undefined) continue;
    const found: T[] = [];
    for (const reference of dependsOn.objects) {
      const other = byKey.get(keyOf(reference, reference.namespace));
      const why = other === undefined ? missing(reference) : outOfOrder(object, other);
      if (other !== undefined && why === undefined) found.push(other);
      if (why !== undefined) problems.push(problemAt(object, ...why));
    }
    of.set(object, found);
  }
  const { ranks, cycles } = rank(objects, of);
  return { of, ranks, problems: [...problems, ...cycles.map(cycleProblem)] };
}

function keyOf(
  { group, kind, name }: Omit<ObjectReference, 'namespace'>,
  namespace: string | undefined,
): string {
  return `${group}/${kind}/${namespace ?? ''}/${name}`;
}

type Why = readonly [code: Problem['code'], message: string, next?: string];

function missing({ group, kind, namespace, name }: ObjectReference): Why {
  const full = group === '' ? kind : `${kind}.${group}`;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return ['DependencyMissing', `it depends on ${full} ${place}, which is not in the commit.`];
}

function outOfOrder(object: Dependent, other: Dependent): Why | undefined {
  if (other.stage > object.stage) {
    const [own = '', later = ''] = [object.stage, other.stage].map((stage) => STAGES[stage]?.toLowerCase());
    return [
      'DependencyOrder',
      `it depends on ${other.label}, but ${own} is applied before ${later}.`,
      `Remove the annotation: ${STAGES.map((stage) => stage.toLowerCase()).join(', ')} come in this order, and a wave counts only among the kinds of one of them.`,
    ];
  }
  if (other.stage < object.stage || other.wave <= object.wave) return undefined;
  return [
    'DependencyOrder',
    `it depends on ${other.label}, which is in wave ${other.wave} of their stage, and itself in wave ${object.wave}.`,
  ];
}

/** As many as a person mends at a time: each is as long as a commit may be, and there may be one for each dependency. */
const MOST_CYCLES = 100;

/** Depth first, without recursion: a chain may be as long as a commit. Each cycle once, from its first object by place; of very many the first. */
function rank<T extends Dependent>(
  objects: readonly T[],
  of: ReadonlyMap<T, readonly T[]>,
): { readonly ranks: ReadonlyMap<T, number>; readonly cycles: readonly (readonly T[])[] } {
  const ranks = new Map<T, number>();
  const cycles: T[][] = [];
  /** On the path from where the search began to where it is, with the dependencies that were not looked at yet. */
  const path = new Map<T, { readonly dependencies: readonly T[]; next: number }>();
  const inStep = (object: T): readonly T[] =>
    (of.get(object) ?? []).filter(({ stage, wave }) => stage === object.stage && wave === object.wave);
  for (const start of objects.toSorted(byPlace)) {
    if (ranks.has(start)) continue;
    const stack: T[] = [start];
    path.set(start, { dependencies: inStep(start), next: 0 });
    for (let object = stack.at(-1); object !== undefined; object = stack.at(-1)) {
      const place = path.get(object) ?? { dependencies: [], next: 0 };
      const next = place.dependencies[place.next];
      place.next += 1;
      if (next === undefined) {
        ranks.set(object, highest(place.dependencies, ranks) + 1);
        path.delete(object);
        stack.pop();
      } else if (path.has(next)) {
        if (cycles.length < MOST_CYCLES) cycles.push(stack.slice(stack.indexOf(next)));
      } else if (!ranks.has(next)) {
        path.set(next, { dependencies: inStep(next), next: 0 });
        stack.push(next);
      }
    }
  }
  return { ranks, cycles };
}

function highest<T>(objects: readonly T[], ranks: ReadonlyMap<T, number>): number {
  return objects.reduce((most, one) => Math.max(most, ranks.get(one) ?? -1), -1);
}

function byPlace(a: Dependent, b: Dependent): number {
  const [one, other] = [a.manifest, b.manifest];
  return one.file < other.file ? -1 : one.file > other.file ? 1 : one.line - other.line;
}

/** Objects named in a message; a longer cycle is cut. */
const MOST_NAMED = 8;

function cycleProblem(cycle: readonly Dependent[]): Problem {
  const first = cycle.toSorted(byPlace)[0];
  const from = first === undefined ? 0 : cycle.indexOf(first);
  const round = [...cycle.slice(from), ...cycle.slice(0, from)];
  const named = round.map(({ label, manifest: { file, line } }) => `${label} (${file}:${line})`);
  const more = named.length > MOST_NAMED ? [`… ${named.length - MOST_NAMED} more`] : [];
  const chain = [...named.slice(0, MOST_NAMED), ...more, round[0]?.label ?? ''].join(' → ');
  return problemAt(round[0], 'DependencyCycle', `these depend on each other: ${chain}.`);
}

function problemAt(
  object: Dependent | undefined,
  code: Problem['code'],
  message: string,
  next?: string,
): Problem {
  const { manifest, label } = object ?? {};
  return problem(code, message, {
    file: manifest?.file,
    line: manifest?.dependsOn?.line ?? manifest?.line,
    object: label,
    ...(next !== undefined && { next }),
  });
}
