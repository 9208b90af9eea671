import { expect, it } from '@jest/globals';

import { carriedWishes, pauseDenied, withoutNamed } from '../../../git/carried-wishes.ts';
import type { Manifest } from '../../../git/manifests.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { noteOfField, readPaused } from '../../../kubernetes/wish-annotations.ts';
import type { JsonObject, KubernetesObject } from '../../../planners/objects.ts';

const KEY = 'fairlead.dev/paused';
const WISH = { by: 'alice', reason: 'disk alarm' };
const NOTE = noteOfField(WISH);
const REASON = { reason: 'spec.paused was true under apps/v1' };

interface Old {
  readonly annotation?: object;
  readonly field?: boolean;
  /** Field manager that owns `spec.paused`, by apply or by update. */
  readonly owner?: 'fairlead' | 'kubectl-rollout';
  /** Git has applied the annotation. */
  readonly isAnnotatedByGit?: boolean;
}

function oldObject({ annotation, field, owner, isAnnotatedByGit = false }: Old): KubernetesObject {
  const operation = owner === 'fairlead' ? 'Apply' : 'Update';
  const applied = { 'f:metadata': { 'f:annotations': { [`f:${KEY}`]: {} } } };
  const managedFields = [
    ...(isAnnotatedByGit ? [{ manager: 'fairlead', operation: 'Apply', fieldsV1: applied }] : []),
    { manager: owner, operation, fieldsV1: { 'f:spec': { 'f:paused': {} } } },
  ];
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'api',
      uid: 'uid',
      resourceVersion: '1',
      annotations: annotation === undefined ? {} : { [KEY]: JSON.stringify(annotation) },
      ...((owner !== undefined || isAnnotatedByGit) && { managedFields }),
    },
    spec: field === undefined ? {} : { paused: field },
  };
  return object;
}

function manifestOf(paused?: boolean, [group, kind] = ['fairlead.dev', 'Deployment']): Manifest {
  const body = { spec: paused === undefined ? {} : { paused } };
  return { group, kind, body } as unknown as Manifest;
}

const SET = ['apps', 'StatefulSet'] as const;

it.each<[what: string, old: Old, manifest: Manifest, carried: object | undefined]>([
  ['no pause', {}, manifestOf(), undefined],
  ['a pause of the annotation', { annotation: WISH }, manifestOf(), WISH],
  ['the same beside that of git', { annotation: WISH, field: true }, manifestOf(true), WISH],
  ['a pause of git by the annotation', { annotation: {}, isAnnotatedByGit: true }, manifestOf(), undefined],
  [
    'the same, said by the field from now on',
    { annotation: {}, isAnnotatedByGit: true },
    manifestOf(true),
    undefined,
  ],
  [
    'a pause of kubectl beside that of git by the annotation',
    { annotation: {}, isAnnotatedByGit: true, field: true, owner: 'kubectl-rollout' },
    manifestOf(),
    REASON,
  ],
  ['a pause of git that stays', { field: true, owner: 'fairlead' }, manifestOf(true), undefined],
  [
    'a pause of git that ends with the move',
    { field: true, owner: 'fairlead' },
    manifestOf(false),
    undefined,
  ],
  ['the same, no more said', { field: true, owner: 'fairlead' }, manifestOf(), undefined],
  [
    'a pause that git can say no more',
    { field: true, owner: 'fairlead' },
    manifestOf(undefined, [...SET]),
    REASON,
  ],
  ['a pause of kubectl', { field: true, owner: 'kubectl-rollout' }, manifestOf(), REASON],
  ['the same, and git wants it too', { field: true, owner: 'kubectl-rollout' }, manifestOf(true), undefined],
  ['a pause of ours by the field', { annotation: NOTE, field: true }, manifestOf(), WISH],
  ['the same, and git wants it too', { annotation: NOTE, field: true }, manifestOf(true), NOTE],
  ['a note whose pause is over', { annotation: NOTE, field: false }, manifestOf(), undefined],
])('carried to the other workload API: %s', (_, old, manifest, carried) => {
  const wishes = carriedWishes(oldObject(old), manifest);
  expect(wishes).toEqual(carried === undefined ? {} : { [KEY]: JSON.stringify(carried) });
});

it('once git says that its pause is over, it is', () => {
  for (const annotation of [undefined, NOTE]) {
    const old = oldObject({ field: true, owner: 'fairlead', ...(annotation && { annotation }) });
    expect(readPaused(carriedWishes(old, manifestOf(true)), false)).toBeUndefined();
  }
});

it('what the manifest says itself is not carried beside it', () => {
  const wishes = { [KEY]: '{}', other: '{}' };
  const body = (annotations: object) => ({ metadata: { annotations } });
  expect(withoutNamed(wishes, body({ [KEY]: 'false' }))).toEqual({ other: '{}' });
  expect(withoutNamed(wishes, body({ note: 'x' }))).toEqual(wishes);
  expect(withoutNamed(wishes, {})).toEqual(wishes);
});

it.each<[what: string, wish: object | undefined, body: object, says: RegExp | undefined]>([
  [
    'by the annotation',
    WISH,
    { metadata: { annotations: { [KEY]: 'false' } } },
    /^it is paused by alice: disk alarm, and its manifest says fairlead\.dev\/paused: "false": end the pause/,
  ],
  [
    'by nobody known',
    {},
    { metadata: { annotations: { [KEY]: 'false' } } },
    /^it is paused, and its manifest/,
  ],
  ['and holds it too', WISH, { metadata: { annotations: { [KEY]: 'true' } } }, undefined],
  [
    'and holds it by the field',
    WISH,
    { metadata: { annotations: { [KEY]: 'false' } }, spec: { paused: true } },
    undefined,
  ],
  ['nothing', WISH, {}, undefined],
  ['it, and nobody holds it', undefined, { metadata: { annotations: { [KEY]: 'false' } } }, undefined],
])('an operator holds it, and the manifest says that nobody does: %s', (_, wish, body, says) => {
  const wishes: Record<string, string> = wish === undefined ? {} : { [KEY]: JSON.stringify(wish) };
  expect(pauseDenied(wishes, trusted<JsonObject>(body)) ?? 'nothing').toMatch(says ?? /^nothing$/);
});
