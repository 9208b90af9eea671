/** Creating the new object of a migrated workload with the operators' wishes of the old one on it from its first moment. */

import { ANNOTATION } from '../planners/names.ts';
import type { JsonObject } from '../planners/objects.ts';
import { withoutNamed } from './carried-wishes.ts';
import type { CommitContext } from './commit.ts';
import { isObject } from './manifests.ts';
import type { PreparedObject } from './prepare.ts';
import { applyBody } from './prepare.ts';

export type Wishes = Readonly<Record<string, string>>;

/**
 * Creates the object with `wishes` among its annotations: a controller must never see it without a pause that holds. Then
 * their values are written once more, changed by a space, which takes them out of the manifest's ownership; so the next
 * apply leaves them to the operators, but those that the manifest names: these are git's. The manifest's hash comes with the last write: a crash before it repeats all three.
 * @returns the uid
 * @throws ApiError
 */
export async function createWithWishes(
  context: CommitContext,
  object: PreparedObject,
  wishes: Wishes,
): Promise<string> {
  const { client, repository, sha, store } = context;
  const body = applyBody(object, { repository: repository.name, sha, applySetId: store.applySetId });
  const options = { fieldValidation: 'Strict', force: true } as const;
  const carried = withoutNamed(wishes, body);
  const first = await client.patch(object.path, 'apply', withAnnotations(body, carried), options);
  const { uid } = first.metadata;
  const touched = Object.fromEntries(Object.entries(carried).map(([name, value]) => [name, `${value} `]));
  await client.patch(object.path, 'merge', { metadata: { uid, annotations: touched } });
  await client.patch(object.path, 'apply', body, { fieldValidation: 'Strict' });
  await store.update((present) => {
    const { [object.label]: _done, ...rest } = present.status.wishes ?? {};
    return { ...present, status: { ...present.status, wishes: rest } };
  });
  return uid;
}

function withAnnotations(body: JsonObject, wishes: Wishes): JsonObject {
  const metadata = isObject(body['metadata']) ? body['metadata'] : {};
  const { [ANNOTATION.manifestHash]: _last, ...annotations } = isObject(metadata['annotations'])
    ? metadata['annotations']
    : {};
  return { ...body, metadata: { ...metadata, annotations: { ...annotations, ...wishes } } };
}
