/** What is wrong with a commit or a repository, as data: a stable code, where, what, and what to do next. */

import { shownOnOneLine } from '../kubernetes/safe-text.ts';

/** Every code, with the next step a reader should take. Codes never change their meaning. */
const NEXT_STEPS = {
  // The source
  RepositoryNotFound:
    'Check `url`; for a private repository set `tokenFile`, or `sshKeyFile` with an ssh address.',
  AuthenticationFailed:
    'Put a token that may read the repository into the file named by `tokenFile`; some servers also ask whose it is (`username`).',
  HostKeyRefused:
    'Compare the host key with what the server publishes; if it is the right one, put it into the file named by `knownHostsFile`.',
  SourceUnreachable:
    'Nothing to do if it is a passing failure: it is tried again, after the interval at the latest.',
  SourceTimeout: 'The server was too slow; it is tried again, after the interval at the latest.',
  SourceTooLarge: 'Move the manifests to a smaller repository.',
  SourceRefused:
    'Use the https:// or ssh:// URL of the repository itself (redirects are not followed), without a password, or a path.',
  ForeignOwner: 'If you trust its owner, run the git command above as the user of the worker.',
  UnbornBranch: 'Make the first commit, or set `ref` to a branch that has one.',
  RefNotFound:
    'Set `ref` to a branch, a tag or a full commit sha that exists (`git ls-remote <url>` lists them).',
  RefAmbiguous:
    'Set `ref` to the full name of the one that is meant (`refs/heads/NAME` or `refs/tags/NAME`).',
  CommitGone: 'The history was rewritten; push a new commit, or wait for the next poll.',
  SourceCorrupt: 'Run `git fsck` in the repository.',
  // The signature
  CommitUnsigned:
    'Sign it (`git commit --amend --no-edit -S`), or sign the next one: the newest commit alone counts.',
  SignatureRefused:
    'Have the newest commit signed by one of those in `allowedSignersFile` or `gpgKeysFile`; after a change of these files: `fairlead sync`.',
  SignersUnusable: 'Correct the file, or what is installed; the commit is tried again.',
  // The tree
  PathVanished: 'Nothing was pruned. Restore the path, or set `path` to where the manifests are now.',
  NoManifests: 'Nothing was pruned. Add at least one manifest, or remove the repository from the worker.',
  SymlinkRefused: 'Replace the symbolic link by the file or directory itself, or remove it.',
  SubmoduleRefused: 'Copy the manifests into the repository; submodules are not read.',
  FileTooLarge: 'Split the file, or the object if it is one: 1 MiB is the limit of each.',
  TooManyFiles: 'Point `path` at the folder that holds only manifests.',
  CommitTooLarge: 'Split the path into several repositories entries; 10 MiB of manifests is the limit.',
  LfsPointer: 'Commit the file itself, not a Git LFS pointer.',
  NotText: 'Save the file as UTF-8 text.',
  // The text
  YamlSyntax:
    'Mend that line, or quote the text: where kubectl guesses what is meant, it is refused here. `fairlead plan` tries the next commit.',
  DuplicateKey: 'Remove one of the two.',
  NumberTooLarge: 'Quote it if it is a string; numbers beyond 2^53 lose digits on the way.',
  NumberNotFinite: 'Quote it if it is a string; Kubernetes has no infinite numbers.',
  TooComplex: 'Write the document out without so much nesting, aliases or merge keys.',
  TooManyProblems: 'Correct these; what else is wrong is found at the next commit.',
  // The object
  NotAnObject:
    'Each document must be a Kubernetes object; point `path` at the folder that holds only manifests.',
  ObjectIncomplete: 'Add the missing field.',
  GenerateName:
    'Give the object a `metadata.name`; a generated name would make a new object at every commit.',
  ForbiddenField: 'Remove the field; the cluster writes it.',
  ObjectTooLarge: 'Make it smaller or split it; etcd refuses objects of more than 1 MiB.',
  DuplicateObject: 'Keep one of the two.',
  BadWave: 'Correct the annotation, or remove it: without it the wave is "0".',
  BadDependency:
    'Write GROUP/namespaces/NAMESPACE/KIND/NAME, or GROUP/KIND/NAME of a kind without namespaces; the group of core is empty.',
  DependencyMissing: 'Correct the reference, add the object to the commit, or remove the annotation.',
  DependencyOrder: 'Remove the annotation, or give the two waves that agree with it.',
  DependencyCycle: 'Remove one of these dependencies.',
  NotRendered:
    'Commit the rendered manifests (`kubectl kustomize`, `helm template`); nothing is rendered here.',
  WorkloadTwice: 'Keep it under one of the two workload APIs.',
  NamespaceMismatch: 'Remove `metadata.namespace`: the kind is cluster scoped.',
  // The cluster
  UnknownKind: 'Check `apiVersion` and `kind`, or put its CustomResourceDefinition into the commit.',
  KindNotKept: 'Remove it from the commit; `kubectl create -f FILE` asks it once.',
  NamespaceNotFound: 'Create the namespace, or add it to the commit.',
  VersionInUse:
    'Leave the version in spec.versions of its CustomResourceDefinition until nothing is written under it any more.',
  Invalid: 'Correct the field.',
  UnknownField: 'Correct the name of the field.',
  Forbidden: 'Grant the permission (`kubectl create rolebinding …`), or remove the object from the commit.',
  Conflict: 'Remove the field from the manifest, or take it away from its other owner.',
  MigrationPaused:
    'Let it go on first (`fairlead rollout resume`), or leave it under its present API: the other controllers know no pause.',
  OwnedByOther:
    'Leave it to one of the two that want it. What the other then lacks it may delete: annotate the object with client.lifecycle.config.k8s.io/deletion=detach before.',
  Refused: 'See the message of the apiserver.',
  WebhookFailed: 'Mend what serves the webhook, or have its configuration changed.',
  ApiServiceUnavailable: 'Mend what serves the API, or have its APIService deleted.',
  Unavailable: 'Nothing to do: it is tried again.',
  NotEstablished:
    'See `kubectl describe`; what stands on it is applied by the next commit after it can be used.',
  InventoryForeign: 'Nothing was read from it or written to it.',
  InventoryOfOther: 'Give the repository a `name` of its own.',
  WaveHeld: 'Nothing to do once the earlier wave is well: the commit is tried again.',
  NotReady: 'See `kubectl describe`; a new commit ends the wait.',
  // The rollout
  RolloutFailed: 'See `fairlead explain`; a new commit or `fairlead rollout retry` starts it again.',
  RolledBack: 'Correct the manifest: the next change of it is rolled out.',
} as const;

export type ProblemCode = keyof typeof NEXT_STEPS;

/** One thing that is wrong. Holds no value from a Secret and no credentials. */
export interface Problem {
  readonly code: ProblemCode;
  /** One sentence: what is wrong, naming expected and actual. */
  readonly message: string;
  /** Path in the repository. */
  readonly file?: string;
  /** 1-based. */
  readonly line?: number;
  /** `Kind.group namespace/name`. */
  readonly object?: string;
  /** Overrides {@link NEXT_STEPS} when the situation allows a better one. */
  readonly next?: string;
  /** Told by the file alone, under a code that the cluster has answers of, too: nothing there mends it. @default false */
  readonly isInFile?: true;
}

const MAX_MESSAGE = 600;

/** A problem with its message cut to a length that histories and Events can hold, on one line, without control characters. */
export function problem(
  code: ProblemCode,
  message: string,
  where: {
    file?: string | undefined;
    line?: number | undefined;
    object?: string | undefined;
    next?: string;
    isInFile?: true;
  } = {},
): Problem {
  return {
    code,
    message: clip(shownOnOneLine(message), MAX_MESSAGE),
    ...(where.file === undefined ? {} : { file: shownOnOneLine(where.file) }),
    ...(where.line === undefined ? {} : { line: where.line }),
    ...(where.object === undefined ? {} : { object: shownOnOneLine(where.object) }),
    ...(where.next === undefined ? {} : { next: shownOnOneLine(where.next) }),
    ...(where.isInFile === undefined ? {} : { isInFile: where.isInFile }),
  };
}

/** Problems that the next look may not have; for whoever looks only once there is none. */
const PASSING: ReadonlySet<ProblemCode> = new Set(['SourceUnreachable', 'SourceTimeout']);

/** As {@link formatProblem}, for a command that looks once and ends. */
export function formatOnce(item: Problem): string {
  return formatProblem(
    PASSING.has(item.code) && item.next === undefined
      ? { ...item, next: 'Check the address and the network, then run the command again.' }
      : item,
  );
}

/** `Code file:line@commit: object: message Next step.` */
export function formatProblem(item: Problem, sha?: string): string {
  const line = item.line === undefined ? '' : `:${item.line}`;
  const at = sha === undefined ? '' : `@${shortSha(sha)}`;
  const place =
    item.file === undefined
      ? sha === undefined
        ? ''
        : ` commit ${shortSha(sha)}`
      : ` ${item.file}${line}${at}`;
  const object = item.object === undefined ? '' : ` ${item.object}:`;
  return `${item.code}${place}:${object} ${problemText(item)}`;
}

/** What is wrong and what to do, as sentences. */
export function problemText(item: Problem): string {
  const message = /[.!?…]$/.test(item.message) ? item.message : `${item.message}.`;
  return `${message} ${item.next ?? NEXT_STEPS[item.code]}`;
}

/** For programs: with what to do, as {@link problemText} says it, and without what only decides when it is tried again. */
export function withNext(found: Problem): Problem {
  const { isInFile: _, ...item } = found;
  return { ...item, next: item.next ?? NEXT_STEPS[item.code] };
}

/** The command that begins to grant a permission: a RoleBinding grants nothing on what has no namespace. */
export function bindingCommand(namespace: string | undefined): string {
  return namespace === undefined
    ? '`kubectl create clusterrolebinding … --clusterrole=…`'
    : '`kubectl create rolebinding …`';
}

/** What the cluster answered: it may answer otherwise tomorrow. Everything else is as it is in the commit. */
const OF_THE_CLUSTER: ReadonlySet<ProblemCode> = new Set([
  'SignersUnusable',
  'InventoryForeign',
  'InventoryOfOther',
  'UnknownKind',
  'KindNotKept',
  'NamespaceNotFound',
  'VersionInUse',
  'Invalid',
  'UnknownField',
  'Forbidden',
  'Conflict',
  'MigrationPaused',
  'OwnedByOther',
  'Refused',
  'WebhookFailed',
  'ApiServiceUnavailable',
  'Unavailable',
  'WaveHeld',
  'NotReady',
]);

/** A list that fits into a payload: the first `limit` problems and how many there are in all. */
export interface ProblemList {
  readonly total: number;
  readonly first: readonly Problem[];
  /** The same ones as {@link formatProblem} writes them. Absent in lists that were recorded before there were lines. */
  readonly lines?: readonly string[];
}

const MOST_PROBLEMS = 20;

/** For next steps after which nobody has to ask for the commit once more. */
export const TRIED_BY_ITSELF = 'the commit is tried again by itself';
const NOT_BY_ITSELF = 'what else is wrong with the commit needs another one';

/** Bounds a list of a commit's problems (histories and ConfigMaps are no place for ten thousand lines). */
export function bounded(problems: readonly Problem[], sha: string): ProblemList {
  const shown = causesFirst(problems);
  const isPromise = mayPassLater({ first: shown });
  const first = isPromise ? shown : shown.map(withoutPromise);
  return { total: problems.length, first, lines: first.map((item) => formatProblem(item, sha)) };
}

/**
 * What follows from other problems comes after them, for many places have room for the first one alone; and it must not be cut off by the
 * many that it follows from.
 */
function causesFirst(problems: readonly Problem[]): readonly Problem[] {
  const held = problems.filter(({ code }) => code === 'WaveHeld');
  const causes = problems.filter(({ code }) => code !== 'WaveHeld');
  return [...causes.slice(0, MOST_PROBLEMS - held.length), ...held];
}

/** Beside a problem that is in the commit itself nothing comes by itself. */
function withoutPromise(item: Problem): Problem {
  const next = item.next?.replace(TRIED_BY_ITSELF, NOT_BY_ITSELF);
  return next === undefined ? item : { ...item, next };
}

/**
 * Whether the same commit may go through at another time: somebody grants the permission, creates the namespace, deletes what
 * stands in the way. False if one of the problems is in the commit itself, and for rollouts, which have their own `retry`; but
 * what such a rollout holds up has nothing else that would bring it.
 */
export function mayPassLater({ first }: Pick<ProblemList, 'first'>): boolean {
  const isHeld = first.some(({ code }) => code === 'WaveHeld');
  return (
    first.length > 0 &&
    first.every(
      ({ code, isInFile }) =>
        isInFile !== true && (OF_THE_CLUSTER.has(code) || (isHeld && code === 'RolloutFailed')),
    )
  );
}

/** Labels of the objects whose rollouts failed, as far as the list names them: operators may have them go on, or bring them back. */
export function failedRollouts({ first }: ProblemList): readonly string[] {
  return first.flatMap(({ code, object }) =>
    object !== undefined && (code === 'RolloutFailed' || code === 'RolledBack') ? [object] : [],
  );
}

/** An error that is one problem: what git and the repositories file throw. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(item: Problem, options?: { cause?: unknown }) {
    super(formatProblem(item), options);
    this.name = 'ProblemError';
    this.problem = item;
  }
}

export function shortSha(sha: string): string {
  return sha.slice(0, 8);
}

const LONGEST_NAME = 80;

/** A name of no use as it was written: in quotes, for it may be empty or end in a space, and not longer than anybody reads. */
export function quotedName(text: string): string {
  return JSON.stringify(clip(text, LONGEST_NAME));
}

/** At most so many characters, of which the last says that there are more. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
