/** A workload as the command line shows it: the shape behind `get -o json` and the tables. */

import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { trusted } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { Pin, Wish, WorkloadKind } from '../planners/workload.ts';
import { countersOf, pausedOf, pinnedOf, stateOfWorkload } from './workload-state.ts';
import type { StateOfWorkload } from './workload-state.ts';

/** Stable: fields are added, never changed (docs/cli.md). */
export interface WorkloadView extends StateOfWorkload {
  readonly workloadApi: WorkloadApi;
  readonly workloadKind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  readonly generation: number;
  readonly observedGeneration?: number;
  /** Names of revisions: ControllerRevisions, of Deployments ReplicaSets. */
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly images: readonly string[];
  readonly paused?: Wish;
  readonly pinned?: Pin;
  /** Commit that last changed it, and the repository. */
  readonly commit?: string;
  readonly repository?: string;
  /** RFC 3339. */
  readonly createdAt?: string;
  /** Pods at each revision; only with `-o wide`, `json` and `yaml`, and only if pods may be listed. */
  readonly podsByRevision?: Readonly<Record<string, number>>;
}

/** The view of an object as served. */
export function viewWorkload(object: WorkloadObject, kind: WorkloadKind, api: WorkloadApi): WorkloadView {
  const { metadata, spec, status } = object;
  const { annotations } = metadata;
  const { desired, ready, updated, available } = countersOf(object);
  const paused = pausedOf(object);
  const pinned = pinnedOf(object);
  const text = (field: string) => {
    const value = status?.[field];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [currentRevision, updateRevision] = [text('currentRevision'), text('updateRevision')];
  const commit = annotations?.[ANNOTATION.commit];
  const repository = annotations?.[ANNOTATION.repository];
  return {
    workloadApi: api,
    workloadKind: kind,
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    uid: metadata.uid,
    ...stateOfWorkload(object),
    desired,
    ready,
    updated,
    available,
    generation: metadata.generation ?? 0,
    ...(status?.['observedGeneration'] !== undefined && {
      observedGeneration: trusted<number>(status['observedGeneration']),
    }),
    ...(currentRevision !== undefined && { currentRevision }),
    ...(updateRevision !== undefined && { updateRevision }),
    images: spec.template.spec.containers.map((container) => container.image ?? ''),
    ...(paused && { paused }),
    ...(pinned && { pinned }),
    ...(commit !== undefined && { commit }),
    ...(repository !== undefined && { repository }),
    ...(metadata.creationTimestamp !== undefined && { createdAt: metadata.creationTimestamp }),
  };
}

/** `web-6f9c4` of workload `web` → `6f9c4`; other names stay. */
export function shortRevision(revision: string | undefined, workload: string): string {
  if (revision === undefined) return '<none>';
  return revision.startsWith(`${workload}-`) ? revision.slice(workload.length + 1) : revision;
}
