/** Names and bodies of a DaemonSet's pods (D2–D4, design "Once"). */

import { createHash } from 'node:crypto';

import { controllerReference } from './controller-ref.ts';
import { hashOf } from './daemonset-hash.ts';
import { ANNOTATION, LABEL } from './names.ts';
import { tolerationsOf } from './node-eligibility.ts';
import type { ControllerRevision, JsonObject, PodTemplate } from './objects.ts';
import { templateOfRevision } from './template-revision.ts';
import { asFields } from './values.ts';
import type { DaemonSet } from './workload.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const HASH_LENGTH = 10;
/** A pod's name is its host name as well: 63 characters with the hash and the dash. */
const LONGEST_PREFIX = 52;

/**
 * The name of the pod to create on a node: it follows from what the pod is, so that a crash never makes two (design "Once").
 * `beside` is the uid of a pod of the set that is still on the node, and keeps its name.
 */
export function daemonPodName(
  set: DaemonSet,
  node: string,
  revision: ControllerRevision,
  beside = '',
): string {
  const digest = createHash('sha256')
    .update(`${node}\n${hashOf(revision)}\n${beside}`)
    .digest();
  const hash = Array.from(digest.subarray(0, HASH_LENGTH), (byte) =>
    ALPHABET.charAt(byte % ALPHABET.length),
  ).join('');
  return `${set.ref.name.slice(0, LONGEST_PREFIX).replace(/[.-]+$/, '')}-${hash}`;
}

/**
 * The pod to create on a node, built from a revision and never from spec.template; the scheduler binds it (D3). A nodeName of a
 * revision that was meant for another node is left out: the pod would land there.
 */
export function newDaemonPod(
  set: DaemonSet,
  name: string,
  node: string,
  revision: ControllerRevision,
  isUpdate: boolean,
): JsonObject {
  const template = templateOfRevision(revision);
  const { [ANNOTATION.inPlaceUpdate]: _, ...annotations } = template.metadata?.annotations ?? {};
  const finalizers = template.metadata?.['finalizers'];
  const generation = isUpdate ? set.templateGeneration : undefined;
  const { nodeName, ...spec } = template.spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      generateName: `${set.ref.name}-`,
      namespace: set.ref.namespace,
      labels: {
        ...template.metadata?.labels,
        [LABEL.revisionHash]: hashOf(revision),
        ...(generation !== undefined && { [LABEL.templateGeneration]: generation }),
      },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(finalizers !== undefined && { finalizers }),
      ownerReferences: [controllerReference(set.ref)],
    },
    spec: {
      ...spec,
      ...(nodeName === node && { nodeName }),
      affinity: affinityTo(template, node),
      tolerations: tolerationsOf(template),
    },
  };
}

/** Required terms are replaced by the node's name; what is preferred, and affinity to pods, stays (D3). */
function affinityTo({ spec }: PodTemplate, node: string): JsonObject {
  const affinity = asFields(spec['affinity']);
  return {
    ...affinity,
    nodeAffinity: {
      ...asFields(affinity?.['nodeAffinity']),
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
      },
    },
  };
}
