/**
 * What may mend a refusal and comes with the same commit: a dry run judges by a cluster in which nothing of the commit is written yet,
 * though the field is in the schema, or the quota is raised, by an object that is applied before. Pure but for {@link justApplied}.
 */

import type { ApiError } from '../kubernetes/api-error.ts';
import { isInvalid, isNotFound, isUnconverted } from '../kubernetes/api-error.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { CommitContext } from './commit.ts';
import type { PreparedObject } from './prepare.ts';

/** An object that a refusal is about; without a name any of that kind in the namespace. */
interface Mender {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

const RBAC = 'rbac.authorization.k8s.io';

/** By the words of apiextensions-apiserver and of the admission plug-ins LimitRanger, PodSecurity, Priority, RuntimeClass, ServiceAccount, ResourceQuota. */
const BY_WORDS: readonly (readonly [RegExp, (found: readonly string[], object: PreparedObject) => Mender])[] =
  [
    [
      /(?:exceeded|failed) quota: ([^\s,:]+)/,
      ([, name], { namespace }) => ({ group: '', kind: 'ResourceQuota', namespace, name }),
    ],
    [
      /failed quota: [^\s,:]+: must specify |forbidden: \[?(?:maximum|minimum) \S+ usage per /,
      (_, { namespace }) => ({ group: '', kind: 'LimitRange', namespace }),
    ],
    [
      /error looking up service account [^/\s]+\/([^:\s]+):/,
      ([, name], { namespace }) => ({ group: '', kind: 'ServiceAccount', namespace, name }),
    ],
    [
      /no PriorityClass with name (\S+) was found/,
      ([, name]) => ({ group: 'scheduling.k8s.io', kind: 'PriorityClass', name }),
    ],
    [
      /RuntimeClass "([^"]+)" not found/,
      ([, name]) => ({ group: 'node.k8s.io', kind: 'RuntimeClass', name }),
    ],
    [
      /storageclass that provisions the pvc must support resize/,
      () => ({ group: 'storage.k8s.io', kind: 'StorageClass' }),
    ],
    [
      /violates PodSecurity|because it is being terminated/,
      (_, { namespace }) => ({ group: '', kind: 'Namespace', name: namespace }),
    ],
  ];

/** What the words of a refusal are about, as far as another object may change that. */
function mendersOf(error: ApiError, object: PreparedObject): readonly Mender[] {
  const { message } = error;
  const found = BY_WORDS.flatMap(([words, menderOf]) => {
    const match = words.exec(message);
    return match === null ? [] : [menderOf(match, object)];
  });
  if (isNotFound(error) && object.manifest.group === RBAC) found.push(...roleOf(object));
  const isOfSchema =
    isInvalid(error) || / custom resource definition is terminating/.test(message) || isUnconverted(error);
  if (!isOfSchema) return found;
  const { resource, group } = object.path;
  return [
    ...found,
    { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition', name: `${resource}.${group}` },
  ];
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
    (mender.name === undefined || mender.name === manifest.name)
  );
}

/**
 * The first of the objects that this commit has changed in the cluster: the apiserver may not know of it yet, or its controller not have
 * done its part.
 * @throws ApiError when the apiserver cannot be asked
 */
export async function justApplied(
  { client, sha, signal }: Pick<CommitContext, 'client' | 'sha' | 'signal'>,
  objects: readonly PreparedObject[],
): Promise<PreparedObject | undefined> {
  for (const object of objects) {
    const live = await getOrUndefined(client, object.path, signal);
    if (live?.metadata.annotations?.[ANNOTATION.commit] === sha) return object;
  }
  return undefined;
}
