/** The sentences of `kubectl rollout status`, word for word: scripts and people know them. */

import { trusted } from '../kubernetes/values.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { saysComplete } from '../planners/conditions.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import { CliError } from './exit-codes.ts';
import { conditionOf, conditionsOf, countersOf } from './workload-state.ts';

export interface RolloutSentence {
  /** Without a line feed. */
  readonly sentence: string;
  readonly done: boolean;
  /** kubectl ends with an error. */
  readonly failed?: true;
}

interface StatefulSetFields {
  readonly replicas?: number;
  readonly updateStrategy?: {
    readonly type?: string;
    readonly rollingUpdate?: { readonly partition?: number };
  };
}

interface StatefulSetCounts {
  readonly observedGeneration?: number;
  readonly readyReplicas?: number;
  readonly updatedReplicas?: number;
  readonly currentReplicas?: number;
  readonly currentRevision?: string;
  readonly updateRevision?: string;
}

/**
 * What kubectl says of an object in this state, but that counters which are complete are no end while our controller is at work: in
 * place a pod has the new revision before it is updated, and is ready until it is taken out of service; pods that are not wanted any
 * more may be there still, or a write be refused.
 * @throws CliError for a strategy that has no rollout to wait for
 */
export function rolloutSentence(kind: WorkloadKind, object: WorkloadObject): RolloutSentence {
  const said = SENTENCES[kind](object);
  const isAtWork = conditionOf(object, 'Reconciling')?.status === 'True';
  if (!said.done || !isAtWork) return said;
  return waiting(
    `Waiting for ${WORDS[kind]} "${object.metadata.name}" rollout to finish: ${whatIsLeft(kind, object)}...`,
  );
}

function whatIsLeft(kind: WorkloadKind, object: WorkloadObject): string {
  const { desired, current } = countersOf(object);
  if (current > desired) return `${String(current - desired)} pods are pending termination`;
  // Of a Deployment the counters tell it.
  return kind === 'Deployment' || saysComplete(conditionsOf(object))
    ? 'its pods are updated, and the controller has more to do'
    : 'its last pods are being updated';
}

const WORDS: Readonly<Record<WorkloadKind, string>> = {
  StatefulSet: 'stateful set',
  DaemonSet: 'daemon set',
  Deployment: 'deployment',
};

const SENTENCES: Readonly<Record<WorkloadKind, (object: WorkloadObject) => RolloutSentence>> = {
  StatefulSet: statefulSetSentence,
  DaemonSet: daemonSetSentence,
  Deployment: deploymentSentence,
};

function statefulSetSentence(object: WorkloadObject): RolloutSentence {
  const spec: StatefulSetFields = trusted(object.spec);
  const status: StatefulSetCounts = trusted(object.status ?? {});
  const { observedGeneration = 0, readyReplicas = 0, updatedReplicas = 0, currentReplicas = 0 } = status;
  const replicas = spec.replicas ?? 1;
  if ((spec.updateStrategy?.type ?? 'RollingUpdate') !== 'RollingUpdate') {
    throw new CliError('rollout status is only available for RollingUpdate strategy type');
  }
  if (observedGeneration === 0 || (object.metadata.generation ?? 0) > observedGeneration) {
    return waiting('Waiting for statefulset spec update to be observed...');
  }
  if (readyReplicas < replicas) {
    return waiting(`Waiting for ${String(replicas - readyReplicas)} pods to be ready...`);
  }
  if (spec.updateStrategy?.rollingUpdate !== undefined) {
    const wanted = replicas - (spec.updateStrategy.rollingUpdate.partition ?? 0);
    if (updatedReplicas < wanted) {
      return waiting(
        `Waiting for partitioned roll out to finish: ${String(updatedReplicas)} out of ${String(wanted)} new pods have been updated...`,
      );
    }
    return {
      done: true,
      sentence: `partitioned roll out complete: ${String(updatedReplicas)} new pods have been updated...`,
    };
  }
  if (status.updateRevision !== status.currentRevision) {
    return waiting(
      `waiting for statefulset rolling update to complete ${String(updatedReplicas)} pods at revision ${status.updateRevision ?? ''}...`,
    );
  }
  return {
    done: true,
    sentence: `statefulset rolling update complete ${String(currentReplicas)} pods at revision ${status.currentRevision ?? ''}...`,
  };
}

interface DaemonSetCounts {
  readonly observedGeneration?: number;
  readonly desiredNumberScheduled?: number;
  readonly updatedNumberScheduled?: number;
  readonly numberAvailable?: number;
}

function daemonSetSentence(object: WorkloadObject): RolloutSentence {
  const { updateStrategy }: StatefulSetFields = trusted(object.spec);
  const status: DaemonSetCounts = trusted(object.status ?? {});
  const { observedGeneration = 0, desiredNumberScheduled: desired = 0 } = status;
  const { updatedNumberScheduled: updated = 0, numberAvailable: available = 0 } = status;
  const name = `daemon set "${object.metadata.name}"`;
  if ((updateStrategy?.type ?? 'RollingUpdate') !== 'RollingUpdate') {
    throw new CliError('rollout status is only available for RollingUpdate strategy type');
  }
  if ((object.metadata.generation ?? 0) > observedGeneration) {
    return waiting('Waiting for daemon set spec update to be observed...');
  }
  const wanted = desired - (updateStrategy?.rollingUpdate?.partition ?? 0);
  // A canary by the labels of nodes, or by an annotation: the object does not say how many nodes that are, the controller does.
  const isThrough = conditionOf(object, 'Progressing')?.reason === 'RolloutComplete';
  if (updated < wanted && isThrough && available >= desired) {
    return {
      done: true,
      sentence: `${name} is rolled out to the nodes that its strategy selects: ${String(updated)} of ${String(desired)} pods are new`,
    };
  }
  if (updated < wanted) {
    return waiting(
      `Waiting for ${name} rollout to finish: ${String(updated)} out of ${String(wanted)} new pods have been updated...`,
    );
  }
  if (available < desired) {
    return waiting(
      `Waiting for ${name} rollout to finish: ${String(available)} of ${String(desired)} updated pods are available...`,
    );
  }
  return { done: true, sentence: `${name} successfully rolled out` };
}

interface DeploymentCounts {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
}

function deploymentSentence(object: WorkloadObject): RolloutSentence {
  const { replicas: wanted = 1 }: StatefulSetFields = trusted(object.spec);
  const status: DeploymentCounts = trusted(object.status ?? {});
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  const name = `deployment "${object.metadata.name}"`;
  if ((object.metadata.generation ?? 0) > observedGeneration) {
    return waiting('Waiting for deployment spec update to be observed...');
  }
  if (conditionOf(object, 'Progressing')?.reason === 'ProgressDeadlineExceeded') {
    return { done: false, failed: true, sentence: `${name} exceeded its progress deadline` };
  }
  if (updatedReplicas < wanted) {
    return waiting(
      `Waiting for ${name} rollout to finish: ${String(updatedReplicas)} out of ${String(wanted)} new replicas have been updated...`,
    );
  }
  if (replicas > updatedReplicas) {
    return waiting(
      `Waiting for ${name} rollout to finish: ${String(replicas - updatedReplicas)} old replicas are pending termination...`,
    );
  }
  if (availableReplicas < updatedReplicas) {
    return waiting(
      `Waiting for ${name} rollout to finish: ${String(availableReplicas)} of ${String(updatedReplicas)} updated replicas are available...`,
    );
  }
  return { done: true, sentence: `${name} successfully rolled out` };
}

function waiting(sentence: string): RolloutSentence {
  return { sentence, done: false };
}
