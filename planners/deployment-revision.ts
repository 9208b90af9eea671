/** The history of a Deployment is its ReplicaSets: which one has the present template, and which number it gets (P1–P4). */

import { canonicalJson } from './canonical-json.ts';
import { claimOf, controllerReference } from './controller-ref.ts';
import { carriedAnnotations, sizeAnnotations } from './deployment-annotations.ts';
import { deploymentBudgetOf } from './deployment-budget.ts';
import { DEPLOYMENT_ANNOTATION, LABEL } from './names.ts';
import type { ControllerRevision, JsonObject, PodTemplate, ReplicaSet } from './objects.ts';
import { compareRevisions, nextRevisionNumber } from './revision.ts';
import type { RevisionPlan } from './revision.ts';
import { freeCollisionCount, possibleNames, revisionHash, revisionName } from './revision-plan.ts';
import { matchesSelector } from './selector.ts';
import { normaliseTemplate } from './template-defaults.ts';
import { changedFields, diffTemplates } from './template-diff.ts';
import { revisionData, templateOfRevision } from './template-revision.ts';
import type { Deployment } from './workload.ts';

/** Characters of the list of former numbers; the oldest are dropped (P4). */
const LONGEST_HISTORY = 2000;

const shown = new WeakMap<ReplicaSet, ControllerRevision>();
const plainOf = new WeakMap<PodTemplate, PodTemplate>();

/** A ReplicaSet as a revision: its template without the label that tells its pods from those of others (P1). */
export function revisionOfReplicaSet(replicaSet: ReplicaSet): ControllerRevision {
  let revision = shown.get(replicaSet);
  if (revision === undefined) {
    const { metadata, spec } = replicaSet;
    revision = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata,
      revision: numberOf(metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision]),
      data: revisionData(plainTemplate(spec.template)),
    };
    shown.set(replicaSet, revision);
  }
  return revision;
}

/** Exact beyond 2^53 (C10); 0 if there is none, or somebody wrote something else. */
function numberOf(text: string | undefined): number | bigint {
  if (text === undefined || !/^\d{1,19}$/.test(text)) return 0;
  const number = BigInt(text);
  return number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : number;
}

/** The template without its `pod-template-hash`; also a Deployment's own, whose manifest was taken from a ReplicaSet or a pod. */
function plainTemplate(template: PodTemplate): PodTemplate {
  let plain = plainOf.get(template);
  if (plain === undefined) {
    const { [LABEL.podTemplateHash]: _, ...labels } = template.metadata?.labels ?? {};
    plain = normaliseTemplate({ ...template, metadata: { ...template.metadata, labels } });
    plainOf.set(template, plain);
  }
  return plain;
}

/**
 * What has to be done so that the present template has a ReplicaSet with the highest number: nothing, renumber the one that it
 * had before (rollback, P4), or create one. Of several with the template the oldest is taken (P1); templates are compared by
 * meaning. Where none has it, one that was made of it and stored otherwise is its ReplicaSet: another one would be stored in the
 * same way, and so on without end. `taken` are names that belong to others (P3).
 */
export function planReplicaSetRevision(
  deployment: Deployment,
  revisions: readonly ControllerRevision[],
  taken: ReadonlySet<string> = new Set(),
): RevisionPlan {
  const sorted = revisions.filter((one) => isOfDeployment(deployment, one)).sort(compareRevisions);
  const wanted = canonicalJson(plainTemplate(deployment.template));
  const equal = sorted.filter((one) => canonicalJson(normaliseTemplate(templateOfRevision(one))) === wanted);
  const altered = equal.length > 0 ? [] : alteredOf(deployment, sorted);
  const [found] = [...equal, ...altered].sort(compareAge);
  if (found !== undefined) {
    const to = nextRevisionNumber(sorted.filter((one) => one !== found));
    const how = altered.length > 0 ? ({ altered: true } as const) : {};
    return found.revision >= to
      ? { outcome: 'exists', revision: found, ...how }
      : { outcome: 'renumber', revision: found, to, ...how };
  }
  const names = new Set([...taken, ...revisions.map(({ metadata }) => metadata.name)]);
  return { outcome: 'create', manifest: manifestOf(deployment, names, nextRevisionNumber(sorted)) };
}

/**
 * Those whose name says that they were made of the present template, although they hold another: a policy has changed it, or the
 * apiserver does not keep a field of it. A name that follows from what is held is one of another template, by a clash.
 */
function alteredOf(
  deployment: Deployment,
  revisions: readonly ControllerRevision[],
): readonly ControllerRevision[] {
  const names = possibleNames(deployment, revisionData(plainTemplate(deployment.template)));
  return revisions.filter(
    ({ metadata: { name }, data }) => names.has(name) && !possibleNames(deployment, data).has(name),
  );
}

/** Paths of the fields that a ReplicaSet holds otherwise than the template that it was made of. */
export function alteredFields({ template }: Deployment, revision: ControllerRevision): readonly string[] {
  return changedFields(diffTemplates(plainTemplate(template), templateOfRevision(revision)));
}

/** Its own, and orphans that match (C4); what no longer matches is released and has no part in the history. */
function isOfDeployment(deployment: Deployment, { metadata }: ControllerRevision): boolean {
  const claim = claimOf(deployment, { metadata }, matchesSelector(deployment.selector, metadata.labels));
  return claim === 'owned' || claim === 'adopt';
}

function compareAge({ metadata: a }: ControllerRevision, { metadata: b }: ControllerRevision): number {
  const [aTime, bTime] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  if (aTime !== bTime) return aTime < bTime ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/**
 * P2. It begins without pods: the steps of the rollout give it its size, so that making the revision can never take or make a
 * pod too many.
 */
function manifestOf(
  deployment: Deployment,
  taken: ReadonlySet<string>,
  revision: number | bigint,
): JsonObject {
  const { ref, selector, minReadySeconds, replicas } = deployment;
  const template = plainTemplate(deployment.template);
  const data = revisionData(template);
  const count = freeCollisionCount(deployment, data, taken);
  const hash = { [LABEL.podTemplateHash]: revisionHash(data, count) };
  const labels = { ...template.metadata?.labels, ...hash };
  const { maxSurge } = deploymentBudgetOf(deployment);
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: revisionName(ref.name, data, count),
      namespace: ref.namespace,
      labels,
      annotations: {
        ...carriedAnnotations(deployment),
        ...sizeAnnotations(replicas, maxSurge),
        [DEPLOYMENT_ANNOTATION.revision]: String(revision),
      },
      ownerReferences: [controllerReference(ref)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds > 0 && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, ...hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** P4: the body of a patch that gives a ReplicaSet another number and remembers the one that it had. */
export function renumberReplicaSet(
  { metadata, revision }: ControllerRevision,
  to: number | bigint,
): JsonObject {
  const before = metadata.annotations?.[DEPLOYMENT_ANNOTATION.revisionHistory];
  const had = metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision] === undefined ? [] : [String(revision)];
  const numbers = [...(before === undefined || before === '' ? [] : before.split(',')), ...had];
  while (numbers.join(',').length > LONGEST_HISTORY) numbers.shift();
  return {
    metadata: {
      annotations: {
        [DEPLOYMENT_ANNOTATION.revision]: String(to),
        ...(numbers.length > 0 && { [DEPLOYMENT_ANNOTATION.revisionHistory]: numbers.join(',') }),
      },
    },
  };
}
