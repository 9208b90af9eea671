/** A commit that failed for its rollouts, which end well later: a real worker that follows a real repository. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';

import type { RepositoryView } from '../../cli/repository-views.ts';
import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { CommitAttempt } from '../../git/inventory-status.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import type { CliRun } from '../support/cli.ts';
import { ANNOTATION } from '../../planners/names.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { found } from '../support/eventually.ts';
import { useLanes } from '../support/lanes.ts';
import { TestRepository } from '../support/git-repository.ts';
import { ReceivingServer } from '../support/receiving-server.ts';
import { grantSyncAccount } from '../support/sync-account.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

/** Several steps of a worker, on a machine that is busy. */
const PATIENCE_MS = 100_000;

/** Each test has a repository of its own, and a namespace of the same name that its objects are in. */
const SHOPS = ['slow', 'ended', 'held', 'late', 'healed'] as const;

let folder: string;
let worker: WorkerProcess;
let cluster: Cluster;
let temporal: Client;
let receiver: ReceivingServer;
const shops = new Map<string, Shop>();

// Hooks after all run in this order: the worker ends before the servers.
afterAll(async () => {
  await worker?.stop();
  await temporal?.connection.close();
  await receiver?.stop();
  for (const shop of shops.values()) await shop.git.remove();
  await rm(folder, { recursive: true, force: true });
}, 30_000);

const controlPlane = useControlPlane({ nodes: 1 });

beforeAll(async () => {
  const { kubeconfig, workloadApi, temporalAddress } = controlPlane();
  cluster = await Cluster.connect(kubeconfig, workloadApi);
  temporal = await connectTemporal(temporalAddress);
  folder = await mkdtemp(join(tmpdir(), 'fairlead-mended-'));
  receiver = await ReceivingServer.start();
  const file = join(folder, 'repositories.yaml');
  await writeFile(join(folder, 'secret'), 'a secret of the test');
  const notify = [{ type: 'webhook', url: receiver.url('/news'), secretFile: 'secret' }];
  const entries: object[] = [];
  const firsts = new Map<Shop, string>();
  for (const name of SHOPS) {
    const git = await TestRepository.create();
    const namespace = await cluster.createNamespace('mended');
    const shop = new Shop(name, git, namespace);
    shops.set(name, shop);
    const serviceAccount = await grantSyncAccount(cluster.client, namespace);
    const entry = { name, url: git.path, ref: 'main', namespace, serviceAccount, interval: '1s' };
    entries.push({ ...entry, heal: name === 'healed', ...(name === 'slow' && { notify }) });
    firsts.set(shop, await git.commit({ 'web.yaml': web('one', '0s', 600) }));
  }
  await writeFile(file, JSON.stringify(entries));
  worker = await startWorker({
    controlPlane: controlPlane(),
    cluster: 'mended',
    environment: { FAIRLEAD_REPOSITORIES: file, XDG_CACHE_HOME: folder },
  });
  for (const [shop, first] of firsts) await shop.untilSynced(first);
}, 180_000);

function web(tag: string, readyDelay: string, deadlineSeconds: number): string {
  return `apiVersion: fairlead.dev/v1beta1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  progressDeadlineSeconds: ${deadlineSeconds}
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {sim.fairlead.dev/ready-delay: ${readyDelay}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: "web:${tag}"}
`;
}

async function cli(words: string): Promise<CliRun> {
  return await runCli(words.split(' '), {
    environment: {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: 'mended',
    },
  });
}

class Shop {
  readonly name: string;
  readonly git: TestRepository;
  readonly namespace: string;

  constructor(name: string, git: TestRepository, namespace: string) {
    this.name = name;
    this.git = git;
    this.namespace = namespace;
  }

  async until(what: string, is: (view: RepositoryView) => boolean): Promise<RepositoryView> {
    let view: RepositoryView | undefined;
    return await found(
      what,
      async () => {
        const { out, code } = await cli(`get repository/${this.name} -o json`);
        if (code !== 0) return undefined;
        [view] = (JSON.parse(out) as { items: readonly RepositoryView[] }).items;
        return view !== undefined && is(view) ? view : undefined;
      },
      PATIENCE_MS,
      () => JSON.stringify(view),
    );
  }

  async untilFailed(sha: string): Promise<RepositoryView> {
    return await this.until(
      'it has failed',
      ({ state, commit }) => state === 'Failed' && commit?.sha === sha,
    );
  }

  async untilSynced(sha: string): Promise<void> {
    await this.until('the commit is applied', ({ state, applied }) => state === 'Synced' && applied === sha);
  }

  async attemptsOf(sha: string): Promise<readonly CommitAttempt[]> {
    const { out } = await cli(`history ${this.name} -o json`);
    const { attempts } = JSON.parse(out) as { attempts: readonly CommitAttempt[] };
    return attempts.filter((attempt) => attempt.sha === sha);
  }
}

const ROLLED_OUT = { outcome: 'Succeeded', applied: 0, reason: expect.stringContaining('rolled out since') };

describe('a commit that failed for a rollout', () => {
  const inLane = useLanes(SHOPS.length);

  it(
    'is applied after all when that goes on by itself, and history says both',
    inLane(async () => {
      const shop = shops.get('slow') as Shop;
      const sha = await shop.git.commit({ 'web.yaml': web('slow', '12s', 3) }, 'slow');
      const failed = await shop.untilFailed(sha);
      expect(failed.message).toMatch(/^RolloutFailed web\.yaml:1@/);
      expect(failed.commit?.notes).toContain(
        'it is tried again by itself when what failed has been rolled out',
      );

      await shop.untilSynced(sha);
      expect(await shop.attemptsOf(sha)).toEqual([
        expect.objectContaining({ outcome: 'Failed' }),
        expect.objectContaining(ROLLED_OUT),
      ]);
      const told = await found(
        'the receiver was told',
        async () => {
          const news = receiver.received.map(
            ({ body }) => JSON.parse(body) as { sha: string; outcome: string },
          );
          const outcomes = news.filter((one) => one.sha === sha).map(({ outcome }) => outcome);
          return outcomes.includes('Succeeded') ? outcomes : undefined;
        },
        PATIENCE_MS,
      );
      expect(told).toEqual(['Pending', 'Failed', 'Succeeded']);
    }),
    240_000,
  );

  it(
    'whose run somebody ended is applied when retry has rolled it out',
    inLane(async () => {
      const shop = shops.get('ended') as Shop;
      const { namespace } = shop;
      const sha = await shop.git.commit({ 'web.yaml': web('ended', '30s', 600) }, 'ended');
      const ref = {
        group: 'fairlead.dev',
        version: 'v1beta1',
        kind: 'Deployment',
        namespace,
        name: 'web',
      } as const;
      const id = rolloutWorkflowId('mended', ref);
      await shop.until(
        'it is under way',
        ({ state, commit }) => state === 'Progressing' && commit?.sha === sha,
      );
      await found(
        'its run is open',
        async () => {
          const { status } = await temporal.workflow.getHandle(id).describe();
          return status.name === 'RUNNING' ? true : undefined;
        },
        PATIENCE_MS,
      );
      await temporal.workflow.getHandle(id).terminate('clicked by a test');

      const failed = await shop.untilFailed(sha);
      expect(failed.message).toMatch(/RunTerminated/);
      expect(await cli(`rollout retry fdeploy/web -n ${namespace}`)).toMatchObject({ code: 0 });
      await shop.untilSynced(sha);
      expect(await shop.attemptsOf(sha)).toEqual([
        expect.objectContaining({ outcome: 'Failed' }),
        expect.objectContaining(ROLLED_OUT),
      ]);
    }),
    240_000,
  );

  it(
    'that somebody deleted in its middle makes it again, where the repository heals',
    inLane(async () => {
      const shop = shops.get('healed') as Shop;
      const { namespace } = shop;
      const sha = await shop.git.commit({ 'web.yaml': web('healed', '8s', 600) }, 'healed');
      const path = {
        group: 'fairlead.dev',
        version: 'v1beta1',
        resource: 'deployments',
        namespace,
        name: 'web',
      } as const;
      const isApplied = ({ metadata }: KubernetesObject) => metadata.annotations?.[ANNOTATION.commit] === sha;
      const applied = await cluster.until<KubernetesObject>(path, 'applied', isApplied, PATIENCE_MS);
      await cluster.client.delete(path, { propagationPolicy: 'Background' });

      await shop.untilSynced(sha);
      const made = await cluster.client.get(path);
      expect(made.metadata.uid).not.toBe(applied.metadata.uid);
      expect(await shop.attemptsOf(sha)).toEqual([
        expect.objectContaining({ outcome: 'Failed' }),
        expect.objectContaining({
          outcome: 'Succeeded',
          reason: expect.stringContaining('deleted during its rollout: Deployment.fairlead.dev'),
        }),
      ]);
    }),
    240_000,
  );

  it(
    'is tried again at once when the repository goes on, if it was suspended meanwhile',
    inLane(async () => {
      const shop = shops.get('held') as Shop;
      const { namespace } = shop;
      const sha = await shop.git.commit({ 'web.yaml': web('held', '12s', 3) }, 'held');
      await shop.untilFailed(sha);
      expect(await cli('suspend held --reason look')).toMatchObject({ code: 0 });
      await cluster.until<
        { status?: { conditions?: { type: string; status: string }[] } } & KubernetesObject
      >(
        { group: 'fairlead.dev', version: 'v1beta1', resource: 'deployments', namespace, name: 'web' },
        'rolled out',
        ({ status }) =>
          status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true,
        PATIENCE_MS,
      );
      await shop.until('it is suspended', ({ state }) => state === 'Suspended');
      expect(await cli('resume held')).toMatchObject({ code: 0 });
      // By itself it looks once a minute.
      const goneOn = Date.now();
      await shop.untilSynced(sha);
      expect(Date.now() - goneOn).toBeLessThan(30_000);
    }),
    240_000,
  );

  it(
    'that somebody has aborted says so, and advises it no more',
    inLane(async () => {
      const shop = shops.get('late') as Shop;
      const { namespace } = shop;
      const sha = await shop.git.commit({ 'web.yaml': web('late', '600s', 3) }, 'late');
      const failed = await shop.untilFailed(sha);
      expect(failed.message).toMatch(/or go back with `fairlead rollout abort`/);
      expect(await cli(`rollout abort fdeploy/web -n ${namespace} --by ann --reason slow`)).toMatchObject({
        code: 0,
      });
      const told = await shop.until('it is told so', ({ message }) => message.startsWith('RolledBack '));
      expect(told.state).toBe('Failed');
      const line =
        /^RolledBack web\.yaml:1@\w{8}: \S+ \S+\/web: rolled back by ann: slow\. Correct the manifest/;
      expect(told.message).toMatch(line);
      const [attempt] = await shop.attemptsOf(sha);
      expect(attempt?.problem).toMatch(line);
    }),
    240_000,
  );
});
