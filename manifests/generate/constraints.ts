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
const USER_ID = { minimum: 0, maximum: 2_147_483_647 } as const;
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
    nodeSelector: { additionalProperties: { type: 'string', ...LABEL_VALUE } },
  },
  PodReadinessGate: { conditionType: NOT_EMPTY },
  Container: CONTAINER,
  EphemeralContainer: CONTAINER,
  ContainerPort: {
    containerPort: PORT,
    /** 0 means none. */
    hostPort: { minimum: 0, maximum: 65_535 },
    name: { maxLength: 15, pattern: '^([a-z0-9]+(-[a-z0-9]+)*)?$' },
  },
  EnvVar: { name: { minLength: 1, pattern: '^[^=]+$' } },
  VolumeMount: { name: NOT_EMPTY, mountPath: NOT_EMPTY },
  VolumeDevice: { name: NOT_EMPTY, devicePath: NOT_EMPTY },
  Volume: { name: DNS_LABEL },
  Probe: PROBE,
  HTTPHeader: { name: NOT_EMPTY },
  GRPCAction: { port: PORT },
  TopologySpreadConstraint: { maxSkew: POSITIVE, minDomains: POSITIVE, topologyKey: NOT_EMPTY },
  PreferredSchedulingTerm: { weight: { minimum: 1, maximum: 100 } },
  WeightedPodAffinityTerm: { weight: { minimum: 1, maximum: 100 } },
  NodeSelector: { nodeSelectorTerms: { minItems: 1 } },
  PodAffinityTerm: { topologyKey: NOT_EMPTY },
  HostAlias: { ip: NOT_EMPTY },
  ConfigMapKeySelector: { key: NOT_EMPTY },
  SecretKeySelector: { key: NOT_EMPTY },
  KeyToPath: { key: NOT_EMPTY, path: NOT_EMPTY },
  HostPathVolumeSource: { path: NOT_EMPTY },
  PersistentVolumeClaimVolumeSource: { claimName: NOT_EMPTY },
  ConfigMapVolumeSource: { defaultMode: FILE_MODE },
  SecretVolumeSource: { defaultMode: FILE_MODE },
  ProjectedVolumeSource: { defaultMode: FILE_MODE },
  DownwardAPIVolumeSource: { defaultMode: FILE_MODE },
  PodSecurityContext: { runAsUser: USER_ID, runAsGroup: USER_ID, fsGroup: USER_ID },
  SecurityContext: { runAsUser: USER_ID, runAsGroup: USER_ID },
  PersistentVolumeClaimSpec: {
    accessModes: { minItems: 1 },
  },
};

/** Keywords that are added to `field` of the OpenAPI definition `definition` (full name). */
export function constraintsOf(definition: string, field: string): Keywords {
  const name = definition.slice(definition.lastIndexOf('.') + 1);
  return CONSTRAINTS[name]?.[field] ?? {};
}
