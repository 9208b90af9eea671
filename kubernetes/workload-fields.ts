/** What all kinds have in common, read from an object of either workload API. */

import { ANNOTATION, GROUP } from '../planners/names.ts';
import type { KubernetesObject, LabelSelector, PodTemplate } from '../planners/objects.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import type {
  NotReadyNodes,
  OnDeadline,
  PodReplacementPolicy,
  PodUpdatePolicy,
  Workload,
  WorkloadKind,
} from '../planners/workload.ts';
import { hasEndedPause, readPaused, readPinned, readRetried } from './wish-annotations.ts';
import { isPinSpent } from './template-change.ts';
import { trusted } from './values.ts';
import type { WorkloadApi } from './workload-api.ts';
import { groupVersion } from './workload-api.ts';

/** Of a drain or a pull, where the object says nothing. */
export const HOOK_TIMEOUT_SECONDS = 300;

/** `spec.updateStrategy.rollingUpdate`, as far as it is ours. */
export interface OwnRollingUpdate {
  readonly partition?: number;
  readonly maxUnavailable?: number | string;
  readonly podUpdatePolicy?: PodUpdatePolicy;
  readonly inPlaceUpdateStrategy?: { readonly gracePeriodSeconds?: number };
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly topologyKey?: string;
  readonly notReadyNodes?: NotReadyNodes;
  readonly drain?: { readonly timeoutSeconds?: number };
  readonly prePull?: { readonly nodes?: number; readonly timeoutSeconds?: number };
}

/** Fields of `spec` that every kind has. */
export interface CommonSpec {
  readonly selector: LabelSelector;
  readonly template: PodTemplate;
  readonly updateStrategy?: {
    readonly type?: 'RollingUpdate' | 'OnDelete';
    readonly rollingUpdate?: OwnRollingUpdate;
  };
  readonly minReadySeconds?: number;
  readonly revisionHistoryLimit?: number;
  readonly paused?: boolean;
  readonly progressDeadlineSeconds?: number;
  readonly onDeadline?: OnDeadline;
  readonly podReplacementPolicy?: PodReplacementPolicy;
}

/** Settings that apps/v1 has no field for: undefined where nothing (usable) is said. */
export interface OwnFields {
  readonly partition: number | undefined;
  readonly maxUnavailable: number | string | undefined;
  readonly podUpdatePolicy: PodUpdatePolicy | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly nodeSelector: Readonly<Record<string, string>> | undefined;
  readonly topologyKey: string | undefined;
  readonly notReadyNodes: NotReadyNodes | undefined;
  readonly drainTimeoutSeconds: number | undefined;
  readonly prePullNodes: number | undefined;
  readonly prePullTimeoutSeconds: number | undefined;
  readonly progressDeadlineSeconds: number | undefined;
  readonly onDeadline: OnDeadline | undefined;
  readonly podReplacementPolicy: PodReplacementPolicy | undefined;
}

/**
 * One view of both APIs: fields of ours come from the spec of a `fairlead.dev` object, from annotations of an `apps/v1` object,
 * which has no place for them.
 */
export function readCommon(
  kind: WorkloadKind,
  object: KubernetesObject,
  api: WorkloadApi,
): { readonly common: Workload; readonly own: OwnFields } {
  const { metadata } = object;
  const { spec } = trusted<{ readonly spec: CommonSpec }>(object);
  const { group, version } = groupVersion(api);
  const own = group === GROUP ? fieldsOfSpec(spec) : fieldsOfAnnotations(metadata.annotations ?? {});
  const paused = readPaused(metadata.annotations, spec.paused);
  const pinned = readPinned(metadata.annotations);
  const retried = readRetried(metadata.annotations);
  const template = normaliseTemplate(spec.template);
  const isSpent = pinned !== undefined && isPinSpent(metadata.annotations ?? {}, pinned, template);
  const common: Workload = {
    ref: {
      group,
      version,
      kind,
      namespace: metadata.namespace ?? 'default',
      name: metadata.name,
      uid: metadata.uid,
    },
    metadata,
    generation: metadata.generation ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
    selector: spec.selector,
    template,
    minReadySeconds: spec.minReadySeconds ?? 0,
    revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
    ...(paused && { paused }),
    ...(hasEndedPause(metadata.annotations, spec.paused) && { hasEndedPause: true }),
    ...(pinned && { pinned }),
    ...(isSpent && { isPinSpent: true }),
    ...(retried && { retried }),
    ...(own.progressDeadlineSeconds !== undefined && {
      progressDeadlineSeconds: own.progressDeadlineSeconds,
    }),
    onDeadline: own.onDeadline ?? 'Report',
  };
  return { common, own };
}

/** What happens when its deadline passes, of an object whose API is not at hand: only ours has the field in its spec. */
export function onDeadlineOf(object: KubernetesObject): OnDeadline {
  const { spec } = trusted<{ readonly spec?: CommonSpec }>(object);
  const inSpec = spec && fieldsOfSpec(spec).onDeadline;
  return inSpec ?? fieldsOfAnnotations(object.metadata.annotations ?? {}).onDeadline ?? 'Report';
}

function fieldsOfSpec(spec: CommonSpec): OwnFields {
  const rollingUpdate = spec.updateStrategy?.rollingUpdate;
  return {
    partition: rollingUpdate?.partition,
    maxUnavailable: rollingUpdate?.maxUnavailable,
    podUpdatePolicy: rollingUpdate?.podUpdatePolicy,
    gracePeriodSeconds: rollingUpdate?.inPlaceUpdateStrategy?.gracePeriodSeconds,
    nodeSelector: rollingUpdate?.nodeSelector,
    topologyKey: rollingUpdate?.topologyKey,
    notReadyNodes: rollingUpdate?.notReadyNodes,
    drainTimeoutSeconds: rollingUpdate?.drain && (rollingUpdate.drain.timeoutSeconds ?? HOOK_TIMEOUT_SECONDS),
    prePullNodes: rollingUpdate?.prePull && (rollingUpdate.prePull.nodes ?? 1),
    prePullTimeoutSeconds: rollingUpdate?.prePull?.timeoutSeconds,
    progressDeadlineSeconds: spec.progressDeadlineSeconds,
    onDeadline: spec.onDeadline,
    podReplacementPolicy: spec.podReplacementPolicy,
  };
}

/** Values were validated by the admission policy; one that slipped past it counts as absent rather than as zero. */
function fieldsOfAnnotations(annotations: Readonly<Record<string, string>>): OwnFields {
  const maxUnavailable = annotations[ANNOTATION.maxUnavailable];
  return {
    partition: wholeNumber(annotations[ANNOTATION.partition]),
    maxUnavailable: maxUnavailable?.endsWith('%') === true ? maxUnavailable : wholeNumber(maxUnavailable),
    podUpdatePolicy: oneOf(annotations[ANNOTATION.podUpdatePolicy], [
      'ReCreate',
      'InPlaceIfPossible',
      'InPlaceOnly',
    ]),
    gracePeriodSeconds: wholeNumber(annotations[ANNOTATION.gracePeriodSeconds]),
    nodeSelector: labels(annotations[ANNOTATION.nodeSelector]),
    topologyKey: annotations[ANNOTATION.topologyKey],
    notReadyNodes: oneOf(annotations[ANNOTATION.notReadyNodes], ['Ignore', 'Count']),
    drainTimeoutSeconds: wholeNumber(annotations[ANNOTATION.drainTimeoutSeconds]),
    prePullNodes: wholeNumber(annotations[ANNOTATION.prePullNodes]),
    prePullTimeoutSeconds: wholeNumber(annotations[ANNOTATION.prePullTimeoutSeconds]),
    progressDeadlineSeconds: wholeNumber(annotations[ANNOTATION.progressDeadlineSeconds]),
    onDeadline: oneOf(annotations[ANNOTATION.onDeadline], ['Report', 'Pause', 'Rollback']),
    podReplacementPolicy: oneOf(annotations[ANNOTATION.podReplacementPolicy], [
      'TerminationStarted',
      'TerminationComplete',
    ]),
  };
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** `canary=true,zone=a` */
function labels(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (text === undefined) return undefined;
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [key = '', value = ''] = pair.split('=');
      return [key.trim(), value.trim()] as const;
    }),
  );
}

function oneOf<T extends string>(text: string | undefined, values: readonly T[]): T | undefined {
  return values.find((value) => value === text);
}
