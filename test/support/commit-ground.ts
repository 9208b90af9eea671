/** Commits that are applied at once, what became of each, and what a plan of it tells. */

import type { RepositoryPlan } from '../../cli/plan-changes.ts';
import { planCommit } from '../../cli/plan-changes.ts';
import { CommitReader } from '../../git/commit.ts';
import { openMirror } from '../../git/mirror.ts';
import { repositoryFromFlags } from '../../git/repositories.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import type { FileChange } from './git-repository.ts';
import type { GitSync } from './git-sync.ts';
import { INVENTORY_NAMESPACE } from './git-sync.ts';
import type { Followed, SyncGround } from './sync-ground.ts';
import { useSyncGround } from './sync-ground.ts';

/** A repository whose commits are applied one after the other. */
export interface Committed extends Followed {
  commit(
    files: Readonly<Record<string, FileChange>>,
  ): Promise<Awaited<ReturnType<GitSync['apply']>> & { readonly sha: string }>;
  /** Commits and expects a refusal or a failure; the message is what the Temporal UI shows. */
  bad(files: Readonly<Record<string, FileChange>>): Promise<{
    readonly outcome: string;
    readonly message: string;
    readonly lines: readonly string[];
    readonly sha: string;
  }>;
  get(resource: string, name: string, group?: string): Promise<KubernetesObject | undefined>;
}

/** Declares the hooks of a whole file, whose workers call their cluster so. */
export function useCommitGround(owner: string) {
  const ground = useSyncGround({ cluster: owner });
  const { cluster, sync } = ground;

  async function follow(name: string, flags?: Parameters<SyncGround['follow']>[1]): Promise<Committed> {
    const followed = await ground.follow(name, flags);
    const { git, namespace } = followed;
    return {
      ...followed,
      commit: async (files) => {
        const sha = await git.commit(files);
        return { ...(await sync().apply(name, sha)), sha };
      },
      bad: async (files) => {
        const sha = await git.commit(files);
        const { outcome, message = '' } = await sync().apply(name, sha);
        const lines = (await sync().inventory(name))?.status.commit?.problems ?? [];
        return { outcome, message, lines, sha };
      },
      get: async (resource, objectName, group = '') => {
        const path: ResourcePath = { group, version: 'v1', resource, namespace, name: objectName };
        try {
          return await cluster().client.get(path);
        } catch (error) {
          if (isNotFound(error)) return undefined;
          throw error;
        }
      },
    };
  }

  /** What a commit would change, as `fairlead plan` tells it. */
  async function planOf({ git, name, namespace }: Followed, sha: string): Promise<RepositoryPlan> {
    const repository = repositoryFromFlags({ repo: git.path, name, namespace });
    const mirror = openMirror({ ...repository, cacheDirectory: git.path });
    const content = await new CommitReader(() => mirror).read(repository, sha);
    const session = {
      leaseNamespace: INVENTORY_NAMESPACE,
      api: 'fairlead.dev/v1beta1',
      cluster: sync().cluster,
    } as const;
    return await planCommit(cluster().client, session, repository, sha, content);
  }

  return { ...ground, follow, planOf };
}

/** A field to a line: problems are told with theirs. */
export function configMap(name: string, value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  key: ${value}\n`;
}

export function service(name: string): string {
  return `apiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  selector: {app: web}\n  ports:\n  - port: 80\n`;
}
