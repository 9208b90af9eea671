/** What somebody does beside git: asks for a commit, clicks in the UI, deletes an inventory, goes back, takes a field. */

import { describe, expect, it } from '@jest/globals';

import { commitWorkflowId, syncSignal, syncUpdate, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { runCli } from '../support/cli.ts';
import { eventually, found } from '../support/eventually.ts';
import { GitSync, INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { usePlayedSetGround } from '../support/played-set-ground.ts';
import { configMap, statefulSet } from '../support/small-manifests.ts';
import { patchIn, runPrinted } from '../support/printed-command.ts';
import { TemporalProxy } from '../support/temporal-proxy.ts';

const ground = usePlayedSetGround({
  cluster: 'by-hand',
  // As short as where commits follow each other: a sync continues as new also among what is done to it here.
  historyLimit: 60,
});
const { controlPlane, cluster, sync, follow, setStatus, describeCommit, awaiting, eventsOf } = ground;

describe('clicks in the UI', () => {
  it('Cancel: recorded, and nothing more until another commit', async () => {
    const { git, name } = await follow('cancelled');
    const sha = await git.commit({ 'web.yaml': statefulSet('1') });
    await sync().commitSeen(name, sha);
    await awaiting(name, sha);
    await sync()
      .temporal.workflow.getHandle(commitWorkflowId('by-hand', name, sha))
      .cancel();
    expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Canceled' });
    expect((await sync().inventory(name))?.status.commit?.notes).toEqual([
      `it was cancelled, what it has done stays: \`fairlead sync ${name}\` tries it again`,
    ]);
    expect(await eventsOf(sha)).toEqual(['CommitCanceled']);
    const next = await git.commit({ 'web.yaml': undefined, 'a.yaml': configMap('1') });
    expect(await sync().apply(name, next)).toMatchObject({ outcome: 'Succeeded' });
  }, 60_000);

  it('Cancel of a commit that has done everything in the same moment: what it did is recorded', async () => {
    const { git, name, set } = await follow('cancelled-done');
    const sha = await git.commit({ 'web.yaml': statefulSet('1') });
    await sync().commitSeen(name, sha);
    await awaiting(name, sha);
    const handle = sync().temporal.workflow.getHandle(commitWorkflowId('by-hand', name, sha));
    const ended = async () => {
      const { events } = await handle.fetchHistory();
      return events?.filter((event) => event.activityTaskCompletedEventAttributes != null).length ?? 0;
    };
    await sync().withoutWorkflows(async () => {
      const before = await ended();
      await setStatus(set, true);
      await found('its wait is over', async () => ((await ended()) > before ? true : undefined));
      await handle.cancel();
    });
    expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    const { history } = (await sync().inventory(name))?.status ?? {};
    expect(history?.map(({ outcome }) => outcome)).toEqual(['Succeeded']);
  }, 60_000);

  it('Terminate of a commit is recorded by its sync, which goes on', async () => {
    const { git, name } = await follow('terminated');
    const sha = await git.commit({ 'web.yaml': statefulSet('1') });
    await sync().commitSeen(name, sha);
    await awaiting(name, sha);
    await sync()
      .temporal.workflow.getHandle(commitWorkflowId('by-hand', name, sha))
      .terminate('clicked');
    expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Terminated' });
    const { commit, history } = (await sync().inventory(name))?.status ?? {};
    expect(commit).toMatchObject({ sha, outcome: 'Terminated' });
    expect(commit?.notes).toEqual([
      `its run was terminated, what it has done stays: \`fairlead sync ${name}\` tries it again`,
    ]);
    expect(history?.map(({ outcome }) => outcome)).toEqual(['Terminated']);
    // It has made the set, which nobody has counted.
    for (const told of [commit, history?.[0]]) {
      expect(told).not.toHaveProperty('applied');
      expect(told).not.toHaveProperty('pruned');
    }
    expect(await eventsOf(sha)).toEqual(['CommitTerminated']);
    const next = await git.commit({ 'web.yaml': undefined, 'a.yaml': configMap('1') });
    expect(await sync().apply(name, next)).toMatchObject({ outcome: 'Succeeded' });
  }, 60_000);

  it('Terminate of a sync leaves a commit that the next sync ends first', async () => {
    const { git, name } = await follow('orphan');
    const sha = await git.commit({ 'web.yaml': statefulSet('1') });
    await sync().commitSeen(name, sha);
    await awaiting(name, sha);
    await sync().temporal.workflow.getHandle(syncWorkflowId('by-hand', name)).terminate('clicked');
    expect((await describeCommit(name, sha)).status.name).toBe('RUNNING');
    const next = await git.commit({ 'web.yaml': undefined, 'a.yaml': configMap('1') });
    expect(await sync().apply(name, next)).toMatchObject({ outcome: 'Succeeded' });
    expect((await describeCommit(name, sha)).status.name).toBe('CANCELLED');
  }, 60_000);
});

/** Holds every look at a repository back until it may go on. */
function holdLook() {
  let looks = 0;
  let goOn: () => void = () => undefined;
  const may = new Promise<void>((resolve) => (goOn = resolve));
  sync().beforeLook = async () => {
    looks += 1;
    await may;
  };
  return {
    begun: async () => await found('its look has begun', async () => (looks > 0 ? true : undefined)),
    goOn: () => goOn(),
    end: () => {
      goOn();
      sync().beforeLook = async () => undefined;
    },
  };
}

describe('who asks for a commit that is tried meanwhile', () => {
  it('has it tried once', async () => {
    const { git, name } = await follow('once');
    await sync().apply(name, await git.commit({ 'a.yaml': configMap('1') }));
    const look = holdLook();
    try {
      const sha = await git.commit({ 'a.yaml': configMap('2') });
      const handle = sync().temporal.workflow.getHandle(syncWorkflowId('by-hand', name));
      const asking = handle.executeUpdate(syncUpdate, { args: [{ by: 'ada' }] });
      await look.begun();
      await sync().apply(name, sha);
      look.goOn();
      expect(await asking).toEqual({ sha });
      // One who asks after it was tried has it tried again.
      await handle.executeUpdate(syncUpdate, { args: [{ by: 'bob' }] });
      const tries = await found('it was tried again', async () => {
        const { history = [] } = (await sync().inventory(name))?.status ?? {};
        const of = history.filter((one) => one.sha === sha);
        return of.length > 1 ? of : undefined;
      });
      expect(tries.map(({ askedBy }) => askedBy)).toEqual([undefined, 'bob']);
    } finally {
      look.end();
    }
  }, 60_000);

  it('hears of it where the repository is not followed any more meanwhile, and its sync ends', async () => {
    const { git, name } = await follow('left-asked');
    await sync().apply(name, await git.commit({ 'a.yaml': configMap('1') }));
    const look = holdLook();
    try {
      const handle = sync().temporal.workflow.getHandle(syncWorkflowId('by-hand', name));
      const asking = handle.executeUpdate(syncUpdate, { args: [{ by: 'ada' }] });
      await look.begun();
      expect(await sync().runs.unfollow(name, 'it has left')).toBe(true);
      expect(await asking).toEqual({ problem: 'it has left' });
      await expect(handle.result()).rejects.toThrow('Workflow execution cancelled');
      const { events } = await handle.fetchHistory();
      expect(events?.filter(({ workflowTaskFailedEventAttributes: failed }) => failed)).toEqual([]);
    } finally {
      look.end();
    }
  }, 60_000);

  it('has it tried once also where it was under way already, and not at all again when it was when the request was made', async () => {
    const { git, name, set } = await follow('under-way');
    const look = holdLook();
    try {
      const sha = await git.commit({ 'web.yaml': statefulSet('1') });
      await sync().commitSeen(name, sha);
      await awaiting(name, sha);
      const handle = sync().temporal.workflow.getHandle(syncWorkflowId('by-hand', name));
      const asking = handle.executeUpdate(syncUpdate, { args: [{ by: 'ada' }] });
      await look.begun();
      await setStatus(set, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
      look.goOn();
      expect(await asking).toEqual({ sha });
      // Typed while the commit was under way, and arrived after its end.
      await handle.executeUpdate(syncUpdate, { args: [{ by: 'bob', wayMs: 50_000 }] });
      const { running, wanted, last } = await sync().status(name);
      expect({ running, wanted, tries: last?.tries }).toEqual({ tries: 1 });
      await handle.executeUpdate(syncUpdate, { args: [{ by: 'cleo' }] });
      const again = await found('it was tried again', async () => {
        const tries = (await sync().inventory(name))?.status.history ?? [];
        return tries.length > 1 ? tries : undefined;
      });
      expect(again.map(({ askedBy }) => askedBy)).toEqual([undefined, 'cleo']);
    } finally {
      look.end();
    }
  }, 60_000);
});

describe('who asks while a commit that was refused is tried again by itself', () => {
  it('has it tried once more: what it was refused for may have been mended meanwhile', async () => {
    // The retry has looked, and nobody knows yet what it found.
    let letAnswer: () => void = () => undefined;
    const mayAnswer = new Promise<void>((resolve) => (letAnswer = resolve));
    let isHeld = false;
    const { temporalAddress } = controlPlane();
    const proxy = await TemporalProxy.start({
      address: temporalAddress,
      onCall: async ({ key, occurrence }, side) => {
        if (key !== 'RespondActivityTaskCompleted checkCommit' || side !== 'before' || occurrence !== 2)
          return;
        isHeld = true;
        await mayAnswer;
      },
    });
    const client = await ground.newWorkerClient();
    const own = await GitSync.start({ client, temporalAddress: proxy.address, cluster: 'retrying' });
    try {
      const { git, name, namespace, repository } = await follow('retried');
      own.follow(repository);
      const taken = { group: '', version: 'v1', resource: 'configmaps', namespace };
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config' }, data: { key: 'x' } };
      await cluster().client.create(taken, body, { fieldManager: 'somebody' });
      const sha = await git.commit({ 'a.yaml': configMap('1') });
      expect(await own.apply(name, sha)).toMatchObject({ outcome: 'Refused' });
      await eventually('the retry has looked', () => isHeld, 30_000);
      await cluster().client.delete({ ...taken, name: 'config' });
      const handle = own.temporal.workflow.getHandle(syncWorkflowId('retrying', name));
      await handle.executeUpdate(syncUpdate, { args: [{ by: 'ada' }] });
      letAnswer();
      const tries = await found('it was applied', async () => {
        const { history = [] } = (await own.inventory(name))?.status ?? {};
        return history.at(-1)?.outcome === 'Succeeded' ? history : undefined;
      });
      expect(tries.at(-1)).toMatchObject({ sha, askedBy: 'ada' });
    } finally {
      letAnswer();
      await own.stop();
      await proxy.close();
    }
  }, 90_000);
});

describe('who asks while objects of the commit are put back', () => {
  it('has all of it tried at once, and not those objects alone', async () => {
    const { git, name, namespace, set } = await follow('put-back');
    const sha = await git.commit({ 'web.yaml': statefulSet('1'), 'a.yaml': configMap('1') });
    await sync().commitSeen(name, sha);
    await awaiting(name, sha);
    await setStatus(set, true);
    expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    await setStatus(set, false);
    const config = { group: '', version: 'v1', resource: 'configmaps', namespace, name: 'config' };
    await cluster().client.delete(config);
    const objects = [`fairlead.dev/StatefulSet/${namespace}/web`];
    await sync().runs.driftFound(name, { sha, objects, reason: 'spec.replicas changed' });
    await awaiting(name, sha);
    const handle = sync().temporal.workflow.getHandle(syncWorkflowId('by-hand', name));
    await handle.executeUpdate(syncUpdate, { args: [{ by: 'ada' }] });
    await found(
      'it is there again',
      async () =>
        await cluster()
          .client.get(config)
          .catch(() => undefined),
    );
    await setStatus(set, true);
    const tries = await found('it was tried again', async () => {
      const { history = [] } = (await sync().inventory(name))?.status ?? {};
      return history.length > 2 ? history : undefined;
    });
    expect(tries.map(({ outcome, askedBy }) => [outcome, askedBy])).toEqual([
      ['Succeeded', undefined],
      ['Superseded', 'fairlead'],
      ['Succeeded', 'ada'],
    ]);
  }, 60_000);
});

describe('an inventory that somebody deletes', () => {
  it('is made anew by the newest commit, which is tried once for it, and not while it is under way', async () => {
    const { git, name, set } = await follow('deleted');
    const sha = await git.commit({ 'web.yaml': statefulSet('1'), 'a.yaml': configMap('1') });
    await sync().commitSeen(name, sha);
    await awaiting(name, sha);
    const inventories = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
    const forget = async () => await cluster().client.delete({ ...inventories, name: `fairlead-${name}` });
    expect(await sync().toldOfForgotten(name, sha)).toBe(false);
    await forget();
    expect(await sync().toldOfForgotten(name, sha)).toBe(false);
    await setStatus(set, true);
    expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    expect(await sync().toldOfForgotten(name, sha)).toBe(false);
    await forget();
    // The leader's ordinary word of it changes nothing.
    await sync().commitSeen(name, sha);
    expect(await sync().status(name)).not.toHaveProperty('wanted');
    expect(await sync().inventory(name)).toBeUndefined();
    expect(await sync().toldOfForgotten(name, sha)).toBe(true);
    const { entries, status } = await found('it was applied again', async () => {
      const inventory = await sync().inventory(name);
      return inventory?.status.commit?.outcome === 'Succeeded' ? inventory : undefined;
    });
    expect(entries.size).toBe(2);
    expect(status.history).toMatchObject([
      {
        sha,
        outcome: 'Succeeded',
        reason: 'its inventory was deleted',
        applied: 0,
        unchanged: 2,
        notes: [expect.stringMatching(/what left git before that is not known .*part-of=applyset-/)],
      },
    ]);
    expect(await sync().dealtWith(name, sha)).toMatchObject({ tries: 2 });
    expect(await sync().toldOfForgotten(name, sha)).toBe(false);
  }, 60_000);
});

describe('an operator who went back', () => {
  const pinned = (hash: string) => ({
    'fairlead.dev/pinned': JSON.stringify({ rejected: hash, by: 'ann', reason: 'errors' }),
  });

  it('keeps a pinned object as it is until its manifest changes, which is then forced and unpins', async () => {
    const { git, name, set } = await follow('pinned');
    const first = await git.commit({ 'web.yaml': statefulSet('2') });
    await sync().commitSeen(name, first);
    await awaiting(name, first);
    const hash = (await cluster().client.get(set)).metadata.annotations?.['fairlead.dev/manifest-hash'] ?? '';
    await cluster().client.patch(set, 'merge', {
      metadata: { annotations: pinned(hash) },
      spec: { template: { spec: { containers: [{ name: 'main', image: 'example.com/web:1' }] } } },
    });
    const rolledBack = await sync().dealtWith(name, first);
    expect(rolledBack.message).toMatch(
      /RolledBack web\.yaml:1@\w{8}: StatefulSet\S* \S+: rolled back by ann: errors\. Correct the manifest/,
    );
    const unrelated = await git.commit({ 'a.yaml': configMap('1') });
    expect(await sync().apply(name, unrelated)).toMatchObject({ outcome: 'Succeeded' });
    expect(await cluster().client.get(set)).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'example.com/web:1' }] } } },
    });
    const fixed = await git.commit({ 'web.yaml': statefulSet('3') });
    await sync().commitSeen(name, fixed);
    await awaiting(name, fixed);
    const live = await cluster().client.get(set);
    expect(live).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'example.com/web:3' }] } } },
    });
    expect(live.metadata.annotations?.['fairlead.dev/pinned']).toBeUndefined();
    await setStatus(set, true);
    expect(await sync().dealtWith(name, fixed)).toMatchObject({ outcome: 'Succeeded' });
  }, 60_000);

  it('with kubectl rollout undo is not put back, and does not block the next manifest', async () => {
    const { git, name, set } = await follow('undone');
    const first = await git.commit({ 'web.yaml': statefulSet('2') });
    await sync().commitSeen(name, first);
    await awaiting(name, first);
    await setStatus(set, true);
    await sync().dealtWith(name, first);
    await cluster().client.patch(
      set,
      'merge',
      { spec: { template: { spec: { containers: [{ name: 'main', image: 'example.com/web:1' }] } } } },
      // What it calls itself.
      { fieldManager: 'kubectl' },
    );
    await setStatus(set, true);
    expect(await sync().apply(name, await git.commit({ 'a.yaml': configMap('1') }))).toMatchObject({
      outcome: 'Succeeded',
    });
    expect(await cluster().client.get(set)).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'example.com/web:1' }] } } },
    });
    const environment = { KUBECONFIG: controlPlane().kubeconfig, PATH: process.env['PATH'] ?? '' };
    const plan = await runCli(['plan', '--repo', git.path, '--name', name, '-n', set.namespace ?? ''], {
      environment,
    });
    expect(plan).toMatchObject({ code: 0, err: '' });
    expect(plan.out).toMatch(
      /web would be left alone: it was changed in the cluster .*\n.*image\n.*- example.com\/web:1\n.*\+ example.com\/web:2\n/,
    );
    const next = await git.commit({ 'web.yaml': statefulSet('3') });
    await sync().commitSeen(name, next);
    await awaiting(name, next);
    expect(await cluster().client.get(set)).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'example.com/web:3' }] } } },
    });
    await setStatus(set, true);
    expect(await sync().dealtWith(name, next)).toMatchObject({ outcome: 'Succeeded' });
  }, 60_000);
});

describe('a field that somebody else has taken', () => {
  it('refuses a commit that says otherwise, until the command that the refusal names gives it to git, for good', async () => {
    const { git, name, namespace, set } = await follow('scaled');
    const size = (replicas: number) => statefulSet('1').replace('replicas: 1', `replicas: ${replicas}`);
    const rolledOut = async (sha: string, replicas: number) => {
      await awaiting(name, sha);
      expect(await cluster().client.get(set)).toMatchObject({ spec: { replicas } });
      await setStatus(set, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    };
    const path = 'deploy here/web.yaml';
    const first = await git.commit({ [path]: size(1) });
    await sync().commitSeen(name, first);
    await rolledOut(first, 1);
    const shell = async (command: string) => {
      await runPrinted(command, controlPlane().kubeconfig, git.path);
    };
    await shell(`kubectl scale fsts/web -n ${namespace} --replicas=3`);

    const second = await git.commit({ [path]: size(2) });
    const refused = await sync().apply(name, second);
    expect(refused).toMatchObject({ outcome: 'Refused' });
    expect(refused.message).toMatch(
      /Conflict deploy here\/web\.yaml:6@\w+: StatefulSet\.fairlead\.dev \S+\/web: "kubectl[^"]*" owns \.spec\.replicas\. Remove the field/,
    );
    expect(await cluster().client.get(set)).toMatchObject({ spec: { replicas: 3 } });
    const before = (await cluster().client.get(set)).metadata;
    await shell(patchIn(refused.message));
    // Nothing but who owns what is another.
    const { annotations, labels, generation } = (await cluster().client.get(set)).metadata;
    expect({ annotations, labels, generation }).toEqual({
      annotations: before.annotations,
      labels: before.labels,
      generation: before.generation,
    });
    // It is tried again by itself after ten seconds; nobody need wait for that.
    await sync()
      .temporal.workflow.getHandle(syncWorkflowId('by-hand', name))
      .signal(syncSignal, { by: 'ann' });
    await rolledOut(second, 2);
    expect((await cluster().client.get(set)).metadata.annotations?.['fairlead.dev/commit']).toBe(second);

    const third = await git.commit({ [path]: size(4) });
    await sync().commitSeen(name, third);
    await rolledOut(third, 4);
  }, 90_000);
});
