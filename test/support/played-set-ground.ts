/** Repositories with a StatefulSet `web` that no controller keeps: the test plays its rollouts, and sees commits wait for them. */

import type { ResourcePath } from '../../kubernetes/client.ts';
import { commitWorkflowId } from '../../workflows/sync-messages.ts';
import { found } from './eventually.ts';
import { INVENTORY_NAMESPACE } from './git-sync.ts';
import { playStatus } from './small-manifests.ts';
import type { Followed, SyncGroundOptions } from './sync-ground.ts';
import { useSyncGround } from './sync-ground.ts';

/** Declares the hooks of a whole file. */
export function usePlayedSetGround(options: SyncGroundOptions) {
  const ground = useSyncGround(options);
  const { cluster, sync } = ground;

  async function follow(name: string): Promise<Followed & { readonly set: ResourcePath }> {
    const followed = await ground.follow(name);
    const { namespace } = followed;
    return {
      ...followed,
      set: { group: 'fairlead.dev', version: 'v1beta1', resource: 'statefulsets', namespace, name: 'web' },
    };
  }

  /** Plays the controller: nobody else writes the status of these objects. */
  async function setStatus(path: ResourcePath, ready: boolean, stalled?: string): Promise<void> {
    await playStatus(cluster().client, path, ready, stalled);
  }

  function commitRun(repository: string, sha: string) {
    const { temporal, cluster: owner } = sync();
    return temporal.workflow.getHandle(commitWorkflowId(owner, repository, sha));
  }

  async function describeCommit(repository: string, sha: string) {
    return await commitRun(repository, sha).describe();
  }

  /** Until the commit's workflow waits for rollouts. */
  async function awaiting(repository: string, sha: string): Promise<void> {
    await found(`${repository} waits for its rollout`, async () => {
      const view = await commitRun(repository, sha)
        .query<{ phase: string }>('progress')
        .catch(() => undefined);
      return view?.phase === 'AwaitingRollouts' ? true : undefined;
    });
  }

  /** Reasons of the Events that tell of the commit. */
  async function eventsOf(sha: string): Promise<readonly string[]> {
    const events = await cluster().events(INVENTORY_NAMESPACE);
    return events.filter(({ message }) => message.includes(sha.slice(0, 8))).map(({ reason }) => reason);
  }

  return { ...ground, follow, setStatus, describeCommit, awaiting, eventsOf };
}
