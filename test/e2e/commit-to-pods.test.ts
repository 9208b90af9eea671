/** A commit in, pods out, in both workload APIs: a real worker that follows a real repository, from the first commit to a storm of them. */

import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import { commitWorkflowPrefix } from '../../workflows/sync-messages.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { playOnAll } from '../support/both-apis.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { itInFull } from '../support/full-suite.ts';
import { HistoryGround } from '../support/history-ground.ts';
import { imageOf, uidOf } from '../support/scene.ts';
import type { StatefulSetDescription } from '../support/statefulset-manifest.ts';
import { statefulSetManifest } from '../support/statefulset-manifest.ts';
import { listedRuns } from '../support/temporal-runs.ts';
import { readShown } from '../support/temporal-ui.ts';

const APIS: readonly WorkloadApi[] = ['fairlead.dev/v1beta1', 'apps/v1'];
const PATIENCE_MS = 60_000;
const REPLICAS = 4;
const MAX_UNAVAILABLE = 2;
/** Ten commits, all of them within 5 s. */
const STORM_STEP_MS = 500;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });

/** A namespace with a worker that follows a repository, in one of both workload APIs. Declares the hooks. */
function useCommits(api: WorkloadApi) {
  const controlPlane = controlPlaneOf(api);
  let cluster: Cluster;
  let temporal: Client;
  let ground: HistoryGround;

  beforeAll(async () => {
    const { kubeconfig, temporalAddress } = controlPlane();
    cluster = await Cluster.connect(kubeconfig, api);
    temporal = await connectTemporal(temporalAddress);
    const owner = api === 'apps/v1' ? 'native' : 'ours';
    ground = await HistoryGround.create({ controlPlane: controlPlane(), cluster, temporal }, owner);
    await ground.startWorkerWithRepository();
  }, 120_000);

  afterAll(async () => {
    await ground?.close();
    await temporal?.connection.close();
    cluster?.close();
  }, 30_000);

  /** The manifest as its owner would write it. */
  function manifest(image: string, change: Partial<StatefulSetDescription> = {}): string {
    return JSON.stringify(
      statefulSetManifest(api, {
        name: 'web',
        namespace: ground.namespace,
        replicas: REPLICAS,
        image,
        parallel: true,
        maxUnavailable: MAX_UNAVAILABLE,
        podUpdatePolicy: 'InPlaceIfPossible',
        templateAnnotations: { 'sim.fairlead.dev/ready-delay': '300ms' },
        ...change,
      }),
    );
  }

  async function untilClosed(sha: string, status: string): Promise<void> {
    await ground
      .commitRuns(sha)
      .until(`the commit is ${status}`, (runs) => runs.at(-1)?.status === status, PATIENCE_MS)
      .catch((error: unknown) => {
        throw new Error(ground.tail, { cause: error });
      });
  }

  /** As an operator types it in the namespace. */
  async function fairlead(line: string): ReturnType<typeof runCli> {
    const { kubeconfig, temporalAddress } = controlPlane();
    return await runCli([...line.split(' '), '-n', ground.namespace], {
      environment: {
        KUBECONFIG: kubeconfig,
        TEMPORAL_ADDRESS: temporalAddress,
        FAIRLEAD_CLUSTER: ground.owner,
        FAIRLEAD_WORKLOAD_API: api,
      },
    });
  }

  async function applied(files: Parameters<HistoryGround['commit']>[0]): Promise<string> {
    const sha = await ground.commit(files);
    await untilClosed(sha, 'COMPLETED');
    return sha;
  }

  const pods = async (): Promise<readonly Pod[]> => await cluster.pods(ground.namespace, 'web');
  const set = async (): Promise<StatefulSetObject> => await cluster.set(ground.namespace, 'web');

  async function allAt(image: string): Promise<readonly Pod[]> {
    const all = await pods();
    expect(all.map(imageOf)).toEqual(Array.from({ length: REPLICAS }, () => image));
    return all;
  }

  return {
    api,
    controlPlane,
    cluster: () => cluster,
    temporal: () => temporal,
    ground: () => ground,
    manifest,
    fairlead,
    untilClosed,
    applied,
    pods,
    set,
    allAt,
  };
}

describe('a commit becomes a finished rollout', () => {
  const SIDES = APIS.map((api) => useCommits(api));

  /** Mostly waiting: in both workload APIs at once. */
  function both(play: (side: (typeof SIDES)[number]) => Promise<void>): () => Promise<void> {
    return async () => {
      await playOnAll(SIDES, play);
    };
  }

  it(
    'the first commit makes the pods, and its run shows what it did',
    both(async (side) => {
      const { manifest, applied, set, allAt } = side;
      const ground = side.ground();
      const temporal = side.temporal();
      const sha = await applied({ 'web.json': manifest('app:1') });
      await allAt('app:1');
      expect((await set()).metadata.annotations?.[ANNOTATION.commit]).toBe(sha);
      await ground.untilClosed();
      const run = await ground.runs.newest();
      const shown = await readShown(temporal, ground.runs.workflowId, run?.runId ?? '');
      expect(shown.summary).toContain('web');
      expect(shown.details).toMatch(/\|.*updated.*\|/i);
      expect(shown.searchAttributes).toMatchObject({
        KubeCluster: [ground.owner],
        WorkloadKind: ['StatefulSet'],
        WorkloadNamespace: [ground.namespace],
        WorkloadName: ['web'],
        WorkloadRevision: [(await set()).status?.updateRevision],
        RolloutPhase: ['Succeeded'],
        GitCommit: [sha],
      });
    }),
    90_000,
  );

  it(
    'a new image is updated in place: every pod keeps its uid, and each batch is named',
    both(async (side) => {
      const { manifest, applied, set, allAt } = side;
      const ground = side.ground();
      const temporal = side.temporal();
      const before = (await allAt('app:1')).map(uidOf);
      await applied({ 'web.json': manifest('app:2') });
      expect((await allAt('app:2')).map(uidOf)).toEqual(before);
      const run = await ground.runs.newest();
      const { activities } = await readShown(temporal, ground.runs.workflowId, run?.runId ?? '');
      const { updateRevision } = (await set()).status ?? {};
      expect(activities).toContainEqual(['updateBatch', `batch 1 of ${updateRevision ?? ''}`]);
      expect(activities.find(([type]) => type === 'awaitReady')?.[1]).toContain('web-');
    }),
    90_000,
  );

  it(
    'a bad commit is held within its budget; the fix supersedes it',
    both(async (side) => {
      const { manifest, untilClosed, pods, allAt } = side;
      const ground = side.ground();
      const before = (await pods()).map(uidOf);
      const bad = await ground.commit({ 'web.json': manifest('app:bad') });
      await ground.untilPods(
        'the budget is used up',
        (all) => all.filter((pod) => imageOf(pod) === 'app:bad').length === MAX_UNAVAILABLE,
      );
      const fix = await ground.commit({ 'web.json': manifest('app:3') });
      await untilClosed(fix, 'COMPLETED');
      await untilClosed(bad, 'CANCELLED');
      const after = await allAt('app:3');
      expect(after.map(uidOf).filter((uid) => before.includes(uid)).length).toBeGreaterThanOrEqual(
        REPLICAS - MAX_UNAVAILABLE,
      );
      await ground.untilClosed();
      const statuses = (await ground.runs.all()).map(({ status }) => status);
      expect(statuses).toEqual(['COMPLETED', 'COMPLETED', 'CANCELLED', 'COMPLETED']);
    }),
    90_000,
  );

  it(
    'an undo holds git back until the manifest changes',
    both(async (side) => {
      const { manifest, applied, set, allAt } = side;
      const ground = side.ground();
      // The third revision is the one that was held.
      const undone = await side.fairlead('rollout undo sts/web --to-revision 2 --reason slow');
      expect(undone).toMatchObject({ code: 0, err: '' });
      const isBack = (all: readonly Pod[]) => all.every((pod) => imageOf(pod) === 'app:2');
      await ground.untilPods('back at app:2', isBack);
      await ground.untilDone();
      const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } };
      await applied({ 'settings.json': JSON.stringify(settings) });
      await allAt('app:2');
      expect((await set()).metadata.annotations?.[ANNOTATION.pinned]).toBeDefined();
      await applied({ 'web.json': manifest('app:4') });
      await allAt('app:4');
      expect((await set()).metadata.annotations?.[ANNOTATION.pinned]).toBeUndefined();
    }),
    120_000,
  );

  it(
    'ten commits in 5 s: the last one wins, of commits and of rollouts one at a time',
    both(async (side) => {
      const { manifest, untilClosed, allAt } = side;
      const ground = side.ground();
      const cluster = side.cluster();
      const temporal = side.temporal();
      const before = (await ground.runs.all()).length;
      const shas: string[] = [];
      for (let index = 5; index < 15; index += 1) {
        shas.push(await ground.commit({ 'web.json': manifest(`app:${String(index)}`) }));
        await delay(STORM_STEP_MS);
      }
      await untilClosed(shas.at(-1) ?? '', 'COMPLETED');
      await allAt('app:14');
      await ground.untilClosed();
      const rollouts = (await ground.runs.all()).slice(before);
      expect(rollouts.at(-1)?.status).toBe('COMPLETED');
      for (const [index, { startedAt, status }] of rollouts.entries()) {
        // Between two commits one may come to its end.
        expect(['CANCELLED', 'COMPLETED']).toContain(status);
        const earlier = rollouts[index - 1];
        const closedBefore = earlier === undefined ? 0 : (earlier.closedAt ?? Infinity);
        expect(startedAt).toBeGreaterThanOrEqual(closedBefore);
      }
      const query = `WorkflowId STARTS_WITH '${commitWorkflowPrefix(ground.owner, ground.owner)}'`;
      const commits = await listedRuns(temporal, query);
      expect(commits.at(-1)?.workflowId).toContain(shas.at(-1));
      for (const [index, { startedAt }] of commits.slice(1).entries())
        expect(startedAt).toBeGreaterThanOrEqual(commits[index]?.closedAt ?? Infinity);
      expect((await cluster.events(ground.namespace)).filter(({ type }) => type === 'Warning')).toEqual([]);
    }),
    120_000,
  );

  it(
    'a commit that was refused comes over what a verb has written meanwhile, and the verb says so',
    both(async (side) => {
      const { manifest, untilClosed, allAt } = side;
      const ground = side.ground();
      const cluster = side.cluster();
      const path = '/spec/template/spec/containers/0/image';
      await cluster.client.patch(
        cluster.path('StatefulSet', ground.namespace, 'web'),
        'json',
        [{ op: 'replace', path, value: 'app:15' }],
        { fieldManager: 'kubectl-set' },
      );
      const sha = await ground.commit({ 'web.json': manifest('app:16') });
      await untilClosed(sha, 'FAILED');
      const { code, err } = await side.fairlead('set image sts/web *=app:17 --reason emergency');
      expect({ code, err }).toEqual({
        code: 0,
        err: `note: commit ${sha.slice(0, 8)} of ${ground.owner} is not applied (Refused): what it changes of this workload comes over it when it is tried again; \`fairlead suspend ${ground.owner}\` holds what has not begun\n`,
      });
      await untilClosed(sha, 'COMPLETED');
      await ground.untilDone();
      await allAt('app:16');
    }),
    120_000,
  );

  it(
    "what a killed worker had in its hands is nobody's for five seconds, in runs of every kind",
    both(async (side) => {
      const temporal = side.temporal();
      const seconds = new Map<string, Set<number>>();
      for await (const { workflowId, runId } of temporal.workflow.list()) {
        const { type, raw } = await temporal.workflow.getHandle(workflowId, runId).describe();
        const timeout = Number(raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds);
        seconds.set(type, (seconds.get(type) ?? new Set()).add(timeout));
      }
      expect(seconds).toEqual(
        new Map(['rollout', 'sync', 'commit'].map((type) => [type, new Set([5])] as const)),
      );
    }),
    60_000,
  );

  itInFull(
    'what a rollout may go back to is pruned once there is nothing to go back for',
    both(async (side) => {
      const { manifest, applied, untilClosed, allAt } = side;
      const ground = side.ground();
      const configPath = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: ground.namespace,
      } as const;
      const configs = async () => {
        const { items } = await side.cluster().client.list(configPath);
        return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('config-'));
      };
      const files = (config: string, image: string) => ({
        'config.json': JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: config } }),
        'web.json': manifest(image, {
          podSpec: { volumes: [{ name: 'config', configMap: { name: config } }] },
        }),
      });
      await applied(files('config-1', 'app:20'));
      const bad = await ground.commit(files('config-2', 'app:bad'));
      await ground.untilPods(
        'the budget is used up',
        (all) => all.filter((pod) => imageOf(pod) === 'app:bad').length === MAX_UNAVAILABLE,
      );
      expect(await configs()).toEqual(['config-1', 'config-2']);
      await side.fairlead('rollout abort sts/web --reason bad');
      await untilClosed(bad, 'FAILED');
      expect(await configs()).toEqual(['config-1', 'config-2']);
      expect((await side.fairlead(`get repository/${ground.owner} -o json`)).out).toMatch(
        /ConfigMap \S+\/config-1 was not pruned: pods of StatefulSet\S* \S+\/web use it \(web-/,
      );
      await applied(files('config-2', 'app:21'));
      await allAt('app:21');
      expect(await configs()).toEqual(['config-2']);
    }),
    120_000,
  );
});
