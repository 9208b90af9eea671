/** Where the kinds keep the history of their templates: ControllerRevisions, or the ReplicaSets that keep the pods as well. */

import { annotationsOfReplicaSet } from '../planners/deployment-annotations.ts';
import { renumberReplicaSet, revisionOfReplicaSet } from '../planners/deployment-revision.ts';
import type { ControllerRevision, JsonObject, KubernetesObject } from '../planners/objects.ts';
import type { ResourcePath } from './client.ts';
import { trusted } from './values.ts';

/** How one kind of object serves as revision. */
export interface RevisionStore {
  /** Plural, of the group apps. */
  readonly resource: 'controllerrevisions' | 'replicasets';
  readonly kind: 'ControllerRevision' | 'ReplicaSet';
  /** An object of that resource as a revision. */
  readonly read: (object: KubernetesObject) => ControllerRevision;
  /** The body of a merge patch that gives a revision another number (S6, P4). */
  readonly renumber: (revision: ControllerRevision, to: number | bigint) => JsonObject;
  /** Annotations that a workload gets back with the revision's template (P6). */
  readonly annotationsBack: (revision: ControllerRevision) => Readonly<Record<string, string>>;
  /**
   * A name that a workload of the same name had, which is gone, is passed over (P3), rather than waited for until the garbage
   * collector frees it. One that another workload has is always passed over (S6).
   */
  readonly passesOverNames: boolean;
}

export const CONTROLLER_REVISIONS: RevisionStore = {
  resource: 'controllerrevisions',
  kind: 'ControllerRevision',
  read: trusted<RevisionStore['read']>((object: KubernetesObject) => object),
  renumber: (_, to) => ({ revision: to }),
  annotationsBack: () => ({}),
  passesOverNames: false,
};

export const REPLICA_SETS: RevisionStore = {
  resource: 'replicasets',
  kind: 'ReplicaSet',
  read: (object) => revisionOfReplicaSet(trusted(object)),
  renumber: renumberReplicaSet,
  annotationsBack: ({ metadata }) => annotationsOfReplicaSet(metadata),
  passesOverNames: true,
};

/** Where the revisions of a namespace are served, or one of them. */
export function revisionPath(
  { resource }: Pick<RevisionStore, 'resource'>,
  namespace: string | undefined,
  name?: string,
): ResourcePath {
  return { group: 'apps', version: 'v1', resource, namespace, ...(name !== undefined && { name }) };
}
