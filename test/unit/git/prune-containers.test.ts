/** What is to outlive its commit keeps the Namespace or the CustomResourceDefinition that would take it with it. */

import { describe, expect, it } from '@jest/globals';

import { entryKey } from '../../../git/inventory-content.ts';
import type { Inhabitant } from '../../../git/prune-containers.ts';
import { holdOf, whyContainerStays } from '../../../git/prune-containers.ts';
import type { ObjectMeta } from '../../../planners/objects.ts';

const OURS = { 'fairlead.dev/repository': 'ours' };
const THEIRS = { 'fairlead.dev/repository': 'theirs' };
const DETACH = { 'client.lifecycle.config.k8s.io/deletion': 'detach' };
const CONFIRMED = { 'fairlead.dev/prune': 'confirmed' };

const object = (kind: string, name: string, more: Partial<ObjectMeta> = {}): Inhabitant => ({
  group: kind === 'Thing' ? 'example.com' : '',
  kind,
  metadata: { namespace: 'shop', name, uid: 'u', resourceVersion: '1', ...more },
});
const controlled = {
  ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }],
};
const WANTED = new Set([
  entryKey({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'wanted' }),
  entryKey({ apiVersion: 'example.com/v1', kind: 'Thing', namespace: 'shop', name: 'wanted' }),
]);

const OTHERS = new Set([
  entryKey({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'moved' }),
]);

describe('what is in a Namespace, or of a defined kind, that is to be deleted', () => {
  it.each<[string, Inhabitant, ReturnType<typeof holdOf>]>([
    ['left the commit too', object('ConfigMap', 'a', { annotations: OURS }), undefined],
    ['nobody\u2019s', object('ConfigMap', 'kube-root-ca.crt'), undefined],
    ['an inventory', object('ConfigMap', 'a', { labels: { 'fairlead.dev/inventory': 'x' } }), 'inventory'],
    ['in the commit', object('ConfigMap', 'wanted', { annotations: OURS }), 'wanted'],
    ['in the commit, under another version', object('Thing', 'wanted', { annotations: OURS }), 'wanted'],
    [
      'detached by this commit',
      object('ConfigMap', 'a', { annotations: { ...OURS, ...DETACH } }),
      'detached',
    ],
    ['detached earlier, or by hand', object('Thing', 'a', { annotations: DETACH }), 'detached'],
    ['kept', object('PersistentVolumeClaim', 'a', { annotations: OURS }), 'unconfirmed'],
    ['a claim of nobody', object('PersistentVolumeClaim', 'a'), 'unconfirmed'],
    ['a confirmed claim', object('PersistentVolumeClaim', 'a', { annotations: CONFIRMED }), undefined],
    [
      'a detached claim, confirmed',
      object('PersistentVolumeClaim', 'a', { annotations: { ...CONFIRMED, ...DETACH } }),
      'detached',
    ],
    ['another repository\u2019s', object('ConfigMap', 'a', { annotations: THEIRS }), 'other'],
    [
      'another repository\u2019s, and confirmed',
      object('PersistentVolumeClaim', 'a', { annotations: { ...THEIRS, ...CONFIRMED } }),
      'other',
    ],
    ['handed over', object('PersistentVolumeClaim', 'moved', { annotations: CONFIRMED }), 'other'],
    ['a controller\u2019s', object('Pod', 'a', { annotations: THEIRS, ...controlled }), undefined],
    [
      'being deleted',
      object('PersistentVolumeClaim', 'a', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      undefined,
    ],
  ])('%s', (_what, one, expected) => {
    expect(holdOf(one, 'ours', WANTED, OTHERS)).toBe(expected);
  });

  const why = (inhabitants: readonly Inhabitant[], unseen: readonly string[] = []) =>
    whyContainerStays(inhabitants, unseen, 'ours', WANTED, OTHERS);

  it('is named, with what to do, whatever the order', () => {
    const two = [
      object('PersistentVolumeClaim', 'data', { annotations: OURS }),
      object('ConfigMap', 'mine', { annotations: DETACH }),
    ];
    expect(why(two)).toBe(
      'it would take ConfigMap shop/mine (detached), PersistentVolumeClaim shop/data (not confirmed) with it: ' +
        'move what is detached, delete it by hand, or take its annotation client.lifecycle.config.k8s.io/deletion off; ' +
        'move what is not confirmed, delete it by hand, or annotate it with fairlead.dev/prune=confirmed too. Or put the container back into git',
    );
    expect(why(two.toReversed())).toBe(why(two));
  });

  it('is named before a repository loses its inventory', () => {
    expect(why([object('ConfigMap', 'fairlead-a', { labels: { 'fairlead.dev/inventory': 'a' } })])).toBe(
      'it would take ConfigMap shop/fairlead-a (an inventory of Fairlead) with it: delete an inventory by hand if nobody follows its ' +
        'repository any more. Or put the container back into git',
    );
  });

  it('of many the first are named', () => {
    const many = Array.from({ length: 8 }, (_, index) =>
      object('ConfigMap', `c${index}`, { annotations: THEIRS }),
    );
    expect(why(many)).toMatch(/c4 \(of another repository\) and 3 more with it: take what is of another/);
  });

  it('is only counted where the account of the repository may not list it', () => {
    const hidden = (name: string, annotations: ObjectMeta['annotations'] = THEIRS) => ({
      ...object('Thing', name, { annotations }),
      isHidden: true,
    });
    const text = why([hidden('a'), object('ConfigMap', 'mine', { annotations: DETACH }), hidden('b')]);
    expect(text).toMatch(
      /^it would take ConfigMap shop\/mine \(detached\) and 2 objects that its account may not list \(of another repository\) with it: /,
    );
    expect(text).not.toMatch(/Thing/);
    expect(why([hidden('a'), hidden('b', DETACH)])).toMatch(
      /^it would take one object that its account may not list \(of another repository\) and one object that its account may not list \(detached\) with it: /,
    );
  });

  it('holds it where it cannot be seen', () => {
    expect(why([object('ConfigMap', 'a')])).toBeUndefined();
    expect(why([], ['b', 'a'])).toBe('whether something in it has to stay is not known: a');
  });
});
