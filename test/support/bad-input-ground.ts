/**
 * One worker that follows repositories which are made to be bad, and a good one on a server of its own beside them: what is pushed to both
 * at the same time, what people are told of the bad ones, and when the good one is in the cluster. Real servers, the real worker.
 */

import { createHmac } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Client } from '@temporalio/client';

import type { RepositoryView } from '../../cli/repository-views.ts';
import { connectTemporal } from '../../controllers/temporal-client.ts';
import { findFreePorts } from '../../local/ports.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import type { CliRun } from './cli.ts';
import { runCli } from './cli.ts';
import { Cluster } from './cluster.ts';
import { useControlPlane } from './control-plane.ts';
import { everyEvent } from './every-event.ts';
import { found } from './eventually.ts';
import type { FileChange } from './git-repository.ts';
import { TestRepository } from './git-repository.ts';
import { GitServer } from './git-server.ts';
import { withEtcd } from './shared-control-plane.ts';
import { makeSshSigners } from './signing-keys.ts';
import { configMap } from './small-manifests.ts';
import { SshGitServer } from './ssh-git-server.ts';
import { grantSyncAccount } from './sync-account.ts';
import type { WorkerProcess } from './worker-process.ts';
import { startWorker } from './worker-process.ts';

/** How the bad repository is reached; of `signed`, also over https, commits have to be signed by Ada. */
export type TrackName = 'https' | 'signed' | 'ssh';

const CLUSTER = 'bad-inputs';
/** The good repository. */
export const NEIGHBOUR = 'good';
/** Milliseconds from a push until it is in the cluster: the interval with its jitter, and room for a machine that is busy otherwise. */
const ON_TIME_MS = 2_400 + 20_000;
/** Where the manifests of the bad repository are. */
export const FOLDER = 'deploy/web';
export const TOKEN = 'planted-token-1f7c03';
export const WEBHOOK_SECRET = 'planted-hook-4b8e21';

/** A ConfigMap with a name of its own. */
export function named(name: string, data = '{key: "1"}'): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${data}\n`;
}

/** Paths as they are in the repository. */
export function inFolder(files: Readonly<Record<string, FileChange>>): Record<string, FileChange> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${FOLDER}/${name}`, content]));
}

/** What would be made, changed and deleted if a commit were applied by half. */
const BESIDE = inFolder({
  'config.yaml': configMap('half'),
  'half.yaml': named('half'),
  'kept.yaml': undefined,
});

/** What people see of a repository: a line for each thing that is wrong. */
export interface Told {
  readonly state: string;
  readonly lines: readonly string[];
  readonly view: RepositoryView;
}

/** A bad repository. */
export interface Track {
  readonly name: TrackName;
  /** The bad one. */
  readonly git: TestRepository;
  /** Of its objects. */
  readonly namespace: string;
  /** Its server; of `ssh` one that is not asked. */
  readonly server: GitServer;
  /**
   * The neighbour is pushed to before `act`, and has to be in the cluster on time; of the bad one's namespace every object has to be as it
   * was before. Where `act` takes as long as a limit that holds the bad one, the neighbour `isBefore` its end.
   */
  harmless<T>(act: () => Promise<T>, isBefore?: boolean): Promise<T>;
  /** A commit of these files, and of others that must not be applied with them. */
  commit(files: Readonly<Record<string, FileChange>>): Promise<string>;
  /** The next commit has the files that it began with, and none of the last one. */
  clear(): Promise<void>;
  /** Until people are told of this commit that it is in this state, or of the repository where no commit is named. */
  told(state: RepositoryView['state'], sha?: string, message?: RegExp): Promise<Told>;
  /** A good commit again, and a server that serves it: it is to be applied. */
  mend(): Promise<void>;
}

/** The good repository. */
interface Neighbour {
  readonly namespace: string;
  /** Each that people were told of. */
  readonly states: Set<RepositoryView['state']>;
  /** It is pushed to before `act`; see {@link Track.harmless}. */
  beside<T>(act: () => Promise<T>, isBefore: boolean): Promise<T>;
}

/** Declares the hooks of a whole file. */
export function useBadInputGround() {
  let folder: string;
  let cluster: Cluster;
  let temporal: Client;
  let worker: WorkerProcess;
  let ssh: SshGitServer;
  let metricsAddress: string;
  let entries: readonly object[];
  let neighbour: Neighbour;
  const made: { readonly stop?: () => Promise<void>; readonly remove?: () => Promise<void> }[] = [];
  const tracks = new Map<TrackName, Track>();
  const watching = new AbortController();
  const watches: Promise<unknown>[] = [];
  /** Called with the name of the ConfigMap when something was written down that people are told of. */
  const listeners = new Set<(name: string) => void>();

  afterAll(async () => {
    await worker?.stop();
    watching.abort();
    await Promise.allSettled(watches);
    await temporal?.connection.close();
    cluster?.close();
    for (const one of made) await (one.stop ?? one.remove)?.call(one);
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  const controlPlane = useControlPlane({ nodes: 1 });

  async function cli(...words: readonly string[]): Promise<CliRun> {
    const { kubeconfig, temporalAddress } = controlPlane();
    return await runCli(words, {
      environment: {
        KUBECONFIG: kubeconfig,
        TEMPORAL_ADDRESS: temporalAddress,
        FAIRLEAD_CLUSTER: CLUSTER,
      },
    });
  }

  async function listed(): Promise<{
    readonly items: readonly RepositoryView[];
    readonly troubles: readonly string[];
  }> {
    const { code, out, err } = await cli('get', 'repositories', '-o', 'json');
    if (code !== 0) throw new Error(err);
    const list = JSON.parse(out) as { items: readonly RepositoryView[]; troubles: readonly string[] };
    for (const { name, state } of list.items) if (name === NEIGHBOUR) neighbour.states.add(state);
    return list;
  }

  /** Looks again whenever something was written down that `concerns`, at least once a second. */
  async function untilListed<T>(
    what: string,
    concerns: (configMap: string) => boolean,
    look: (list: Awaited<ReturnType<typeof listed>>) => T | undefined,
    describe: () => string,
    timeoutMs: number,
  ): Promise<T> {
    const next = async () => {
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          listeners.delete(heard);
          resolve();
        };
        const heard = (name: string) => {
          if (concerns(name)) end();
        };
        const timer = setTimeout(end, 1_000);
        listeners.add(heard);
      });
    };
    let isFirst = true;
    const lookOnce = async () => {
      if (!isFirst) await next();
      isFirst = false;
      return look(await listed());
    };
    return await found(what, lookOnce, timeoutMs, describe);
  }

  /** A push is announced as a server would, so that nobody waits for the next look; what is not taken is found by that. */
  async function poke(name: string): Promise<void> {
    const body = JSON.stringify({ ref: 'refs/heads/main' });
    const signature = `sha256=${createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex')}`;
    const headers = { 'x-signature': signature };
    await fetch(`http://${metricsAddress}/hook/${name}`, { method: 'POST', body, headers });
  }

  async function watch(
    path: { readonly resource: string; readonly namespace: string },
    act: (object: KubernetesObject) => void,
  ) {
    try {
      const from = { group: '', version: 'v1', ...path };
      for await (const { object } of everyEvent(cluster.client, from, watching.signal)) act(object);
    } catch (error) {
      if (!watching.signal.aborted) throw error;
    }
  }

  async function repository(): Promise<TestRepository> {
    const git = await TestRepository.create();
    made.push({ remove: async () => await git.remove() });
    return git;
  }

  async function serve(git: TestRepository): Promise<GitServer> {
    const server = await GitServer.start(git.path);
    made.push({ stop: async () => await server.stop() });
    return server;
  }

  async function settle(): Promise<readonly object[]> {
    const git = await repository();
    const server = await serve(git);
    const namespace = await cluster.createNamespace('good');
    const serviceAccount = await grantSyncAccount(cluster.client, namespace);
    await git.commit({ 'config.yaml': configMap('0') });
    let pushes = 0;
    let pushed: Promise<unknown> = Promise.resolve();
    /** When each value was seen. What is pushed shortly after another one takes its place: it has brought that too. */
    const arrived = new Map<number, number>();
    const seen = (object: KubernetesObject & { readonly data?: Readonly<Record<string, string>> }) => {
      const value = Number(object.data?.['key']);
      if (object.metadata.name !== 'config' || Number.isNaN(value)) return;
      for (let one = value; one >= 0 && !arrived.has(one); one -= 1) arrived.set(one, Date.now());
    };
    watches.push(watch({ resource: 'configmaps', namespace }, seen));
    neighbour = {
      namespace,
      states: new Set(),
      async beside(act, isBefore) {
        const value = ++pushes;
        const begun = Date.now();
        const own = pushed.then(async () => await git.commit({ 'config.yaml': configMap(String(value)) }));
        pushed = own;
        const result = await act();
        const limit = isBefore ? Math.min(Date.now() - begun, ON_TIME_MS) : ON_TIME_MS;
        await own;
        // It may take its time in telling: what counts is when it came.
        await found(
          `push ${String(value)} of the neighbour is in the cluster`,
          async () => (arrived.has(value) ? true : undefined),
          Math.max(ON_TIME_MS - (Date.now() - begun), 1_000),
        );
        expect((arrived.get(value) ?? Infinity) - begun).toBeLessThan(limit);
        return result;
      },
    };
    return [
      {
        ref: 'main',
        interval: '2s',
        name: NEIGHBOUR,
        url: server.url('.git'),
        caFile: server.caFile,
        namespace,
        serviceAccount,
      },
    ];
  }

  async function track(name: TrackName): Promise<readonly object[]> {
    const git = await repository();
    const server = await serve(git);
    const namespace = await cluster.createNamespace(`bad-${name}`);
    const serviceAccount = await grantSyncAccount(cluster.client, namespace);
    server.password = TOKEN;
    if (name === 'signed') {
      await git.git('config', 'gpg.format', 'ssh');
      await git.git('config', 'user.signingKey', join(folder, 'ada'));
      await git.git('config', 'commit.gpgSign', 'true');
    }
    const base = await git.commit(
      inFolder({ 'config.yaml': configMap('0'), 'kept.yaml': named('kept'), 'README.md': name }),
    );
    await git.git('update-ref', 'refs/base', base);

    let mends = 0;
    const objects = async () =>
      await withEtcd(controlPlane().directory, async (etcd) => await etcd.revisions(namespace));
    let last: RepositoryView | undefined;
    const viewOf = async (what: string, is: (view: RepositoryView) => boolean): Promise<RepositoryView> =>
      await untilListed(
        `bad-${name} is ${what}`,
        (written) => written === `fairlead-bad-${name}` || written.endsWith('.repositories'),
        ({ items }) => {
          last = items.find((one) => one.name === `bad-${name}`);
          return last !== undefined && is(last) ? last : undefined;
        },
        () => JSON.stringify(last),
        60_000,
      );

    tracks.set(name, {
      name,
      git,
      namespace,
      server,
      async harmless(act, isBefore) {
        const before = await objects();
        // Else there would be nothing to compare.
        expect(Object.keys(before)).toContain(`/registry/configmaps/${namespace}/kept`);
        const result = await neighbour.beside(act, isBefore ?? false);
        expect(await objects()).toEqual(before);
        return result;
      },
      commit: async (files) => await git.commit({ ...BESIDE, ...files }),
      async told(state, sha, message) {
        await poke(`bad-${name}`);
        const view = await viewOf(state, (one) => {
          const isMeant = sha === undefined || one.commit?.sha === sha;
          return one.state === state && isMeant && (message?.test(one.message) ?? true);
        });
        const lines = sha === undefined ? [view.message] : (view.commit?.problems ?? []);
        const short = sha?.slice(0, 8) ?? '';
        return {
          state: view.state,
          view,
          lines: lines.map((line) => (short === '' ? line : line.replaceAll(short, 'SHA'))),
        };
      },
      async clear() {
        await git.git('read-tree', '-u', '--reset', 'refs/base');
        await git.git('clean', '-ffdxq');
      },
      async mend() {
        mends += 1;
        await git.git('checkout', '--quiet', '--force', '-B', 'main', 'refs/base');
        await git.git('clean', '-ffdxq');
        const sha = await git.commit(inFolder({ 'config.yaml': configMap(`mended ${String(mends)}`) }));
        server.behaviour = 'serve';
        server.only = undefined;
        server.root = git.path;
        await poke(`bad-${name}`);
        await viewOf('synced', (one) => one.state === 'Synced' && one.applied === sha);
      },
    });
    const files =
      name === 'ssh'
        ? { url: ssh.url('.git'), sshKeyFile: ssh.keyFile, knownHostsFile: 'known_hosts' }
        : { url: server.url('.git'), caFile: server.caFile, tokenFile: await server.tokenFile(TOKEN) };
    if (name === 'ssh') ssh.root = git.path;
    return [
      {
        ...files,
        ref: 'main',
        // Pushes to it are announced.
        interval: '10s',
        name: `bad-${name}`,
        path: FOLDER,
        namespace,
        serviceAccount,
        webhookSecretFile: 'hook-secret',
        ...(name === 'signed' && { allowedSignersFile: 'allowed' }),
      },
    ];
  }

  beforeAll(async () => {
    const { kubeconfig, workloadApi, temporalAddress } = controlPlane();
    cluster = await Cluster.connect(kubeconfig, workloadApi);
    temporal = await connectTemporal(temporalAddress);
    folder = await mkdtemp(join(tmpdir(), 'fairlead-bad-inputs-'));
    await makeSshSigners(folder);
    await writeFile(join(folder, 'hook-secret'), WEBHOOK_SECRET);
    ssh = await SshGitServer.start(folder);
    made.push({ stop: async () => await ssh.stop() });
    await trustHostOf(ssh);
    // What git of the worker's user would run, if it were asked.
    const script = join(folder, 'evil.sh');
    await writeFile(script, `#!/bin/sh\ntouch ${witness()}\ncat\n`, { mode: 0o755 });
    await mkdir(join(folder, 'hooks'));
    for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change'])
      await writeFile(join(folder, 'hooks', hook), `#!/bin/sh\ntouch ${witness()}\n`, { mode: 0o755 });
    await writeFile(
      join(folder, '.gitconfig'),
      `[filter "evil"]\n\tsmudge = ${script}\n\tclean = ${script}\n\trequired = true\n[core]\n\thooksPath = ${folder}/hooks\n\tfsmonitor = ${script}\n`,
    );
    watches.push(
      watch({ resource: 'configmaps', namespace: 'fairlead-system' }, ({ metadata }) => {
        for (const listener of listeners) listener(metadata.name);
      }),
    );
    const good = await settle();
    entries = [...(await Promise.all((['https', 'signed', 'ssh'] as const).map(track))).flat(), ...good];
    await writeFile(join(folder, 'repositories.yaml'), JSON.stringify(entries));
    metricsAddress = `127.0.0.1:${String((await findFreePorts(1))[0])}`;
    worker = await startWorker({
      controlPlane: controlPlane(),
      cluster: CLUSTER,
      environment: {
        HOME: folder,
        FAIRLEAD_REPOSITORIES: join(folder, 'repositories.yaml'),
        FAIRLEAD_METRICS_ADDRESS: metricsAddress,
        XDG_CACHE_HOME: join(folder, 'cache'),
      },
    });
    let last = '';
    await untilListed(
      'all are synced',
      () => true,
      ({ items }) => {
        last = JSON.stringify(items.map(({ name, state, message }) => [name, state, message]));
        return items.length === entries.length && items.every(({ state }) => state === 'Synced')
          ? true
          : undefined;
      },
      () => last,
      60_000,
    );
  }, 180_000);

  /** A file that is there as soon as something was run. */
  const witness = (): string => join(folder, 'witness');

  async function trustHostOf(server: SshGitServer): Promise<void> {
    await writeFile(join(folder, 'known_hosts'), await server.hostLine(ssh.port));
  }

  return {
    controlPlane,
    cli,
    listed,
    witness,
    trustHostOf,
    cluster: () => cluster,
    temporal: () => temporal,
    worker: () => worker,
    ssh: () => ssh,
    folder: () => folder,
    metricsAddress: () => metricsAddress,
    entries: () => entries,
    neighbour: () => neighbour,
    /** After everything, when no worker runs any more. */
    atEnd: (act: () => Promise<void>) => void made.push({ stop: act }),
    clusterName: CLUSTER,
    track(name: TrackName): Track {
      const one = tracks.get(name);
      if (one === undefined) throw new Error(`no track ${name}: they are only there inside of tests`);
      return one;
    },
    /** The repositories file with these fields of `bad-ssh` changed. */
    fileWith(change: object): string {
      return JSON.stringify(
        entries.map((entry) =>
          'name' in entry && entry.name === 'bad-ssh' ? { ...entry, ...change } : entry,
        ),
      );
    },
    /** While `act` runs the repositories file is this one. It is the same for all tracks: one at a time. */
    async withFile<T>(text: string, act: () => Promise<T>): Promise<T> {
      const file = join(folder, 'repositories.yaml');
      await writeFile(file, text);
      try {
        return await act();
      } finally {
        await writeFile(file, JSON.stringify(entries));
      }
    },
    /** Until people are told of the repositories file that it cannot be used, or, without a pattern, of nothing. */
    async troubles(pattern?: RegExp): Promise<string> {
      let last = '';
      return await untilListed(
        pattern === undefined ? 'the file can be used' : `the file is ${String(pattern)}`,
        (written) => written.endsWith('.repositories'),
        ({ troubles }) => {
          last = troubles.join('\n');
          return pattern === undefined
            ? last === ''
              ? '-'
              : undefined
            : pattern.test(last)
              ? last
              : undefined;
        },
        () => last,
        20_000,
      );
    },
  };
}
