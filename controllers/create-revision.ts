/** Creates, re-uses or renumbers the revision of a workload's present template. Idempotent: the name follows from the data. */

import { isAlreadyExists } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { revisionPath } from '../kubernetes/revision-store.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { AnyKind } from '../kubernetes/workload-kinds.ts';
import { ANNOTATION, LABEL } from '../planners/names.ts';
import type { ControllerRevision, OwnerReference } from '../planners/objects.ts';
import { formatSelector, matchesSelector } from '../planners/selector.ts';
import type { Snapshot, Workload, WorkloadRef } from '../planners/workload.ts';

export interface CreatedRevision {
  readonly name: string;
  readonly number: string;
  readonly outcome: 'created' | 'renumbered' | 'existed';
}

/** The apiserver has taken a revision, but not as it was written: a new one that is not the workload's was deleted again. */
export class RevisionNotKeptError extends Error {}

/** More name clashes in a row than this mean that somebody works against us. */
const CLASH_LIMIT = 20;

/**
 * Brings about the revision of the present template (S6, C8, C9). `snapshot` is asked for again after each clash, so that the
 * next plan sees the object that stood in the way; one that another workload has is passed over by the next collision count. `now` in milliseconds since the epoch.
 *
 * @throws ApiError as the apiserver answers; RevisionNotKeptError when what it stores is not the workload's, or has another number; Error after 20 clashes
 */
export async function createRevision(
  client: KubernetesClient,
  cache: WatchCache,
  kind: AnyKind,
  snapshot: () => Snapshot<Workload>,
  now: () => number,
): Promise<CreatedRevision> {
  const { history } = kind;
  const { resource } = history;
  const taken = new Set<string>();
  for (let clash = 0; clash < CLASH_LIMIT; clash += 1) {
    const { workload, revisions } = snapshot();
    const { namespace } = workload.ref;
    const plan = kind.planRevision(workload, revisions, taken);
    switch (plan.outcome) {
      case 'exists':
        return {
          name: plan.revision.metadata.name,
          number: String(plan.revision.revision),
          outcome: 'existed',
        };
      case 'renumber': {
        const { name, uid: revisionUid, resourceVersion } = plan.revision.metadata;
        const body = history.renumber(plan.revision, plan.to);
        const metadata = asRecord(body['metadata']);
        const written = await client.patch(revisionPath(history, namespace, name), 'merge', {
          ...body,
          metadata: {
            ...metadata,
            uid: revisionUid,
            resourceVersion,
            annotations: {
              ...asRecord(metadata['annotations']),
              [ANNOTATION.wantedSince]: new Date(now()).toISOString(),
            },
          },
        });
        cache.observeWrite(resource, written);
        const { revision: kept } = history.read(written);
        // It would never be the newest, and the run would wait for that without end.
        if (kept !== plan.to)
          throw new RevisionNotKeptError(notRenumbered(history.kind, name, plan.to, kept, workload));
        return { name, number: String(plan.to), outcome: 'renumbered' };
      }
      case 'create':
        try {
          const written = await client.create(revisionPath(history, namespace), plan.manifest);
          cache.observeWrite(resource, written);
          const { metadata, revision } = history.read(written);
          // What is not found again would be made anew under another name, and so on without end.
          if (kind.planRevision(workload, snapshot().revisions, taken).outcome === 'create') {
            const path = revisionPath(history, namespace, metadata.name);
            // By uid alone: it has no pods, and its controller writes its status meanwhile.
            const answer = await client.delete(path, { uid: metadata.uid });
            cache.observeDelete(resource, answer, { namespace, name: metadata.name });
            throw new RevisionNotKeptError(notKept(history.kind, metadata, workload));
          }
          return { name: metadata.name, number: String(revision), outcome: 'created' };
        } catch (error) {
          if (!isAlreadyExists(error)) {
            throw error;
          }
          // Ours from before a crash, or a clash: either way it must be in the next snapshot.
          const { name } = trusted<ControllerRevision>(plan.manifest).metadata;
          const found = await client.get(revisionPath(history, namespace, name));
          cache.observeWrite(resource, found);
          const owner = found.metadata.ownerReferences?.find((reference) => reference.controller === true);
          if (owner === undefined || owner.uid === workload.ref.uid) continue;
          if (!history.passesOverNames && isPredecessor(owner, workload.ref)) {
            throw new Error(
              `${history.kind} ${namespace}/${name} belongs to an earlier ${owner.kind} ${owner.name} (uid ${owner.uid}): ` +
                'wait until the garbage collector has removed it, or delete it by hand',
              { cause: error },
            );
          }
          taken.add(name);
        }
    }
  }
  throw new Error(
    `no free name for the revision of ${snapshot().workload.ref.name} after ${String(CLASH_LIMIT)} tries`,
  );
}

/** Of a workload that was deleted and made again: what it owned is about to go. */
function isPredecessor(owner: OwnerReference, { kind, name }: WorkloadRef): boolean {
  return owner.kind === kind && owner.name === name;
}

function notKept(
  kind: string,
  { name, labels }: ControllerRevision['metadata'],
  { ref, selector }: Workload,
): string {
  const how = matchesSelector(selector, labels)
    ? 'with another content than it was sent with'
    : `with the labels ${formatSelector({ matchLabels: labels ?? {} })}, which the selector ${formatSelector(selector)} does not match`;
  return (
    `${kind} ${name} of ${ref.kind} ${ref.name} was stored ${how}, so it was deleted again: mend the admission policy or ` +
    `webhook that changes it, or a selector that asks for ${LABEL.podTemplateHash}`
  );
}

function notRenumbered(
  kind: string,
  name: string,
  wanted: number | bigint,
  kept: number | bigint,
  { ref }: Workload,
): string {
  return (
    `${kind} ${name} of ${ref.kind} ${ref.name} was to get the number ${String(wanted)}, and was stored with ${String(kept)}: ` +
    'mend the admission policy or webhook that changes it (kubectl get mutatingwebhookconfigurations)'
  );
}
