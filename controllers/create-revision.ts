/** Creates, re-uses or renumbers the revision of a workload's present template. Idempotent: the name follows from the data. */

import { isAlreadyExists } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { trusted } from '../kubernetes/values.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { AnyKind } from '../kubernetes/workload-kinds.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { ControllerRevision } from '../planners/objects.ts';
import type { Snapshot, Workload } from '../planners/workload.ts';

export interface CreatedRevision {
  readonly name: string;
  readonly number: string;
  readonly outcome: 'created' | 'renumbered' | 'existed';
}

const RESOURCE = { group: 'apps', version: 'v1', resource: 'controllerrevisions' } as const;

/** More name clashes in a row than this mean that somebody works against us. */
const CLASH_LIMIT = 20;

/**
 * Brings about the revision of the present template (S6, C8, C9). `snapshot` is asked for again after each clash, so that the
 * next plan sees the object that stood in the way. `now` in milliseconds since the epoch.
 *
 * @throws ApiError as the apiserver answers; Error after 20 clashes
 */
export async function createRevision(
  client: KubernetesClient,
  cache: WatchCache,
  kind: AnyKind,
  snapshot: () => Snapshot<Workload>,
  now: () => number,
): Promise<CreatedRevision> {
  for (let clash = 0; clash < CLASH_LIMIT; clash += 1) {
    const { workload, revisions } = snapshot();
    const { namespace, uid } = workload.ref;
    const plan = kind.planRevision(workload, revisions);
    switch (plan.outcome) {
      case 'exists':
        return {
          name: plan.revision.metadata.name,
          number: String(plan.revision.revision),
          outcome: 'existed',
        };
      case 'renumber': {
        const { name, uid: revisionUid, resourceVersion } = plan.revision.metadata;
        const written = await client.patch<ControllerRevision>({ ...RESOURCE, namespace, name }, 'merge', {
          metadata: {
            uid: revisionUid,
            resourceVersion,
            annotations: { [ANNOTATION.wantedSince]: new Date(now()).toISOString() },
          },
          revision: plan.to,
        });
        cache.observeWrite('controllerrevisions', written);
        return { name, number: String(plan.to), outcome: 'renumbered' };
      }
      case 'create':
        try {
          const written = await client.create<ControllerRevision>({ ...RESOURCE, namespace }, plan.manifest);
          cache.observeWrite('controllerrevisions', written);
          return { name: written.metadata.name, number: String(written.revision), outcome: 'created' };
        } catch (error) {
          if (!isAlreadyExists(error)) {
            throw error;
          }
          // Ours from before a crash, or a clash: either way it must be in the next snapshot.
          const { name } = trusted<ControllerRevision>(plan.manifest).metadata;
          const found = await client.get<ControllerRevision>({ ...RESOURCE, namespace, name });
          cache.observeWrite('controllerrevisions', found);
          const owner = found.metadata.ownerReferences?.find((reference) => reference.controller === true);
          if (owner !== undefined && owner.uid !== uid) {
            throw new Error(
              `ControllerRevision ${namespace}/${name} belongs to ${owner.kind} ${owner.name} (uid ${owner.uid}): ` +
                'wait until the garbage collector has removed it, or delete it by hand',
              { cause: error },
            );
          }
        }
    }
  }
  throw new Error(
    `no free name for the revision of ${snapshot().workload.ref.name} after ${String(CLASH_LIMIT)} tries`,
  );
}
