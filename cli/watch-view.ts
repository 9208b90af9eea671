/** What `watch` shows of a rollout at one moment. Pure; the tree and the plain lines are made from it. */

import { lastComplete } from '../kubernetes/workload-revisions.ts';
import { isReady } from '../planners/availability.ts';
import { ANNOTATION, LABEL } from '../planners/names.ts';
import type { KubernetesObject, Pod } from '../planners/objects.ts';
import type { Progress } from '../planners/plan.ts';
import { revisionsOf } from '../planners/revision.ts';
import type { Pin, Wish } from '../planners/workload.ts';
import type { PlannedWorkload } from './snapshot.ts';
import { podStatus, readyContainers } from './pod-status.ts';
import { causesFirst, describeReason, isDone } from './verdict.ts';
import type { WorkloadArgument } from './workload-argument.ts';
import { formatWorkload } from './workload-argument.ts';
import type { WorkloadState } from './workload-state.ts';
import { pausedOf, pinnedOf, stateOfWorkload } from './workload-state.ts';

export interface PodLine {
  readonly name: string;
  readonly uid: string;
  /** Name of its revision. */
  readonly revision: string;
  readonly images: readonly string[];
  readonly node: string;
  /** `1/1`. */
  readonly containers: string;
  readonly ready: boolean;
  readonly status: string;
  readonly restarts: number;
  readonly createdAt: string | undefined;
}

export interface RevisionLine {
  readonly name: string;
  /** Undefined for pods whose revision is gone. */
  readonly number: string | undefined;
  /** What its name is of. @default 'revision' */
  readonly what?: 'revision' | 'controller';
  readonly role: 'new' | 'complete' | 'old';
  readonly pods: readonly PodLine[];
}

export interface WatchView {
  /** `statefulset.fairlead.dev/web` */
  readonly workload: string;
  readonly namespace: string;
  readonly state: WorkloadState;
  readonly reason: string;
  readonly message: string;
  /** Nothing more is to be done, as far as can be seen here. */
  readonly done: boolean;
  readonly progress: Progress;
  readonly updateRevision: string | undefined;
  readonly commit: string | undefined;
  /** Sentences, with the time that is left. */
  readonly waiting: readonly string[];
  /** The same without times, so that a countdown is no news. */
  readonly causes: readonly string[];
  readonly paused: Wish | undefined;
  readonly pinned: Pin | undefined;
  /** Newest first; those with pods, and the new one. */
  readonly revisions: readonly RevisionLine[];
}

/** The view of a plan. `now` in milliseconds since the epoch. */
export function viewRollout(planned: PlannedWorkload, argument: WorkloadArgument, now: number): WatchView {
  const { object, plan, workload } = planned;
  const done = isDone(plan);
  const { state, reason, message } = stateOfWorkload(object);
  const waiting = causesFirst(plan.waiting);
  return {
    workload: formatWorkload(argument),
    namespace: workload.ref.namespace,
    state,
    reason,
    message,
    done,
    progress: plan.progress,
    updateRevision: plan.updateRevision,
    commit: object.metadata.annotations?.[ANNOTATION.commit],
    waiting: done ? [] : waiting.map((one) => describeReason(one, now)),
    causes: done ? [] : waiting.map((one) => one.message),
    paused: pausedOf(object),
    pinned: pinnedOf(object),
    revisions: revisionLines(planned),
  };
}

function revisionLines({ object, workload, snapshot, plan }: PlannedWorkload): readonly RevisionLine[] {
  const between = new Map(
    (snapshot.replicaSets ?? [])
      .filter((one) => controllerOf(one) === workload.ref.uid)
      .map(({ metadata }) => [metadata.uid, metadata.name]),
  );
  const owned = snapshot.pods.flatMap((pod) => {
    const owner = controllerOf(pod);
    if (owner === workload.ref.uid) return [podLine(pod, pod.metadata.labels?.[LABEL.revisionHash])];
    const name = between.get(owner ?? '');
    return name === undefined ? [] : [podLine(pod, name)];
  });
  const byRevision = new Map<string, PodLine[]>();
  for (const pod of owned) {
    const group = byRevision.get(pod.revision);
    if (group === undefined) byRevision.set(pod.revision, [pod]);
    else group.push(pod);
  }
  const numbers = new Map(snapshot.revisions.map((revision) => [revision.metadata.name, revision.revision]));
  const names = new Set(byRevision.keys());
  if (plan.updateRevision !== undefined) names.add(plan.updateRevision);
  const complete = lastComplete(object, plan.updateRevision, revisionsOf(workload, snapshot.revisions))
    ?.metadata.name;
  const order = (name: string) => BigInt(numbers.get(name) ?? -1);
  return [...names]
    .sort((a, b) => (order(a) === order(b) ? 0 : order(a) < order(b) ? 1 : -1))
    .map((name) => ({
      name,
      number: numbers.get(name)?.toString(),
      role: name === plan.updateRevision ? 'new' : name === complete ? 'complete' : 'old',
      pods: (byRevision.get(name) ?? []).sort(byName),
    }));
}

function controllerOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** @param revision Name of what it is of; undefined: it has none */
export function podLine(pod: Pod, revision: string | undefined): PodLine {
  const { metadata, spec, status } = pod;
  return {
    name: metadata.name,
    uid: metadata.uid,
    revision: revision ?? '<none>',
    images: spec.containers.map((container) => container.image ?? ''),
    node: spec.nodeName ?? '<none>',
    containers: readyContainers(pod),
    ready: isReady(pod),
    status: podStatus(pod),
    restarts: (status?.containerStatuses ?? []).reduce((sum, container) => sum + container.restartCount, 0),
    createdAt: metadata.creationTimestamp,
  };
}

const BY_NUMBER = new Intl.Collator('en', { numeric: true });

/** `web-9` before `web-10`. */
export function byName(a: PodLine, b: PodLine): number {
  return BY_NUMBER.compare(a.name, b.name);
}
