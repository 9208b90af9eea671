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
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { WatchCache } from '../../../kubernetes/watch-cache.ts';
import { workloadKey } from '../../../kubernetes/workload-key.ts';
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
function reconcilerOf(): { readonly reconciler: Reconciler; readonly client: KubernetesClient } {
  const client = trusted<KubernetesClient>({
    create: async () => {
      const failure = { status: 403, reason: 'Forbidden', text: 'exceeded quota' };
      throw new ApiError({ server: 's', method: 'POST', path: '/controllerrevisions' }, failure);
    },
  });
  const cache = trusted<WatchCache>({
    get: (resource: string) => (resource === 'statefulsets' ? object : undefined),
    list: () => [],
    inNamespace: () => [],
    ownedBy: () => [],
    orphans: () => [],
  });
  const runs = trusted<Runs>({
    unreachableSince: NOW - 10_000,
    blocked: () => undefined,
    ensure: () => undefined,
    isOpen: () => false,
    knows: () => false,
    refusal: () => undefined,
    workloadGone: () => undefined,
  });
  const reconciler = new Reconciler({
    client,
    cache,
    view: new ClusterView(cache, API, true),
    executor: trusted<Executor>({}),
    memory: new WriteMemory(),
    mutex: new KeyedMutex(),
    feed: new PlanFeed(),
    runs,
    inProcess: runs,
    status: trusted<StatusWriter>({ write: async () => undefined }),
    events: trusted<EventRecorder>({ record: () => undefined }),
    now: () => NOW,
    temporalAnswers: () => false,
    requeue: (...request) => requeues.push(request),
  });
  return { reconciler, client };
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
