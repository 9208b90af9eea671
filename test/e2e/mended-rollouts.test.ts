/** A commit that failed for its rollouts, which end well later: a real worker that follows a real repository. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';

import type { RepositoryView } from '../../cli/repository-views.ts';
import type { CommitAttempt } from '../../git/inventory.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import type { CliRun } from '../support/cli.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { found } from '../support/eventually.ts';
import { TestRepository } from '../support/git-repository.ts';
import { ReceivingServer } from '../support/receiving-server.ts';
import { grantSyncAccount } from '../support/sync-account.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

/** Several steps of a worker, on a machine that is busy. */
const PATIENCE_MS = 100_000;

let folder: string;
let shop: TestRepository;
let worker: WorkerProcess;
let cluster: Cluster;
let namespace: string;
let temporal: Client;
let receiver: ReceivingServer;

// Hooks after all run in this order: the worker ends before the servers.
afterAll(async () => {
  await worker?.stop();
  await temporal?.connection.close();
  await receiver?.stop();
  await shop?.remove();
  await rm(folder, { recursive: true, force: true });
}, 30_000);

const controlPlane = useControlPlane({ nodes: 1 });

beforeAll(async () => {
  const { kubeconfig, workloadApi, temporalAddress } = controlPlane();
  cluster = await Cluster.connect(kubeconfig, workloadApi);
  temporal = new Client({ connection: await Connection.connect({ address: temporalAddress }) });
  folder = await mkdtemp(join(tmpdir(), 'fairlead-mended-'));
  shop = await TestRepository.create();
  receiver = await ReceivingServer.start();
  namespace = await cluster.createNamespace('mended');
  const serviceAccount = await grantSyncAccount(cluster.client, namespace);
  const file = join(folder, 'repositories.yaml');
  await writeFile(join(folder, 'secret'), 'a secret of the test');
  const notify = [{ type: 'webhook', url: receiver.url('/news'), secretFile: 'secret' }];
  const entry = { name: 'shop', url: shop.path, ref: 'main', namespace, serviceAccount, notify };
  await writeFile(file, JSON.stringify([{ ...entry, interval: '1s' }]));
  await shop.commit({ 'web.yaml': web('one', '0s', 600) });
  worker = await startWorker({
    controlPlane: controlPlane(),
    cluster: 'mended',
    environment: { FAIRLEAD_REPOSITORIES: file, XDG_CACHE_HOME: folder },
  });
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

async function untilShop(what: string, is: (view: RepositoryView) => boolean): Promise<RepositoryView> {
  let view: RepositoryView | undefined;
  return await found(
    what,
    async () => {
      const { out, code } = await cli('get repository/shop -o json');
      if (code !== 0) return undefined;
      [view] = (JSON.parse(out) as { items: readonly RepositoryView[] }).items;
      return view !== undefined && is(view) ? view : undefined;
    },
    PATIENCE_MS,
    () => JSON.stringify(view),
  );
}

async function attemptsOf(sha: string): Promise<readonly CommitAttempt[]> {
  const { out } = await cli('history shop -o json');
  const { attempts } = JSON.parse(out) as { attempts: readonly CommitAttempt[] };
  return attempts.filter((attempt) => attempt.sha === sha);
}

async function isSynced(sha: string): Promise<void> {
  await untilShop('the commit is applied', ({ state, applied }) => state === 'Synced' && applied === sha);
}

const ROLLED_OUT = { outcome: 'Succeeded', applied: 0, reason: expect.stringContaining('rolled out since') };

describe('a commit that failed for a rollout', () => {
  it('is applied after all when that goes on by itself, and history says both', async () => {
    const sha = await shop.commit({ 'web.yaml': web('slow', '12s', 3) }, 'slow');
    const failed = await untilShop(
      'it has failed',
      ({ state, commit }) => state === 'Failed' && commit?.sha === sha,
    );
    expect(failed.message).toMatch(/^RolloutFailed web\.yaml:1@/);
    expect(failed.commit?.notes).toContain(
      'it is tried again by itself when what failed has been rolled out',
    );

    await isSynced(sha);
    expect(await attemptsOf(sha)).toEqual([
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
  }, 240_000);

  it('whose run somebody ended is applied when retry has rolled it out', async () => {
    const sha = await shop.commit({ 'web.yaml': web('ended', '30s', 600) }, 'ended');
    const ref = {
      group: 'fairlead.dev',
      version: 'v1beta1',
      kind: 'Deployment',
      namespace,
      name: 'web',
    } as const;
    const id = rolloutWorkflowId('mended', ref);
    await untilShop('it is under way', ({ state, commit }) => state === 'Progressing' && commit?.sha === sha);
    await found(
      'its run is open',
      async () => {
        const { status } = await temporal.workflow.getHandle(id).describe();
        return status.name === 'RUNNING' ? true : undefined;
      },
      PATIENCE_MS,
    );
    await temporal.workflow.getHandle(id).terminate('clicked by a test');

    const failed = await untilShop(
      'it failed',
      ({ state, commit }) => state === 'Failed' && commit?.sha === sha,
    );
    expect(failed.message).toMatch(/RunTerminated/);
    expect(await cli(`rollout retry fdeploy/web -n ${namespace}`)).toMatchObject({ code: 0 });
    await isSynced(sha);
    expect(await attemptsOf(sha)).toEqual([
      expect.objectContaining({ outcome: 'Failed' }),
      expect.objectContaining(ROLLED_OUT),
    ]);
  }, 240_000);

  it('is tried again at once when the repository goes on, if it was suspended meanwhile', async () => {
    const sha = await shop.commit({ 'web.yaml': web('held', '12s', 3) }, 'held');
    await untilShop('it has failed', ({ state, commit }) => state === 'Failed' && commit?.sha === sha);
    expect(await cli('suspend shop --reason look')).toMatchObject({ code: 0 });
    await cluster.until<{ status?: { conditions?: { type: string; status: string }[] } } & KubernetesObject>(
      { group: 'fairlead.dev', version: 'v1beta1', resource: 'deployments', namespace, name: 'web' },
      'rolled out',
      ({ status }) =>
        status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true,
      PATIENCE_MS,
    );
    await untilShop('it is suspended', ({ state }) => state === 'Suspended');
    expect(await cli('resume shop')).toMatchObject({ code: 0 });
    // By itself it looks once a minute.
    const goneOn = Date.now();
    await isSynced(sha);
    expect(Date.now() - goneOn).toBeLessThan(30_000);
  }, 240_000);

  it('that somebody has aborted says so, and advises it no more', async () => {
    const sha = await shop.commit({ 'web.yaml': web('late', '600s', 3) }, 'late');
    const failed = await untilShop(
      'it failed',
      ({ state, commit }) => state === 'Failed' && commit?.sha === sha,
    );
    expect(failed.message).toMatch(/or go back with `fairlead rollout abort`/);
    expect(await cli(`rollout abort fdeploy/web -n ${namespace} --by ann --reason slow`)).toMatchObject({
      code: 0,
    });
    const told = await untilShop('it is told so', ({ message }) => message.startsWith('RolledBack '));
    expect(told.state).toBe('Failed');
    const line =
      /^RolledBack web\.yaml:1@\w{8}: \S+ \S+\/web: rolled back by ann: slow\. Correct the manifest/;
    expect(told.message).toMatch(line);
    const [attempt] = await attemptsOf(sha);
    expect(attempt?.problem).toMatch(line);
  }, 240_000);
});
