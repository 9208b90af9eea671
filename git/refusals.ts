/** What the apiserver refused, as a problem of an object at its line in the repository. */

import { isDeepStrictEqual } from 'node:util';

import type { AdmissionRefusal } from '../kubernetes/admission-refusal.ts';
import { POLICY, adviseAdmission, isOwnPolicy, readAdmission } from '../kubernetes/admission-refusal.ts';
import {
  ApiError,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  isTooLarge,
  isTransient,
  isUnreached,
  lostVersion,
  serverText,
} from '../kubernetes/api-error.ts';
import type { FieldKeeper } from '../kubernetes/managed-fields.ts';
import { BEFORE_FIRST_APPLY, appliedEntry, hasOwners, lettingGo } from '../kubernetes/managed-fields.ts';
import { resourceId } from '../kubernetes/resource-path.ts';
import { byCause } from '../kubernetes/response-errors.ts';
import { fullStop } from '../kubernetes/sentence.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION, FIELD_MANAGER } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { ownField } from '../planners/values.ts';
import type { FieldConflict } from './decision.ts';
import { describeConflicts, isTakenBySync, readConflicts } from './decision.ts';
import { findFieldLine } from './field-line.ts';
import { annotationInstead } from './gated-fields.ts';
import { isCareful } from './inventory-content.ts';
import type { Manifest } from './manifests.ts';
import { isMapping } from './value-kind.ts';
import { patchCommand } from './patch-command.ts';
import type { PreparedObject } from './prepare.ts';
import { problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { TRIED_BY_ITSELF, bindingCommand } from './problems.ts';
import type { SourceText } from './source-text.ts';
import { unreachedProblem } from './unreached.ts';
import { whyUnfound } from './yaml-scalars.ts';

const OWN_FIELDS = [
  'partition',
  'maxUnavailable',
  'podUpdatePolicy',
  'gracePeriodSeconds',
  'progressDeadlineSeconds',
  'onDeadline',
  'paused',
  'nodeSelector',
  'topologyKey',
  'notReadyNodes',
  'podReplacementPolicy',
] as const;

/** The object cannot be written now, but later; the whole step is tried again. */
export class NotYetError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NotYetError';
  }
}

/** The object is on its way out: what holds it may hold it for ever. */
export class BeingDeletedError extends NotYetError {}

/**
 * What to throw for an error that is no problem of the object: a 403 of a starting apiserver must not look final, and a write that came
 * in between is nothing to worry about.
 */
export function retryable(error: unknown, { label }: Pick<PreparedObject, 'label'>): unknown {
  if (isConflict(error))
    return new NotYetError(`${label}: another write came at the same moment, it is tried again`);
  return isForbidden(error) ? new NotYetError(error.message) : error;
}

/** The object's conflicts with other field managers; undefined for any other error. */
export function fieldConflicts(error: unknown): ReturnType<typeof readConflicts> | undefined {
  if (!(error instanceof ApiError) || error.status !== 409) return undefined;
  const causes = (error.details?.causes ?? []).filter((cause) => cause.reason === 'FieldManagerConflict');
  return causes.length === 0 ? undefined : readConflicts(causes);
}

/** What a problem is told by beside the refusal. */
export interface RefusalSetting {
  /** The file, to find the line of a field in it. */
  readonly source?: SourceText | undefined;
  /** The repository's `heal`. @default false */
  readonly heals?: boolean | undefined;
  /** What is there: commands that the advice names are made out of it. Absent: it is not known, and what they are for is told in words. */
  readonly live?: KubernetesObject | undefined;
  /** The same with the owners that it had before they were cleared, where these are known. */
  readonly owned?: KubernetesObject | undefined;
}

/**
 * A refusal that a retry cannot mend, as problems: one for each field that is wrong. Undefined as of {@link toProblem}.
 */
export function toProblems(
  error: unknown,
  object: PreparedObject,
  setting?: RefusalSetting,
): readonly Problem[] | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const found = byCause(error).flatMap((one) => toProblem(one, object, setting) ?? []);
  return found.length === 0 ? undefined : found;
}

/**
 * A refusal that a retry cannot mend, as one problem; undefined when the same request may succeed later (the apiserver is
 * away, throttles, or the object changed in between).
 */
export function toProblem(
  error: unknown,
  object: PreparedObject,
  setting: RefusalSetting = {},
): Problem | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { source, live } = setting;
  const { status } = error;
  const message = hideValues(serverText(error), object);
  if (isUnreached(error)) {
    const { unreached } = error;
    const text = unreached.kind === 'aggregation' ? `what serves it cannot be reached: ${message}` : message;
    const { file, line } = object.manifest;
    return unreachedProblem(unreached, fullStop(text), { file, line, object: object.label });
  }
  const lost = lostVersion(error);
  if (lost !== undefined) return lostVersionProblem(object, lost);
  if (isTooLarge(error)) {
    return problemOf(object, 'ObjectTooLarge', 'etcd refuses an object of this size.');
  }
  if (isInvalid(error)) {
    const isUnknown = /unknown field|field not declared in schema/.test(message);
    const field = firstField(error, message);
    const line =
      field === undefined || source === undefined
        ? undefined
        : findFieldLine(source, object.manifest.line, field);
    const text = fullStop(shorten(message));
    return {
      ...problemOf(object, isUnknown ? 'UnknownField' : 'Invalid', text, line),
      ...policyFor(message),
      ...hintFor(text, field),
      ...renewalOf(object, text, live),
      ...annotationFor(object, text),
    };
  }
  // Admission of an apiserver that is just starting.
  if (/not yet ready to handle request/.test(message)) return undefined;
  if (isForbidden(error))
    return {
      ...problemOf(object, 'Forbidden', fullStop(message)),
      ...clusterGrantFor(object),
      ...admissionFor(object, message),
      ...leavingFor(object, error),
    };
  if (isNotFound(error)) {
    const namespace = /namespaces? "[^"]+" not found/.test(message);
    return problemOf(object, namespace ? 'NamespaceNotFound' : 'UnknownKind', fullStop(message));
  }
  const conflicts = fieldConflicts(error);
  if (conflicts !== undefined)
    return {
      ...problemOf(object, 'Conflict', describeConflicts(conflicts), conflictLine(object, conflicts, source)),
      ...handOver(object, conflicts, setting),
    };
  if (isTransient(error) || status === 409 || status === 401) return undefined;
  return problemOf(object, 'Refused', fullStop(message));
}

/** Who owns its fields the apiserver tells by converting the object to each version that is named there. */
function lostVersionProblem(object: PreparedObject, apiVersion: string): Problem {
  const definition = `CustomResourceDefinition ${resourceId(object.path)}`;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const why = `the ${definition} has no version ${version} any more, but metadata.managedFields of the object still names it, and the apiserver applies nothing to it.`;
  const next = `Put ${version} back into spec.versions of the ${definition} (the commit that does may have the object under another version), and take it out by a later commit, when the object is applied.`;
  return { ...problemOf(object, 'VersionInUse', why), next };
}

/** Of what has no namespace. */
function clusterGrantFor({ namespace }: PreparedObject): Pick<Problem, 'next'> {
  if (namespace !== undefined) return {};
  return {
    next: `Grant the permission (${bindingCommand(namespace)}), or remove the object from the commit.`,
  };
}

/** What admission refuses no grant permits: its answers have the status of a missing permission. */
function admissionFor({ namespace = '' }: PreparedObject, message: string): Pick<Problem, 'next'> {
  const refusal = readAdmission(message);
  if (refusal === undefined) return {};
  if (refusal.by === 'MissingObject') {
    const { kind, name } = refusal.missing;
    return { next: `Commit the ${kind} ${name} too, or name one that is there.` };
  }
  const again = refusal.by === 'ResourceQuota' && !refusal.isUnsaid ? `; ${TRIED_BY_ITSELF}` : '';
  return { next: `${adviceOf(refusal, namespace)}${again}.` };
}

/** As a sentence of a problem, without its full stop. */
function adviceOf(refusal: AdmissionRefusal, namespace: string): string {
  const { what, command } = adviseAdmission(refusal, namespace);
  const shows = command === undefined ? '' : ` (\`${command}\`)`;
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}${shows}`;
}

/** No permission helps in a namespace that is on its way out. */
function leavingFor({ namespace = '' }: PreparedObject, { details }: ApiError): Pick<Problem, 'next'> {
  if (details?.causes.some(({ reason }) => reason === 'NamespaceTerminating') !== true) return {};
  return {
    next: `Wait until the namespace is gone, then make it again (\`kubectl describe namespace ${namespace}\` says what holds it); ${TRIED_BY_ITSELF}.`,
  };
}

/** Where the manifest names the first field that somebody else owns. */
function conflictLine(
  { manifest }: PreparedObject,
  conflicts: readonly FieldConflict[],
  source: SourceText | undefined,
): number | undefined {
  const field = conflicts.find((one) => !isTakenBySync(one))?.field;
  if (field === undefined || source === undefined) return undefined;
  const [, key] = /^\.data\.(.+)$/.exec(field) ?? [];
  if (key === undefined || /^\d+$/.test(key)) return findFieldLine(source, manifest.line, field);
  // Keys may hold dots; and `data` of a Secret may be written as `stringData`.
  const places = ['stringData', 'data'].map((name) => ({
    name: findFieldLine(source, manifest.line, name),
    key: findFieldLine(source, manifest.line, `${name}[${key}]`),
  }));
  return (places.find((one) => one.key !== one.name) ?? places.find((one) => one.key !== undefined))?.key;
}

/**
 * The command that ends a conflict for good: it takes away who else owns fields of this one object, and no value, so that the fields are
 * git's with the next try. (To apply the file by hand as sync's field manager would write all of its objects, bring pinned ones to what was
 * rejected, and take away what sync alone writes on them.)
 */
function handOver(
  { manifest, path, namespace }: PreparedObject,
  conflicts: readonly FieldConflict[],
  { heals = false, live, owned }: RefusalSetting,
): Pick<Problem, 'next'> {
  const others = new Set(conflicts.filter((one) => !isTakenBySync(one)).map(({ manager }) => manager));
  const entry = owned && appliedEntry(owned, FIELD_MANAGER);
  const operations = live && lettingGo(live, others, { ...keeperOf(manifest), entry });
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const entries = `the entries of "${[...others].join('", "')}" in metadata.managedFields`;
  // `kubectl edit` does not show them.
  const how =
    operations === undefined
      ? `kubectl get ${resourceId(path)} ${shellWord(manifest.name)}${where} -o yaml --show-managed-fields >object.yaml, take out ${entries} there, and leave one at least: kubectl replace -f object.yaml`
      : patchCommand(path, operations);
  const healing = heals
    ? '`heal: true` takes back only what git is known to have applied before.'
    : "With `heal: true` in the repository's entry git takes back what it had applied before.";
  const isCleared = live !== undefined && !hasOwners(live) && others.has(BEFORE_FIRST_APPLY);
  const why = isCleared
    ? 'The object has no metadata.managedFields: the apiserver calls whoever wrote it by that name. '
    : '';
  return {
    next: `${why}Remove the field from the manifest; or let git have it, which changes no value: ${how} (then ${TRIED_BY_ITSELF}); or commit the value that the cluster has. ${healing}`,
  };
}

/** Sync, as who keeps an object of which others let go. */
export function keeperOf({ apiVersion }: Pick<Manifest, 'apiVersion'>): FieldKeeper {
  const seed = ['f:metadata', 'f:annotations', `f:${ANNOTATION.repository}`];
  return { manager: FIELD_MANAGER, apiVersion, seed };
}

/** What to do about a value of the wrong type, where that is plain. */
function hintFor(text: string, field: string | undefined): Pick<Problem, 'next'> {
  const [, key = ''] = /(?:^|[.[])(true|false)(?=$|[.\]])/.exec(field ?? '') ?? [];
  const why = whyUnfound(key);
  if (why !== undefined) return { next: `Quote the key: ${why}.` };
  // A selector of nodes is labels; with matchLabels it would be one of pods.
  if (/nodeSelector\.match(?:Labels|Expressions): expected string, got/i.test(text))
    return { next: 'Write the labels of the nodes themselves: nodeSelector: {disk: ssd}.' };
  // `yes`, `on` and numbers where text is wanted are the commonest mistake of all.
  return /expected string, got a (?:boolean|number)/.test(text) ? { next: 'Quote the value.' } : {};
}

/** Somebody else's policy: there may be no field that is wrong. */
export function policyFor(message: string): Pick<Problem, 'next'> {
  const refusal = readAdmission(message);
  if (refusal?.by !== 'ValidatingAdmissionPolicy') return {};
  return { next: `${adviceOf(refusal, '')}.` };
}

const LASTING = /field is immutable|is immutable after creation|updates to \w+ spec for fields other than/;
/** The same in the words of single kinds, and of the apiserver's newer checks: believed where something is there that can keep a field. */
const LASTING_OF_LIVE = new RegExp(
  [
    'may not be changed in an update',
    'may not change once set',
    'cannot change roleRef',
    'updates to \\w+ are forbidden',
    'pod updates may not (?:change|add or remove)',
    'existing toleration can not be modified',
    'only deletion is allowed, but found new scheduling gate',
    'field cannot be (?:set once created|cleared once set|modified once set)',
  ].join('|'),
);
/** Their pods are adopted by the one that is made anew, as long as its selector is the same. */
const KEEPING_PODS: ReadonlySet<string> = new Set(['StatefulSet', 'DaemonSet', 'Deployment', 'ReplicaSet']);

/** What a living object keeps for good, another one may have; not at the price of data. */
function renewalOf(
  { manifest, path, namespace }: PreparedObject,
  text: string,
  live: KubernetesObject | undefined,
): Pick<Problem, 'next'> {
  if (!LASTING.test(text) && (live === undefined || !LASTING_OF_LIVE.test(text))) return {};
  const { group, kind, name } = manifest;
  const back = 'Go back to what it was, or give the object another name';
  if (isCareful(group, kind)) return { next: `${back}.` };
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const command = `kubectl delete ${resourceId(path)} ${shellWord(name)}${where}`;
  if (!KEEPING_PODS.has(kind))
    return { next: `${back}; or delete it, and \`fairlead sync\` makes it anew: ${command}.` };
  const [wanted, present] = [manifest.body, live].map((one) => asRecord(asRecord(one)['spec']));
  const isOtherSelector =
    /spec\.selector\b/.test(text) ||
    (live !== undefined && !isDeepStrictEqual(wanted?.['selector'], present?.['selector']));
  if (!isOtherSelector)
    return {
      next: `${back}; or delete it, and \`fairlead sync\` makes it anew: ${command} --cascade=orphan${kind === 'StatefulSet' ? ' (its pods keep the volumes that they have until they are made anew, too)' : ''}.`,
    };
  // Its claims may go with its pods.
  const policy = asRecord(present?.['persistentVolumeClaimRetentionPolicy']);
  if (kind === 'StatefulSet' && (live === undefined || policy['whenDeleted'] === 'Delete'))
    return { next: `${back}.` };
  return {
    next: `${back}; or delete it with its pods, which another selector would never adopt, and \`fairlead sync\` makes all of them anew: ${command}.`,
  };
}

/** Our fields as they are written in apps/v1, by the last part of their path. */
const ANNOTATION_OF: Readonly<Record<string, string>> = {
  ...Object.fromEntries(OWN_FIELDS.map((field) => [field, ANNOTATION[field]])),
  drain: ANNOTATION.drainTimeoutSeconds,
  prePull: ANNOTATION.prePullNodes,
  inPlaceUpdateStrategy: ANNOTATION.gracePeriodSeconds,
};

/** Somebody who changes `apiVersion` alone takes our fields along. */
function annotationFor({ manifest }: PreparedObject, text: string): Pick<Problem, 'next'> {
  const [, quoted, plain] =
    /unknown field "(?:[^"]*[.])?(\w+)"|[.](\w+): field not declared in schema/.exec(text) ?? [];
  const field = quoted ?? plain ?? '';
  const annotation = manifest.group === 'apps' ? ownField(ANNOTATION_OF, field) : undefined;
  return annotation === undefined ? {} : { next: `${annotationInstead(annotation)} (README).` };
}

/** Takes away what every reader knows: the kind and name are in the problem already. */
function shorten(message: string): string {
  return (
    message
      .replace(/^[\w.]+ "[^"]*" is invalid: /, '')
      .replace(/^failed to create typed patch object \([^)]*\): /, '')
      .replace(/^.*?strict decoding error: /, '')
      .replace(/^[\w.]+ "[^"]*" is forbidden: (?=ValidatingAdmissionPolicy)/, '')
      .replace(POLICY, (whole, policy: string) => (isOwnPolicy(policy) ? '' : whole))
      // Said whenever the schema already refused something.
      .replace(
        /,? ?<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation/g,
        '',
      )
      .replace(/^\[(.*)\]$/, '$1')
      .replace(/^([^\n]+): field not declared in schema$/, 'unknown field "$1"')
  );
}

/** Characters of a message in which the field is named; a commit may make one much longer. */
const FIELD_WITHIN = 2_000;

/** `spec.template.spec.containers[0].image`, from the causes or out of the message. */
function firstField(error: ApiError, message: string): string | undefined {
  const cause = error.details?.causes.find((item) => item.field !== undefined && item.field !== '')?.field;
  const short = shorten(message).slice(0, FIELD_WITHIN);
  return (
    cause ??
    /unknown field "(.+?)"(?:$|[,\s]|\]$)/.exec(short)?.[1] ??
    /(?:^|[\s:])(\.?[a-z]\w*(?:\.[\w-]+|\[[^\]]*\])+): /i.exec(short)?.[1]
  );
}

/**
 * Values of environment variables, which whoever refused it may have put into words of their own (an admission webhook). What the
 * apiserver quotes is gone already: see ApiError.
 */
function hideValues(message: string, object: PreparedObject): string {
  // The longest first: what is left of one would show the rest of another.
  return environmentValues(object.manifest.body)
    .toSorted((one, other) => other.length - one.length)
    .reduce((left, value) => left.replaceAll(value, '***'), message);
}

function environmentValues(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => environmentValues(item));
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key !== 'env' || !Array.isArray(inner)) return environmentValues(inner);
    return inner.flatMap((item: unknown) =>
      isMapping(item) ? [...worthHiding(item['value']), ...worthHiding(assigned(item['name']))] : [],
    );
  });
}

/** Who writes `name: PASSWORD=hunter2` means both. */
function assigned(name: unknown): unknown {
  return typeof name === 'string' && name.includes('=') ? name.slice(name.indexOf('=') + 1) : undefined;
}

/** Shorter ones would take other words apart; a number that nobody has quoted is one all the same. */
function worthHiding(value: unknown): string[] {
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  const text = String(value);
  return text.length >= 4 ? [text] : [];
}
