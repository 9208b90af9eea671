/** Names, labels and bodies of a StatefulSet's pods (S1, S2, C6). */

import { controllerReference } from './controller-ref.ts';
import { claimsOf } from './pod-volumes.ts';
import { claimName } from './statefulset-claims.ts';
import { templateOfRevision } from './template-revision.ts';
import { ANNOTATION, LABEL } from './names.ts';
import type { ControllerRevision, JsonObject, Pod, Volume } from './objects.ts';
import type { Action } from './plan.ts';
import { trusted } from './values.ts';
import type { StatefulSet } from './workload.ts';

const LARGEST_ORDINAL = 2 ** 31 - 1;

/** `<set>-<ordinal>` (S1). */
export function podName(set: StatefulSet, ordinal: number): string {
  return `${set.ref.name}-${String(ordinal)}`;
}

/** The ordinal that a pod's name gives it in this set, or undefined: such a pod is not the set's (C6). */
export function ordinalOf(set: StatefulSet, name: string): number | undefined {
  const prefix = set.ref.name;
  if (!name.startsWith(prefix) || name.charCodeAt(prefix.length) !== 0x2d) return undefined;
  const digits = name.slice(prefix.length + 1);
  if (!/^(?:0|[1-9]\d{0,9})$/.test(digits)) return undefined;
  const ordinal = Number(digits);
  return ordinal <= LARGEST_ORDINAL ? ordinal : undefined;
}

/** The pod to create for an ordinal, built from a revision and never from spec.template (S1, S3). */
export function newPod(set: StatefulSet, ordinal: number, revision: ControllerRevision): JsonObject {
  const template = templateOfRevision(revision);
  const name = podName(set, ordinal);
  const { [ANNOTATION.inPlaceUpdate]: _, ...annotations } = template.metadata?.annotations ?? {};
  const finalizers = template.metadata?.['finalizers'];
  const volumes = volumesOf(set, ordinal, template.spec.volumes ?? []);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      generateName: `${set.ref.name}-`,
      namespace: set.ref.namespace,
      labels: {
        ...template.metadata?.labels,
        ...identityLabels(name, ordinal),
        [LABEL.revisionHash]: revision.metadata.name,
      },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(finalizers !== undefined && { finalizers }),
      ownerReferences: [controllerReference(set.ref)],
    },
    spec: {
      ...template.spec,
      ...(volumes.length > 0 && { volumes }),
      hostname: name,
      ...(set.serviceName !== '' && { subdomain: set.serviceName }),
    },
  };
}

/** The patch that gives a pod back its identity, or undefined if it has it. The index label alone is not checked (S1). */
export function fixIdentityAction(set: StatefulSet, pod: Pod, ordinal: number): Action | undefined {
  const { name, uid, labels } = pod.metadata;
  if (labels?.[LABEL.podName] === name) return undefined;
  return {
    verb: 'patch',
    resource: 'pods',
    name,
    uid,
    body: { metadata: { labels: identityLabels(name, ordinal) } },
    purpose: 'FixIdentity',
    message: `update Pod ${name} in StatefulSet ${set.ref.name}: its label ${LABEL.podName} is missing or wrong`,
  };
}

function identityLabels(name: string, ordinal: number): Record<string, string> {
  return { [LABEL.podName]: name, [LABEL.podIndex]: String(ordinal) };
}

/**
 * Names of the present volumeClaimTemplates whose claims a pod does not mount: it was made when the set had others, and was adopted by one
 * that was made anew (S3). They are not in the revision, and no running pod takes a volume over.
 */
export function missingClaims(set: StatefulSet, pod: Pod, ordinal: number): readonly string[] {
  if (set.volumeClaimTemplates.length === 0) return [];
  const mounted = new Set(claimsOf(pod));
  return set.volumeClaimTemplates
    .filter((template) => !mounted.has(claimName(set, template, ordinal)))
    .map((template) => trusted<{ readonly name: string }>(template['metadata']).name);
}

/** Claims take the place of template volumes of the same name (S3). */
function volumesOf(set: StatefulSet, ordinal: number, volumes: readonly Volume[]): readonly Volume[] {
  if (set.volumeClaimTemplates.length === 0) return volumes;
  const claims = set.volumeClaimTemplates.map((template): Volume => {
    const { name } = trusted<{ readonly name: string }>(template['metadata']);
    return { name, persistentVolumeClaim: { claimName: claimName(set, template, ordinal) } };
  });
  const taken = new Set(claims.map(({ name }) => name));
  return [...claims, ...volumes.filter(({ name }) => !taken.has(name))];
}
