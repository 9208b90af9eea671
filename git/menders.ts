/**
 * What may mend a refusal and comes with the same commit: a dry run judges by a cluster in which nothing of the commit is written yet,
 * though the field is in the schema, or the quota is raised, by an object that is applied before. Pure but for {@link notMendedYet}.
 */

import { readAdmission } from '../kubernetes/admission-refusal.ts';
import type { ApiError } from '../kubernetes/api-error.ts';
import {
  NAMESPACE_ENDS,
  isInvalid,
  isNotFound,
  isUnconverted,
  lostVersion,
} from '../kubernetes/api-error.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { CommitContext } from './commit.ts';
import { versionsOf } from './lost-versions.ts';
import type { PreparedObject } from './prepare.ts';
import { NotYetError } from './refusals.ts';

/** An object that a refusal is about; without a name any of that kind in the namespace. */
interface Mender {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Of a CustomResourceDefinition: the version that is missing. */
  readonly version?: string | undefined;
}

const RBAC = 'rbac.authorization.k8s.io';

/** What a refusal is about, as far as another object may change that. */
function mendersOf(error: ApiError, object: PreparedObject): readonly Mender[] {
  const { message } = error;
  const { namespace, path, manifest } = object;
  const found: Mender[] = [];
  const refusal = readAdmission(message);
  if (refusal?.by === 'ResourceQuota')
    found.push({ group: '', kind: 'ResourceQuota', namespace, name: refusal.name });
  if (refusal?.by === 'LimitRange' || (refusal?.by === 'ResourceQuota' && refusal.isUnsaid))
    found.push({ group: '', kind: 'LimitRange', namespace });
  if (refusal?.by === 'MissingObject') {
    const { group, kind, name, isNamespaced } = refusal.missing;
    found.push({ group, kind, name, ...(isNamespaced && { namespace }) });
  }
  if (refusal?.by === 'PodSecurity' || NAMESPACE_ENDS.test(message))
    found.push({ group: '', kind: 'Namespace', name: namespace });
  if (/ storageclass that provisions the pvc must support resize/.test(message))
    found.push({ group: 'storage.k8s.io', kind: 'StorageClass' });
  if (isNotFound(error) && manifest.group === RBAC) found.push(...roleOf(object));
  const lost = lostVersion(error);
  const isOfSchema =
    isInvalid(error) ||
    / custom resource definition is terminating/.test(message) ||
    isUnconverted(error) ||
    lost !== undefined;
  if (isOfSchema)
    found.push({
      group: 'apiextensions.k8s.io',
      kind: 'CustomResourceDefinition',
      name: `${path.resource}.${path.group}`,
      version: lost?.slice(lost.indexOf('/') + 1),
    });
  return found;
}

/** Who binds a role has to hold what it grants, and that is asked of the role: the answer names the binding. */
function roleOf({ manifest: { body }, namespace }: PreparedObject): readonly Mender[] {
  const { kind, name } = asRecord(body['roleRef']);
  if (typeof name !== 'string') return [];
  if (kind === 'ClusterRole') return [{ group: RBAC, kind, name }];
  return kind === 'Role' ? [{ group: RBAC, kind, namespace, name }] : [];
}

/** Those of the objects of the commit, in the order in which they are applied, that come before the refused one and may mend its refusal. */
export function findMenders(
  error: ApiError,
  object: PreparedObject,
  objects: readonly PreparedObject[],
): readonly PreparedObject[] {
  const wanted = mendersOf(error, object);
  if (wanted.length === 0) return [];
  const before = objects.slice(0, Math.max(objects.indexOf(object), 0));
  return before.filter((other) => wanted.some((mender) => isMender(other, mender)));
}

function isMender({ manifest, namespace }: PreparedObject, mender: Mender): boolean {
  return (
    manifest.group === mender.group &&
    manifest.kind === mender.kind &&
    (mender.namespace === undefined || mender.namespace === namespace) &&
    (mender.name === undefined || mender.name === manifest.name) &&
    (mender.version === undefined || versionsOf(manifest.body).all.includes(mender.version))
  );
}

/**
 * For refusals that may be over in a moment: the first of the objects that this commit has changed in the cluster. The apiserver may not
 * know of it yet, or its controller not have done its part.
 * @returns what to throw, without the words of the refusal: they may quote what is in the object
 * @throws ApiError when the apiserver cannot be asked
 */
export async function notMendedYet(
  { client, sha, signal }: Pick<CommitContext, 'client' | 'sha' | 'signal'>,
  { label }: PreparedObject,
  menders: readonly PreparedObject[],
): Promise<NotYetError | undefined> {
  for (const mender of menders) {
    const live = await getOrUndefined(client, mender.path, signal);
    if (live?.metadata.annotations?.[ANNOTATION.commit] === sha)
      return new NotYetError(
        `${label}: it is refused, and ${mender.label}, which this commit has changed, may mend that in a moment`,
      );
  }
  return undefined;
}
