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
  /** On nodes that are drained for a rollout, JSON: for whom, since when, and whether it was us who cordoned it. */
  drain: 'fairlead.dev/drain',
  /** On the Lease: which workloads its holder keeps. Without the second: those of all namespaces. */
  keptApi: 'fairlead.dev/workload-api',
  keptNamespaces: 'fairlead.dev/namespaces',
  /** Our fields where apps/v1 lacks them. */
  partition: 'fairlead.dev/partition',
  maxUnavailable: 'fairlead.dev/max-unavailable',
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
  /** On ReplicaSets: a rollout of it was finished, which the record of attempts may come too late to tell. */
  complete: 'fairlead.dev/complete',
  /** On ReplicaSets: our annotations of their Deployment, JSON; `kubectl rollout undo` drops these from it. */
  ofWorkload: 'fairlead.dev/of-workload',
} as const;

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

/** Readiness gate that is False while a pod is updated in place. */
export const IN_PLACE_GATE = 'InPlaceUpdateReady';

export const LABEL = {
  /** StatefulSet: the revision's name (S1). */
  revisionHash: 'controller-revision-hash',
  podName: 'statefulset.kubernetes.io/pod-name',
  podIndex: 'apps.kubernetes.io/pod-index',
  /** DaemonSet in apps/v1 (D4). */
  templateGeneration: 'pod-template-generation',
  /** On pods that only pull images: the hash of the revision that they pull for. */
  prePull: 'fairlead.dev/pre-pull',
  /** Deployment: on ReplicaSets, in their selectors and on their pods (P2). */
  podTemplateHash: 'pod-template-hash',
  /** On StatefulSet ControllerRevisions (S7). */
  controllerHash: 'controller.kubernetes.io/hash',
} as const;
