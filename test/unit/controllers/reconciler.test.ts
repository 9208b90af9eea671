/** When a workload is reconciled again. */

import { beforeEach, describe, expect, it } from '@jest/globals';

import { ClusterView } from '../../../controllers/cluster-view.ts';
import type { EventRecorder } from '../../../controllers/events.ts';
import type { Executor } from '../../../controllers/executor.ts';
import { KeyedMutex } from '../../../controllers/keyed-mutex.ts';
import { PlanFeed } from '../../../controllers/plan-feed.ts';
import { Reconciler } from '../../../controllers/reconciler.ts';
import type { ReconcilerOptions } from '../../../controllers/reconciler.ts';
import type { Runs } from '../../../controllers/runs.ts';
import type { StatusWriter } from '../../../controllers/status-writer.ts';
import { WriteMemory } from '../../../controllers/write-memory.ts';
import { describeBadEnding } from '../../../controllers/run-endings.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { WatchCache } from '../../../kubernetes/watch-cache.ts';
import { templateTarget, workloadKey } from '../../../kubernetes/workload-key.ts';
import type { Condition, JsonObject, KubernetesObject, Pod } from '../../../planners/objects.ts';
import type { Action } from '../../../planners/plan.ts';
import type { StatefulSet } from '../../../planners/workload.ts';
import { podOf, revisionFor } from '../../support/statefulset-fixtures.ts';
import { workloadObject } from '../../support/workload-objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const API = 'fairlead.dev/v1beta1';
const KEY = workloadKey('StatefulSet', 'default', 'web');
const object = workloadObject();

const requeues: Parameters<ReconcilerOptions['requeue']>[] = [];

beforeEach(() => {
  requeues.length = 0;
});

/** Of a StatefulSet without a revision, none of which the apiserver takes, while Temporal has been away for ten seconds. */
function reconcilerOf(served = object, present: Partial<WatchCache> = {}) {
  const client = trusted<KubernetesClient>({
    create: async () => {
      const failure = { status: 403, reason: 'Forbidden', text: 'exceeded quota' };
      throw new ApiError({ server: 's', method: 'POST', path: '/controllerrevisions' }, failure);
    },
  });
  const cache = trusted<WatchCache>({
    get: (resource: string) => (resource === 'statefulsets' ? served : undefined),
    list: () => [],
    inNamespace: () => [],
    ownedBy: () => [],
    orphans: () => [],
    ...present,
  });
  const memory = new WriteMemory();
  const runs = trusted<Runs>({
    unreachableSince: NOW - 10_000,
    blocked: () => undefined,
    ensure: () => undefined,
    isOpen: () => false,
    knows: () => false,
    refusal: () => undefined,
    workloadGone: () => undefined,
  });
  const feed = new PlanFeed();
  const written: JsonObject[] = [];
  const reconciler = new Reconciler({
    client,
    cache,
    view: new ClusterView(cache, API, true),
    executor: trusted<Executor>({}),
    memory,
    mutex: new KeyedMutex(),
    feed,
    runs,
    inProcess: runs,
    status: trusted<StatusWriter>({
      write: async (...[, , , status]: Parameters<StatusWriter['write']>) => void written.push(status),
    }),
    events: trusted<EventRecorder>({ record: () => undefined }),
    now: () => NOW,
    temporalAnswers: () => false,
    requeue: (...request) => requeues.push(request),
  });
  return { reconciler, client, feed, memory, written };
}

describe('a revision that the apiserver refuses', () => {
  it('while Temporal is away: not before the back-off of the reconcile that has failed', async () => {
    await expect(reconcilerOf().reconciler.reconcile(KEY)).rejects.toThrow('exceeded quota');
    expect(requeues).toEqual([]);
  });

  it('to a run: at once, so that the plan has the words', async () => {
    const { reconciler, client } = reconcilerOf();
    const { workload } = reconciler.plan(KEY, object);
    await expect(reconciler.createRevision(client, KEY, workload)).rejects.toThrow('exceeded quota');
    expect(requeues).toEqual([[KEY]]);
    const { plan } = reconciler.plan(KEY, object);
    expect(plan.waiting.find(({ code }) => code === 'CreateRefused')?.message).toContain('exceeded quota');
  });
});

it('a pod whose name another’s had is made once that is gone, not when its back-off ends', () => {
  const set = trusted<StatefulSet>(new ClusterView(trusted<WatchCache>({}), API, true).read(KEY, object));
  const revision = revisionFor(set);
  const other = podOf(set, 0, 'web-a');
  let there: Pod | undefined = other;
  const present = trusted<Partial<WatchCache>>({
    get: (resource: string, namespace: string, name: string) =>
      resource === 'pods' && namespace === 'default' && name === 'web-0' ? there : undefined,
    ownedBy: (resource: string) => (resource === 'controllerrevisions' ? [revision] : []),
  });
  const { reconciler, memory } = reconcilerOf(object, present);
  const created = () => {
    const { steady } = reconciler.plan(KEY, object).plan;
    return steady.filter(({ verb, resource }) => verb === 'create' && resource === 'pods');
  };
  const [first] = created();
  expect(first).toMatchObject({ name: 'web-0' });
  const taken = { taken: 'leaves', takenBy: other.metadata.uid } as const;
  for (let times = 0; times < 6; times += 1) {
    memory.refused(set.ref.uid, trusted<Action>(first), 'the name is taken', NOW, taken);
  }
  expect(created()).toEqual([]);
  there = undefined;
  expect(created()).toEqual([first]);
});

it.each([
  ['is gone', undefined],
  ['was made again between two looks', 'another'],
])('of a workload that %s nothing is remembered', async (_, uid) => {
  let served: KubernetesObject | undefined = object;
  const present = trusted<Partial<WatchCache>>({
    get: (resource: string) => (resource === 'statefulsets' ? served : undefined),
  });
  const { reconciler, memory } = reconcilerOf(object, present);
  const remembered = () => memory.of(object.metadata.uid).refusals.size;
  const reconcile = async () => {
    await reconciler.reconcile(KEY).catch(() => undefined);
  };
  await reconcile();
  const action: Action = {
    verb: 'create',
    resource: 'pods',
    name: 'web-0',
    purpose: 'ScaleUp',
    message: 'create',
  };
  memory.refused(object.metadata.uid, action, 'quota', NOW);
  await reconcile();
  expect(remembered()).toBe(1);
  served = uid === undefined ? undefined : { ...object, metadata: { ...object.metadata, uid } };
  await reconcile();
  expect(remembered()).toBe(0);
});

describe('a run that ended badly, as the object has it, before Temporal was asked', () => {
  const target = templateTarget(new ClusterView(trusted<WatchCache>({}), API, true).read(KEY, object));
  const since = '2025-12-31T00:00:00Z';
  const times = { runId: 'r', startedAt: 0, closedAt: 0 };

  /** What is told and written of a workload of this generation, whose status is of generation 2. */
  async function found(generation: number, toldOf: string) {
    const { reason, message } = describeBadEnding('FAILED', toldOf, times, 'exceeded quota');
    const stalled = { type: 'Stalled', status: 'True', reason, message, lastTransitionTime: since } as const;
    const { reconciler, feed, written } = reconcilerOf(workloadObject({ generation, conditions: [stalled] }));
    await reconciler.reconcile(KEY).catch(() => undefined);
    const conditions = trusted<readonly Condition[]>(written[0]?.['conditions']);
    return {
      told: feed.latest(KEY)?.endedBadly,
      stalled,
      now: conditions.find(({ type }) => type === 'Stalled'),
    };
  }

  it.each([
    ['of the present generation', 2, ''],
    ['of the present template, which was scaled since or never got a revision', 3, target],
  ])('stays: one %s', async (_, generation, toldOf) => {
    const { told, stalled, now } = await found(generation, toldOf);
    expect(told).toMatchObject({ reason: 'RunFailed', since });
    expect(now).toEqual(stalled);
  });

  it.each(['', 'another'])('is over with the next template: one of template "%s"', async (toldOf) => {
    const { told, now } = await found(3, toldOf);
    expect(told).toBeUndefined();
    expect(now).toMatchObject({ status: 'False' });
  });
});
