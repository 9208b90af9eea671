/**
 * What upstream checks in Go and a schema can say. By definition (without its package) and field; field `''` binds the
 * object itself. Everything that needs two fields is a rule (rules.ts).
 */

const LABEL_VALUE = { maxLength: 63, pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$' } as const;
const DNS_LABEL = { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' } as const;
/** Empty means unset. */
const DNS_SUBDOMAIN = {
  maxLength: 253,
  pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$',
} as const;
const OBJECT_NAME = { minLength: 1, ...DNS_SUBDOMAIN } as const;
const USER_ID = { minimum: 0, maximum: 2_147_483_647 } as const;
/** A label key: an optional DNS name and '/', then a name. Empty means unset. */
const LABEL_KEY = {
  maxLength: 317,
  pattern: `^(([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`,
} as const;
const IP_ADDRESS = {
  pattern: '^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*)$',
} as const;
/** Numbers are bounded, names have a pattern; each keyword binds only its own type. */
const PORT_OR_NAME = {
  minimum: 1,
  maximum: 65_535,
  maxLength: 15,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
} as const;
const NO_BACKSTEPS = { not: { pattern: '(^|/)[.][.](/|$)' } } as const;
const DESCENDING_PATH = { minLength: 1, not: { pattern: '^/|(^|/)[.][.](/|$)' } } as const;
const FIELD_PATH = {
  pattern:
    '^(metadata[.](name|namespace|uid|labels|annotations|(labels|annotations)\\[.+\\])|spec[.](nodeName|serviceAccountName)|status[.](hostIPs?|podIPs?))$',
} as const;
const RESOURCE = { pattern: '^(limits|requests)[.](cpu|memory|ephemeral-storage|hugepages-.+)$' } as const;
const FILE_MODE = { minimum: 0, maximum: 0o777 } as const;
const NOT_NEGATIVE = { minimum: 0 } as const;
const POSITIVE = { minimum: 1 } as const;
const PORT = { minimum: 1, maximum: 65_535 } as const;
const NOT_EMPTY = { minLength: 1 } as const;

type Keywords = Readonly<Record<string, unknown>>;

const CONTAINER: Readonly<Record<string, Keywords>> = {
  name: DNS_LABEL,
  /** Go: required, and no white space around it (ValidateContainers). */
  image: { minLength: 1, pattern: '^\\S(.*\\S)?$' },
  restartPolicy: { enum: ['Always', 'Never', 'OnFailure'] },
};

const PROBE: Readonly<Record<string, Keywords>> = {
  initialDelaySeconds: NOT_NEGATIVE,
  timeoutSeconds: NOT_NEGATIVE,
  periodSeconds: NOT_NEGATIVE,
  successThreshold: NOT_NEGATIVE,
  failureThreshold: NOT_NEGATIVE,
  terminationGracePeriodSeconds: POSITIVE,
};

const CONSTRAINTS: Readonly<Record<string, Readonly<Record<string, Keywords>>>> = {
  StatefulSetSpec: {
    replicas: NOT_NEGATIVE,
    minReadySeconds: NOT_NEGATIVE,
    serviceName: { maxLength: 63, pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$' },
  },
  StatefulSetOrdinals: { start: NOT_NEGATIVE },
  RollingUpdateStatefulSetStrategy: { partition: NOT_NEGATIVE },
  StatefulSetPersistentVolumeClaimRetentionPolicy: {
    whenDeleted: { enum: ['Retain', 'Delete'] },
    whenScaled: { enum: ['Retain', 'Delete'] },
  },
  StatefulSetStatus: {
    replicas: NOT_NEGATIVE,
    readyReplicas: NOT_NEGATIVE,
    currentReplicas: NOT_NEGATIVE,
    updatedReplicas: NOT_NEGATIVE,
    availableReplicas: NOT_NEGATIVE,
    observedGeneration: NOT_NEGATIVE,
    collisionCount: NOT_NEGATIVE,
  },
  DaemonSetSpec: { minReadySeconds: NOT_NEGATIVE, revisionHistoryLimit: NOT_NEGATIVE },
  DaemonSetStatus: {
    currentNumberScheduled: NOT_NEGATIVE,
    desiredNumberScheduled: NOT_NEGATIVE,
    numberMisscheduled: NOT_NEGATIVE,
    numberReady: NOT_NEGATIVE,
    updatedNumberScheduled: NOT_NEGATIVE,
    numberAvailable: NOT_NEGATIVE,
    numberUnavailable: NOT_NEGATIVE,
    observedGeneration: NOT_NEGATIVE,
    collisionCount: NOT_NEGATIVE,
  },
  DeploymentSpec: {
    replicas: NOT_NEGATIVE,
    minReadySeconds: NOT_NEGATIVE,
    revisionHistoryLimit: NOT_NEGATIVE,
    progressDeadlineSeconds: NOT_NEGATIVE,
  },
  DeploymentStrategy: { type: { enum: ['RollingUpdate', 'Recreate'] } },
  DeploymentStatus: {
    replicas: NOT_NEGATIVE,
    updatedReplicas: NOT_NEGATIVE,
    readyReplicas: NOT_NEGATIVE,
    availableReplicas: NOT_NEGATIVE,
    unavailableReplicas: NOT_NEGATIVE,
    terminatingReplicas: NOT_NEGATIVE,
    observedGeneration: NOT_NEGATIVE,
    collisionCount: NOT_NEGATIVE,
  },
  LabelSelectorRequirement: {
    key: NOT_EMPTY,
    operator: { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
  },
  ObjectMeta: { labels: { additionalProperties: { type: 'string', ...LABEL_VALUE } } },
  LabelSelector: { matchLabels: { additionalProperties: { type: 'string', ...LABEL_VALUE } } },
  PodSpec: {
    /** Workloads restart their pods' containers for ever. */
    restartPolicy: { enum: ['Always'] },
    containers: { minItems: 1 },
    terminationGracePeriodSeconds: NOT_NEGATIVE,
    serviceAccountName: DNS_SUBDOMAIN,
    priorityClassName: DNS_SUBDOMAIN,
    nodeName: DNS_SUBDOMAIN,
    runtimeClassName: { minLength: 1, ...DNS_SUBDOMAIN },
    nodeSelector: { additionalProperties: { type: 'string', ...LABEL_VALUE } },
  },
  PodReadinessGate: { conditionType: NOT_EMPTY },
  PodSchedulingGate: { name: NOT_EMPTY },
  PodOS: { name: { enum: ['linux', 'windows'] } },
  Container: CONTAINER,
  EphemeralContainer: CONTAINER,
  ContainerResizePolicy: {
    resourceName: { enum: ['cpu', 'memory'] },
    restartPolicy: { enum: ['NotRequired', 'RestartContainer'] },
  },
  ContainerPort: {
    containerPort: PORT,
    /** 0 means none. */
    hostPort: { minimum: 0, maximum: 65_535 },
    name: { maxLength: 15, pattern: '^([a-z0-9]+(-[a-z0-9]+)*)?$' },
  },
  EnvVar: { name: { minLength: 1, pattern: '^[^=]+$' } },
  ConfigMapKeySelector: { ...required('name', 'key'), key: NOT_EMPTY, name: OBJECT_NAME },
  SecretKeySelector: { ...required('name', 'key'), key: NOT_EMPTY, name: OBJECT_NAME },
  ConfigMapEnvSource: { ...required('name'), name: OBJECT_NAME },
  SecretEnvSource: { ...required('name'), name: OBJECT_NAME },
  ObjectFieldSelector: { fieldPath: FIELD_PATH, apiVersion: { enum: ['v1', ''] } },
  ResourceFieldSelector: { resource: RESOURCE },
  VolumeMount: { name: NOT_EMPTY, mountPath: NOT_EMPTY },
  VolumeDevice: { name: NOT_EMPTY, devicePath: { minLength: 1, ...NO_BACKSTEPS } },
  Volume: { name: DNS_LABEL },
  Probe: PROBE,
  LifecycleHandler: { '': { minProperties: 1, maxProperties: 1 } },
  ExecAction: { ...required('command'), command: { minItems: 1 } },
  HTTPGetAction: { port: PORT_OR_NAME },
  TCPSocketAction: { port: PORT_OR_NAME },
  GRPCAction: { port: PORT },
  SleepAction: { seconds: NOT_NEGATIVE },
  HTTPHeader: { name: { pattern: '^[-A-Za-z0-9]+$' } },
  Toleration: { key: LABEL_KEY },
  TopologySpreadConstraint: { maxSkew: POSITIVE, minDomains: POSITIVE, topologyKey: NOT_EMPTY },
  PreferredSchedulingTerm: { weight: { minimum: 1, maximum: 100 } },
  WeightedPodAffinityTerm: { weight: { minimum: 1, maximum: 100 } },
  NodeSelector: { nodeSelectorTerms: { minItems: 1 } },
  PodAffinityTerm: {
    topologyKey: { minLength: 1, ...LABEL_KEY },
    namespaces: { items: { type: 'string', ...DNS_LABEL } },
  },
  HostAlias: { ip: IP_ADDRESS, hostnames: { items: { type: 'string', minLength: 1, ...DNS_SUBDOMAIN } } },
  PodDNSConfig: { nameservers: { items: { type: 'string', ...IP_ADDRESS } } },
  PodDNSConfigOption: { ...required('name'), name: NOT_EMPTY },
  PodResourceClaim: {
    name: DNS_LABEL,
    '': { oneOf: [{ required: ['resourceClaimName'] }, { required: ['resourceClaimTemplateName'] }] },
  },
  KeyToPath: { key: NOT_EMPTY, path: DESCENDING_PATH, mode: FILE_MODE },
  DownwardAPIVolumeFile: {
    path: DESCENDING_PATH,
    mode: FILE_MODE,
    '': { oneOf: [{ required: ['fieldRef'] }, { required: ['resourceFieldRef'] }] },
  },
  HostPathVolumeSource: { path: { minLength: 1, ...NO_BACKSTEPS } },
  NFSVolumeSource: { server: NOT_EMPTY, path: { pattern: '^/' } },
  CSIVolumeSource: { driver: OBJECT_NAME },
  EphemeralVolumeSource: required('volumeClaimTemplate'),
  PersistentVolumeClaimVolumeSource: { claimName: NOT_EMPTY },
  ConfigMapVolumeSource: { ...required('name'), name: NOT_EMPTY, defaultMode: FILE_MODE },
  SecretVolumeSource: { ...required('secretName'), secretName: NOT_EMPTY, defaultMode: FILE_MODE },
  ConfigMapProjection: { ...required('name'), name: NOT_EMPTY },
  SecretProjection: { ...required('name'), name: NOT_EMPTY },
  ProjectedVolumeSource: { defaultMode: FILE_MODE },
  ServiceAccountTokenProjection: {
    path: DESCENDING_PATH,
    expirationSeconds: { minimum: 600, maximum: 4_294_967_296 },
  },
  DownwardAPIVolumeSource: { defaultMode: FILE_MODE },
  PodSecurityContext: {
    runAsUser: USER_ID,
    runAsGroup: USER_ID,
    fsGroup: USER_ID,
    supplementalGroups: { items: { type: 'integer', format: 'int64', ...USER_ID } },
  },
  SecurityContext: { runAsUser: USER_ID, runAsGroup: USER_ID },
  Sysctl: { name: NOT_EMPTY },
  PersistentVolumeClaimSpec: {
    ...required('accessModes', 'resources'),
    accessModes: {
      minItems: 1,
      items: { type: 'string', enum: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'] },
    },
  },
};

/** Fields that upstream insists on although its schema does not say so. */
function required(...fields: readonly string[]): Readonly<Record<string, Keywords>> {
  return { '': { required: fields } };
}

/** Keywords that are added to `field` of the OpenAPI definition `definition` (full name). */
export function constraintsOf(definition: string, field: string): Keywords {
  const name = definition.slice(definition.lastIndexOf('.') + 1);
  return CONSTRAINTS[name]?.[field] ?? {};
}
