/**
 * The record of a rolling update: a ControllerRevision that holds what is rolled out in full. From it the next controller is
 * made, and the renamed one; what it says, any worker can finish. Finished records are the history of the controller.
 */

import { compareRevisions, nextRevisionNumber } from './revision.ts';
import { ANNOTATION, LABEL } from './names.ts';
import type { ControllerRevision, JsonObject, OwnerReference, PodTemplate } from './objects.ts';
import type { ReplicationControllerSpec } from './replication-controller.ts';
import { isReplicas } from './replication-controller.ts';
import type { UpdateBudget } from './rolling-update-scale.ts';
import { SHIPPED_BUDGET } from './rolling-update-scale.ts';
import type { Fields } from './values.ts';
import { asFields, trusted } from './values.ts';
import type { Wish } from './workload.ts';

/**
 * `Rolling`: one grows, the other shrinks. `Renaming`: the old controller goes, then the next one without its pods, then the
 * definition is created under its name; must be finished whatever happens. The others are ends.
 */
const RECORD_PHASES = ['Rolling', 'Renaming', 'Done', 'Aborted'] as const;
export type RecordPhase = (typeof RECORD_PHASES)[number];

/** Who turned an update round; of a commit, which: another manifest is to be rolled out instead. */
export interface Turned extends Wish {
  readonly verb?: 'rollback' | 'abort' | 'commit';
  readonly commit?: string;
  /** Commit that the controller came from which got its pods back. */
  readonly from?: string;
}

/** The part of a record that changes: its annotation. */
export interface RecordState extends UpdateBudget {
  readonly phase: RecordPhase;
  /** Replicas in the end; 0 where the record does not say. */
  readonly desired: number;
  /** Between growing and shrinking, milliseconds. */
  readonly updatePeriodMs: number;
  /** Between two looks at the cluster, milliseconds. */
  readonly pollIntervalMs: number;
  /** FAIRLEAD_CLUSTER of the workers that roll it: others on the same cluster leave it to them. Records of earlier versions do not say. */
  readonly cluster?: string;
  /** The controller is there under the old name: who deletes it from then on wants no other. Absent: that was not waited for. */
  readonly renamed?: true;
  /** Owners of what gets the old name, as they were when the controller that had it went. Records of earlier versions do not say. */
  readonly ownerReferences?: readonly OwnerReference[];
  /** What the controller that had the name has got or lost since the update began, when it went. Records of earlier versions do not say. */
  readonly changed?: ChangedMetadata;
  /** Who began it, as far as it was said. */
  readonly begun?: Wish;
  /** Of one that was given up. */
  readonly turned?: Turned;
}

/** Labels and annotations of a controller, without those that updates, wishes and git are told by. */
export interface PlainMetadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A merge patch of them: `null` takes one away. */
export type ChangedMetadata = {
  readonly [Field in keyof PlainMetadata]?: Readonly<Record<string, string | null>>;
};

/** A controller as it is to be created; `metadata` without anything that the apiserver fills in. */
export interface ControllerManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'ReplicationController';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    /** With whom it goes: of what is created, and in records of earlier versions. */
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly spec: ReplicationControllerSpec;
}

/** The part of a record that never changes: its data. */
export interface RecordData {
  /** Name of the controller that is replaced, */
  readonly from: string;
  /** of the one that takes its pods' place, */
  readonly next: string;
  /** and of what is there in the end: `from` again, or `next`. */
  readonly to: string;
  /** Key of the label that tells the two apart, and its value for the next. */
  readonly key: string;
  readonly hash: string;
  /** What is there in the end, in full. */
  readonly controller: ControllerManifest;
  /** Absent in a record that was made when it was gone. */
  readonly replaced?: ReplacedController;
  /**
   * `metadata.managedFields` of what gets the old name, as if the old controller had been changed into it: the controller is made anew,
   * and whoever applied it (git, kubectl) is still to own what it applied. Absent where the controller keeps another name, and in
   * records of earlier versions.
   */
  readonly owners?: readonly JsonObject[];
  /** With whom the next controller goes: the owners of the old one, where it gets its name. Absent where there are none, and in records of earlier versions. */
  readonly ownerReferences?: readonly OwnerReference[];
}

/** What is to be known of the controller that is replaced when it is gone. */
export interface ReplacedController {
  /** What its pods are found by, once they have the label. */
  readonly selector: Readonly<Record<string, string>>;
  /** By container: what to roll out again, for whoever wants it back. No record of before has those of the first controller. */
  readonly images?: Readonly<Record<string, string>>;
  /** Which object it was. Records of earlier versions do not say. */
  readonly uid?: string;
  /** What its pods were made of when the update began, for the way back. Records of earlier versions have none. */
  readonly template?: PodTemplate;
  /** What it was labelled and annotated with when the update began. Records of earlier versions have none. */
  readonly metadata?: PlainMetadata;
  /** How many replicas it had when the update began. Records of earlier versions do not say. */
  readonly size?: number;
}

export interface UpdateRecord extends RecordData {
  readonly revision: ControllerRevision;
  readonly state: RecordState;
}

/** Settings of an update of which nobody wrote any down. */
export const DEFAULT_STATE: Omit<RecordState, 'desired'> = {
  phase: 'Rolling',
  ...SHIPPED_BUDGET,
  updatePeriodMs: 0,
  pollIntervalMs: 1_000,
};

/** Names of ControllerRevisions are names of subdomains. */
const LONGEST_NAME = 240;
const HASH_IN_NAME = 10;

/** `<from>-<hash>`, as the seed forms the name of the next controller: it follows from what is rolled out. */
export function nameByHash(from: string, hash: string): string {
  return `${prefixOf(from)}-${hash.slice(0, HASH_IN_NAME)}`;
}

/** The hash in a name of that form; undefined in one that somebody has chosen. */
export function hashInName(next: string, from: string): string | undefined {
  const prefix = `${prefixOf(from)}-`;
  const rest = next.startsWith(prefix) ? next.slice(prefix.length) : '';
  return rest.length >= HASH_IN_NAME && /^[0-9a-f]+$/.test(rest) ? rest : undefined;
}

function prefixOf(name: string): string {
  return name.slice(0, LONGEST_NAME).replace(/[.-]+$/, '');
}

/** The records of a namespace that can be read, oldest first; what somebody spoilt by hand is left out. */
export function readRecords(revisions: readonly ControllerRevision[]): readonly UpdateRecord[] {
  return [...revisions].sort(compareRevisions).flatMap((revision) => {
    const record = readRecord(revision);
    return record === undefined ? [] : [record];
  });
}

function readRecord(revision: ControllerRevision): UpdateRecord | undefined {
  if (revision.metadata.labels?.[LABEL.rollingUpdate] === undefined) return undefined;
  const { from, next, to, key, hash, controller, replaced } = revision.data;
  const texts = [from, next, to, key, hash].every((field) => typeof field === 'string');
  if (!texts || asFields(asFields(controller)?.['spec']) === undefined) return undefined;
  if (replaced !== undefined && !isReplaced(asFields(replaced))) return undefined;
  const { owners: found, ownerReferences, ...rest } = trusted<RecordData>(revision.data);
  const owners = readOwners(found);
  const data: RecordData = {
    ...rest,
    ...(owners !== undefined && { owners }),
    ...(areReferences(ownerReferences) && { ownerReferences }),
  };
  return { ...data, revision, state: readState(revision, data.controller) };
}

/** Who owns which fields of a controller itself; its status is its own. Undefined where the apiserver does not tell. */
export function ownersOf(entries: readonly object[] | undefined): RecordData['owners'] {
  const own = entries?.filter((entry) => asFields(entry)?.['subresource'] === undefined) ?? [];
  return own.length === 0 ? undefined : readOwners(own);
}

/** Entries that the apiserver takes: of one that somebody has spoilt it would refuse all. */
function readOwners(found: unknown): readonly JsonObject[] | undefined {
  if (!Array.isArray(found)) return undefined;
  const isEntry = (entry: unknown) => {
    const { manager, operation, fieldsType, fieldsV1, subresource } = asFields(entry) ?? {};
    return (
      typeof manager === 'string' &&
      (operation === 'Apply' || operation === 'Update') &&
      fieldsType === 'FieldsV1' &&
      asFields(fieldsV1) !== undefined &&
      subresource === undefined
    );
  };
  return found.every(isEntry) ? trusted<readonly JsonObject[]>(found) : undefined;
}

/** Entries that the apiserver takes. */
function areReferences(found: unknown): boolean {
  if (!Array.isArray(found)) return false;
  return found.every((entry) => {
    const { apiVersion, kind, name, uid } = asFields(entry) ?? {};
    return [apiVersion, kind, name, uid].every((text) => typeof text === 'string' && text !== '');
  });
}

function isReplaced(fields: Fields | undefined): boolean {
  const template = fields?.['template'];
  const isTemplate = template === undefined || asFields(asFields(template)?.['spec']) !== undefined;
  const metadata = fields?.['metadata'];
  const isMetadata = metadata === undefined || areMetadata(metadata, isText);
  const size = fields?.['size'];
  const isSize = size === undefined || isReplicas(size);
  return asFields(fields?.['selector']) !== undefined && isTemplate && isMetadata && isSize;
}

/** Labels and annotations, or changes of them. */
function areMetadata(found: unknown, isValue: (value: unknown) => boolean): boolean {
  const fields = asFields(found);
  return (
    fields !== undefined &&
    [fields['labels'], fields['annotations']].every((values) => {
      const known = values === undefined ? {} : asFields(values);
      return known !== undefined && Object.values(known).every(isValue);
    })
  );
}

const isText = (value: unknown) => typeof value === 'string';

function readState({ metadata }: ControllerRevision, controller: ControllerManifest): RecordState {
  const replicas: unknown = controller.spec.replicas ?? 1;
  // Of what is no number the controllers tell the size: a 0 says nothing.
  const fallback = { ...DEFAULT_STATE, desired: isReplicas(replicas) ? replicas : 0 };
  const text = metadata.annotations?.[ANNOTATION.rollingUpdateState];
  if (text === undefined) return fallback;
  try {
    const found = asFields(JSON.parse(text)) ?? {};
    const known = Object.entries(found).filter(([name, value]) => isSetting(name, value));
    const turned = textsOf(found['turned']);
    const begun = textsOf(found['begun']);
    return trusted<RecordState>({
      ...fallback,
      ...Object.fromEntries(known),
      ...(begun && { begun }),
      ...(turned && { turned }),
    });
  } catch {
    return fallback;
  }
}

/** Annotation `fairlead.dev/turned-round`; undefined for what is none. */
export function readTurned(text: string | undefined): Turned | undefined {
  if (text === undefined) return undefined;
  try {
    return textsOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const LONGEST_TEXT = 500;

function textsOf(value: unknown): Turned | undefined {
  const texts = Object.entries(asFields(value) ?? {}).flatMap(([name, text]) =>
    typeof text === 'string' ? [[name, text.slice(0, LONGEST_TEXT)] as const] : [],
  );
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

/** Somebody may have edited it by hand: what is no setting counts as not written. */
function isSetting(name: string, value: unknown): boolean {
  switch (name) {
    case 'cluster':
      return typeof value === 'string';
    case 'phase':
      return RECORD_PHASES.some((phase) => phase === value);
    case 'renamed':
      return value === true;
    case 'ownerReferences':
      return areReferences(value);
    case 'changed':
      return areMetadata(value, (one) => one === null || isText(one));
    case 'desired':
      return isReplicas(value);
    case 'updatePeriodMs':
    case 'pollIntervalMs':
      return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
    case 'surge':
    case 'unavailable':
      return typeof value === 'number'
        ? Number.isSafeInteger(value) && value >= 0
        : typeof value === 'string' && /^\d{1,6}%$/.test(value);
    default:
      return false;
  }
}

/** Whether the update of this record is under way. */
export function isActiveRecord({ state }: UpdateRecord): boolean {
  return state.phase === 'Rolling' || state.phase === 'Renaming';
}

/**
 * The ControllerRevision to create. `records` are all of the namespace: the number is the highest of this controller's + 1, and
 * the name says it, so that of two who begin an update at once only one can.
 */
export function recordManifest(
  data: RecordData,
  state: RecordState,
  records: readonly UpdateRecord[],
): JsonObject {
  const own = records.filter(({ from, to }) => from === data.from || to === data.from);
  const number = nextRevisionNumber(own.map(({ revision }) => revision));
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${prefixOf(data.from)}-${String(number)}`,
      namespace: data.controller.metadata.namespace,
      labels: { [LABEL.rollingUpdate]: 'record' },
      annotations: { [ANNOTATION.rollingUpdateState]: JSON.stringify(state) },
    },
    revision: number,
    data: { ...data },
  };
}
