/** A push that is announced at `/hook` of whichever replica, to a worker that would not look for an hour. Real servers. */

import { createHmac } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { ResourcePath } from '../../kubernetes/client.ts';
import { findFreePorts } from '../../local/ports.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { found } from '../support/eventually.ts';
import { TestRepository } from '../support/git-repository.ts';
import { GitServer } from '../support/git-server.ts';
import { PAYLOADS } from '../support/push-payloads.ts';
import { configMap } from '../support/small-manifests.ts';
import { grantSyncAccount } from '../support/sync-account.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const SECRET = 'planted-hook-secret';

let folder: string;
let repository: TestRepository;
/** Pushed to a server, which announces it. */
let shop: TestRepository;
let server: GitServer;
let cluster: Cluster;
let leader: WorkerProcess;
let standby: WorkerProcess;
let ports: readonly number[];
let path: ResourcePath;
let shopPath: ResourcePath;

// Hooks after all run in this order: the workers end before the servers.
afterAll(async () => {
  await Promise.all([leader?.stop(), standby?.stop()]);
  await Promise.all([repository?.remove(), shop?.remove(), server?.stop()]);
  await rm(folder, { recursive: true, force: true });
}, 30_000);

const controlPlane = useControlPlane({ nodes: 1 });

beforeAll(async () => {
  const { kubeconfig, workloadApi } = controlPlane();
  cluster = await Cluster.connect(kubeconfig, workloadApi);
  folder = await mkdtemp(join(tmpdir(), 'fairlead-webhook-'));
  repository = await TestRepository.create();
  ports = await findFreePorts(2);
  const namespace = await cluster.createNamespace('hook');
  const serviceAccount = await grantSyncAccount(cluster.client, namespace);
  path = { group: '', version: 'v1', resource: 'configmaps', namespace, name: 'config' };
  shop = await TestRepository.create();
  await shop.commit({ 'config.yaml': configMap('0') });
  await shop.git('clone', '--quiet', '--bare', shop.path, join(folder, 'served', 'team', 'shop.git'));
  server = await GitServer.start(join(folder, 'served'));
  const shopNamespace = await cluster.createNamespace('hook-shop');
  shopPath = { ...path, namespace: shopNamespace };
  await writeFile(join(folder, 'secret'), SECRET);
  await writeFile(
    join(folder, 'repositories.yaml'),
    JSON.stringify([
      {
        name: 'hook',
        url: repository.path,
        ref: 'main',
        namespace,
        serviceAccount,
        interval: '1h',
        webhookSecretFile: 'secret',
      },
      {
        name: 'shop',
        url: server.url('team/shop.git'),
        caFile: server.caFile,
        ref: 'main',
        namespace: shopNamespace,
        serviceAccount: await grantSyncAccount(cluster.client, shopNamespace),
        interval: '1h',
        webhookSecretFile: 'secret',
      },
    ]),
  );
  const start = async (port: number | undefined, waitFor: 'leading' | 'started') =>
    await startWorker({
      controlPlane: controlPlane(),
      cluster: 'hook',
      waitFor,
      environment: {
        FAIRLEAD_REPOSITORIES: join(folder, 'repositories.yaml'),
        FAIRLEAD_METRICS_ADDRESS: `127.0.0.1:${String(port)}`,
        XDG_CACHE_HOME: folder,
      },
    });
  await repository.commit({ 'config.yaml': configMap('0') });
  leader = await start(ports[0], 'leading');
  standby = await start(ports[1], 'started');
  await Promise.all([value('0'), value('0', shopPath)]);
}, 180_000);

/** Until the object has this value. */
async function value(wanted: string, at = path): Promise<void> {
  let seen = '';
  await found(
    `the value is ${wanted}`,
    async () => {
      const object = await cluster.client
        .get<{ metadata: { name: string; uid: string; resourceVersion: string }; data: { key: string } }>(at)
        .catch(() => undefined);
      seen = object?.data.key ?? '';
      return seen === wanted ? true : undefined;
    },
    15_000,
    () => seen,
  );
}

async function announce(port: number | undefined, secret = SECRET): Promise<number> {
  const body = JSON.stringify({ ref: 'refs/heads/main' });
  const { status } = await fetch(`http://127.0.0.1:${String(port)}/hook/hook`, {
    method: 'POST',
    body,
    headers: { 'x-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
  });
  return status;
}

describe('a push that is announced', () => {
  it.each([
    ['the replica that leads', 0, '1'],
    ['another replica', 1, '2'],
  ])('to %s is in the cluster within five seconds', async (_who, replica, content) => {
    await repository.commit({ 'config.yaml': configMap(content) });
    const begun = performance.now();
    expect(await announce(ports[replica])).toBe(202);
    await value(content);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it.each(Object.keys(PAYLOADS).map((name, index) => [name, index] as const))(
    'as %s announces it is in the cluster within five seconds',
    async (name, index) => {
      const before = await shop.git('rev-parse', 'HEAD');
      const after = await shop.commit({ 'config.yaml': configMap(name) });
      await shop.git('push', '--quiet', join(folder, 'served', 'team', 'shop.git'), 'main');
      const payload = PAYLOADS[name]?.({
        address: server.url('team/shop'),
        branch: 'main',
        before,
        after,
        secret: SECRET,
      });
      const begun = performance.now();
      const { status } = await fetch(`http://127.0.0.1:${String(ports[index % 2])}/hook`, {
        method: 'POST',
        ...payload,
      });
      expect(status).toBe(202);
      await value(name, shopPath);
      expect(performance.now() - begun).toBeLessThan(5_000);
    },
  );

  it('by one who does not know the secret is not looked for; nobody logs the secret', async () => {
    await repository.commit({ 'config.yaml': configMap('3') });
    expect(await announce(ports[0], 'guessed')).toBe(401);
    const refused = await leader.untilLine(({ msg }) => msg === 'webhook refused', 5_000);
    expect(refused).toMatchObject({ status: 401 });
    expect(await announce(ports[0])).toBe(202);
    await value('3');
    const metrics = await (await fetch(`http://127.0.0.1:${String(ports[0])}/metrics`)).text();
    expect(metrics).toContain('fairlead_webhooks_total{result="unauthorized"} 1');
    expect(JSON.stringify([...leader.lines, ...standby.lines])).not.toContain(SECRET);
  });
});
