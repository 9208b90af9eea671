import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { toMessage } from '../../../kubernetes/api-error.ts';
import { controllerUid } from '../../../kubernetes/object-index.ts';
import type { Change } from '../../../kubernetes/object-store.ts';
import { NotObserved } from '../../../kubernetes/observed.ts';
import type { WatchTiming } from '../../../kubernetes/watch-source.ts';
import { WatchCache } from '../../../kubernetes/watch-cache.ts';
import type { CacheSource } from '../../../kubernetes/watch-cache.ts';
import { eventually } from '../../support/eventually.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const PODS = { group: '', version: 'v1', resource: 'pods' };
const TIMING: Partial<WatchTiming> = { firstBackoffMs: 20, lastBackoffMs: 100 };

const ground = useWatchServer();
let stop: AbortController;
let cache: WatchCache;
let changes: Change[];
let errors: string[];

function makeCache(source: Partial<CacheSource> = {}, timing: Partial<WatchTiming> = {}): WatchCache {
  const made = new WatchCache({
    client: ground.client,
    sources: [{ ...PODS, ...source }],
    onError: (error, where) => errors.push(`${where}: ${toMessage(error)}`),
    timing: { ...TIMING, ...timing },
  });
  made.onChange((change) => changes.push(change));
  return made;
}

function names(): readonly string[] {
  return cache.list('pods').map((object) => object.metadata.name);
}

function seen(): readonly string[] {
  return changes.map((change) => `${change.type} ${change.object.metadata.name}`);
}

beforeEach(() => {
  stop = new AbortController();
  changes = [];
  errors = [];
  cache = makeCache();
});

afterEach(() => {
  stop.abort();
});

describe('list and watch', () => {
  it('lists by quorum read, page by page, then watches from there with bookmarks and an end of its own', async () => {
    for (let index = 0; index < 501; index += 1) ground.server.put(`pod-${String(index)}`);
    await cache.start(stop.signal);
    expect(cache.size('pods')).toBe(501);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    const [first, second, watch] = ground.server.requests.map((request) => request.url.searchParams);
    expect(first?.get('resourceVersion')).toBeNull();
    expect(second?.get('continue')).toBe('500');
    expect(watch?.get('allowWatchBookmarks')).toBe('true');
    expect(watch?.get('resourceVersion')).toBe(ground.server.version);
    expect(Number(watch?.get('timeoutSeconds'))).toBeGreaterThanOrEqual(240);
    expect(Number(watch?.get('timeoutSeconds'))).toBeLessThanOrEqual(300);
  });

  it('follows events, keeps indexes by controller, orphans and namespace, and drops managedFields', async () => {
    await cache.start(stop.signal);
    ground.server.put('a', { owner: 'set' });
    ground.server.put('b');
    ground.server.put('c', { namespace: 'other', owner: 'set' });
    const released = ground.server.put('a');
    ground.server.remove('b');
    await cache.awaitObserved('pods', {
      namespace: 'default',
      name: 'a',
      resourceVersion: released.metadata.resourceVersion,
    });
    await eventually('b is gone', () => cache.get('pods', 'default', 'b') === undefined);
    expect(cache.ownedBy('pods', 'set').map((pod) => pod.metadata.name)).toEqual(['c']);
    expect(cache.orphans('pods', 'default').map((pod) => pod.metadata.name)).toEqual(['a']);
    expect(cache.inNamespace('pods', 'other').map((pod) => pod.metadata.name)).toEqual(['c']);
    expect(cache.get('pods', 'default', 'a')?.metadata).not.toHaveProperty('managedFields');
    expect(seen()).toEqual(['added a', 'added b', 'added c', 'modified a', 'deleted b']);
    expect(changes[3]?.previous?.metadata.ownerReferences).toHaveLength(1);
  });

  it('keeps who wrote a template that git applied, also while an undo of kubectl has taken the annotations of git', async () => {
    const managedFields = [
      { manager: 'fairlead', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:template': {} } } },
    ];
    const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1', managedFields };
    ground.server.put('a', { fields: { metadata } });
    await cache.start(stop.signal);
    expect(cache.get('pods', 'default', 'a')?.metadata).toMatchObject({ managedFields });
  });

  it('fills in apiVersion and kind of listed objects', async () => {
    ground.server.put('a');
    await cache.start(stop.signal);
    expect(cache.get('pods', 'default', 'a')).toMatchObject({ apiVersion: 'v1', kind: 'Pod' });
  });

  it('watches only the given namespaces', async () => {
    ground.server.put('a');
    ground.server.put('b', { namespace: 'other' });
    cache = makeCache({ namespaces: ['default', 'third'] });
    await cache.start(stop.signal);
    expect(names()).toEqual(['a']);
    expect(cache.health().map((source) => source.namespace)).toEqual(['default', 'third']);
  });

  it('reports errors of handlers and transforms and goes on', async () => {
    cache = makeCache({
      transform: (object) => {
        if (object.metadata.name === 'a') throw new Error('transform broke');
        return object;
      },
    });
    cache.onChange(() => {
      throw new Error('handler broke');
    });
    await cache.start(stop.signal);
    ground.server.put('a');
    ground.server.put('b');
    await eventually('both are there', () => names().length === 2);
    expect(errors).toEqual([
      'transform of pods: transform broke',
      'handler of pods: handler broke',
      'handler of pods: handler broke',
    ]);
  });

  it('rejects start with the reason of the signal when nothing can be listed', async () => {
    ground.server.intercept = (_, response) => {
      answer(response, 403, { kind: 'Status', reason: 'Forbidden', code: 403, message: 'no' });
      return true;
    };
    const started = cache.start(stop.signal);
    await eventually('the refusal is reported', () => errors.length > 1);
    stop.abort(new Error('enough'));
    await expect(started).rejects.toThrow('enough');
    expect(errors[0]).toContain('pods: GET pods: Forbidden: no');
  });
});

describe('faults', () => {
  it('goes on from its position after a cut connection, without a list', async () => {
    await cache.start(stop.signal);
    ground.server.put('a');
    await eventually('a is seen', () => names().length === 1);
    ground.server.cutWatches();
    ground.server.put('b');
    await eventually('b is seen', () => names().length === 2);
    expect(ground.server.requests.filter((request) => !request.url.searchParams.has('watch'))).toHaveLength(
      1,
    );
    expect(seen()).toEqual(['added a', 'added b']);
  });

  it('goes on after an event that was cut in the middle', async () => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.send('{"type":"ADDED","object":{"metadata":{"na');
    ground.server.endWatches();
    ground.server.put('a');
    await eventually('a is seen', () => names().length === 1);
    expect(errors[0]).toContain('the watch ended in the middle of an event');
  });

  it.each(['status', 'event'] as const)(
    'lists again after 410 by %s, with an event for each difference',
    async (goneBy) => {
      ground.server.put('kept');
      ground.server.put('removed');
      ground.server.put('replaced');
      ground.server.put('changed');
      await cache.start(stop.signal);
      await eventually('a watch stands', () => ground.server.openWatches === 1);
      changes.length = 0;
      ground.server.muted = true;
      ground.server.remove('removed');
      ground.server.remove('replaced');
      ground.server.put('replaced');
      ground.server.put('changed');
      ground.server.put('new');
      ground.server.muted = false;
      ground.server.goneBy = goneBy;
      ground.server.compacted = Number(ground.server.version);
      ground.server.cutWatches();
      await eventually('new is seen', () => names().includes('new'));
      expect([...seen()].sort()).toEqual([
        'added new',
        'added replaced',
        'deleted removed',
        'deleted replaced',
        'modified changed',
      ]);
      ground.server.put('later');
      await eventually('later is seen', () => names().includes('later'));
    },
  );

  it.each([
    ['no JSON', '<html>\n'],
    ['no event', '{"type":"PARTY"}\n'],
    ['no version', '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'],
    ['null', 'null\n'],
  ])('survives a line that is %s', async (_, line) => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.send(line);
    await eventually('it is reported', () => errors.length === 1);
    ground.server.put('a');
    await eventually('a is seen', () => names().includes('a'));
    expect(names()).toEqual(['a']);
  });

  it('takes silence past the end of a watch for a dead connection', async () => {
    cache = makeCache({}, { minWatchSeconds: 0, maxWatchSeconds: 0, idleMs: 150 });
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.muted = true;
    ground.server.put('a');
    ground.server.muted = false;
    await eventually('a is seen by the next watch', () => names().includes('a'));
    expect(errors[0]).toContain('no answer within 150 ms');
  });

  it('a bookmark moves the position, so that 410 is not met again', async () => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.bookmark();
    await eventually(
      'the bookmark is seen',
      () => cache.health()[0]?.resourceVersion === ground.server.version,
    );
    ground.server.compacted = Number(ground.server.version);
    ground.server.cutWatches();
    await eventually('a second watch was asked for', () => ground.server.watchRequests.length === 2);
    expect(ground.server.watchRequests[1]?.url.searchParams.get('resourceVersion')).toBe(
      ground.server.version,
    );
    expect(changes).toEqual([]);
  });

  it('waits longer from failure to failure, and no longer than the last back-off', async () => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    const tries: number[] = [];
    ground.server.intercept = (_, response) => {
      tries.push(performance.now());
      answer(response, 503, { kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
      return true;
    };
    ground.server.cutWatches();
    await eventually('it tried often', () => tries.length >= 6);
    const waits = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    // How long at most is backoffMs's business (backoff.test.ts): a busy machine may take any time.
    expect(waits[0]).toBeLessThan(waits[4] ?? 0);
    expect(waits[4]).toBeGreaterThanOrEqual(95);
    expect(cache.health()[0]).toMatchObject({ connected: false, synced: true });
    ground.server.intercept = undefined;
    ground.server.put('a');
    await eventually('a is seen', () => names().includes('a'));
    await eventually('a watch stands again', () => ground.server.openWatches === 1);
    ground.server.put('b');
    await eventually('the failures are forgotten', () => cache.health()[0]?.failures === 0);
  });

  it('does not ask in a loop when watches end as soon as they begin', async () => {
    cache = makeCache({}, { firstBackoffMs: 40, lastBackoffMs: 40 });
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.intercept = (request, response) => {
      if (!request.url.searchParams.has('watch')) return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end();
      return true;
    };
    const before = ground.server.watchRequests.length;
    const started = performance.now();
    ground.server.endWatches();
    await eventually('it asked four times more', () => ground.server.watchRequests.length === before + 4);
    expect(performance.now() - started).toBeGreaterThanOrEqual(4 * 40);
  });

  it('retryNow ends a wait at once', async () => {
    cache = makeCache({}, { firstBackoffMs: 60_000, lastBackoffMs: 60_000 });
    ground.server.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    const started = cache.start(stop.signal);
    await eventually('the failure is reported', () => errors.length === 1);
    ground.server.intercept = undefined;
    cache.retryNow();
    await started;
    expect(cache.health()[0]?.synced).toBe(true);
  });

  it('a source that works again wakes those that wait', async () => {
    cache = new WatchCache({
      client: ground.client,
      sources: [PODS, { ...PODS, id: 'others', resource: 'others' }],
      onError: (error) => errors.push(toMessage(error)),
      timing: { firstBackoffMs: 60_000, lastBackoffMs: 60_000 },
    });
    let broken = true;
    ground.server.intercept = (request, response) => {
      if (!broken || !request.url.pathname.endsWith('/others')) return false;
      response.destroy();
      return true;
    };
    const started = cache.start(stop.signal);
    await eventually('the failure is reported', () => errors.length === 1);
    broken = false;
    await started;
    expect(cache.health().every((source) => source.synced)).toBe(true);
  });
});

describe('own writes (C14)', () => {
  it('are seen at once, before the watch tells, and told to handlers once', async () => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.muted = true;
    const created = ground.server.put('a', { owner: 'set' });
    cache.observeWrite('pods', created);
    expect(cache.ownedBy('pods', 'set')).toHaveLength(1);
    const patched = ground.server.put('a');
    cache.observeWrite('pods', patched);
    cache.observeWrite('pods', created);
    expect(cache.get('pods', 'default', 'a')?.metadata.resourceVersion).toBe(
      patched.metadata.resourceVersion,
    );
    ground.server.muted = false;
    ground.server.cutWatches();
    ground.server.put('last');
    await eventually('the watch has delivered all', () => names().includes('last'));
    expect(seen()).toEqual(['added a', 'modified a', 'added last']);
  });

  it('an answer older than a deletion that was seen does not bring the object back', async () => {
    await cache.start(stop.signal);
    const created = ground.server.put('a');
    ground.server.remove('a');
    ground.server.put('b');
    await eventually('b is seen', () => names().includes('b'));
    cache.observeWrite('pods', created);
    expect(names()).toEqual(['b']);
  });

  it('a deleted object is gone at once and late events do not bring it back', async () => {
    ground.server.put('a');
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.muted = true;
    const last = ground.server.put('a');
    ground.server.remove('a');
    const details = { name: 'a', uid: last.metadata.uid };
    cache.observeDelete(
      'pods',
      { kind: 'Status', status: 'Success', details },
      { namespace: 'default', name: 'a' },
    );
    expect(names()).toEqual([]);
    ground.server.muted = false;
    ground.server.cutWatches();
    const successor = ground.server.put('a');
    await cache.awaitObserved('pods', {
      namespace: 'default',
      name: 'a',
      resourceVersion: successor.metadata.resourceVersion,
    });
    expect(cache.get('pods', 'default', 'a')?.metadata.uid).toBe(successor.metadata.uid);
    expect(seen()).toEqual(['added a', 'deleted a', 'added a']);
  });

  it('a delete that leaves the object terminating shows it terminating', async () => {
    ground.server.put('a');
    await cache.start(stop.signal);
    ground.server.muted = true;
    const answered = ground.server.put('a');
    const metadata = { ...answered.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    cache.observeDelete('pods', { ...answered, metadata }, { namespace: 'default', name: 'a' });
    expect(cache.get('pods', 'default', 'a')?.metadata.deletionTimestamp).toBe('2026-01-01T00:00:00Z');
  });

  it('a delete whose answer has no version found the object gone', async () => {
    ground.server.put('a');
    await cache.start(stop.signal);
    ground.server.muted = true;
    const { resourceVersion: _, ...metadata } = ground.server.put('a').metadata;
    const answered = { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    cache.observeDelete('pods', answered, { namespace: 'default', name: 'a' });
    expect(names()).toEqual([]);
  });

  /** The watch was too old; resolves when the next one stands. */
  async function listedAnew(): Promise<void> {
    const lists = () => ground.server.requests.filter(({ url }) => !url.searchParams.has('watch')).length;
    const before = lists();
    ground.server.compacted = Number.MAX_SAFE_INTEGER;
    ground.server.cutWatches();
    await eventually('a list is asked for', () => lists() > before);
    ground.server.compacted = 0;
    await eventually('a watch stands again', () => ground.server.openWatches === 1);
  }

  it('a list that is older than a write keeps the write', async () => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.muted = true;
    const listVersion = ground.server.version;
    const written = ground.server.put('a');
    cache.observeWrite('pods', written);
    ground.server.intercept = (request, response) => {
      if (request.url.searchParams.has('watch')) return false;
      answer(response, 200, {
        kind: 'PodList',
        apiVersion: 'v1',
        metadata: { resourceVersion: listVersion },
        items: [],
      });
      return true;
    };
    await listedAnew();
    expect(names()).toEqual(['a']);
    ground.server.intercept = undefined;
    await listedAnew();
    expect(names()).toEqual(['a']);
    ground.server.remove('a');
    await listedAnew();
    expect(names()).toEqual([]);
  });

  it('awaitObserved says what it waited for, and starts the silent watch anew', async () => {
    await cache.start(stop.signal);
    await eventually('a watch stands', () => ground.server.openWatches === 1);
    ground.server.muted = true;
    const { resourceVersion } = ground.server.put('a').metadata;
    ground.server.muted = false;
    const write = { namespace: 'default', name: 'a', resourceVersion };
    const waiting = cache.awaitObserved('pods', write, { timeoutMs: 50 });
    await expect(waiting).rejects.toThrow(
      new NotObserved(
        `the watch cache did not see pods default/a at version ${resourceVersion} within 50 ms`,
      ),
    );
    await cache.awaitObserved('pods', write);
    expect(names()).toEqual(['a']);
  });

  it('awaitGone drops a known uid at once', async () => {
    const { uid } = ground.server.put('a').metadata;
    await cache.start(stop.signal);
    ground.server.muted = true;
    await cache.awaitGone('pods', { namespace: 'default', name: 'a', uid });
    expect(names()).toEqual([]);
  });
});

it('10,000 objects: lookups by owner cost what they return', async () => {
  for (let index = 0; index < 10_000; index += 1) {
    ground.server.put(`pod-${String(index)}`, { owner: `set-${String(index % 1000)}` });
  }
  await cache.start(stop.signal);
  const owners = Array.from({ length: 100 }, (_, index) => `set-${String(index)}`);
  /** The quickest of ten: what else the machine does meanwhile does not count. */
  const time = (lookup: (owner: string) => number): { readonly found: number; readonly ms: number } => {
    let found = 0;
    let ms = Infinity;
    for (let tries = 0; tries < 10; tries += 1) {
      const started = performance.now();
      found = owners.reduce((sum, owner) => sum + lookup(owner), 0);
      ms = Math.min(ms, performance.now() - started);
    }
    return { found, ms };
  };
  const indexed = time((owner) => cache.ownedBy('pods', owner).length);
  const scanned = time((owner) => cache.list('pods').filter((pod) => controllerUid(pod) === owner).length);
  expect(indexed.found).toBe(1000);
  expect(scanned.found).toBe(1000);
  expect(indexed.ms * 10).toBeLessThan(scanned.ms);
});
