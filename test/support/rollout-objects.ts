/** A StatefulSet `web` in the middle of a rollout from image web:1 to web:2, as objects from the apiserver. */

import type { WorkloadObject } from '../../kubernetes/workload-edit.ts';
import { WORKLOAD_KINDS } from '../../kubernetes/workload-kinds.ts';
import type { ControllerRevision, Pod } from '../../planners/objects.ts';
import { asStored } from './statefulset-fixtures.ts';
import type { ObjectOptions } from './workload-objects.ts';
import { workloadObject } from './workload-objects.ts';

export interface RolloutOptions {
  readonly object?: ObjectOptions;
  /** Pods at the new revision, from the highest ordinal down; all three are ready. */
  readonly updated: number;
}

export interface RolloutObjects {
  readonly object: WorkloadObject;
  /** The old and the new one. */
  readonly revisions: readonly [ControllerRevision, ControllerRevision];
  readonly pods: readonly Pod[];
}

const TIME = '2026-01-01T00:00:00Z';

/** Three pods, maxUnavailable 1. */
export function rollout({ object: options = {}, updated }: RolloutOptions): RolloutObjects {
  const old = revisionOf(withImage(workloadObject(options), 'web:1'), []);
  const wanted = withImage(workloadObject(options), 'web:2');
  const next = revisionOf(wanted, [old]);
  const names = [old.metadata.name, next.metadata.name];
  const object: WorkloadObject = {
    ...wanted,
    status: {
      ...wanted.status,
      updatedReplicas: updated,
      currentReplicas: 3 - updated,
      currentRevision: updated === 3 ? names[1] : names[0],
      updateRevision: names[1],
    },
  };
  const pods = [0, 1, 2].map((ordinal) => {
    const isNew = ordinal >= 3 - updated;
    return podOf(ordinal, (isNew ? next : old).metadata.name, isNew ? 'web:2' : 'web:1');
  });
  return { object, revisions: [old, next], pods };
}

/** The object with this image in its template. */
export function withImage(object: WorkloadObject, image: string): WorkloadObject {
  const template = { ...object.spec.template, spec: { containers: [{ name: 'main', image }] } };
  return { ...object, spec: { ...object.spec, podManagementPolicy: 'Parallel', template } };
}

/** The next revision, of the object's template, beside those that exist. */
export function revisionOf(
  object: WorkloadObject,
  existing: readonly ControllerRevision[],
): ControllerRevision {
  const { read, planRevision } = WORKLOAD_KINDS.StatefulSet;
  const plan = planRevision(read(object, 'fairlead.dev/v1beta1'), existing);
  if (plan.outcome !== 'create') throw new Error(`expected a new revision, got ${plan.outcome}`);
  const stored = asStored(plan.manifest);
  return { ...stored, metadata: { ...stored.metadata, creationTimestamp: TIME } };
}

function podOf(ordinal: number, revision: string, image: string): Pod {
  const name = `web-${String(ordinal)}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}-${revision}`,
      resourceVersion: '1',
      creationTimestamp: TIME,
      labels: {
        app: 'web',
        'controller-revision-hash': revision,
        'statefulset.kubernetes.io/pod-name': name,
        'apps.kubernetes.io/pod-index': String(ordinal),
      },
      ownerReferences: [
        {
          apiVersion: 'fairlead.dev/v1beta1',
          kind: 'StatefulSet',
          name: 'web',
          uid: 'set-uid',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { containers: [{ name: 'main', image }], nodeName: 'node-1', hostname: name, subdomain: '' },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: TIME }],
      containerStatuses: [
        {
          name: 'main',
          image,
          containerID: `sim://${name}`,
          imageID: image,
          restartCount: 0,
          ready: true,
          state: { running: {} },
        },
      ],
    },
  };
}
