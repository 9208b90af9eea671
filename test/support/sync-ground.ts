/**
 * A control plane with one worker for sync and commit, and the repositories that it follows. The worker acts under the ServiceAccount of
 * `manifests/install`, commits are applied as the account of their repository; only the test itself is the administrator.
 */

import { afterAll, beforeAll } from '@jest/globals';

import { repositoryFromFlags } from '../../git/repositories.ts';
import type { Repository, RepositoryFlags } from '../../git/repositories.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import type { ClientOptions } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { Cluster } from './cluster.ts';
import { useControlPlane } from './control-plane.ts';
import { TestRepository } from './git-repository.ts';
import { GitSync } from './git-sync.ts';
import type { GitSyncOptions } from './git-sync.ts';
import { grantSyncAccount } from './sync-account.ts';

export interface SyncGroundOptions extends Pick<GitSyncOptions, 'cluster' | 'historyLimit' | 'handsOver'> {
  /** Sees the requests of sync, not those of the test. */
  readonly onRequest?: NonNullable<ClientOptions['onRequest']>;
}

/** What the worker follows as `name`. */
export interface Followed {
  readonly git: TestRepository;
  readonly name: string;
  /** Of its objects, and of no other repository's. */
  readonly namespace: string;
  /** Its entry, for whoever follows it too, or otherwise. */
  readonly repository: Repository;
}

export interface SyncGround {
  readonly controlPlane: () => ControlPlane;
  readonly cluster: () => Cluster;
  readonly sync: () => GitSync;
  /** Empty, and removed at the end. */
  readonly newRepository: () => Promise<TestRepository>;
  /** Another one of what the activities of a worker act by. Closed at the end. */
  readonly newWorkerClient: (options?: ClientOptions) => Promise<KubernetesClient>;
  /** A repository of its own, with a namespace of its own for its objects, and an account that may do everything there unless one is named. */
  readonly follow: (
    name: string,
    flags?: Omit<RepositoryFlags, 'repo' | 'name' | 'namespace'>,
  ) => Promise<Followed>;
}

/** Declares the hooks of a whole file, and those of its control plane with them: the order of both is of one piece. */
export function useSyncGround({ onRequest, ...options }: SyncGroundOptions): SyncGround {
  const repositories: TestRepository[] = [];
  let cluster: Cluster;
  const clients: KubernetesClient[] = [];
  let sync: GitSync;

  // Hooks after all run in this order: the worker ends before the servers.
  afterAll(async () => {
    await sync?.stop();
    for (const client of clients) client.close();
    cluster?.close();
    await Promise.all(repositories.map(async (repository) => await repository.remove()));
  }, 30_000);

  const controlPlane = useControlPlane({ nodes: 1 });

  beforeAll(async () => {
    const { kubeconfig, workloadApi, temporalAddress } = controlPlane();
    cluster = await Cluster.connect(kubeconfig, workloadApi);
    const client = await newWorkerClient(onRequest === undefined ? {} : { onRequest });
    sync = await GitSync.start({ client, temporalAddress, ...options });
  }, 60_000);

  async function newWorkerClient(more?: ClientOptions): Promise<KubernetesClient> {
    const kubeconfig = await controlPlane().workerKubeconfig();
    const client = new KubernetesClient(await loadConnection({}, { kubeconfig }), more);
    clients.push(client);
    return client;
  }

  async function newRepository(): Promise<TestRepository> {
    const git = await TestRepository.create();
    repositories.push(git);
    return git;
  }

  return {
    controlPlane,
    cluster: () => cluster,
    sync: () => sync,
    newRepository,
    newWorkerClient,
    async follow(name, flags = {}) {
      const git = await newRepository();
      const namespace = await cluster.createNamespace(name);
      const serviceAccount = flags.serviceAccount ?? (await grantSyncAccount(cluster.client, namespace));
      const repository = repositoryFromFlags({ ...flags, repo: git.path, name, namespace, serviceAccount });
      sync.follow(repository);
      return { git, name, namespace, repository };
    },
  };
}
