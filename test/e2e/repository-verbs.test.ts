/** `get repositories`, `history`, `sync`, `suspend` and `resume` on a real worker that follows two real repositories. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Client } from '@temporalio/client';

import type { Io } from '../../cli/io.ts';
import type { RepositoryView } from '../../cli/repository-views.ts';
import { connectTemporal } from '../../controllers/temporal-client.ts';
import { findFreePorts } from '../../local/ports.ts';
import { workflowTaskQueue } from '../../workflows/messages.ts';
import { commitWorkflowId, syncStatusQuery, syncWorkflowId } from '../../workflows/sync-messages.ts';
import type { CliRun } from '../support/cli.ts';
import { runCli } from '../support/cli.ts';
import { Cluster } from '../support/cluster.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { COMMAND_LOOK_MS, found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { TestRepository } from '../support/git-repository.ts';
import { GitServer } from '../support/git-server.ts';
import { useLanes } from '../support/lanes.ts';
import { configMap, statefulSet } from '../support/small-manifests.ts';
import { ReceivingServer } from '../support/receiving-server.ts';
import { runCliProcess } from '../support/cli-process.ts';
import { refuseChange } from '../support/refusing-policy.ts';
import { silentServer } from '../support/silent-server.ts';
import { plantedIn, textOf } from '../support/planted.ts';
import { grantSyncAccount } from '../support/sync-account.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

let folder: string;
let file: string;
let common: { readonly namespace: string; readonly serviceAccount: string; readonly ref: string };
let entries: readonly object[];
let namespace: string;
let metricsAddress: string;
let shop: TestRepository;
let worker: WorkerProcess;
let cluster: Cluster;
let temporal: Client;
let receiver: ReceivingServer;
let first: string;

/** Of a case that waits long, beside others: all but `shop`, whose history is one for the whole file. */
interface OwnRepository {
  readonly git: TestRepository;
  readonly namespace: string;
}
const OWN = ['held', 'lost', 'planted'] as const;
const own = new Map<(typeof OWN)[number], OwnRepository>();
const ownOf = (name: (typeof OWN)[number]) => own.get(name) as OwnRepository;
const inLane = useLanes(OWN.length);

// Hooks after all run in this order: the worker ends before the servers.
afterAll(async () => {
  await worker?.stop();
  await temporal?.connection.close();
  await receiver?.stop();
  for (const git of [shop, ...[...own.values()].map((one) => one.git)]) await git?.remove();
  await rm(folder, { recursive: true, force: true });
}, 30_000);

const controlPlane = useControlPlane({ nodes: 1 });

beforeAll(async () => {
  const { kubeconfig, workloadApi, temporalAddress } = controlPlane();
  cluster = await Cluster.connect(kubeconfig, workloadApi);
  temporal = await connectTemporal(temporalAddress);
  folder = await mkdtemp(join(tmpdir(), 'fairlead-verbs-'));
  shop = await TestRepository.create();
  receiver = await ReceivingServer.start();
  await writeFile(join(folder, 'secret'), 'planted-receiver-secret');
  const notify = [{ type: 'webhook', url: receiver.url('/news'), secretFile: 'secret' }];
  namespace = await cluster.createNamespace('shop');
  metricsAddress = `127.0.0.1:${String((await findFreePorts(1))[0])}`;
  const serviceAccount = await grantSyncAccount(cluster.client, namespace);
  file = join(folder, 'repositories.yaml');
  common = { namespace, serviceAccount, ref: 'main' };
  entries = [
    { ...common, name: 'shop', url: shop.path, interval: '1s', notify },
    { ...common, name: 'missing', url: join(folder, 'missing'), interval: '1s' },
  ];
  first = await shop.commit({ 'config.yaml': configMap('1') }, 'begin');
  for (const name of OWN) {
    const git = await TestRepository.create();
    const home = await cluster.createNamespace(name);
    own.set(name, { git, namespace: home });
    await git.commit({ 'config.yaml': configMap('1') });
    const account = await grantSyncAccount(cluster.client, home);
    entries = [
      ...entries,
      { name, url: git.path, ref: 'main', namespace: home, serviceAccount: account, interval: '1s', notify },
    ];
  }
  await writeFile(file, JSON.stringify(entries));
  worker = await startFollowing();
  // The first of all of them, by a worker that has just begun.
  const isFirst = ({ state, applied }: RepositoryView) => state === 'Synced' && applied === first;
  await untilView('shop', 'synced', isFirst, 60_000);
}, 180_000);

async function startFollowing(): Promise<WorkerProcess> {
  return await startWorker({
    controlPlane: controlPlane(),
    cluster: 'verbs',
    environment: {
      FAIRLEAD_REPOSITORIES: file,
      FAIRLEAD_METRICS_ADDRESS: metricsAddress,
      XDG_CACHE_HOME: folder,
    },
  });
}

async function cli(
  words: string,
  environment: Record<string, string> = {},
  overrides: Partial<Io> = {},
): Promise<CliRun> {
  const typed = words.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
  return await runCli(typed, {
    environment: {
      KUBECONFIG: controlPlane().kubeconfig,
      TEMPORAL_ADDRESS: controlPlane().temporalAddress,
      FAIRLEAD_CLUSTER: 'verbs',
      ...environment,
    },
    ...overrides,
  });
}

async function repositories(): Promise<readonly RepositoryView[]> {
  const { code, out, err } = await cli('get repositories -o json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return (JSON.parse(out) as { items: RepositoryView[] }).items;
}

async function untilShop(what: string, is: (view: RepositoryView) => boolean): Promise<RepositoryView> {
  return await untilView('shop', what, is);
}

async function untilView(
  repository: string,
  what: string,
  is: (view: RepositoryView) => boolean,
  deadlineMs = 20_000,
): Promise<RepositoryView> {
  let view: RepositoryView | undefined;
  return await found(
    `${repository} is ${what}`,
    async () => {
      view = (await repositories()).find(({ name }) => name === repository);
      return view !== undefined && is(view) ? view : undefined;
    },
    deadlineMs,
    () => JSON.stringify(view),
    COMMAND_LOOK_MS,
  );
}

const named = (name: string) => configMap('1').replace('name: config', `name: ${name}`);

/** Of the ConfigMaps in a namespace. */
async function namesOf(home: string): Promise<readonly string[]> {
  const { items } = await cluster.client.list({
    group: '',
    version: 'v1',
    resource: 'configmaps',
    namespace: home,
  });
  return items.map(({ metadata }) => metadata.name);
}

describe('get repositories', () => {
  it('shows what is applied, what was seen, and why a repository cannot be read', async () => {
    await found('the missing one was looked at', async () =>
      (await repositories()).some(({ state }) => state === 'Unreadable') ? true : undefined,
    );
    const { out } = await cli('get repositories');
    const [title, ...rows] = out.split('\n');
    const [missing, mine] = ['missing', 'shop'].map((name) => rows.find((row) => row.startsWith(`${name} `)));
    expect(title).toMatch(/^NAME +URL +REF +APPLIED +STATE +LOOKED +WHY$/);
    expect(missing).toMatch(/^missing .* main +<none> +Unreadable +≤\d+s +RepositoryNotFound/);
    expect(mine).toMatch(new RegExp(`^shop .* main +${first.slice(0, 8)} +Synced +≤\\d+m?\\d*s +-$`));
    expect((await cli('get repository/shop -o name')).out).toBe('repository/shop\n');
    const view = await untilShop('there', () => true);
    expect(view).toMatchObject({
      url: shop.path,
      ref: 'main',
      path: '',
      seen: first,
      webhook: false,
      message: '',
    });
    const wide = (await cli('get repository/shop -o wide')).out;
    expect(wide).toMatch(/ ACCOUNT +SEEN /);
    expect(wide).toContain(` ${view.serviceAccount ?? 'unknown'} `);
    expect(view.serviceAccount).toBe(common.serviceAccount);
    expect(view.lookedAt).toMatch(/^\d{4}-/);
  });

  it('of one that is not there fails and names those that are', async () => {
    const { code, err } = await cli('get repository/shops');
    expect(code).toBe(1);
    expect(err).toContain(
      'there is no repository "shops": the worker follows held, lost, missing, planted, shop',
    );
    expect((await cli('history Shop_1')).code).toBe(2);
  });
});

describe('suspend and resume', () => {
  it('hold what comes, say who and why, and let it go on', async () => {
    const suspended = await cli('suspend shop --by ada --reason "disk alarm"');
    expect(suspended).toMatchObject({ code: 0, out: 'repository shop suspended\n' });
    expect((await cli('suspend shop --by bob')).out).toBe(
      'nothing to do: repository shop is already suspended by ada: disk alarm\n',
    );
    const held = await shop.commit({ 'config.yaml': configMap('2') }, 'held');
    await found('the sync knows of it and waits', async () => {
      const view = await temporal.workflow.getHandle(syncWorkflowId('verbs', 'shop')).query(syncStatusQuery);
      const isHeld = view.suspended?.by === 'ada' && view.wanted === held && view.running === undefined;
      return isHeld ? true : undefined;
    });
    const view = await untilShop('suspended', ({ seen }) => seen === held);
    expect(view).toMatchObject({
      state: 'Suspended',
      message: 'suspended by ada: disk alarm',
      applied: first,
    });
    const { code, err } = await cli('sync shop');
    expect(code).toBe(1);
    expect(err).toContain('repository shop is suspended by ada: disk alarm');
    const inJson = await cli('sync shop -o json');
    expect(inJson.code).toBe(1);
    expect(JSON.parse(inJson.out)).toEqual({
      apiVersion: 'cli.fairlead.dev/v1',
      kind: 'SyncResult',
      repository: 'shop',
      sha: held,
      outcome: 'suspended',
      message: 'suspended by ada: disk alarm',
    });
    expect((await cli('resume shop -o json')).out).toContain('"changed": true');
    await untilShop('synced', ({ state, applied }) => state === 'Synced' && applied === held);
    expect((await cli('resume shop')).out).toBe('nothing to do: repository shop is not suspended\n');
  }, 60_000);

  it('hold what comes under another name too', async () => {
    const git = await TestRepository.create();
    try {
      const home = await cluster.createNamespace('renamed');
      const serviceAccount = await grantSyncAccount(cluster.client, home);
      const entry = { url: git.path, ref: 'main', namespace: home, serviceAccount, interval: '1s' };
      const sha = await git.commit({ 'config.yaml': configMap('1') });
      await writeFile(file, JSON.stringify([...entries, { ...entry, name: 'old' }]));
      await untilView('old', 'synced', ({ state, applied }) => state === 'Synced' && applied === sha);
      await cli('suspend old --by ada --reason "disk alarm"');
      const held = await git.commit({ 'config.yaml': configMap('2') });
      await writeFile(file, JSON.stringify([...entries, { ...entry, name: 'new' }]));
      const view = await untilView('new', 'seen', ({ seen, state }) => seen === held && state !== 'Pending');
      expect(view).toMatchObject({ state: 'Suspended', message: 'suspended by ada: disk alarm' });
      expect((await cli('resume new')).out).toBe('repository new resumed\n');
      await untilView('new', 'synced', ({ state, applied }) => state === 'Synced' && applied === held);
    } finally {
      await writeFile(file, JSON.stringify(entries));
      await git.remove();
    }
  }, 60_000);
});

describe('sync and history', () => {
  it('sync applies the newest commit and says how it went', async () => {
    const sha = await shop.commit({ 'config.yaml': configMap('3') }, 'synced');
    const { code, out, err } = await cli('sync shop --by ada --timeout 30s');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`► shop at ${sha.slice(0, 8)}\n`);
    expect(out).toMatch(new RegExp(`✔ shop at ${sha.slice(0, 8)} is applied \\(\\d+s\\)\\n$`));
    // The poller may have been quicker; what is applied already is tried again for whoever asks.
    expect(await cli('sync shop --by ada --reason again --timeout 30s')).toMatchObject({ code: 0 });
  }, 60_000);

  itInFull(
    'waits for a run whose worker is too slow, as check says, and has nobody terminate it',
    async () => {
      const workflowId = syncWorkflowId('verbs', 'shop');
      const taskQueue = 'slow-worker';
      const run = await temporal.workflow.start('sync', {
        workflowId,
        taskQueue,
        workflowTaskTimeout: '1s',
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      });
      // A worker that asks for each task, and is too slow for all.
      const { connection, workflowService } = temporal;
      const over = new AbortController();
      const poll = async () =>
        await workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue } });
      const slow = (async () => {
        while (!over.signal.aborted) await connection.withDeadline(Date.now() + 70_000, poll);
      })();
      try {
        await found('its task was tried often', async () => {
          const { raw } = await run.describe();
          return (raw.pendingWorkflowTask?.attempt ?? 0) >= 3 ? true : undefined;
        });
        const { code, err } = await cli('sync shop --timeout 3s');
        expect({ code, err }).toEqual({
          code: 3,
          err: expect.stringContaining('timed out waiting for shop: '),
        });
        expect(err).not.toContain('terminate');
        const said = await found('check says so', async () => {
          const { out } = await cli('check');
          return out.includes('✔ runs of repositories') ? undefined : out;
        });
        expect(said).toContain(
          `! runs of repositories the run ${workflowId} does not get on: its workflow task has timed out`,
        );
        expect(said).not.toContain('temporal workflow terminate');
      } finally {
        over.abort();
        // The next try comes within seconds.
        await slow;
        await run.terminate();
      }
      expect(await cli('sync shop --timeout 30s')).toMatchObject({ code: 0 });
    },
    120_000,
  );

  it('a commit that is refused ends it with 1, one that nobody may wait for with 3', async () => {
    const sha = await shop.commit({ 'bad.yaml': 'apiVersion: v1\nkind: ConfigMap\n' }, '\u001b[31mbad');
    const { code, err } = await cli('sync shop --timeout 30s');
    expect(code).toBe(1);
    expect(err).toContain(`✗ shop at ${sha.slice(0, 8)}: Refused: `);
    expect(err).toContain('ObjectIncomplete bad.yaml:1');
    expect(await cli('sync shop --timeout 1ms')).toMatchObject({ code: 3 });
    const view = await untilShop('refused', ({ state }) => state === 'Refused');
    expect(view.message).toContain('ObjectIncomplete bad.yaml:1');
    await shop.commit({ 'bad.yaml': undefined }, 'mended');
    expect(await cli('sync shop --timeout 30s')).toMatchObject({ code: 0 });
  }, 60_000);

  it('notes what is no failure: what was not pruned', async () => {
    const claim =
      'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: kept}\n' +
      'spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n';
    await shop.commit({ 'claim.yaml': claim }, 'a claim');
    expect(await cli('sync shop --timeout 30s')).toMatchObject({ code: 0 });
    const sha = await shop.commit({ 'claim.yaml': undefined }, 'and none');
    const note = `PersistentVolumeClaim ${namespace}/kept was not pruned: deleting a PersistentVolumeClaim may lose data`;
    try {
      const { code, out } = await cli('sync shop --timeout 30s');
      expect(code).toBe(0);
      expect(out).toMatch(
        new RegExp(`✔ shop at ${sha.slice(0, 8)} is applied \\(\\d+s\\)\\n  note: ${note}.*\\n$`),
      );
      const { out: json } = await cli('sync shop --timeout 30s -o json');
      expect(JSON.parse(json)).toMatchObject({
        outcome: 'Succeeded',
        notes: [expect.stringContaining(note)],
      });
    } finally {
      const path = { group: '', version: 'v1', resource: 'persistentvolumeclaims', namespace, name: 'kept' };
      await cluster.client.patch(path, 'merge', { metadata: { finalizers: null } });
      await cluster.client.delete(path);
      // The controller manager may have put its finalizer back in between, and takes it off again.
      await cluster.untilGone(path);
    }
    expect((await cli('sync shop --timeout 30s')).out).not.toContain('note: ');
  }, 60_000);

  itInFull(
    'that is given up ends in time, although the look goes on',
    async () => {
      await using server = await silentServer();
      const silent = { name: 'silent', url: server.url, interval: '1s' };
      await writeFile(file, JSON.stringify([...entries, { ...common, ...silent }]));
      try {
        await found('it is followed', async () =>
          (await repositories()).some(({ name }) => name === 'silent') ? true : undefined,
        );
        const begun = Date.now();
        // As a process, which ends when nothing is waited for any more.
        const { kubeconfig: KUBECONFIG, temporalAddress: TEMPORAL_ADDRESS } = controlPlane();
        const environment = { KUBECONFIG, TEMPORAL_ADDRESS, FAIRLEAD_CLUSTER: 'verbs' };
        const { code, err } = await runCliProcess(['sync', 'silent', '--timeout', '3s'], { environment });
        expect({ code, err }).toEqual({
          code: 3,
          err: 'error: timed out waiting for silent: no worker has looked at the repository yet\n',
        });
        // An update is waited for in calls of 20 s.
        expect(Date.now() - begun).toBeLessThan(15_000);
      } finally {
        await writeFile(file, JSON.stringify(entries));
      }
    },
    60_000,
  );

  it('of a repository that could never be read looks again, and says why', async () => {
    const { code, err } = await cli('sync missing --timeout 30s');
    expect(code).toBe(1);
    expect(err).toMatch(/RepositoryNotFound: .* does not exist/);
    // No sync ran before; the one that was started makes nothing else.
    const sync = temporal.workflow.getHandle(syncWorkflowId('verbs', 'missing'));
    expect(await sync.query(syncStatusQuery)).toEqual({
      repository: 'missing',
      clusterUid: expect.any(String),
      notify: [],
      searchAttributes: expect.any(Array),
    });
  }, 60_000);

  it('says that no worker acts, waits for one only where it is asked to, and ends with Ctrl-C', async () => {
    worker?.freeze();
    try {
      const silent = /the worker \S+ holds the Lease \S+, but has not renewed it for .+, so nobody looks/;
      const { code, err } = await cli('sync shop --no-wait --timeout 30s');
      expect(code).toBe(1);
      expect(err).toMatch(silent);
      const interrupted = new AbortController();
      let times = 0;
      // Said once, although it gets longer each second.
      const out = (text: string) => {
        if (!silent.test(text)) return;
        times += 1;
        setTimeout(() => interrupted.abort(), 2_500);
      };
      const waited = cli('sync shop --timeout 60s', {}, { interrupted: interrupted.signal, out });
      expect(await waited).toMatchObject({ code: 130 });
      expect(times).toBe(1);
    } finally {
      worker?.wake();
    }
    expect(await cli('sync shop --timeout 50s')).toMatchObject({ code: 0 });
  }, 90_000);

  it('Temporal that is away ends it with 5', async () => {
    const { code, err } = await cli('sync shop', { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(code).toBe(5);
    expect(err).toContain('Temporal at 127.0.0.1:1 does not answer');
  });

  it('history has every commit: by whom, asked for by whom, what became of it', async () => {
    const { out } = await cli('history shop -o json');
    const { attempts } = JSON.parse(out) as { attempts: Record<string, unknown>[] };
    const told = attempts.map(({ outcome, author, subject }) => [
      outcome,
      author,
      String(subject).split(' (')[0],
    ]);
    expect(told).toEqual(
      expect.arrayContaining([
        ['Succeeded', 'Test', 'begin'],
        ['Succeeded', 'Test', 'held'],
        ['Succeeded', 'Test', 'synced'],
        ['Refused', 'Test', 'bad'],
        ['Succeeded', 'Test', 'mended'],
      ]),
    );
    expect(attempts.some(({ askedBy, reason }) => askedBy === 'ada' && reason === 'again')).toBe(true);
    expect(attempts.find(({ outcome }) => outcome === 'Refused')).toMatchObject({ problemCount: 1 });
    const table = (await cli('history shop')).out;
    expect(table).toMatch(/^COMMIT +AUTHOR +OUTCOME +TOOK +AGE +APPLIED +PRUNED +ASKED-BY +SUBJECT +WHY\n/);
    expect(table).not.toContain('\u001b');
  });

  // Here begin those that have a repository of their own.
  itInFull(
    'says that no worker can go on with its run, as check does, and how to have another one',
    inLane(async () => {
      const workflowId = syncWorkflowId('verbs', 'lost');
      const taskQueue = workflowTaskQueue('verbs');
      // The worker does not know it, and fails each task.
      await temporal.workflow.start('ofAnotherVersion', {
        workflowId,
        taskQueue,
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      });
      await found('its task was tried often', async () => {
        const { raw } = await temporal.workflow.getHandle(workflowId).describe();
        return (raw.pendingWorkflowTask?.attempt ?? 0) >= 3 ? true : undefined;
      });
      const command = `temporal workflow terminate --namespace default --workflow-id ${workflowId}`;
      expect(await cli('sync lost --timeout 30s')).toMatchObject({
        code: 1,
        err: expect.stringContaining(command),
      });
      expect(await cli('check')).toMatchObject({ code: 1, out: expect.stringContaining(`    ${command}\n`) });
      await temporal.workflow.getHandle(workflowId).terminate();
      expect(await cli('sync lost --timeout 30s')).toMatchObject({ code: 0 });
      expect((await cli('check')).out).toContain('✔ runs of repositories go on');
    }),
    90_000,
  );

  it(
    'says what a commit waits for that somebody deletes, and that it is Drifted before',
    inLane(async () => {
      const { git, namespace: home } = ownOf('held');
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: home, name: 'config' };
      await untilView('held', 'synced', ({ state }) => state === 'Synced');
      const held = { metadata: { finalizers: ['example.com/held'] } };
      await cluster.client.patch(path, 'merge', held);
      await cluster.client.delete(path);
      const why = /config: (?:deleted; it stays: )?it is being deleted since \S+, held by example\.com\/held/;
      expect(await untilView('held', 'drifted', ({ state }) => state === 'Drifted')).toMatchObject({
        message: expect.stringMatching(why),
      });

      await git.commit({ 'beside.yaml': named('beside') }, 'beside');
      expect(await cli('sync held --timeout 10s')).toMatchObject({
        code: 3,
        err: expect.stringMatching(why),
      });
      // What it waits for is told as by sync, and in fields.
      const waits = ({ underWay }: RepositoryView) => (underWay?.waiting.length ?? 0) > 0;
      const view = await untilView('held', 'said to wait', waits);
      expect(view).toMatchObject({ state: 'Progressing', message: expect.stringMatching(why) });
      expect((await cli('get repositories/held')).out).toMatch(/ is under way; \w+.*: .*config/);
      await cluster.client.patch(path, 'merge', { metadata: { finalizers: null } });
      expect(await cli('sync held --timeout 60s')).toMatchObject({ code: 0 });
      expect(await namesOf(home)).toContain('config');
    }),
    120_000,
  );
});

describe('planted values', () => {
  it(
    'are in no log, event, metric, history, heartbeat, failure, webhook or output',
    inLane(async () => {
      const { git, namespace: home } = ownOf('planted');
      const planted = ['secret', 'env', 'annotation', 'token', 'url'].map((what) => `planted-${what}-8c1f5e`);
      const [secret = '', env = '', annotation = '', token = '', inUrl = ''] = planted;
      const said = new Map<string, string>();
      const keep = (what: string, text: string) => said.set(what, `${said.get(what) ?? ''}${text}\n`);
      const run = async (command: string) => {
        const { out, err } = await cli(command);
        keep(`CLI ${command}`, `${out}${err}`);
        return `${out}${err}`;
      };
      const files = (more: string) => ({
        'secret.yaml': `apiVersion: v1
kind: Secret
metadata:
  name: planted
  annotations: {example.com/note: "${annotation}${more}"}
stringData: {password: "${secret}${more}"}
`,
        'set.yaml': statefulSet('1', { name: 'planted' })
          .replace(
            'spec:\n  replicas',
            `  annotations: {example.com/note: "${annotation}${more}"}\nspec:\n  replicas`,
          )
          // So that somebody has to wait for it, and says so.
          .replace(
            'labels: {app: planted}}',
            `labels: {app: planted}, annotations: {sim.fairlead.dev/ready-delay: 3s}}`,
          )
          .replace('image:', `env: [{name: PASSWORD, value: "${env}${more}"}], image:`),
      });
      const heartbeats = async (sha: string) => {
        const { raw } = await temporal.workflow
          .getHandle(commitWorkflowId('verbs', 'planted', sha))
          .describe()
          .catch(() => ({ raw: undefined }));
        for (const { heartbeatDetails, lastFailure } of raw?.pendingActivities ?? [])
          keep('heartbeats', `${textOf(heartbeatDetails)} ${textOf(lastFailure)}`);
      };
      for (const more of ['', '-2']) {
        const sha = await git.commit(files(more), `planted ${more}`);
        await run(`plan --repo ${git.path} --ref main --name planted -n ${home} --path .`);
        await found(
          'it is applied',
          async () => {
            await heartbeats(sha);
            const view = (await repositories()).find(({ name }) => name === 'planted');
            return view?.state === 'Synced' && view.applied === sha ? true : undefined;
          },
          60_000,
        );
      }
      // As somebody who has made it by `kubectl apply`, and somebody who has changed it.
      const path = { group: '', version: 'v1', resource: 'secrets', namespace: home, name: 'planted' };
      await cluster.annotate(path, {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ secret }),
      });
      await cluster.client.patch(
        path,
        'merge',
        { stringData: { password: `${secret}-3` } },
        { fieldManager: 'eve' },
      );
      await untilView('planted', 'drifted', ({ state }) => state === 'Drifted');
      await run(`plan --repo ${git.path} --ref main --name planted -n ${home}`);
      for (const bad of [
        { 'secret.yaml': files('')['secret.yaml'].replace('stringData', 'data') },
        { 'secret.yaml': files('')['secret.yaml'].replace(`"${secret}"`, `["${secret}"]`) },
        { 'secret.yaml': `${files('')['secret.yaml']}immutable: "${secret}"\n` },
        { ...files(''), 'set.yaml': files('')['set.yaml'].replace(`"${env}"`, `{a: "${env}"}`) },
        { ...files(''), 'set.yaml': files('')['set.yaml'].replace(`"${annotation}"`, `["${annotation}"]`) },
      ]) {
        await git.commit(bad, 'refused');
        expect(await run('sync planted --timeout 30s')).toMatch(/✗ planted at \w{8}: Refused/);
        await run(`plan --repo ${git.path} --ref main --name planted -n ${home}`);
      }
      // A server that does not take the token; an address that holds one is not taken at all, nor is the file with it.
      const server = await GitServer.start(git.path);
      server.password = 'another';
      const tokenFile = await server.tokenFile(token);
      const remote = { ...common, name: 'remote', url: server.url('.git'), caFile: server.caFile, tokenFile };
      await writeFile(file, JSON.stringify([...entries, remote]));
      await untilView('remote', 'unreadable', ({ message }) => message.startsWith('AuthenticationFailed'));
      const leaky = { ...common, name: 'leaky', url: `https://git:${inUrl}@localhost/x` };
      await writeFile(file, JSON.stringify([...entries, leaky]));
      await worker.untilLine((line) => JSON.stringify(line).includes('holds credentials'), 20_000);
      await writeFile(file, JSON.stringify(entries));

      for (const command of [
        'get repositories -o wide',
        'get repositories -o yaml',
        'get repository/planted -o json',
        'history planted',
        'history planted -o json',
        `get sts -n ${home} -o yaml`,
        `explain sts/planted -n ${home} -o json`,
        `rollout status sts/planted -n ${home}`,
        `rollout history sts/planted -n ${home} -o json`,
      ])
        await run(command);
      for await (const { workflowId, runId } of temporal.workflow.list())
        keep('histories', textOf(await temporal.workflow.getHandle(workflowId, runId).fetchHistory()));
      keep('events', JSON.stringify([await cluster.events('fairlead-system'), await cluster.events(home)]));
      const maps = { group: '', version: 'v1', resource: 'configmaps', namespace: 'fairlead-system' };
      keep('inventories', JSON.stringify(await cluster.client.list(maps)));
      keep('webhooks', JSON.stringify(receiver.received));
      keep('metrics', await (await fetch(`http://${metricsAddress}/metrics`)).text());
      keep('log', JSON.stringify(worker.lines));
      await server.stop();

      // Each was really there to be searched: it says something of what it is about.
      expect(said.get('heartbeats')).toContain('planted-0 is not ready');
      expect(said.get('histories')).toContain('"clusterUid"');
      for (const what of ['histories', 'events', 'inventories', 'webhooks', 'log'])
        expect(said.get(what)).toContain('secret.yaml');
      const leaks = [...said].flatMap(([what, text]) =>
        plantedIn(text, planted).map((value) => `${value} in ${what}`),
      );
      // A plan shows what a commit changes, in the words of git and the cluster: all but values of Secrets.
      const shown = leaks.filter((leak) => !/^planted-(?:env|annotation)\S+ in CLI plan/.test(leak));
      expect(shown).toEqual([]);
      // These are also the proof that the search finds what is there.
      expect(leaks.length).toBeGreaterThan(0);

      await git.commit({ 'secret.yaml': undefined, 'set.yaml': undefined }, 'unplanted');
      expect(await cli('sync planted --timeout 30s')).toMatchObject({ code: 0 });
    }),
    180_000,
  );
});

describe('who is told', () => {
  it('gets each news of a commit once, and nobody logs the secret', async () => {
    const told = () =>
      receiver.received.map(({ body }) => {
        const { sha, outcome } = JSON.parse(body) as { sha: string; outcome: string };
        return `${sha} ${outcome}`;
      });
    await found('the refused one was told', async () =>
      told().some((line) => line.includes('Refused')) ? true : undefined,
    );
    expect(told().filter((line) => line.startsWith(first))).toEqual([
      `${first} Pending`,
      `${first} Succeeded`,
    ]);
    const deliveries = receiver.received.map(({ headers }) => headers['x-fairlead-delivery']);
    expect(new Set(deliveries).size).toBe(deliveries.length);
    expect(JSON.stringify(worker.lines)).not.toContain('planted-receiver-secret');
  });
});

describe('a sync that somebody has terminated', () => {
  const terminate = async () =>
    await temporal.workflow.getHandle(syncWorkflowId('verbs', 'shop')).terminate('clicked by a test');

  it('is followed by one that knows whom to tell', async () => {
    const sha = await shop.commit({ 'config.yaml': configMap('terminated') }, 'terminated');
    const outcomes = () => {
      const news = receiver.received.map(({ body }) => JSON.parse(body) as { sha: string; outcome: string });
      return news.filter((one) => one.sha === sha).map(({ outcome }) => outcome);
    };
    await found('it was told', async () => (outcomes().length === 2 ? true : undefined));
    await terminate();
    expect(await cli('sync shop --timeout 30s')).toMatchObject({ code: 0 });
    await found('it was told again', async () => (outcomes().length === 4 ? true : undefined));
    expect(outcomes()).toEqual(['Pending', 'Succeeded', 'Pending', 'Succeeded']);
  }, 60_000);
});

describe('a receiver that does not take the news', () => {
  itInFull(
    'is given up, and operators are told once, until it is told again',
    async () => {
      const eventsOf = async (reason: string) =>
        (await cluster.events('fairlead-system')).filter((event) => event.reason === reason);
      receiver.answers[0] = 404;
      const sha = await shop.commit({ 'config.yaml': configMap('unheard') }, 'unheard');
      const unheard = `webhook of repository shop answered with status 404: not told of ${sha.slice(0, 8)} Succeeded`;
      const view = await untilShop('synced, and its receiver given up', ({ receivers, applied }) => {
        return applied === sha && receivers?.['webhook']?.problem === unheard;
      });
      expect(view).toMatchObject({ state: 'Synced', message: unheard });
      expect((await cli('get repositories -o wide')).out).toContain(unheard);
      expect((await eventsOf('ReceiverFailed')).map(({ message }) => message)).toEqual([
        `webhook of repository shop answered with status 404: not told of ${sha.slice(0, 8)} Pending. It is told of the next one.`,
      ]);
      receiver.answers[0] = 200;
      const next = await shop.commit({ 'config.yaml': configMap('heard') }, 'heard');
      await untilShop('synced, and its receiver told', ({ receivers, message, applied }) => {
        return applied === next && receivers === undefined && message === '';
      });
      expect(await eventsOf('ReceiverFailed')).toHaveLength(1);
      expect((await eventsOf('ReceiverReady')).map(({ message }) => message)).toEqual([
        'webhook is told again what becomes of commits',
      ]);
    },
    60_000,
  );
});

describe('Temporal that is away', () => {
  itInFull(
    'is why a commit waits',
    async () => {
      await controlPlane().stop('temporal');
      const sha = await shop.commit({ 'config.yaml': configMap('waiting') }, 'waiting');
      const away = /is next; Temporal at \S+ does not answer/;
      let last = '';
      const view = await found(
        'it is told',
        async () => {
          last = (await cli('get repositories -o json')).out;
          const { items } = JSON.parse(last) as { items: RepositoryView[] };
          return items.find(({ name, message }) => name === 'shop' && away.test(message));
        },
        30_000,
        () => last,
      );
      expect(view).toMatchObject({ state: 'Pending' });
      expect((await cli('get repositories')).err).toMatch(/^warning: Temporal at \S+ does not answer/);
      await controlPlane().start('temporal');
      await untilShop('synced', ({ state, applied }) => state === 'Synced' && applied === sha);
      await found('the warning has gone', async () =>
        (await cli('get repositories')).err === '' ? true : undefined,
      );
    },
    90_000,
  );
});

describe('what somebody does to the ConfigMaps', () => {
  const maps = { group: '', version: 'v1', resource: 'configmaps', namespace: 'fairlead-system' };

  it('an inventory that is damaged has a row that says so, beside all others, until it is mended', async () => {
    const inventory = { ...maps, name: 'fairlead-shop' };
    await cluster.client.patch(inventory, 'merge', { data: { status: 'x' } });
    const { code, out } = await cli('get repositories');
    expect(code).toBe(0);
    expect(out).toMatch(/^missing .* Unreadable /m);
    expect(out).toMatch(/^shop .* InventoryUnreadable .*fairlead-shop cannot be read \(status: /m);
    const why = 'the inventory ConfigMap fairlead-system/fairlead-shop cannot be read (status: ';
    expect((await cli('get repositories/shop -o wide')).out).toContain(why);
    for (const verb of ['sync', 'history', 'suspend']) {
      const failed = await cli(`${verb} shop`);
      expect(failed.code).toBe(1);
      expect(failed.err).toContain(why);
    }
    await cluster.client.patch(inventory, 'merge', { data: { status: null } });
    expect(await cli('sync shop --timeout 50s')).toMatchObject({ code: 0 });
    await untilShop('synced', ({ state }) => state === 'Synced');
  }, 90_000);

  itInFull(
    'an inventory that may not be written for a while has its commit wait, and say why, until it may',
    async () => {
      const why =
        /PUT configmaps fairlead-system\/fairlead-shop: .*no change of fairlead-shop.*`fairlead check --worker`/;
      const allow = await refuseChange(cluster.client, 'fairlead-system', 'fairlead-shop');
      let sha: string;
      try {
        sha = await shop.commit({ 'config.yaml': configMap('unwritten') }, 'unwritten');
        // It is looked for when somebody asks; how far it is after five seconds is a matter of the machine.
        expect(await cli('sync shop --timeout 5s')).toMatchObject({ code: 3 });
        const { state } = await untilShop('waiting for it', ({ message }) => why.test(message));
        expect(state).toBe('Progressing');
        expect(await cli('sync shop --timeout 5s')).toMatchObject({
          code: 3,
          err: expect.stringMatching(why),
        });
      } finally {
        await allow();
      }
      await untilShop('synced by itself', ({ state, applied }) => state === 'Synced' && applied === sha);
    },
    90_000,
  );

  it('a list of what is followed that was deleted makes no false claim, and is waited for', async () => {
    // It would be there again within seconds.
    worker.freeze();
    try {
      await cluster.client.delete({ ...maps, name: 'fairlead-verbs.repositories' });
      const { code, out, err } = await cli('get repositories');
      expect(code).toBe(0);
      expect(out).toMatch(/^shop .* Unknown .*whether a worker follows it is not known/m);
      const missing = /ConfigMap fairlead-system\/fairlead-verbs\.repositories, is missing: the worker /;
      expect(err).toMatch(missing);
      const late = await cli('sync shop --timeout 1s');
      expect(late).toMatchObject({ code: 3, out: expect.stringMatching(missing) });
      expect((await cli('history nobody')).err).toMatch(missing);
    } finally {
      worker.wake();
    }
    expect(await cli('sync shop --timeout 50s')).toMatchObject({ code: 0 });
    await untilShop('synced', ({ state }) => state === 'Synced');
  }, 90_000);
});

describe('the repositories file', () => {
  it('a commit that waits is taken the place of in so many words, and cancelled when its entry goes', async () => {
    const entry = { ...common, name: 'shop', url: shop.path, interval: '1h', path: 'stuck' };
    const stuck = statefulSet('1').replace('containers:', 'nodeSelector: {not: there}\n      containers:');
    const stuckSha = await shop.commit({ 'stuck/web.yaml': stuck });
    await writeFile(file, JSON.stringify([entry]));
    await untilShop('at it', ({ commit }) => commit?.sha === stuckSha && commit.outcome === 'Progressing');
    const second = await shop.commit({ 'stuck/web.yaml': stuck.replace('web:1', 'web:2') });
    const { code, out, err } = await cli('sync shop --timeout 8s');
    expect(out).toContain(`► shop at ${second.slice(0, 8)}\n`);
    expect(out).not.toContain('is superseded by');
    expect(code).toBe(3);
    expect(err).toMatch(new RegExp(`^error: timed out waiting for shop at ${second.slice(0, 8)}: \\w.*\\n$`));
    const run = temporal.workflow.getHandle(commitWorkflowId('verbs', 'shop', second));
    // On a slow machine the command has not seen its beginning.
    await found('the commit has begun', async () => await run.describe().catch(() => undefined));
    await writeFile(file, '[]');
    await found('the commit was cancelled', async () =>
      (await run.describe()).status.name === 'CANCELLED' ? true : undefined,
    );
    await untilShop('not followed', ({ state }) => state === 'NotFollowed');
    const { attempts } = JSON.parse((await cli('history shop -o json')).out) as { attempts: object[] };
    expect(attempts.at(-1)).toMatchObject({ sha: second, outcome: 'Canceled' });
    const path = cluster.setPath(entry.namespace, 'web');
    expect(await cluster.client.get(path)).toMatchObject({ metadata: { name: 'web' } });
  }, 90_000);

  it('takes effect while the worker runs: another path, and an entry that goes', async () => {
    const entry = { ...common, name: 'shop', url: shop.path, interval: '1h' };
    const sha = await shop.commit({ 'deploy/config.yaml': configMap('deployed') });
    await writeFile(file, JSON.stringify([{ ...entry, path: 'deploy' }]));
    // The commit was there when the entry was changed: nothing but the file says that it is to be applied.
    await untilShop('synced from the other path', ({ state, path, applied, seen }) => {
      return state === 'Synced' && path === 'deploy' && applied === sha && seen === sha;
    });
    const again = (await cli('history shop -o json')).out.split(sha).length - 1;
    await writeFile(file, JSON.stringify([{ ...entry, path: '' }]));
    await found('the same commit was tried with the other path', async () =>
      (await cli('history shop -o json')).out.split(sha).length - 1 > again ? true : undefined,
    );
    // So is one whose signature was not asked for before.
    const signers = join(dirname(file), 'signers');
    await writeFile(signers, 'ada@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI\n');
    const signed = { ...entry, path: '', allowedSignersFile: signers };
    await writeFile(file, JSON.stringify([signed]));
    const refused = await untilShop('refused for its signature', ({ message }) =>
      message.includes('Unsigned'),
    );
    expect(refused.state).toBe('Refused');
    expect(refused.message).toMatch(/^CommitUnsigned commit \w{8}: commit \w{8} is not signed\./);
    await writeFile(file, '- {url: /a, branch: main}');
    const toldOfFile = async () =>
      await found('the worker tells of the file', async () => {
        const { err } = await cli('get repositories');
        return err.includes('the repositories file cannot be used') && err.includes('"branch"')
          ? true
          : undefined;
      });
    await toldOfFile();
    // Nor does it end what is followed that a worker starts when it cannot be used.
    const before = new Date().toISOString();
    await worker.stop();
    worker = await startFollowing();
    await untilShop('looked at', ({ state, lookedAt = '' }) => state === 'Refused' && lookedAt > before);
    await toldOfFile();
    const listed = JSON.parse((await cli('get repositories -o json')).out) as { troubles: string[] };
    expect(listed.troubles).toEqual([expect.stringContaining('"branch"')]);
    expect((await cli('sync other')).err).toMatch(
      /there is no repository "other": the worker follows shop; the repositories file cannot be used, .*"branch"/,
    );
    await writeFile(file, '[]');
    const view = await untilShop('not followed', ({ state }) => state === 'NotFollowed');
    expect(view.message).toBe('no worker follows it; what it applied is left as it is');
    expect((await cli('sync shop')).err).toContain('no worker follows repository shop');
    for (const [verb, changed] of [
      ['suspend', true],
      ['suspend', false],
      ['resume', true],
    ] as const) {
      const note = 'note: no worker follows shop: it takes effect when one does\n';
      expect(await cli(`${verb} shop`)).toMatchObject({ code: 0, err: changed ? note : '' });
    }
    // One that never applied anything leaves no row behind; one that did says where that came from.
    const rows = await repositories();
    expect(rows.find(({ name }) => name === 'shop')).toMatchObject({ url: shop.path });
    expect(rows.filter(({ applied, url }) => applied === undefined || url === undefined)).toEqual([]);
    await found('the sync of shop has closed', async () => {
      const { status } = await temporal.workflow.getHandle(syncWorkflowId('verbs', 'shop')).describe();
      return status.name === 'CANCELLED' ? true : undefined;
    });
    // The same under another name takes it all; the command that is told then clears the row.
    await writeFile(file, JSON.stringify([{ ...entry, name: 'renamed', path: 'deploy' }]));
    const { message } = await untilShop('of another', (one) => one.message.includes('renamed has all'));
    expect(message).toContain('kubectl delete configmap fairlead-shop -n fairlead-system');
    expect((await cli('get repositories/shop -o wide')).out).toContain(message);
    const inventories = { group: '', version: 'v1', resource: 'configmaps', namespace: 'fairlead-system' };
    await cluster.client.delete({ ...inventories, name: 'fairlead-shop' });
    expect((await repositories()).map(({ name }) => name)).not.toContain('shop');
  }, 90_000);
});
