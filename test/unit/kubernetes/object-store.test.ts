import { describe, expect, it } from '@jest/globals';
import { fc } from '../../support/properties.ts';

import { ObjectStore } from '../../../kubernetes/object-store.ts';
import { compareVersions } from '../../../kubernetes/resource-version.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';

interface Entry {
  readonly type: 'put' | 'delete';
  readonly object: KubernetesObject;
}

/** A history of one apiserver: objects a, b, c are created, changed, deleted, created again with another uid. */
function makeHistory(
  steps: readonly { readonly name: string; readonly remove: boolean }[],
): readonly Entry[] {
  const live = new Map<string, string>();
  let version = 8; // so that lengths of versions differ
  return steps.map(({ name, remove }): Entry => {
    version += 1;
    const uid = live.get(name) ?? `${name}-${String(version)}`;
    const gone = remove && live.has(name);
    if (gone) live.delete(name);
    else live.set(name, uid);
    const object = { metadata: { name, namespace: 'n', uid, resourceVersion: String(version) } };
    return { type: gone ? 'delete' : 'put', object };
  });
}

/** What the apiserver holds after the first `count` entries. */
function stateAfter(history: readonly Entry[], count: number): ReadonlyMap<string, KubernetesObject> {
  const state = new Map<string, KubernetesObject>();
  for (const { type, object } of history.slice(0, count)) {
    if (type === 'put') state.set(object.metadata.name, object);
    else state.delete(object.metadata.name);
  }
  return state;
}

const step = fc.record({ name: fc.constantFrom('a', 'b', 'c'), remove: fc.boolean() });
const someSteps = fc.array(step, { maxLength: 12, size: 'max' });
/** Deliver the next event; take the answer of one of the writes that have happened; or list what is there now. */
const move = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'event' as const, pick: 0 }) },
  { weight: 4, arbitrary: fc.nat().map((pick) => ({ do: 'answer' as const, pick })) },
  { weight: 1, arbitrary: fc.nat().map((pick) => ({ do: 'list' as const, pick })) },
);
const someMoves = fc.array(move, { maxLength: 40, size: 'max' });

describe('ObjectStore (C14)', () => {
  it('never goes backwards and ends as the apiserver, however answers, events and lists interleave', () => {
    fc.assert(
      fc.property(someSteps, someMoves, (steps, moves) => {
        const history = makeHistory(steps);
        const newest = new Map<string, string>();
        const deleted = new Set<string>();
        const store = new ObjectStore(
          'pods',
          ({ type, object }) => {
            const { uid, resourceVersion } = object.metadata;
            if (type === 'deleted') {
              deleted.add(uid);
              return;
            }
            expect(deleted.has(uid)).toBe(false);
            expect(compareVersions(resourceVersion, newest.get(uid) ?? '0')).toBeGreaterThan(0);
            newest.set(uid, resourceVersion);
          },
          () => 0,
        );
        const unseen: Entry[] = [];
        let delivered = 0;
        let happened = 0;
        const position = (): string => history[delivered - 1]?.object.metadata.resourceVersion ?? '8';
        for (const { do: what, pick } of moves) {
          if (what === 'event') {
            const entry = history[delivered];
            if (entry === undefined) continue;
            if (entry.type === 'put') store.applyEvent(entry.object);
            else store.applyDeletion(entry.object);
            delivered += 1;
            happened = Math.max(happened, delivered);
          } else if (what === 'answer') {
            const entry = history[pick % Math.max(1, history.length)];
            if (entry === undefined) continue;
            happened = Math.max(happened, history.indexOf(entry) + 1);
            const { name, uid } = entry.object.metadata;
            if (entry.type === 'put') store.applyWrite(entry.object, position());
            else {
              deleted.add(uid);
              store.applyGone('n', name, uid);
            }
            // The planner that runs next sees its write: that version, a newer one, or that it is gone since.
            const stored = store.index.get(`n/${name}`)?.metadata;
            const known = stored?.resourceVersion ?? position();
            const isRight = deleted.has(uid)
              ? stored?.uid !== uid
              : compareVersions(known, entry.object.metadata.resourceVersion) >= 0;
            if (!isRight) unseen.push(entry);
          } else {
            const count = delivered + (pick % (happened - delivered + 1));
            const listed = [...stateAfter(history, count).values()];
            store.replaceAll(listed, history[count - 1]?.object.metadata.resourceVersion ?? '8', undefined);
            delivered = count;
          }
        }
        for (const entry of history.slice(delivered)) {
          if (entry.type === 'put') store.applyEvent(entry.object);
          else store.applyDeletion(entry.object);
        }
        expect(unseen).toEqual([]);
        const end = [...stateAfter(history, history.length).values()];
        expect(new Set(store.index.all())).toEqual(new Set(end));
      }),
      { numRuns: 2000 },
    );
  });

  it('compares versions as integers of any length', () => {
    expect(compareVersions('9', '10')).toBeLessThan(0);
    expect(compareVersions('18446744073709551616', '18446744073709551615')).toBeGreaterThan(0);
    expect(compareVersions('7', '7')).toBe(0);
  });
});
