/** A newer commit takes the place of an older one: at each phase, within a second, in order. Real Temporal, apiserver and git. */

import { basename, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { nobodyWroteSince } from '../../git/inventory.ts';
import { settingsOf } from '../../git/repositories.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { commitWorkflowId, commitWorkflowPrefix } from '../../workflows/sync-messages.ts';
import { found } from '../support/eventually.ts';
import { GitServer } from '../support/git-server.ts';
import type { GitSync } from '../support/git-sync.ts';
import { useLanes } from '../support/lanes.ts';
import { usePlayedSetGround } from '../support/played-set-ground.ts';
import { SlowSync } from '../support/slow-sync.ts';
import { configMap, statefulSet } from '../support/small-manifests.ts';
import { TemporalRuns, listedRuns } from '../support/temporal-runs.ts';

const CLUSTER = 'newer-commit';
const { controlPlane, cluster, sync, follow, setStatus, describeCommit, awaiting, eventsOf } =
  usePlayedSetGround({ cluster: CLUSTER });

/** Each play has a repository and a namespace of its own. Last come those that measure. */
const inLane = useLanes(4);

/** From outside: a second on a machine that does nothing else, and as much again for one that is busy with other tests. */
const LIMIT_MS = 2_000;

/**
 * Has a newer commit take the place of an older one, which `place` has brought to where it is to be cancelled, and answers the times. The
 * older one closes in time: a machine that does something else for a moment may be late once, what is slow is late each time. Where
 * `ends`, the newer one is over before the next try: its writes are not those of that.
 */
async function handedOver(
  of: GitSync,
  name: string,
  place: (round: number) => Promise<{ readonly old: string; readonly next: string }>,
  { limitMs = LIMIT_MS, ends = false }: { readonly limitMs?: number; readonly ends?: boolean } = {},
): Promise<{ readonly next: string; readonly asked: number; readonly closed: number }> {
  const { temporal, cluster: owner, runs } = of;
  const lags: number[] = [];
  for (let round = 1; ; round += 1) {
    const { old, next } = await place(round);
    const asked = Date.now();
    await runs.commitSeen(name, { sha: next });
    const run = (sha: string) => temporal.workflow.getHandle(commitWorkflowId(owner, name, sha)).describe();
    const { startTime } = await found(
      'the newer one has begun',
      async () => await run(next).catch(() => undefined),
      60_000,
    );
    const { status, closeTime } = await run(old);
    expect(status.name).toBe('CANCELLED');
    const closed = closeTime?.getTime() ?? Infinity;
    expect(startTime.getTime()).toBeGreaterThanOrEqual(closed);
    lags.push(closed - asked);
    if (closed - asked <= limitMs) return { next, asked, closed };
    if (round === 3) throw new Error(`cancelled only after ${lags.join(', ')} ms`);
    if (ends) await of.dealtWith(name, next, 60_000);
  }
}

describe('a newer commit', () => {
  it(
    'that is taken back while the one before it is closing: that one is applied anew',
    inLane(async () => {
      const { git, name, set } = await follow('back');
      const wanted = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, wanted);
      await awaiting(name, wanted);
      const first = await describeCommit(name, wanted);
      const other = await git.commit({ 'a.yaml': configMap('1') });
      await sync().commitSeen(name, other);
      // The answer to the query comes after the task in which sync has cancelled the first: it is closing now.
      await found('the other one was seen', async () => {
        const { running, wanted: next, last } = await sync().status(name);
        return running === other || next === other || last !== undefined ? true : undefined;
      });
      await sync().commitSeen(name, wanted);
      await found('it runs again', async () => {
        const { runId, status } = await describeCommit(name, wanted);
        return runId !== first.runId && status.name === 'RUNNING' ? true : undefined;
      });
      await awaiting(name, wanted);
      await setStatus(set, true);
      expect(await sync().dealtWith(name, wanted)).toMatchObject({ outcome: 'Succeeded' });
    }),
    60_000,
  );

  it(
    'is the one that stays where the run of an older one is reset; the run of the newest may begin again',
    inLane(async () => {
      const { git, name, namespace } = await follow('reset');
      const first = await git.commit({ 'a.yaml': configMap('1') });
      expect(await sync().apply(name, first)).toMatchObject({ outcome: 'Succeeded' });
      const added = configMap('1').replace('name: config', 'name: added');
      const newest = await git.commit({ 'a.yaml': configMap('2'), 'b.yaml': added });
      expect(await sync().apply(name, newest)).toMatchObject({ outcome: 'Succeeded' });
      const maps = async () => {
        const path = { group: '', version: 'v1', resource: 'configmaps', namespace } as const;
        const { items } = await cluster().client.list<KubernetesObject & { data?: object }>(path);
        return items
          .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
          .map(({ metadata, data }) => [metadata.name, metadata.resourceVersion, data]);
      };
      const before = await maps();
      expect(before).toHaveLength(2);

      const older = new TemporalRuns(sync().temporal, commitWorkflowId(CLUSTER, name, first));
      const again = sync().temporal.workflow.getHandle(older.workflowId, await older.reset('first'));
      expect(await again.result()).toMatchObject({ outcome: 'Superseded' });
      expect(await maps()).toEqual(before);
      const { commit, history = [] } = (await sync().inventory(name))?.status ?? {};
      expect(commit).toMatchObject({ sha: newest, outcome: 'Succeeded' });
      expect(history.at(-1)).toMatchObject({ sha: first, outcome: 'Superseded', supersededBy: newest });

      const last = new TemporalRuns(sync().temporal, commitWorkflowId(CLUSTER, name, newest));
      const anew = sync().temporal.workflow.getHandle(last.workflowId, await last.reset('first'));
      expect(await anew.result()).toMatchObject({ outcome: 'Succeeded' });
      expect(await maps()).toEqual(before);
    }),
    90_000,
  );

  it(
    'ten in a storm: the last one wins and no two ever run at once',
    inLane(async () => {
      const { git, name, namespace } = await follow('storm');
      let last = '';
      for (let index = 0; index < 10; index++) {
        last = await git.commit({ 'a.yaml': configMap(String(index)) });
        await sync().commitSeen(name, last);
        await new Promise((resolve) => {
          setTimeout(resolve, 100);
        });
      }
      expect(await sync().dealtWith(name, last)).toMatchObject({ outcome: 'Succeeded' });
      expect(
        await cluster().client.get({
          group: '',
          version: 'v1',
          resource: 'configmaps',
          namespace,
          name: 'config',
        }),
      ).toMatchObject({ data: { key: '9' } });
      const query = `WorkflowId STARTS_WITH '${commitWorkflowPrefix(CLUSTER, name)}'`;
      const runs = await listedRuns(sync().temporal, query);
      expect(runs.length).toBeGreaterThan(0);
      for (const [index, { startedAt }] of runs.slice(1).entries())
        expect(startedAt).toBeGreaterThanOrEqual(runs[index]?.closedAt ?? Infinity);
    }),
    90_000,
  );

  // Here begins what is alone.
  it('cancels one that waits for a rollout within a second, and starts when that has closed', async () => {
    const { git, name, set } = await follow('newer');
    let stuck = await git.commit({ 'web.yaml': statefulSet('bad') });
    await sync().commitSeen(name, stuck);
    const { next } = await handedOver(sync(), name, async (round) => {
      await awaiting(name, stuck);
      const old = stuck;
      stuck = await git.commit({ 'web.yaml': statefulSet(`good${String(round)}`) });
      return { old, next: stuck };
    });
    await awaiting(name, next);
    await setStatus(set, true);
    expect(await sync().dealtWith(name, next)).toMatchObject({ outcome: 'Succeeded' });
    const { history = [] } = (await sync().inventory(name))?.status ?? {};
    expect(history.flatMap(({ notes = [] }) => notes).join()).not.toContain('cancelled');
    const [first] = history;
    expect(first?.outcome).toBe('Superseded');
    expect(await eventsOf(first?.sha ?? '')).toEqual(['CommitSuperseded']);
  }, 60_000);
});

describe('a newer commit ends the one before it within a second', () => {
  let slow: SlowSync;
  beforeAll(async () => {
    slow = await SlowSync.start(controlPlane(), 'sync-slow');
  }, 60_000);
  afterAll(async () => await slow?.stop(), 30_000);

  const COUNT = 64;
  /** One file with many ConfigMaps. */
  const many = (value: string): string =>
    Array.from({ length: COUNT }, (_, index) =>
      configMap(value).replace('name: config', `name: config-${String(index)}`),
    ).join('---\n');

  async function followSlowly(name: string) {
    const followed = await follow(name);
    slow.sync.follow(followed.repository);
    return followed;
  }

  async function phase(name: string, sha: string, wanted: string): Promise<void> {
    const handle = slow.sync.temporal.workflow.getHandle(commitWorkflowId('sync-slow', name, sha));
    await found(`${name} is ${wanted}`, async () => {
      const view = await handle.query<{ phase: string }>('progress').catch(() => undefined);
      return view?.phase === wanted ? true : undefined;
    });
  }

  it('before its first write, and has left all as it was: what was applied goes on being put back', async () => {
    const { git, name, namespace, repository } = await followSlowly('left-whole');
    const good = await git.commit({ 'config.yaml': configMap('1') });
    expect(await slow.sync.apply(name, good)).toMatchObject({ outcome: 'Succeeded' });
    slow.delays.reads.set(namespace, 2_000);
    const old = await git.commit({ 'config.yaml': configMap('2') });
    await slow.sync.commitSeen(name, old);
    await phase(name, old, 'Checking');
    expect(await slow.sync.apply(name, await git.commit({ 'bad.yaml': 'a: [' }))).toMatchObject({
      outcome: 'Refused',
    });
    slow.delays.reads.clear();
    const inventory = await slow.sync.inventory(name);
    const { history = [] } = inventory?.status ?? {};
    expect(history.map(({ outcome }) => outcome)).toEqual(['Succeeded', 'Superseded', 'Refused']);
    expect(inventory && nobodyWroteSince(inventory)).toBe(true);

    const config = { group: '', version: 'v1', resource: 'configmaps', namespace, name: 'config' };
    await cluster().client.delete(config);
    const objects = [...(inventory?.entries.keys() ?? [])];
    const wholeWith = settingsOf(repository);
    await slow.sync.runs.driftFound(name, { sha: good, objects, reason: 'deleted', wholeWith });
    await cluster().until(config, 'there again', () => true);
  }, 60_000);

  it('in the check', async () => {
    const { git, name, namespace } = await followSlowly('in-check');
    let before = 0;
    const place = async (round: number) => {
      before = slow.writes(namespace).length;
      slow.delays.reads.set(namespace, 600);
      const old = await git.commit({ 'many.yaml': many(String(round)) });
      await slow.sync.commitSeen(name, old);
      await phase(name, old, 'Checking');
      return { old, next: await git.commit({ 'many.yaml': configMap(String(round)) }) };
    };
    const { next } = await handedOver(slow.sync, name, place, { ends: true });
    slow.delays.reads.clear();
    expect(await slow.sync.dealtWith(name, next)).toMatchObject({ outcome: 'Succeeded' });
    // None of the older one.
    expect(slow.writes(namespace).slice(before)).toHaveLength(1);
  }, 60_000);

  /** The older one was in the middle of its writes, and of those that it had begun none was answered after its end. */
  function expectEnded(namespace: string, { asked, closed }: Awaited<ReturnType<typeof handedOver>>): void {
    const writes = slow.writes(namespace).filter(({ begun }) => begun < closed);
    expect(writes.filter(({ answered }) => answered > closed)).toEqual([]);
    expect(writes.filter(({ answered }) => answered > asked)).not.toEqual([]);
  }

  async function writing(namespace: string, what: string): Promise<void> {
    const before = slow.writes(namespace).length;
    await found(what, async () => (slow.writes(namespace).length > before ? true : undefined));
  }

  /** Longer than it takes to close a run that waits for nothing. */
  const SLOW_WRITE_MS = 1_500;

  it('while it applies, after the writes in flight', async () => {
    const { git, name, namespace } = await followSlowly('in-apply');
    const place = async (round: number) => {
      slow.delays.writes.set(namespace, SLOW_WRITE_MS);
      const old = await git.commit({ 'many.yaml': many(`old ${String(round)}`) });
      const begins = writing(namespace, 'some are written');
      await slow.sync.commitSeen(name, old);
      await begins;
      return { old, next: await git.commit({ 'many.yaml': configMap(String(round)) }) };
    };
    const times = await handedOver(slow.sync, name, place, {
      limitMs: SLOW_WRITE_MS + LIMIT_MS,
      ends: true,
    });
    slow.delays.writes.clear();
    expectEnded(namespace, times);
    // Those in flight, and as many that were begun before the run had heard of it.
    const { asked, closed } = times;
    const after = slow.writes(namespace).filter(({ begun }) => begun > asked && begun < closed);
    expect(after.length).toBeLessThanOrEqual(8);
    expect(await slow.sync.dealtWith(name, times.next, 60_000)).toMatchObject({ outcome: 'Succeeded' });
  }, 90_000);

  it('while it prunes, after the write in flight', async () => {
    const { git, name, namespace } = await followSlowly('in-prune');
    const times = await handedOver(slow.sync, name, async (round) => {
      slow.delays.writes.clear();
      const all = await git.commit({ 'a.yaml': configMap('1'), 'many.yaml': many(String(round)) });
      await slow.sync.apply(name, all, 60_000);
      slow.delays.writes.set(namespace, 200);
      const old = await git.commit({ 'many.yaml': undefined });
      const begins = writing(namespace, 'one is deleted');
      await slow.sync.commitSeen(name, old);
      await begins;
      return { old, next: await git.commit({ 'a.yaml': configMap(`after ${String(round)}`) }) };
    });
    slow.delays.writes.clear();
    expectEnded(namespace, times);
    expect(await slow.sync.dealtWith(name, times.next, 60_000)).toMatchObject({ outcome: 'Succeeded' });
  }, 120_000);

  it('while it waits for a wave', async () => {
    const { git, name } = await followSlowly('in-wave');
    const waves = (image: string) => ({
      'api.yaml': statefulSet(image, { name: 'api', wave: '1' }),
      'web.yaml': statefulSet(image),
    });
    let old = await git.commit(waves('1'));
    await slow.sync.commitSeen(name, old);
    const { next } = await handedOver(slow.sync, name, async (round) => {
      await phase(name, old, 'AwaitingWave');
      const stuck = old;
      old = await git.commit(waves(`again${String(round)}`));
      return { old: stuck, next: old };
    });
    await phase(name, next, 'AwaitingWave');
  }, 60_000);

  it('while a fetch hangs', async () => {
    const { git, name, repository } = await followSlowly('in-fetch');
    const server = await GitServer.start(join(git.path, '..'));
    try {
      server.only = 'POST';
      slow.sync.follow({
        ...repository,
        url: server.url(`${basename(git.path)}/.git`),
        caFile: server.caFile,
      });
      const { next } = await handedOver(slow.sync, name, async (round) => {
        server.behaviour = 'hang';
        const old = await git.commit({ 'a.yaml': configMap(`old ${String(round)}`) });
        const before = server.requests.length;
        await slow.sync.commitSeen(name, old);
        // What it asks first is answered: of that which hangs the path ends so.
        const fetches = () =>
          server.requests.slice(before).some(({ path }) => path.endsWith('/git-upload-pack'));
        await found('it fetches', async () => (fetches() ? true : undefined));
        server.behaviour = 'serve';
        return { old, next: await git.commit({ 'a.yaml': configMap(`new ${String(round)}`) }) };
      });
      expect(await slow.sync.dealtWith(name, next)).toMatchObject({ outcome: 'Succeeded' });
    } finally {
      await server.stop();
    }
  }, 60_000);
});
