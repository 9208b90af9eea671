/** The judge of pods that stand in for each other: Deployments, and the two controllers of a rolling update. */

import { describe, expect, it } from '@jest/globals';

import type { Observation, SeenReplicaKind, SeenWorkload } from '../../support/budget-evidence.ts';
import { judgeReplicas } from '../../support/budget-replicas.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const PLAN_AGE_MS = 1_000;

/** What the watches would have shown; each change comes ten seconds after the one before, unless told. */
class Story {
  readonly #observations: Observation[] = [];
  #now = START;

  wait(milliseconds: number): this {
    this.#now += milliseconds - 10_000;
    return this;
  }

  deployment(spec: Partial<SeenWorkload['spec']>, type: Observation['type'] = 'ADDED'): this {
    return this.#workload('Deployment', 'api', spec, {}, type);
  }

  replicaSet(name: string): this {
    return this.#workload('ReplicaSet', name, {}, { ownerReferences: [{ uid: 'api', controller: true }] });
  }

  controller(name: string, replicas: number, desired?: number, type: Observation['type'] = 'ADDED'): this {
    const annotations = { 'kubernetes.io/desired-replicas': String(desired) };
    return this.#workload(
      'ReplicationController',
      name,
      { replicas },
      desired === undefined ? {} : { annotations },
      type,
    );
  }

  pod(
    name: string,
    owner: string | undefined,
    state: 'pending' | 'ready' | 'going' | 'gone',
    hash = owner,
  ): this {
    const status = state === 'pending' ? 'False' : 'True';
    const object = {
      metadata: {
        ...this.#metadata(name),
        ...(hash !== undefined && { labels: { 'pod-template-hash': hash } }),
        ...(owner !== undefined && { ownerReferences: [{ uid: owner, controller: true }] }),
        ...(state === 'going' && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      },
      spec: { containers: [] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status }] },
    };
    this.#observations.push({
      kind: 'pod',
      type: state === 'gone' ? 'DELETED' : 'MODIFIED',
      at: this.#now,
      object,
    });
    return this;
  }

  /** Rules and pods of what was wrong. */
  get faults(): readonly string[] {
    return this.report.violations.map(({ rule, pod }) => `${rule}: ${pod}`);
  }

  get report() {
    return judgeReplicas(this.#observations, PLAN_AGE_MS);
  }

  #workload(
    kind: SeenReplicaKind,
    name: string,
    spec: Partial<SeenWorkload['spec']>,
    extra: object,
    type: Observation['type'] = 'ADDED',
  ): this {
    const object = { metadata: { ...this.#metadata(name), ...extra }, spec: { template: {}, ...spec } };
    this.#observations.push({ kind, type, at: this.#now, object });
    return this;
  }

  #metadata(name: string) {
    this.#now += 10_000;
    return { name, namespace: 'ns', uid: name, resourceVersion: String(this.#observations.length + 1) };
  }
}

const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable },
});

/** Two ready pods of ReplicaSet `a`, and the ReplicaSet `b` without any. */
function story(strategy: object, replicas = 2): Story {
  const told = new Story().deployment({ replicas, strategy }).replicaSet('a').replicaSet('b');
  return told.pod('a1', 'a', 'ready').pod('a2', 'a', 'ready');
}

describe('judge of a Deployment', () => {
  it('a surge of one: one more may come, and one may go when it is available', () => {
    const kept = story(rolling(1, 0))
      .pod('b1', 'b', 'pending')
      .pod('b1', 'b', 'ready')
      .pod('a1', 'a', 'going');

    expect(kept.report).toEqual({ came: 3, taken: 1, violations: [] });
    expect(kept.pod('b2', 'b', 'pending').faults).toEqual([]);
    expect(kept.pod('b3', 'b', 'pending').faults).toEqual(['too many pods: b3']);
  });

  it('an available pod that goes before there is another one is convicted, deleted with grace or at once', () => {
    expect(story(rolling(1, 0)).pod('b1', 'b', 'pending').pod('a1', 'a', 'going').faults).toEqual([
      'budget: a1',
    ]);
    expect(story(rolling(1, 0)).pod('a2', 'a', 'gone').faults).toEqual(['budget: a2']);
    // Each is judged once, and one that is not available costs nothing.
    expect(story(rolling(1, 0)).pod('a1', 'a', 'going').pod('a1', 'a', 'gone').faults).toHaveLength(1);
    expect(story(rolling(1, 0)).pod('a1', 'a', 'pending').pod('a1', 'a', 'going').faults).toEqual([]);
  });

  it.each([
    { maxSurge: 0, maxUnavailable: 0, may: 1 },
    { maxSurge: 0, maxUnavailable: '50%', may: 1 },
    { maxSurge: 1, maxUnavailable: '49%', may: 0 },
  ])(
    'of two, $may may be missing at $maxUnavailable and a surge of $maxSurge',
    ({ maxSurge, maxUnavailable, may }) => {
      const one = story(rolling(maxSurge, maxUnavailable)).pod('a1', 'a', 'going');
      expect(one.faults).toHaveLength(1 - may);
      expect(one.pod('a2', 'a', 'going').faults).toHaveLength(2 - may);
    },
  );

  it('a size that was changed just now counts as well as the one before', () => {
    const scaled = () =>
      story(rolling(0, 1)).deployment({ replicas: 4, strategy: rolling(0, 1) }, 'MODIFIED');
    expect(scaled().wait(500).pod('a1', 'a', 'going').faults).toEqual([]);
    expect(scaled().pod('a1', 'a', 'going').faults).toEqual(['budget: a1']);
  });

  it('Recreate: all may go, and the first of the new ones comes when none of them is left', () => {
    const both = story({ type: 'Recreate' }).pod('a1', 'a', 'going').pod('a2', 'a', 'going');
    expect(both.faults).toEqual([]);
    expect(both.pod('a1', 'a', 'gone').pod('b1', 'b', 'pending').faults).toEqual(['too many pods: b1']);
    expect(both.pod('a2', 'a', 'gone').pod('b2', 'b', 'pending').faults).toHaveLength(1);
  });

  it('a Deployment that is deleted keeps nothing up, and pods of others are not judged', () => {
    const deleted = story(rolling(1, 0)).deployment({ replicas: 2 }, 'DELETED').pod('a1', 'a', 'going');
    expect(deleted.faults).toEqual([]);
    expect(story(rolling(1, 0)).pod('x', 'other', 'ready').pod('y', undefined, 'ready').report.came).toBe(2);
  });
});

describe('judge of a rolling update of ReplicationControllers', () => {
  const begun = () =>
    new Story()
      .controller('foo', 2)
      .pod('old1', 'foo', 'ready')
      .pod('old2', 'foo', 'ready')
      .controller('foo-next', 0, 2)
      .controller('foo', 2, 0, 'MODIFIED');

  it('one more may come, none of those wanted may be missing, whatever the sizes are on the way', () => {
    const told = begun().pod('new1', 'foo-next', 'pending').pod('new1', 'foo-next', 'ready');
    expect(told.controller('foo', 1, 0, 'MODIFIED').pod('old1', 'foo', 'going').faults).toEqual([]);
    expect(told.pod('new2', 'foo-next', 'pending').pod('new3', 'foo-next', 'pending').faults).toEqual([
      'too many pods: new3',
    ]);
    expect(begun().pod('old1', 'foo', 'going').faults).toEqual(['budget: old1']);
  });

  it('pods that are nobody’s in the middle of a rename still count', () => {
    const renaming = () =>
      new Story()
        .controller('foo-next', 2, 2)
        .pod('new1', 'foo-next', 'ready')
        .pod('new2', 'foo-next', 'ready')
        .pod('new1', undefined, 'ready')
        .pod('new2', undefined, 'ready')
        .controller('foo-next', 2, 2, 'DELETED');
    expect(renaming().pod('new1', undefined, 'going').faults).toEqual(['budget: new1']);
    const again = renaming().controller('foo', 2).pod('extra1', 'foo', 'pending');
    expect(again.faults).toEqual([]);
    expect(again.pod('extra2', 'foo', 'pending').faults).toEqual(['too many pods: extra2']);
  });
});
