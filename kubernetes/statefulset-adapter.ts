/** StatefulSet of either workload API → the planner's view. */

import { ANNOTATION, GROUP } from '../planners/names.ts';
import type { JsonObject, KubernetesObject, LabelSelector, PodTemplate } from '../planners/objects.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import type { OnDeadline, PodUpdatePolicy, StatefulSet, StatefulSetStatus } from '../planners/workload.ts';
import { readPaused, readPinned, readRetried } from './wish-annotations.ts';
import { trusted } from './values.ts';
import type { WorkloadApi } from './workload-api.ts';
import { groupVersion } from './workload-api.ts';

interface RollingUpdate {
  readonly partition?: number;
  readonly maxUnavailable?: number | string;
  readonly podUpdatePolicy?: PodUpdatePolicy;
  readonly inPlaceUpdateStrategy?: { readonly gracePeriodSeconds?: number };
}

/** The served object, as far as it is read here. */
export interface StatefulSetObject extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly ordinals?: { readonly start?: number };
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly serviceName?: string;
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    readonly updateStrategy?: {
      readonly type?: 'RollingUpdate' | 'OnDelete';
      readonly rollingUpdate?: RollingUpdate;
    };
    readonly volumeClaimTemplates?: readonly JsonObject[];
    readonly persistentVolumeClaimRetentionPolicy?: {
      readonly whenDeleted?: 'Retain' | 'Delete';
      readonly whenScaled?: 'Retain' | 'Delete';
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly paused?: boolean;
    readonly progressDeadlineSeconds?: number;
    readonly onDeadline?: OnDeadline;
  };
  readonly status?: Partial<StatefulSetStatus>;
}

/**
 * Makes one view of both APIs: fields of ours come from the spec of a `fairlead.dev` object, from annotations of an
 * `apps/v1` object (which has no place for them, and drops maxUnavailable: S14).
 */
export function readStatefulSet(object: KubernetesObject, api: WorkloadApi): StatefulSet {
  const { metadata, spec, status } = trusted<StatefulSetObject>(object);
  const { group, version } = groupVersion(api);
  const strategy = spec.updateStrategy;
  const ours = group === GROUP ? fieldsOfSpec(spec) : fieldsOfAnnotations(metadata.annotations ?? {});
  const paused = readPaused(metadata.annotations, spec.paused);
  const pinned = readPinned(metadata.annotations);
  const retried = readRetried(metadata.annotations);
  return {
    ref: {
      group,
      version,
      kind: 'StatefulSet',
      namespace: metadata.namespace ?? 'default',
      name: metadata.name,
      uid: metadata.uid,
    },
    metadata,
    generation: metadata.generation ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
    selector: spec.selector,
    template: normaliseTemplate(spec.template),
    minReadySeconds: spec.minReadySeconds ?? 0,
    revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
    ...(paused && { paused }),
    ...(pinned && { pinned }),
    ...(retried && { retried }),
    ...(ours.progressDeadlineSeconds !== undefined && {
      progressDeadlineSeconds: ours.progressDeadlineSeconds,
    }),
    onDeadline: ours.onDeadline ?? 'Report',
    replicas: spec.replicas ?? 1,
    start: spec.ordinals?.start ?? 0,
    serviceName: spec.serviceName ?? '',
    podManagementPolicy: spec.podManagementPolicy ?? 'OrderedReady',
    updateStrategy: strategy?.type ?? 'RollingUpdate',
    hasRollingUpdate: strategy?.rollingUpdate !== undefined,
    partition: strategy?.rollingUpdate?.partition ?? 0,
    maxUnavailable: ours.maxUnavailable ?? 1,
    podUpdatePolicy: ours.podUpdatePolicy ?? 'ReCreate',
    gracePeriodSeconds: ours.gracePeriodSeconds ?? 0,
    volumeClaimTemplates: spec.volumeClaimTemplates ?? [],
    whenDeleted: spec.persistentVolumeClaimRetentionPolicy?.whenDeleted ?? 'Retain',
    whenScaled: spec.persistentVolumeClaimRetentionPolicy?.whenScaled ?? 'Retain',
    status: { ...status, replicas: status?.replicas ?? 0 },
  };
}

interface OwnFields {
  readonly maxUnavailable: number | string | undefined;
  readonly podUpdatePolicy: PodUpdatePolicy | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly progressDeadlineSeconds: number | undefined;
  readonly onDeadline: OnDeadline | undefined;
}

function fieldsOfSpec(spec: StatefulSetObject['spec']): OwnFields {
  const rollingUpdate = spec.updateStrategy?.rollingUpdate;
  return {
    maxUnavailable: rollingUpdate?.maxUnavailable,
    podUpdatePolicy: rollingUpdate?.podUpdatePolicy,
    gracePeriodSeconds: rollingUpdate?.inPlaceUpdateStrategy?.gracePeriodSeconds,
    progressDeadlineSeconds: spec.progressDeadlineSeconds,
    onDeadline: spec.onDeadline,
  };
}

/** Values were validated by the admission policy; one that slipped past it counts as absent rather than as zero. */
function fieldsOfAnnotations(annotations: Readonly<Record<string, string>>): OwnFields {
  const maxUnavailable = annotations[ANNOTATION.maxUnavailable];
  return {
    maxUnavailable: maxUnavailable?.endsWith('%') === true ? maxUnavailable : wholeNumber(maxUnavailable),
    podUpdatePolicy: oneOf(annotations[ANNOTATION.podUpdatePolicy], [
      'ReCreate',
      'InPlaceIfPossible',
      'InPlaceOnly',
    ]),
    gracePeriodSeconds: wholeNumber(annotations[ANNOTATION.gracePeriodSeconds]),
    progressDeadlineSeconds: wholeNumber(annotations[ANNOTATION.progressDeadlineSeconds]),
    onDeadline: oneOf(annotations[ANNOTATION.onDeadline], ['Report', 'Pause', 'Rollback']),
  };
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function oneOf<T extends string>(text: string | undefined, values: readonly T[]): T | undefined {
  return values.find((value) => value === text);
}
