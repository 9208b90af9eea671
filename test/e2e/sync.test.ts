/** Commits that follow each other, and what survives: what waits, what is counted, who may go on. Real Temporal, apiserver and git. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { SyncRuns } from '../../controllers/sync-runs.ts';
import { UnfollowedRuns } from '../../controllers/unfollowed-runs.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import { commitWorkflowId, syncSignal, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { runCli } from '../support/cli.ts';
import { found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import type { FileChange } from '../support/git-repository.ts';
import { GitSync, INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { plantedIn, textOf } from '../support/planted.ts';
import { usePlayedSetGround } from '../support/played-set-ground.ts';
import { ReceivingServer } from '../support/receiving-server.ts';
import { grantInCluster } from '../support/sync-account.ts';
import type { Followed } from '../support/sync-ground.ts';
import { TemporalProxy } from '../support/temporal-proxy.ts';
import { listedRuns } from '../support/temporal-runs.ts';
import { configMap, statefulSet } from '../support/small-manifests.ts';

/** Those of sync. */
const requests: string[] = [];
const ground = usePlayedSetGround({
  cluster: 'sync',
  historyLimit: 60,
  onRequest: ({ method, resource }) => requests.push(`${method} ${resource}`),
});
const { controlPlane, cluster, sync, follow, setStatus, describeCommit, awaiting, eventsOf } = ground;

/** Each play has a repository and a namespace of its own, and mostly waits. Last come those that measure, count or stop a server. */
const inLane = useLanes(4);

/** What the heartbeats of the commit's activities say. One that has nothing to say yet has a payload, too: it is empty. */
async function heartbeatsOf(repository: string, sha: string): Promise<readonly string[]> {
  const { raw } = await describeCommit(repository, sha);
  const payloads = (raw.pendingActivities ?? []).flatMap(
    ({ heartbeatDetails }) => heartbeatDetails?.payloads ?? [],
  );
  return payloads.map(({ data }) => Buffer.from(data ?? []).toString('utf8'));
}

/** Until the wait of the commit knows that its StatefulSet is under way: its heartbeats name it. */
async function lookedAt(repository: string, sha: string): Promise<void> {
  await found(`${repository} has looked at its workloads`, async () => {
    const heartbeats = await heartbeatsOf(repository, sha);
    return heartbeats.some((text) => text.includes('/web: ')) ? true : undefined;
  });
}

describe('what waits for a clock', () => {
  itInFull(
    'a receiver that hangs holds no commit, not even when the sync continues as new; later it gets what is left, in order',
    inLane(async () => {
      const { git, name, repository } = await follow('hanging');
      const receiver = await ReceivingServer.start();
      try {
        receiver.answers[0] = 'hang';
        const secretFile = join(git.path, '.git', 'secret');
        await writeFile(secretFile, 'secret');
        const notify = [{ id: 'webhook', type: 'webhook', url: receiver.url(), secretFile } as const];
        sync().follow({ ...repository, notify });
        const handle = sync().temporal.workflow.getHandle(syncWorkflowId('sync', name));
        const runs = new Set<string>();
        const commits: string[] = [];
        for (let index = 0; index < 8; index++) {
          const sha = await git.commit({ 'a.yaml': configMap(String(index)) });
          commits.push(sha);
          await sync().commitSeen(name, sha, { notify: ['webhook'] });
          // One that hangs is tried for two minutes.
          expect(await sync().dealtWith(name, sha, 20_000)).toMatchObject({ outcome: 'Succeeded' });
          runs.add((await handle.describe()).runId);
        }
        expect(runs.size).toBeGreaterThan(1);
        const tries = receiver.received.length;
        receiver.answers[0] = 200;
        const newest = commits.at(-1) ?? '';
        const told = () =>
          receiver.received.slice(tries).map(({ headers, body }) => {
            const news = JSON.parse(body) as { sha: string; outcome: string; missed?: number };
            return { ...news, id: headers['x-fairlead-delivery'] };
          });
        // A post that hangs has its half a minute, and a pause behind it.
        const isNewest = ({ sha, outcome }: { readonly sha: string; readonly outcome: string }) =>
          sha === newest && outcome === 'Succeeded';
        const look = async () => (told().some(isNewest) ? true : undefined);
        await found('the newest state was told', look, 90_000);
        // In order, each once, and none is lost without being told of.
        const order = commits.flatMap((sha) => [`${sha} Pending`, `${sha} Succeeded`]);
        const places = told().map(({ sha, outcome }) => order.indexOf(`${sha} ${outcome}`));
        expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
        expect(new Set(told().map(({ id }) => id)).size).toBe(places.length);
        const missed = told().reduce((sum, news) => sum + (news.missed ?? 0), 0);
        expect(missed).toBeGreaterThan(0);
        expect(places.length + missed).toBe(order.length);
      } finally {
        await receiver.stop();
      }
    }),
    180_000,
  );

  it(
    'a commit after one that changed a workload fails with it, and is shown as failed, although it has changed nothing itself',
    inLane(async () => {
      const { git, name, set } = await follow('quiet');
      const slow = await git.commit({ 'web.yaml': statefulSet('slow') });
      await sync().commitSeen(name, slow);
      await awaiting(name, slow);
      await setStatus(set, false);
      const quiet = await git.commit({ 'README.md': 'nothing of the cluster' });
      await sync().commitSeen(name, quiet);
      await awaiting(name, quiet);
      await lookedAt(name, quiet);
      await setStatus(set, false, 'RunTerminated');
      expect(await sync().dealtWith(name, quiet)).toMatchObject({ outcome: 'Failed' });
      const { commit } = (await sync().inventory(name))?.status ?? {};
      expect(commit).toMatchObject({ sha: quiet, outcome: 'Failed' });
      expect(commit?.failedRollouts).toEqual([
        expect.stringMatching(/^StatefulSet\.fairlead\.dev \S+\/web$/),
      ]);
      // What the leader says once it is rolled out; of another commit it is nothing.
      await setStatus(set, true);
      const reason = 'rolled out since';
      await sync().runs.rolledOut(name, { sha: slow, reason });
      await sync().runs.rolledOut(name, { sha: quiet, reason });
      await found(
        'it was tried again',
        async () => ((await sync().status(name)).last?.outcome === 'Succeeded' ? true : undefined),
        60_000,
      );
      const { history = [], commit: last } = (await sync().inventory(name))?.status ?? {};
      expect(last).toMatchObject({ sha: quiet, outcome: 'Succeeded' });
      expect(history.map(({ sha, outcome, reason: why }) => [sha, outcome, why])).toEqual([
        [slow, 'Superseded', undefined],
        [quiet, 'Failed', undefined],
        [quiet, 'Succeeded', reason],
      ]);
    }),
    120_000,
  );

  it(
    'a commit that the cluster does not take is tried again by itself, and applied once what stood in its way is gone',
    inLane(async () => {
      const { git, name, namespace } = await follow('early');
      const missing = `${namespace}-later`;
      await grantInCluster(cluster().client, namespace, ['configmaps']);
      const sha = await git.commit({
        'a.yaml': configMap('1').replace('name: config', `name: config, namespace: ${missing}`),
      });
      const refused = await sync().apply(name, sha);
      expect(refused).toMatchObject({ outcome: 'Refused', tries: 1 });
      expect((refused.retryAt ?? 0) - Date.parse(refused.finishedAt)).toBe(10_000);
      expect((await sync().inventory(name))?.status.commit?.notes).toEqual([
        expect.stringMatching(/^it is tried again by itself/),
      ]);
      await cluster().client.create(
        { group: '', version: 'v1', resource: 'namespaces' },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: missing } },
      );
      const applied = await found(
        'it was applied',
        async () => {
          const { last } = await sync().status(name);
          return last?.outcome === 'Succeeded' ? last : undefined;
        },
        30_000,
      );
      expect(applied).toMatchObject({ sha, tries: 2 });
      expect(applied.retryAt).toBeUndefined();
    }),
    60_000,
  );
});

describe('a commit with a workload', () => {
  it(
    'is done when its rollout is, and says why it waits',
    inLane(async () => {
      const { git, name, set } = await follow('rollout');
      const sha = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, sha);
      await awaiting(name, sha);
      await setStatus(set, false);
      await found('the reason is shown', async () => {
        const heartbeats = await heartbeatsOf(name, sha);
        return heartbeats.some((text) => text.includes('one pod to go')) ? true : undefined;
      });
      await setStatus(set, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
      const result = await sync()
        .temporal.workflow.getHandle(commitWorkflowId('sync', name, sha))
        .result();
      expect(result).toEqual({
        outcome: 'Succeeded',
        applied: 1,
        unchanged: 0,
        pruned: 0,
        rollouts: 1,
        endedAt: expect.any(Number),
      });
      expect(await eventsOf(sha)).toEqual(['CommitApplied']);
    }),
    60_000,
  );

  it(
    'fails with its rollout, is not tried again by itself, and again when asked',
    inLane(async () => {
      const { git, name, set } = await follow('stuck');
      const sha = await git.commit({ 'web.yaml': statefulSet('bad') });
      await sync().commitSeen(name, sha);
      await awaiting(name, sha);
      await setStatus(set, false, 'ProgressDeadlineExceeded');
      const last = await sync().dealtWith(name, sha);
      expect(last.outcome).toBe('Failed');
      expect(last.message).toMatch(
        /RolloutFailed web\.yaml:1@\w{8}: StatefulSet\.fairlead\.dev \S+\/web: ProgressDeadlineExceeded: no progress for 60 s\. \S/,
      );
      const first = await describeCommit(name, sha);
      await sync().commitSeen(name, sha);
      await setStatus(set, true);
      await sync()
        .temporal.workflow.getHandle(syncWorkflowId('sync', name))
        .signal(syncSignal, { by: 'ann' });
      await found('it was tried again', async () =>
        (await sync().status(name)).last?.outcome === 'Succeeded' ? true : undefined,
      );
      const second = await describeCommit(name, sha);
      expect(second.runId).not.toBe(first.runId);
      expect(await eventsOf(sha)).toEqual(['CommitFailed', 'CommitApplied']);
    }),
    60_000,
  );
});

describe('a commit after one that changed a workload', () => {
  it(
    'awaits what is still under way, and names what was not well before',
    inLane(async () => {
      const { git, name, set } = await follow('after');
      const first = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, first);
      await awaiting(name, first);
      const second = await git.commit({ 'a.yaml': configMap('1') });
      await sync().commitSeen(name, second);
      await awaiting(name, second);
      await lookedAt(name, second);
      await setStatus(set, false, 'ProgressDeadlineExceeded');
      expect(await sync().dealtWith(name, second)).toMatchObject({ outcome: 'Failed' });
      const third = await git.commit({ 'a.yaml': configMap('2') });
      expect(await sync().apply(name, third)).toMatchObject({ outcome: 'Succeeded' });
      expect((await sync().inventory(name))?.status.commit?.notes).toEqual([
        expect.stringMatching(
          /^StatefulSet\.fairlead\.dev after-\w+\/web: ProgressDeadlineExceeded: no progress for 60 s$/,
        ),
      ]);
    }),
    60_000,
  );
});

describe('a commit that the cluster does not take', () => {
  it(
    'for a reason that is in the commit: is not tried again by itself',
    inLane(async () => {
      const { git, name } = await follow('never');
      const sha = await git.commit({ 'a.yaml': 'kind: [' });
      const refused = await sync().apply(name, sha);
      expect(refused).toMatchObject({ outcome: 'Refused' });
      expect(refused.retryAt).toBeUndefined();
      expect((await sync().inventory(name))?.status.commit?.notes).toBeUndefined();
    }),
    60_000,
  );
});

describe('a sync that lives long', () => {
  it(
    'continues as new between commits and remembers the last',
    inLane(async () => {
      const { git, name } = await follow('long');
      const runs = new Set<string>();
      let last = '';
      for (let index = 0; index < 8; index++) {
        last = await git.commit({ 'a.yaml': configMap(String(index)) });
        expect(await sync().apply(name, last)).toMatchObject({ outcome: 'Succeeded' });
        runs.add((await sync().temporal.workflow.getHandle(syncWorkflowId('sync', name)).describe()).runId);
      }
      expect(runs.size).toBeGreaterThan(1);
      const before = await describeCommit(name, last);
      await sync().commitSeen(name, last);
      expect(await sync().status(name)).toMatchObject({ last: { sha: last, outcome: 'Succeeded' } });
      expect((await describeCommit(name, last)).runId).toBe(before.runId);
    }),
    90_000,
  );
});

describe('a repository that is followed no more', () => {
  const leave = async (
    name: string,
    isForgotten = false,
    receivers: readonly string[] = [],
  ): Promise<void> => {
    sync().unfollow(name, isForgotten);
    await found('its run can be found', async () =>
      (await sync().runs.open()).has(name) ? true : undefined,
    );
    const ended: string[] = [];
    const errors: unknown[] = [];
    const leaving = new UnfollowedRuns({
      runs: sync().runs,
      // What others leave at the same time is theirs to end.
      isFollowed: (one) => one !== name || sync().follows(one),
      receivers: () => receivers,
      onEnded: (one) => ended.push(one),
      onError: (error) => errors.push(error),
      patienceMs: 0,
    });
    leaving.start();
    await found('its run was found', async () => (ended.includes(name) ? true : undefined));
    await leaving.stop();
    expect({ ended, errors }).toEqual({ ended: [name], errors: [] });
  };
  /** Until the list has it: it hears of a run after the run has begun. */
  const listed = async (workflowId: string): Promise<void> => {
    const query = `WorkflowId = "${workflowId}" AND ExecutionStatus = "Running"`;
    await found(`${workflowId} is listed`, async () =>
      (await listedRuns(sync().temporal, query)).length > 0 ? true : undefined,
    );
  };
  const closed = async (workflowId: string): Promise<string> =>
    await found(`${workflowId} has closed`, async () => {
      const { status } = await sync().temporal.workflow.getHandle(workflowId).describe();
      return status.name === 'RUNNING' ? undefined : status.name;
    });

  it(
    'has its commit and its sync cancelled, which say why, and keeps its objects',
    inLane(async () => {
      const { git, name, set } = await follow('left');
      const sha = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, sha);
      await awaiting(name, sha);
      await leave(name);
      expect(await closed(syncWorkflowId('sync', name))).toBe('CANCELLED');
      expect(await closed(commitWorkflowId('sync', name, sha))).toBe('CANCELLED');
      expect(await cluster().client.get(set)).toMatchObject({ metadata: { name: 'web' } });
      const { commit, history } = (await sync().inventory(name))?.status ?? {};
      expect(commit).toMatchObject({ outcome: 'Canceled' });
      expect(commit?.notes).toEqual([expect.stringContaining('no worker follows the repository any more')]);
      expect(history?.at(-1)).toMatchObject({
        sha,
        outcome: 'Canceled',
        author: expect.stringMatching(/\S/),
      });
    }),
    60_000,
  );

  const told = async ({ git, name, repository }: Followed, receiver: ReceivingServer) => {
    const secretFile = join(git.path, '.git', 'secret');
    await writeFile(secretFile, 'secret');
    const notify = [{ id: 'webhook', type: 'webhook', url: receiver.url(), secretFile } as const];
    sync().follow({ ...repository, notify });
    const sha = await git.commit({ 'web.yaml': statefulSet('1') });
    await sync().commitSeen(name, sha, { notify: ['webhook'] });
    await awaiting(name, sha);
    await found('it was begun', async () => (receiver.received.length > 0 ? true : undefined));
    return sha;
  };

  it(
    'tells its receivers what became of the commit that they know to be pending',
    inLane(async () => {
      const followed = await follow('left-told');
      const { name } = followed;
      const receiver = await ReceivingServer.start();
      try {
        const sha = await told(followed, receiver);
        // What is being told then is not lost.
        receiver.answers.splice(0, 1, 503, 200);
        await leave(name);
        expect(await closed(syncWorkflowId('sync', name))).toBe('CANCELLED');
        const news = receiver.received.map(
          ({ body }) => JSON.parse(body) as { sha: string; outcome: string },
        );
        expect(news.map(({ outcome }) => outcome)).toEqual(['Pending', 'Canceled', 'Canceled']);
        expect(news.at(-1)).toMatchObject({
          sha,
          message: expect.stringContaining('no worker follows the repository any more'),
        });
        expect((await sync().inventory(name))?.status.receivers).toBeUndefined();
      } finally {
        await receiver.stop();
      }
    }),
    60_000,
  );

  it(
    'has it reported when they cannot be told: nobody knows the entry any more',
    inLane(async () => {
      const followed = await follow('left-unknown');
      const { name } = followed;
      const receiver = await ReceivingServer.start();
      try {
        const sha = await told(followed, receiver);
        await leave(name, true);
        expect(await closed(syncWorkflowId('sync', name))).toBe('CANCELLED');
        expect(receiver.received.length).toBe(1);
        const why = `webhook of repository ${name} cannot be told: its entry, with address and credentials, is in no file that this worker has read: not told of ${sha.slice(0, 8)} Canceled`;
        expect((await sync().inventory(name))?.status.receivers?.['webhook']?.problem).toBe(why);
        const events = (await cluster().events(INVENTORY_NAMESPACE)).filter(({ message }) =>
          message.includes(why),
        );
        expect(events).toMatchObject([
          { reason: 'ReceiverFailed', message: `${why}. It keeps what it was told before.` },
        ]);
      } finally {
        await receiver.stop();
      }
    }),
    60_000,
  );

  it(
    'has a commit ended whose sync is gone, and an inventory that was deleted does not come back',
    inLane(async () => {
      const { git, name } = await follow('left-alone');
      const sha = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, sha);
      await awaiting(name, sha);
      await sync().temporal.workflow.getHandle(syncWorkflowId('sync', name)).terminate('clicked');
      sync().unfollow(name);
      // Unfollowed first: what the commit writes of itself has found it so, or is written, by the time the inventory goes.
      await listed(commitWorkflowId('sync', name, sha));
      const inventories = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: INVENTORY_NAMESPACE,
      };
      await cluster().client.delete({ ...inventories, name: `fairlead-${name}` });
      await leave(name);
      expect(await closed(commitWorkflowId('sync', name, sha))).toBe('CANCELLED');
      expect(await sync().inventory(name)).toBeUndefined();
    }),
    60_000,
  );

  it(
    'tells its receivers also where somebody has terminated its sync',
    inLane(async () => {
      const followed = await follow('left-stray');
      const { name } = followed;
      const receiver = await ReceivingServer.start();
      try {
        const sha = await told(followed, receiver);
        await listed(commitWorkflowId('sync', name, sha));
        await sync().temporal.workflow.getHandle(syncWorkflowId('sync', name)).terminate('clicked');
        await leave(name, false, ['webhook']);
        expect(await closed(commitWorkflowId('sync', name, sha))).toBe('CANCELLED');
        expect(await closed(syncWorkflowId('sync', name))).toBe('CANCELLED');
        const news = receiver.received.map(
          ({ body }) => JSON.parse(body) as { sha: string; outcome: string },
        );
        expect(news).toMatchObject([
          { sha, outcome: 'Pending' },
          {
            sha,
            outcome: 'Canceled',
            message: expect.stringContaining('no worker follows the repository any more'),
          },
        ]);
        expect((await sync().inventory(name))?.status.receivers).toBeUndefined();
      } finally {
        await receiver.stop();
      }
    }),
    60_000,
  );

  it(
    'that another cluster of the same name follows is left alone',
    inLane(async () => {
      const { git, name } = await follow('of-another');
      await sync().apply(name, await git.commit({ 'a.yaml': configMap('1') }));
      const other = new SyncRuns({
        temporal: sync().temporal,
        cluster: 'sync',
        clusterUid: 'another',
        searchAttributes: async () => [],
      });
      expect(await other.unfollow(name, 'x')).toBe(false);
      expect(await sync().status(name)).toMatchObject({ repository: name });
      expect(await sync().runs.unfollow('never-was', 'x')).toBe(false);
    }),
    60_000,
  );
});

describe('a leader that was frozen during a look', () => {
  it(
    'and told of an older commit is noticed by the next, who has told of the newest already',
    inLane(async () => {
      const { git, name } = await follow('frozen');
      const older = await git.commit({ 'a.yaml': configMap('1') });
      const newest = await git.commit({ 'a.yaml': configMap('2') });
      expect(await sync().knows(name, newest)).toBe(false);
      await sync().apply(name, newest);
      expect(await sync().knows(name, newest)).toBe(true);
      expect(await sync().knows(name, newest)).toBe(true);
      await sync().apply(name, older);
      expect(await sync().knows(name, newest)).toBe(false);
      await sync().apply(name, newest);
      expect(await sync().knows(name, newest)).toBe(true);
    }),
    60_000,
  );
});

describe('a commit that changes nothing', () => {
  it(
    'writes none of its objects, and one line about itself',
    inLane(async () => {
      const { git, name, namespace } = await follow('noop');
      await sync().apply(name, await git.commit({ 'a.yaml': configMap('1') }));
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace, name: 'config' };
      const before = await cluster().client.get(path);
      const inventory = await sync().inventory(name);
      const sha = await git.commit({ 'a.yaml': `# a comment\n${configMap('1')}`, 'README.md': 'hello' });
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Succeeded' });
      expect(await cluster().client.get(path)).toEqual(before);
      expect(before.metadata.annotations?.['fairlead.dev/commit']).not.toBe(sha);
      const after = await sync().inventory(name);
      expect(after?.entries).toEqual(inventory?.entries);
      expect(after?.status.commit).toMatchObject({ sha, applied: 0, unchanged: 1 });
    }),
    60_000,
  );

  it(
    'and waits for a rollout is shown to be under way',
    inLane(async () => {
      const { git, name, set } = await follow('noop-waits');
      const first = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, first);
      await awaiting(name, first);
      await setStatus(set, true);
      expect(await sync().dealtWith(name, first)).toMatchObject({ outcome: 'Succeeded' });
      await setStatus(set, false);
      const sha = await git.commit({ 'README.md': 'hello' });
      await sync().commitSeen(name, sha);
      await found('it is under way', async () => {
        const { commit } = (await sync().inventory(name))?.status ?? {};
        return commit?.sha === sha && commit.outcome === 'Progressing' ? true : undefined;
      });
      await setStatus(set, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
      const { commit, lastSucceeded, history } = (await sync().inventory(name))?.status ?? {};
      expect(commit).toMatchObject({ sha, outcome: 'Succeeded', applied: 0, unchanged: 1 });
      expect(lastSucceeded?.sha).toBe(sha);
      expect(history?.map((attempt) => attempt.sha)).toEqual([first, sha]);
    }),
    60_000,
  );
});

describe('the counts of a commit', () => {
  const namespace = (name: string) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`;

  it(
    'that changes nothing while an object is kept have each object once',
    inLane(async () => {
      const { git, name, namespace: home } = await follow('kept');
      await grantInCluster(cluster().client, home, ['namespaces']);
      await sync().apply(
        name,
        await git.commit({ 'a.yaml': configMap('1'), 'n.yaml': namespace('kept-team') }),
      );
      const sha = await git.commit({ 'n.yaml': undefined });
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Succeeded' });
      const result = await sync()
        .temporal.workflow.getHandle(commitWorkflowId('sync', name, sha))
        .result();
      expect(result).toMatchObject({ applied: 0, unchanged: 1, pruned: 0 });
      const { commit, history } = (await sync().inventory(name))?.status ?? {};
      expect(commit).toMatchObject({ applied: 0, unchanged: 1 });
      expect(commit?.notes).toEqual([expect.stringContaining('was not pruned')]);
      expect(history?.at(-1)).toMatchObject({ applied: 0, unchanged: 1, pruned: 0 });
      const environment = { KUBECONFIG: controlPlane().kubeconfig, PATH: process.env['PATH'] ?? '' };
      const { out } = await runCli(['history', name], { environment });
      expect(out.trimEnd().split('\n').at(-1)).toMatch(/ Namespace kept-team was not pruned: deleting a /);
    }),
    60_000,
  );

  it(
    'hold what an attempt applied that was not the last',
    inLane(async () => {
      const { git, name, namespace: home } = await follow('attempts');
      const map = (called: string, value: string) => configMap(value).replace('config', called);
      await sync().apply(name, await git.commit({ 'a.yaml': map('one', '1'), 'b.yaml': map('two', '1') }));
      // It is on its way out and stays so: the attempt does what it can with the others, and is tried again.
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: home, name: 'two' };
      await cluster().client.patch(path, 'merge', { metadata: { finalizers: ['fairlead.dev/test'] } });
      await cluster().client.delete(path, {});
      const sha = await git.commit({
        'a.yaml': map('one', '2'),
        'b.yaml': map('two', '2'),
        'c.yaml': map('three', '2'),
      });
      await sync().commitSeen(name, sha);
      await found('it is tried again', async () => {
        const { raw } = await describeCommit(name, sha).catch(() => ({ raw: undefined }));
        const applying = raw?.pendingActivities?.find(
          ({ activityType }) => activityType?.name === 'applyStage',
        );
        return (applying?.attempt ?? 0) > 1 ? true : undefined;
      });
      await cluster().client.patch(path, 'merge', { metadata: { finalizers: null } });
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
      expect((await sync().inventory(name))?.status.history?.at(-1)).toMatchObject({
        applied: 3,
        unchanged: 0,
      });
    }),
    60_000,
  );
});

describe('the counts of a commit whose worker dies while it prunes', () => {
  it(
    'hold what was deleted before, and what nobody could answer for',
    inLane(async () => {
      const { temporalAddress } = controlPlane();
      const { git, name, repository } = await follow('killed-pruning');
      // The first attempt may not write any more when it has deleted one; the answer of the second is lost.
      let [mayWrite, isPruning, refused] = [true, false, 0];
      const client = await ground.newWorkerClient({
        onRequest: ({ method }) => {
          if (method === 'DELETE' && isPruning && refused === 0) mayWrite = false;
        },
      });
      const guarded = client.withWriteGuard(() => {
        if (mayWrite) return;
        [mayWrite, refused] = [true, refused + 1];
        throw new Error('killed');
      });
      let letAnswer: () => void = () => undefined;
      const isTimedOut = new Promise<void>((resolve) => (letAnswer = resolve));
      const proxy = await TemporalProxy.start({
        address: temporalAddress,
        onCall: async ({ key, occurrence }, side) => {
          if (key === 'PollActivityTaskQueue pruneCommit') {
            isPruning = true;
            if (occurrence === 3) letAnswer();
          }
          const isAnswer = key === 'RespondActivityTaskCompleted pruneCommit' && side === 'before';
          if (isAnswer && occurrence === 1) await isTimedOut;
        },
      });
      const own = await GitSync.start({ client: guarded, temporalAddress: proxy.address, cluster: 'dying' });
      try {
        own.follow(repository);
        const map = (called: string) => configMap('1').replace('config', called);
        const files = { 'a.yaml': map('one'), 'b.yaml': map('two'), 'c.yaml': map('three') };
        expect(await own.apply(name, await git.commit(files))).toMatchObject({ outcome: 'Succeeded' });
        const sha = await git.commit({ 'a.yaml': undefined, 'b.yaml': undefined });
        expect(await own.apply(name, sha, 60_000)).toMatchObject({ outcome: 'Succeeded' });
        expect({
          refused,
          calls: proxy.calls.filter(({ key }) => /Respond.* pruneCommit/.test(key)).length,
        }).toEqual({
          refused: 1,
          calls: 3,
        });
        const result = await own.temporal.workflow.getHandle(commitWorkflowId('dying', name, sha)).result();
        expect(result).toMatchObject({ applied: 0, unchanged: 1, pruned: 2 });
        expect((await own.inventory(name))?.status.history?.at(-1)).toMatchObject({ sha, pruned: 2 });
      } finally {
        letAnswer();
        await own.stop();
        await proxy.close();
      }
    }),
    120_000,
  );
});

describe('migration between the workload APIs', () => {
  it(
    'orphans the old object, keeps its pods, and carries a pause over',
    inLane(async () => {
      const { git, name, namespace, set } = await follow('migrate');
      const native: ResourcePath = { ...set, group: 'apps', version: 'v1' };
      const first = await git.commit({ 'web.yaml': statefulSet('1', { apiVersion: 'apps/v1' }) });
      await sync().commitSeen(name, first);
      const pods: ResourcePath = { group: '', version: 'v1', resource: 'pods', namespace, name: 'web-0' };
      const pod = await cluster().until(
        pods,
        'a pod of the native controller',
        (object) => object.metadata.uid !== '',
      );
      expect(pod.metadata.ownerReferences).toMatchObject([{ kind: 'StatefulSet', apiVersion: 'apps/v1' }]);
      const pause = JSON.stringify({ by: 'ann', reason: 'careful' });
      await cluster().annotate(native, { 'fairlead.dev/paused': pause });
      const second = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, second);
      await awaiting(name, second);
      await expect(cluster().client.get(native)).rejects.toMatchObject({ status: 404 });
      const moved = await cluster().client.get(set);
      expect(JSON.parse(moved.metadata.annotations?.['fairlead.dev/paused'] ?? '{}')).toEqual({
        by: 'ann',
        reason: 'careful',
      });
      const after = await cluster().client.get(pods);
      expect(after.metadata.uid).toBe(pod.metadata.uid);
      expect(after.metadata.deletionTimestamp).toBeUndefined();
      expect(after.metadata.ownerReferences).toBeUndefined();
      const third = await git.commit({
        'web.yaml': statefulSet('1').replace('{name: web}', '{name: web, labels: {a: b}}'),
      });
      await sync().commitSeen(name, third);
      await awaiting(name, third);
      expect((await cluster().client.get(set)).metadata.annotations?.['fairlead.dev/paused']).toBeDefined();
      // Controllers that know no pause would replace its pods at once.
      const early = await sync().apply(
        name,
        await git.commit({
          'web.yaml': statefulSet('1', { apiVersion: 'apps/v1' }).replace(
            '      containers:',
            '      readinessGates: [{conditionType: InPlaceUpdateReady}]\n      containers:',
          ),
        }),
      );
      // Nor the gate: nothing that they make would ever be ready.
      expect((await sync().inventory(name))?.status.commit?.notes).toContainEqual(
        expect.stringMatching(/^web\.yaml:1: .*InPlaceUpdateReady.* never ready/),
      );
      expect(early.message).toMatch(
        /MigrationPaused web\.yaml:1@\w{8}: .* the workload is paused by ann, and apps\/v1/,
      );
      await cluster().client.patch(set, 'merge', {
        metadata: { annotations: { 'fairlead.dev/paused': null } },
      });
      const back = await git.commit({
        'web.yaml': `# again\n${statefulSet('1', { apiVersion: 'apps/v1' })}`,
      });
      expect(await sync().apply(name, back)).toMatchObject({ outcome: 'Succeeded' });
      await expect(cluster().client.get(set)).rejects.toMatchObject({ status: 404 });
      expect((await cluster().client.get(pods)).metadata.uid).toBe(pod.metadata.uid);
      expect([...((await sync().inventory(name))?.entries.keys() ?? [])]).toContain(
        `apps/StatefulSet/${namespace}/web`,
      );
    }),
    90_000,
  );

  it(
    'does not take over a workload that nobody in git has',
    inLane(async () => {
      const { git, name, namespace } = await follow('stranger');
      const path: ResourcePath = {
        group: 'apps',
        version: 'v1',
        resource: 'statefulsets',
        namespace,
        name: 'web',
      };
      const container = { name: 'main', image: 'example.com/web:1' };
      await cluster().client.create(
        { ...path, name: undefined },
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          metadata: { name: 'web' },
          spec: {
            replicas: 0,
            serviceName: 'web',
            selector: { matchLabels: { app: 'web' } },
            template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
          },
        },
      );
      const sha = await git.commit({ 'web.yaml': statefulSet('1') });
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Refused' });
      const [line] = (await sync().inventory(name))?.status.commit?.problems ?? [];
      expect(line).toMatch(
        /^OwnedByOther web\.yaml:1@\w+: StatefulSet\.fairlead\.dev \S+: the same workload exists as statefulsets\.apps and is not from this repository; .* kubectl annotate statefulsets\.v1\.apps web -n \S+ --overwrite fairlead\.dev\/repository=stranger$/,
      );
    }),
    60_000,
  );
});

describe('secrets', () => {
  it(
    'are in no history, event, inventory or error',
    inLane(async () => {
      const { git, name } = await follow('secretive');
      const planted = 'hunter2-planted-value';
      const number = '8472910355';
      const encoded = Buffer.from(planted).toString('base64');
      const secret = (data: string): string => `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n${data}`;
      const immutable = (value: string): string => {
        const spec = `restartPolicy: Never\n    containers: [{name: c, image: "a:1", command: [sh, -c, "${value}"], env: [{name: PW, value: "${value}"}]}]\n`;
        const pod = `apiVersion: v1\nkind: Pod\nmetadata: {name: once}\nspec:\n    ${spec}`;
        return `${pod}---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec:\n  suspend: true\n  template:\n   spec:\n    ${spec}`;
      };
      const files: readonly Readonly<Record<string, FileChange>>[] = [
        { 's.yaml': secret(`stringData: {a: "${planted}"}\n`), 'once.yaml': immutable(`old ${planted}`) },
        { 'once.yaml': immutable(`new ${planted}`) },
        {
          's.yaml': secret(`data: {a: "${encoded}", b: "${planted}"}\n`),
          'once.yaml': immutable(`old ${planted}`),
        },
        { 's.yaml': secret(`stringData: {a: "${planted}", "bad key": "${planted}"}\n`) },
        { 's.yaml': secret(`stringData: {a: ["${planted}"]}\n`) },
        { 's.yaml': statefulSet('1').replace('image:', `env: [{name: A, value: "${planted}"}], imagee:`) },
        { 's.yaml': statefulSet('1').replace('image:', `env: [{name: A, value: ${number}}], image:`) },
        { 's.yaml': secret(`stringData: {a: *${planted}}\n`) },
        { 's.yaml': secret(`stringData: {a: !${planted} }\n`) },
        { 's.yaml': secret(`stringData: {a: ${number}${number}}\n`) },
        { 's.yaml': secret(`immutable: true\nstringData: {a: "${planted}"}\n`) },
        { 's.yaml': secret(`immutable: true\nstringData: {a: "${planted}2"}\n`) },
      ];
      const seen: string[] = [];
      const histories: string[] = [];
      const history = async (id: string) => await sync().temporal.workflow.getHandle(id).fetchHistory();
      for (const change of files) {
        const sha = await git.commit(change);
        await sync()
          .apply(name, sha)
          .then((last) => seen.push(JSON.stringify(last)));
        histories.push(textOf(await history(commitWorkflowId('sync', name, sha))));
      }
      histories.push(textOf(await history(syncWorkflowId('sync', name))));
      seen.push(
        JSON.stringify(await sync().inventory(name)),
        JSON.stringify(await cluster().events(INVENTORY_NAMESPACE)),
      );
      expect(seen.filter((text) => text.includes('Refused')).length).toBeGreaterThan(7);
      expect(seen.join()).toMatch(
        /Pod secretive-\w+\/once: spec: Forbidden: pod updates may not change fields/,
      );
      expect(seen.join()).toMatch(
        /Job.batch secretive-\w+\/once: spec.template.spec: Invalid value: field is immutable/,
      );
      expect(seen.join()).toMatch(
        /Secret secretive-\w+\/s: data: field is immutable when `immutable` is set\. .*kubectl delete secrets s /,
      );
      for (const text of histories) expect(text).toContain('"clusterUid"');
      for (const text of [...seen, ...histories])
        expect(plantedIn(text, [planted, encoded, number])).toEqual([]);
    }),
    60_000,
  );
});

describe('a commit that changes one of many objects', () => {
  it('lists the others instead of reading each, when it is checked and when it is applied', async () => {
    const { git, name } = await follow('one-of-many');
    const all = (color: string) =>
      Array.from({ length: 60 }, (_, index) =>
        configMap(index === 30 ? color : 'same').replace('{name: config}', `{name: config-${index}}`),
      ).join('---\n');
    await sync().apply(name, await git.commit({ 'all.yaml': all('blue') }));
    requests.length = 0;
    const sha = await git.commit({ 'all.yaml': all('green') });
    expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    const { commit, history } = (await sync().inventory(name))?.status ?? {};
    expect(commit).toMatchObject({ sha, applied: 1, unchanged: 59 });
    expect(history?.at(-1)).toMatchObject({ applied: 1, unchanged: 59 });
    // Inventories, and the object that changes.
    const reads = requests.filter((request) => request === 'GET configmaps').length;
    expect(reads).toBeLessThan(30);
  }, 60_000);
});

describe('servers that go away', () => {
  it('an apiserver that is away for a while fails nothing', async () => {
    const { git, name } = await follow('away');
    await controlPlane().stop('kube-apiserver');
    const sha = await git.commit({ 'a.yaml': configMap('1') });
    await sync().commitSeen(name, sha);
    await found('an attempt failed', async () => {
      const { raw } = await describeCommit(name, sha).catch(() => ({ raw: undefined }));
      return (raw?.pendingActivities?.[0]?.attempt ?? 0) > 1 ? true : undefined;
    });
    await controlPlane().start('kube-apiserver');
    const last = await sync().dealtWith(name, sha, 60_000);
    expect(last.message).toBeUndefined();
    expect(last.outcome).toBe('Succeeded');
  }, 120_000);
});
