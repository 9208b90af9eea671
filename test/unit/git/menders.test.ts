/** What of a commit may mend a refusal of another of its objects, by the words of apiservers. */

import { describe, expect, it } from '@jest/globals';

import { findMenders } from '../../../git/menders.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { preparedObjects } from '../../support/commit-context.ts';

const KINDS = [
  ['v1', 'Namespace', 'team', 'namespaces'],
  ['apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'gadgets.example.com', 'customresourcedefinitions'],
  ['scheduling.k8s.io/v1', 'PriorityClass', 'high', 'priorityclasses'],
  ['node.k8s.io/v1', 'RuntimeClass', 'kata', 'runtimeclasses'],
  ['storage.k8s.io/v1', 'StorageClass', 'fast', 'storageclasses'],
  ['v1', 'ResourceQuota', 'small', 'resourcequotas'],
  ['v1', 'LimitRange', 'limits', 'limitranges'],
  ['v1', 'ServiceAccount', 'runner', 'serviceaccounts'],
  ['rbac.authorization.k8s.io/v1', 'Role', 'reader', 'roles'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding', 'readers', 'rolebindings'],
  ['v1', 'PersistentVolumeClaim', 'data', 'persistentvolumeclaims'],
  ['v1', 'Pod', 'one', 'pods'],
  ['example.com/v1', 'Gadget', 'one', 'gadgets'],
] as const;
const CLUSTER_SCOPED = new Set<string>(KINDS.slice(0, 5).map(([, kind]) => kind));

async function commitOf(namespace = 'team'): Promise<readonly PreparedObject[]> {
  const items = KINDS.map(([apiVersion, kind, name]) => ({
    apiVersion,
    kind,
    metadata: { name, ...(!CLUSTER_SCOPED.has(kind) && { namespace }) },
    ...(kind === 'CustomResourceDefinition' && { spec: { versions: [{ name: 'v1' }] } }),
    ...(kind === 'RoleBinding' && { roleRef: { kind: 'Role', name: 'reader' } }),
  }));
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  return await preparedObjects({ path: 'all.json', text }, (_, kind) => {
    const resource = KINDS.find(([, one]) => one === kind)?.[3];
    return Promise.resolve(resource && { resource, namespaced: !CLUSTER_SCOPED.has(kind) });
  });
}

async function mendersOf(kind: string, error: ApiError, namespace?: string): Promise<readonly string[]> {
  const objects = await commitOf(namespace);
  const object = objects.find(({ manifest }) => manifest.kind === kind);
  if (object === undefined) throw new Error(`no ${kind}`);
  return findMenders(error, object, objects).map(({ manifest }) => `${manifest.kind} ${manifest.name}`);
}

const answered = (status: number, reason: string, text: string) =>
  new ApiError({ server: 's', method: 'PATCH', path: '/x' }, { status, reason, text });
const forbidden = (text: string) => answered(403, 'Forbidden', text);

describe('what may mend a refusal', () => {
  it.each<[string, string, ApiError, readonly string[]]>([
    [
      'a quota that is used up',
      'Pod',
      forbidden(
        'pods "one" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3',
      ),
      ['ResourceQuota small'],
    ],
    [
      'another quota',
      'Pod',
      forbidden('pods "one" is forbidden: exceeded quota: large, requested: pods=1'),
      [],
    ],
    [
      'a quota that asks for limits',
      'Pod',
      forbidden('pods "one" is forbidden: failed quota: small: must specify limits.cpu for: main'),
      ['ResourceQuota small', 'LimitRange limits'],
    ],
    [
      'a LimitRange',
      'Pod',
      forbidden('pods "one" is forbidden: [maximum cpu usage per Container is 1, but limit is 2]'),
      ['LimitRange limits'],
    ],
    [
      'an account that is not there',
      'Pod',
      forbidden(
        'pods "one" is forbidden: error looking up service account team/runner: serviceaccount "runner" not found',
      ),
      ['ServiceAccount runner'],
    ],
    [
      'a class that is not there',
      'Pod',
      forbidden('pods "one" is forbidden: no PriorityClass with name high was found'),
      ['PriorityClass high'],
    ],
    [
      'a runtime that is not there',
      'Pod',
      forbidden('pods "one" is forbidden: pod rejected: RuntimeClass "kata" not found'),
      ['RuntimeClass kata'],
    ],
    [
      'Pod Security',
      'Pod',
      forbidden('pods "one" is forbidden: violates PodSecurity "restricted:latest": host namespaces'),
      ['Namespace team'],
    ],
    [
      'a namespace that is being deleted',
      'Pod',
      forbidden(
        'pods "one" is forbidden: unable to create new content in namespace team because it is being terminated',
      ),
      ['Namespace team'],
    ],
    [
      'a claim that cannot grow',
      'PersistentVolumeClaim',
      forbidden(
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      ),
      ['StorageClass fast'],
    ],
    [
      'a role that is not there',
      'RoleBinding',
      answered(404, 'NotFound', 'rolebindings.rbac.authorization.k8s.io "readers" not found'),
      ['Role reader'],
    ],
    [
      'a schema',
      'Gadget',
      answered(422, 'Invalid', 'Gadget.example.com "one" is invalid: spec.size: Required value'),
      ['CustomResourceDefinition gadgets.example.com'],
    ],
    [
      'a definition that is being deleted',
      'Gadget',
      forbidden('create not allowed while custom resource definition is terminating'),
      ['CustomResourceDefinition gadgets.example.com'],
    ],
    ['an own kind of the apiserver', 'Pod', answered(422, 'Invalid', 'Pod "one" is invalid: spec: x'), []],
    [
      'a missing permission',
      'Pod',
      forbidden('pods "one" is forbidden: User "x" cannot patch resource "pods" in API group ""'),
      [],
    ],
    // It comes after what is refused.
    [
      'an account that is not there, of what comes before accounts',
      'LimitRange',
      forbidden('error looking up service account team/runner: serviceaccount "runner" not found'),
      [],
    ],
    [
      'a version that its definition has no more',
      'Gadget',
      answered(500, 'HTTP 500', 'request to convert CR to an invalid group/version: example.com/v2'),
      [],
    ],
    [
      'a version that its definition has again',
      'Gadget',
      answered(500, 'HTTP 500', 'request to convert CR to an invalid group/version: example.com/v1'),
      ['CustomResourceDefinition gadgets.example.com'],
    ],
  ])('of %s', async (_, kind, error, expected) => {
    expect(await mendersOf(kind, error)).toEqual(expected);
  });
});
