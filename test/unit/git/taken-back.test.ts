/** Whether a manifest names a field, by the apiserver's own path of it. */

import { describe, expect, it } from '@jest/globals';

import type { CommitContext } from '../../../git/commit.ts';
import { entryKey } from '../../../git/inventory-content.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { namesField, takenBack } from '../../../git/taken-back.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';

const MANIFEST = {
  metadata: { annotations: { 'example.com/a': 'x' }, finalizers: ['example.com/f'] },
  data: { a: '1', 'a.b': { c: '2' }, gone: null },
  spec: {
    ports: [{ port: 80 }, { port: 81, protocol: 'UDP' }],
    containers: [{ name: 'a"]b', image: 'x', args: ['y'] }],
    plain: [{ deep: 'z' }],
  },
};

describe('a manifest names', () => {
  it.each([
    ['.data', true],
    ['.data.a', true],
    ['.data.a.b.c', true],
    ['.data.ab', false],
    ['.data.gone', false],
    ['.data.other', false],
    ['.metadata.annotations.example.com/a', true],
    ['.metadata.finalizers[="example.com/f"]', true],
    ['.metadata.finalizers[="example.com/g"]', false],
    ['.spec.ports[port=80,protocol="TCP"].port', true],
    ['.spec.ports[port=80,protocol="TCP"].nodePort', false],
    ['.spec.ports[port=81,protocol="TCP"].port', false],
    ['.spec.ports[port=81,protocol="UDP"]', true],
    ['.spec.containers[name="a\\"]b"].image', true],
    ['.spec.containers[name="b"].image', false],
    ['.spec.plain[0].deep', true],
    ['.spec.plain[1].deep', false],
    ['?', false],
  ])('%s: %j', (field, named) => {
    expect(namesField(MANIFEST, field)).toBe(named);
  });
});

describe('what is taken back', () => {
  const sha = 'a'.repeat(40);
  const body = { data: { a: '1' } };
  const manifest = {
    apiVersion: 'v1',
    group: '',
    kind: 'ConfigMap',
    name: 'x',
    namespace: 'shop',
    hash: 'h',
    body,
  };
  const object = trusted<PreparedObject>({ manifest, namespace: 'shop', label: 'ConfigMap shop/x' });
  const contextOf = (heal: boolean, hash = 'h') =>
    trusted<CommitContext>({
      repository: { name: 'shop', namespace: 'default', heal },
      earlier: async (asked: string) =>
        await Promise.resolve(asked === sha ? { manifests: [{ ...manifest, hash }] } : undefined),
    });
  const liveOf = (commit = sha) =>
    trusted<KubernetesObject>({
      metadata: {
        annotations: {
          [ANNOTATION.repository]: 'shop',
          [ANNOTATION.commit]: commit,
          [ANNOTATION.manifestHash]: 'h',
        },
      },
    });
  /** Without anything of what git had written on it. */
  const made = (annotations: Record<string, string> = {}) =>
    trusted<KubernetesObject>({ metadata: { annotations } });
  const listedIn = (context: CommitContext, uid: string | undefined, name = 'x') => {
    const entry = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name, uid };
    const status = { lastSucceeded: { sha, at: '' } };
    const read = async () => await Promise.resolve({ entries: new Map([[entryKey(entry), entry]]), status });
    return { ...context, store: trusted<CommitContext['store']>({ repository: 'shop', read }) };
  };
  const drifted = { field: '.data.a', manager: 'kubectl-patch' };
  const own = { field: `.metadata.annotations.${ANNOTATION.commit}`, manager: 'backup' };
  const told = 'ConfigMap shop/x: git has taken back data.a from "kubectl-patch"';

  it.each([
    ['drift', contextOf(true), liveOf(), [drifted], told],
    ['drift, and what sync itself writes', contextOf(true), liveOf(), [own, drifted], told],
    ['only what is taken in any case', contextOf(true), liveOf(), [own], undefined],
    [
      'also what git never had',
      contextOf(true),
      liveOf(),
      [drifted, { ...drifted, field: '.data.b' }],
      undefined,
    ],
    ['without heal', contextOf(false), liveOf(), [drifted], undefined],
    ['of another manifest', contextOf(true, 'other'), liveOf(), [drifted], undefined],
    ['of a commit that is gone', contextOf(true), liveOf('b'.repeat(40)), [drifted], undefined],
    ['of what was made again', listedIn(contextOf(true, 'other'), 'u'), made(), [drifted], told],
    ['of what was made again, without heal', listedIn(contextOf(false), 'u'), made(), [drifted], undefined],
    [
      'of what was made again, also what git never had',
      listedIn(contextOf(true), 'u'),
      made(),
      [{ ...drifted, field: '.data.b' }],
      undefined,
    ],
    [
      'of what git was only about to make',
      listedIn(contextOf(true), undefined),
      made(),
      [drifted],
      undefined,
    ],
    ['of what git has never had', listedIn(contextOf(true), 'u', 'y'), made(), [drifted], undefined],
    [
      'of what is another\u2019s now',
      listedIn(contextOf(true), 'u'),
      made({ [ANNOTATION.repository]: 'b' }),
      [drifted],
      undefined,
    ],
    ['of what is no commit', contextOf(true), liveOf('--upload-pack=x'), [drifted], undefined],
  ])('%s', async (_, context, live, conflicts, expected) => {
    expect(await takenBack(context, object, live, conflicts)).toBe(expected);
  });
});
