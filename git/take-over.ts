/** Creating the new object of a migrated workload with what the old one had beside git's, from its first moment. */

import { ANNOTATION } from '../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { isConflict } from '../kubernetes/api-error.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { bodyToApply } from './apply-controller.ts';
import type { CarriedFields } from './carried-fields.ts';
import {
  carriedFields,
  stillCarried,
  withCarried,
  withTheirOwners,
  withoutRefused,
} from './carried-fields.ts';
import { withoutNamed } from './carried-wishes.ts';
import type { CommitContext } from './commit.ts';
import { isMapping } from './value-kind.ts';
import type { PreparedObject } from './prepare.ts';
import { withSignal } from './resources.ts';

export type Wishes = Readonly<Record<string, string>>;

/** What goes over to the new object beside its manifest. */
export interface CarriedOver {
  /** Annotations of operators. */
  readonly wishes: Wishes;
  /** What others have set of its spec. */
  readonly fields?: CarriedFields | undefined;
}

export const NOTHING: CarriedOver = { wishes: {} };

export function isNothing({ wishes, fields }: CarriedOver): boolean {
  return fields === undefined && Object.keys(wishes).length === 0;
}

/**
 * What others have set of `old` and git does not name, as far as the apiserver takes it beside the manifest: by a dry run of the new
 * object, as the old one is about to go.
 * @throws ApiError, also where the manifest itself is refused
 */
export async function acceptedFields(
  context: CommitContext,
  object: PreparedObject,
  old: KubernetesObject,
): Promise<CarriedFields | undefined> {
  const body = bodyToApply(context, object, undefined);
  const options = { dryRun: true, force: true, fieldValidation: 'Strict' } as const;
  let fields = carriedFields(old, body);
  while (fields !== undefined) {
    try {
      const sent = withCarried(body, fields);
      await context.client.patch(object.path, 'apply', sent, { ...options, ...withSignal(context.signal) });
      return fields;
    } catch (error) {
      const rest = withoutRefused(error, fields);
      if (rest === undefined) throw error;
      fields = rest.left;
    }
  }
  return undefined;
}

/**
 * Creates the object with what is carried over: a controller must never see it without a pause that holds, or in another size. Then the
 * fields are given back to those who had set them, and the wishes' values are written once more, changed by a space, which takes them out of
 * the manifest's ownership; so the next apply leaves them all to others, but those that the manifest names: these are git's. The
 * manifest's hash comes with the last write: a crash before it repeats all of them.
 * @param live What an attempt before this one has made.
 * @returns the uid
 * @throws ApiError
 */
export async function createCarrying(
  context: CommitContext,
  object: PreparedObject,
  { wishes, fields }: CarriedOver,
  live: KubernetesObject | undefined,
): Promise<string> {
  const { client } = context;
  const body = bodyToApply(context, object, undefined);
  const options = { fieldValidation: 'Strict', force: true } as const;
  const annotations = withoutNamed(wishes, body);
  const left = stillCarried(fields, body, live);
  const sent = withAnnotations(withCarried(body, left), annotations);
  const first = await client.patch(object.path, 'apply', sent, options);
  const { uid } = first.metadata;
  if (left !== undefined) await giveBack(context, object, first, left);
  if (Object.keys(annotations).length > 0) {
    const touched = Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [name, `${value} `]),
    );
    await client.patch(object.path, 'merge', { metadata: { uid, annotations: touched } });
  }
  await client.patch(object.path, 'apply', body, { fieldValidation: 'Strict' });
  // Whoever is cancelled ends this all the same: what stays would be taken for that of a later move.
  await remember(context, object, NOTHING);
  return uid;
}

/**
 * Keeps in the inventory what is carried over, before the old object is deleted: a crash in between must not lose it. What was kept of
 * an attempt before goes.
 */
export async function remember(
  { store }: CommitContext,
  { label }: PreparedObject,
  { wishes, fields }: CarriedOver,
  signal?: AbortSignal,
): Promise<void> {
  await store.update((present) => {
    const { wishes: allWishes, fields: allFields, ...others } = present.status;
    const keptWishes = changed(allWishes, label, Object.keys(wishes).length === 0 ? undefined : wishes);
    const keptFields = changed(allFields, label, fields);
    return {
      ...present,
      status: {
        ...others,
        ...(keptWishes !== undefined && { wishes: keptWishes }),
        ...(keptFields !== undefined && { fields: keptFields }),
      },
    };
  }, signal);
}

function changed<T>(
  all: Readonly<Record<string, T>> | undefined,
  label: string,
  value: T | undefined,
): Readonly<Record<string, T>> | undefined {
  const { [label]: _before, ...others } = all ?? {};
  const kept = value === undefined ? others : { ...others, [label]: value };
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/** What {@link remember} has kept. */
export async function remembered(context: CommitContext, { label }: PreparedObject): Promise<CarriedOver> {
  const { wishes, fields } = (await context.store.read(context.signal))?.status ?? {};
  return { wishes: wishes?.[label] ?? {}, fields: fields?.[label] };
}

/** Tries: controllers write its status meanwhile. */
const TRIES = 5;

async function giveBack(
  { client, signal }: CommitContext,
  { path, manifest }: PreparedObject,
  created: KubernetesObject,
  fields: CarriedFields,
): Promise<void> {
  let present = created;
  for (let left = TRIES; ; left -= 1) {
    const { uid, resourceVersion } = present.metadata;
    const managedFields = withTheirOwners(present, manifest.body, fields);
    try {
      await client.patch(path, 'merge', { metadata: { uid, resourceVersion, managedFields } });
      return;
    } catch (error) {
      const live = isConflict(error) && left > 0 ? await getOrUndefined(client, path, signal) : undefined;
      if (live?.metadata.uid !== uid) throw error;
      present = live;
    }
  }
}

function withAnnotations(body: JsonObject, wishes: Wishes): JsonObject {
  const metadata = isMapping(body['metadata']) ? body['metadata'] : {};
  const { [ANNOTATION.manifestHash]: _last, ...annotations } = isMapping(metadata['annotations'])
    ? metadata['annotations']
    : {};
  return { ...body, metadata: { ...metadata, annotations: { ...annotations, ...wishes } } };
}
