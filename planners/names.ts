/** Every label, annotation and condition name that Fairlead reads or writes. */

export const GROUP = 'fairlead.dev';
export const VERSION = 'v1beta1';

/** Annotations on workloads and their revisions. Never copied to children. */
export const ANNOTATION = {
  /** Operators' wishes, JSON {@link Wish}; in apps/v1 also plain `"true"`. */
  paused: 'fairlead.dev/paused',
  /** JSON {@link Pin}. */
  pinned: 'fairlead.dev/pinned',
  /** JSON {@link Wish}: start a failed or terminated run again. */
  retried: 'fairlead.dev/retried',
  /** JSON: which verb made the present template, who and why; of a template from git it says nothing. */
  changed: 'fairlead.dev/changed',
  /** On pods: state of an in-place update, JSON. */
  inPlaceUpdate: 'fairlead.dev/in-place-update',
  /** On revisions (ControllerRevisions, ReplicaSets): the last 10 attempts, JSON. */
  attempts: 'fairlead.dev/attempts',
  /** On revisions: since when the workload wants this one, RFC 3339. */
  wantedSince: 'fairlead.dev/wanted-since',
  /** On objects applied from git: the commit that last changed the manifest, its repository, its hash. */
  commit: 'fairlead.dev/commit',
  repository: 'fairlead.dev/repository',
  manifestHash: 'fairlead.dev/manifest-hash',
  /** On manifests: which of its stage's waves the object belongs to. */
  wave: 'fairlead.dev/wave',
  /** On nodes that are drained for a rollout, JSON: for whom, since when, and whether it was us who cordoned it. */
  drain: 'fairlead.dev/drain',
  /** On the Lease: which workloads its holder keeps. Without the second: those of all namespaces. */
  keptApi: 'fairlead.dev/workload-api',
  keptNamespaces: 'fairlead.dev/namespaces',
  /** On ReplicationControllers whose pods are told apart by a label of another key than {@link ROLLING_UPDATE.deployment}. */
  deploymentLabelKey: 'fairlead.dev/deployment-label-key',
  /** On ReplicationControllers that take their pods back from an update, JSON {@link Turned}: who turned it round, and why. */
  turned: 'fairlead.dev/turned-round',
  /** On ReplicationControllers that a rename has just made: the record that says who owns which of their fields; gone once they do. */
  fieldOwners: 'fairlead.dev/field-owners',
  /** On next ReplicationControllers, a JSON list: images of a template that somebody changed in the middle, and that was put back. */
  editedImages: 'fairlead.dev/edited-images',
  /** On ReplicationControllers whose pods are refused: when the controller of the cluster was last made to try again, RFC 3339. */
  podsAskedAt: 'fairlead.dev/pods-asked-at',
  /** On records of rolling updates of ReplicationControllers, JSON: how far it is, and within which budget. */
  rollingUpdateState: 'fairlead.dev/rolling-update-state',
  /** Our fields where apps/v1 lacks them. */
  partition: 'fairlead.dev/partition',
  maxUnavailable: 'fairlead.dev/max-unavailable',
  /** Of ReplicationControllers: pods above the desired number during a rolling update. */
  maxSurge: 'fairlead.dev/max-surge',
  podUpdatePolicy: 'fairlead.dev/pod-update-policy',
  gracePeriodSeconds: 'fairlead.dev/grace-period-seconds',
  progressDeadlineSeconds: 'fairlead.dev/progress-deadline-seconds',
  onDeadline: 'fairlead.dev/on-deadline',
  nodeSelector: 'fairlead.dev/node-selector',
  topologyKey: 'fairlead.dev/topology-key',
  notReadyNodes: 'fairlead.dev/not-ready-nodes',
  drainTimeoutSeconds: 'fairlead.dev/drain-timeout-seconds',
  prePullNodes: 'fairlead.dev/pre-pull-nodes',
  prePullTimeoutSeconds: 'fairlead.dev/pre-pull-timeout-seconds',
  podReplacementPolicy: 'fairlead.dev/pod-replacement-policy',
  /** On revisions: a rollout of it was finished, which the record of attempts may come too late to tell. */
  complete: 'fairlead.dev/complete',
  /** On ReplicaSets: our annotations of their Deployment, JSON; `kubectl rollout undo` drops these from it. */
  ofWorkload: 'fairlead.dev/of-workload',
} as const;

/** On members of an inventory (KEP-3659): whose. */
export const APPLYSET_LABEL = 'applyset.kubernetes.io/part-of';

/** What an object from git is annotated with, besides its label {@link APPLYSET_LABEL}. */
export const GIT_ANNOTATIONS: readonly string[] = [
  ANNOTATION.repository,
  ANNOTATION.manifestHash,
  ANNOTATION.commit,
];

/** Whether a label or annotation says from which commit an object is. */
export function isGitMark(name: string): boolean {
  return name === APPLYSET_LABEL || GIT_ANNOTATIONS.includes(name);
}

/** What `kubectl apply` writes on an object: the file, by which it finds what has left it since. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Annotation of the inventory of a repository, JSON {@link Wish}: no further commit of it is begun. On a workload it means nothing. */
export const SUSPENDED = 'fairlead.dev/suspended';

/** Annotations of Deployments and their ReplicaSets, as upstream names them (P4, P5). */
export const DEPLOYMENT_ANNOTATION = {
  revision: 'deployment.kubernetes.io/revision',
  /** Numbers that a ReplicaSet had before it was gone back to, with commas. */
  revisionHistory: 'deployment.kubernetes.io/revision-history',
  desiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  maxReplicas: 'deployment.kubernetes.io/max-replicas',
  /** On a Deployment: a revision to go back to, 0 = the one before (P6). */
  rollbackTo: 'deprecated.deployment.rollback.to',
} as const;

/** On a DaemonSet of apps/v1: which template it has, counted by the apiserver (D4). */
export const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

/** By kind, the annotation in which the cluster itself counts templates: every export has it, and a manifest says nothing by it. */
export const COUNTED_ANNOTATIONS: ReadonlyMap<unknown, string> = new Map([
  ['Deployment', DEPLOYMENT_ANNOTATION.revision],
  ['DaemonSet', TEMPLATE_GENERATION],
]);

/** Readiness gate that is False while a pod is updated in place. */
export const IN_PLACE_GATE = 'InPlaceUpdateReady';

/** Who paused a workload, or rolled it back, when nobody but its deadline did. */
export const DEADLINE_WISHER = 'progressDeadlineSeconds';

/** What a rolling update writes on ReplicationControllers (seed 001). */
export const ROLLING_UPDATE = {
  /** Annotation: how many replicas the controller is to have in the end; of the one that goes, 0. */
  desiredReplicas: 'kubernetes.io/desired-replicas',
  /** Annotation: name of the controller that is the other half of the update. */
  partner: 'kubernetes.io/update-partner',
  /** Label of controllers, in their selectors and on their pods, unless another key was asked for. */
  deployment: 'kubernetes.io/deployment',
} as const;

/** What kubectl wrote instead, up to 1.17 (K1): understood when found; only the size is written too, which the seed has no mark for. */
export const SHIPPED_ROLLING_UPDATE = {
  desiredReplicas: 'kubectl.kubernetes.io/desired-replicas',
  /** On the next controller: `<name>:<uid>` of the old one. */
  sourceId: 'kubectl.kubernetes.io/update-source-id',
  /** On the old controller: its size before the update; we write how many are wanted, for when everything else that says it is gone. */
  originalReplicas: 'kubectl.kubernetes.io/original-replicas',
  /** On the old controller: name of the next one. */
  nextController: 'kubectl.kubernetes.io/next-controller-id',
  deployment: 'deployment',
} as const;

/**
 * Finalizer of the next controller while its pods are handed over in a rename: it stays until the controller manager is seen to
 * count none of them any more, so that the one that comes after it makes none beside them.
 */
export const RENAME_FINALIZER = 'fairlead.dev/rename';

/** Of everything that Fairlead writes without another one, above all of server-side apply by sync. */
export const FIELD_MANAGER = 'fairlead';

/** Who owns the fields that a rolling update writes; a commit may take them over. */
export const UPDATE_FIELD_MANAGER = 'fairlead-rolling-update';

export const LABEL = {
  /** StatefulSet: the revision's name (S1). */
  revisionHash: 'controller-revision-hash',
  podName: 'statefulset.kubernetes.io/pod-name',
  podIndex: 'apps.kubernetes.io/pod-index',
  /** DaemonSet in apps/v1 (D4). */
  templateGeneration: 'pod-template-generation',
  /** On pods that only pull images: the hash of the revision that they pull for. */
  prePull: 'fairlead.dev/pre-pull',
  /** On ControllerRevisions that record the rolling update of a ReplicationController. */
  rollingUpdate: 'fairlead.dev/rolling-update',
  /** On ReplicationControllers and their pods, in the place of the seed's key where that is somebody’s (K1). */
  deployment: 'fairlead.dev/deployment',
  /** Deployment: on ReplicaSets, in their selectors and on their pods (P2). */
  podTemplateHash: 'pod-template-hash',
  /** On StatefulSet ControllerRevisions (S7). */
  controllerHash: 'controller.kubernetes.io/hash',
  /** On workloads, `"true"`: Temporal needs it, so that its rollouts are not runs on Temporal. */
  bootstrap: 'fairlead.dev/bootstrap',
} as const;
