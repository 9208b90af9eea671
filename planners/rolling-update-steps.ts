/** What a rolling update answers: one write with its preconditions, or why there is none. */

import { ANNOTATION } from './names.ts';
import type { JsonObject, KubernetesObject } from './objects.ts';
import type { ReplicationController } from './replication-controller.ts';
import type { RecordData, RecordState, UpdateRecord } from './rolling-update-record.ts';
import { recordManifest } from './rolling-update-record.ts';
import { asFields, asText } from './values.ts';
import type { Wish } from './workload.ts';

/** One API write. Patches are merge patches that carry uid and resourceVersion; so do deletes. */
export interface UpdateWrite {
  readonly verb: 'create' | 'patch' | 'delete';
  readonly resource: 'replicationcontrollers' | 'controllerrevisions' | 'pods';
  readonly name: string;
  /** The object to create, or the patch. */
  readonly body?: JsonObject;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Of deletes: children stay (`Orphan`). */
  readonly orphan?: boolean;
  readonly purpose: UpdatePurpose;
  /** One sentence for events and logs. */
  readonly message: string;
}

/** Why a write happens. */
export type UpdatePurpose =
  | 'CreateNext'
  | 'Annotate'
  | 'LabelTemplate'
  | 'LabelPod'
  | 'LabelSelector'
  | 'DeleteStray'
  | 'PutBack'
  | 'DeleteEdited'
  | 'ScaleUp'
  | 'ScaleDown'
  | 'AskAgain'
  | 'Record'
  | 'Phase'
  | 'Supersede'
  | 'Renamed'
  | 'DeleteOld'
  | 'HoldNext'
  | 'DeleteNext'
  | 'ReleaseNext'
  | 'Create'
  | 'FieldOwners'
  | 'Strip'
  | 'Own'
  | 'TrimHistory';

/** What is waited for, or stands in the way. */
export interface UpdateReason {
  readonly code: string;
  readonly message: string;
  /** At most 10 names. */
  readonly pods?: readonly string[];
}

/** Where an update is. */
export type UpdatePhase = 'Initialising' | 'Rolling' | 'RollingBack' | 'CleaningUp' | 'Renaming' | 'Finished';

/** Sizes for people. */
export interface UpdateProgress {
  readonly phase: UpdatePhase;
  readonly desired: number;
  readonly old: ControllerProgress | undefined;
  readonly next: ControllerProgress | undefined;
  readonly surge: number;
  readonly unavailable: number;
}

export interface ControllerProgress {
  readonly name: string;
  readonly replicas: number;
  readonly available: number;
}

/** How an update ends. `Superseded`: another commit turned it round, and is rolled out next. */
export type UpdateEnding = 'Succeeded' | 'Aborted' | 'Superseded';

/** The one next step. */
export type UpdateStep =
  | { readonly do: 'write'; readonly write: UpdateWrite }
  /** `urgent`: pods have no controller, or are about to lose theirs: look again at once. `asking` may bring it about, and is due. */
  | {
      readonly do: 'await';
      readonly urgent: boolean;
      readonly waiting: readonly UpdateReason[];
      readonly asking?: UpdateWrite;
    }
  | { readonly do: 'paused'; readonly by?: string; readonly reason?: string }
  | { readonly do: 'done'; readonly outcome: UpdateEnding; readonly message: string }
  /** Nothing that this update could do makes it possible. */
  | { readonly do: 'refuse'; readonly code: UpdateRefusal; readonly message: string };

export type UpdateRefusal =
  | 'NotFound'
  | 'NothingToDo'
  | 'OtherUpdate'
  | 'SelectorSame'
  | 'NextLost'
  /** Somebody has edited the next controller's template, and the record is gone. */
  | 'TemplateUnknown';

/** The write that a step is, or asks with while it waits. */
export function writeOf(step: UpdateStep): UpdateWrite | undefined {
  if (step.do === 'await') return step.asking;
  return step.do === 'write' ? step.write : undefined;
}

/** Annotations of a controller changed; `null` takes one away. */
export function annotate(
  controller: ReplicationController,
  annotations: Readonly<Record<string, string | null>>,
  purpose: UpdatePurpose,
  message: string,
): UpdateStep {
  return patch('replicationcontrollers', controller, { metadata: { annotations } }, purpose, message);
}

/** A merge patch with both preconditions. */
export function patch(
  resource: UpdateWrite['resource'],
  object: KubernetesObject,
  change: { readonly metadata?: JsonObject; readonly [field: string]: unknown },
  purpose: UpdatePurpose,
  message: string,
): UpdateStep {
  const { name, uid, resourceVersion } = object.metadata;
  const body = { ...change, metadata: { ...change.metadata, uid, resourceVersion } };
  return write({ verb: 'patch', resource, name, uid, resourceVersion, body, purpose, message });
}

/** A delete with both preconditions. */
export function remove(
  resource: UpdateWrite['resource'],
  object: KubernetesObject,
  orphan: boolean,
  purpose: UpdatePurpose,
  message: string,
): UpdateStep {
  const { name, uid, resourceVersion } = object.metadata;
  return write({ verb: 'delete', resource, name, uid, resourceVersion, orphan, purpose, message });
}

/** The state of a record changed, and who owns it. */
export function setState(
  { revision, state }: UpdateRecord,
  change: Partial<RecordState>,
  message: string,
  purpose: 'Phase' | 'Supersede' | 'Renamed' = 'Phase',
): UpdateStep {
  const annotations = { [ANNOTATION.rollingUpdateState]: JSON.stringify({ ...state, ...change }) };
  return patch('controllerrevisions', revision, { metadata: { annotations } }, purpose, message);
}

/** A record to be created; `records` are all of the namespace, from which its number follows. */
export function createRecord(
  data: RecordData,
  state: RecordState,
  records: readonly UpdateRecord[],
  message: string,
): UpdateStep {
  const body = recordManifest(data, state, records);
  const name = asText(asFields(body['metadata'])?.['name']) ?? '';
  return write({ verb: 'create', resource: 'controllerrevisions', name, body, purpose: 'Record', message });
}

/**
 * The record with which the next controller was let go in a rename, where somebody has deleted it since: whoever let it go knows it still,
 * and nothing else does.
 */
export function recordAgain(record: UpdateRecord, records: readonly UpdateRecord[]): UpdateStep {
  const { revision: _, state, ...data } = record;
  const message = `the record of the rename of ${data.from} was deleted in the middle of it: written again`;
  return createRecord(data, state, records, message);
}

export function write(one: UpdateWrite): UpdateStep {
  return { do: 'write', write: one };
}

export function wait(
  code: string,
  message: string,
  pods: readonly string[] = [],
  urgent = false,
): UpdateStep {
  return {
    do: 'await',
    urgent,
    waiting: [{ code, message, ...(pods.length > 0 && { pods: pods.slice(0, 10) }) }],
  };
}

export function refuse(code: UpdateRefusal, message: string): UpdateStep {
  return { do: 'refuse', code, message };
}

/** Waits for `resume`, with who has paused it, and why. */
export function paused({ paused: wish }: { readonly paused?: Wish | undefined }): UpdateStep {
  return {
    do: 'paused',
    ...(wish?.by !== undefined && { by: wish.by }),
    ...(wish?.reason !== undefined && { reason: wish.reason }),
  };
}
