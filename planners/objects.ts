/**
 * The Kubernetes objects as they come over the wire: plain JSON, timestamps as RFC 3339 strings. Only the fields that
 * Fairlead reads are named; whatever else an object holds is kept untouched.
 */

/** A JSON object whose fields are not known here. */
export type JsonObject = { readonly [key: string]: unknown };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  /** Of cached objects only what tells who wrote a template. */
  readonly managedFields?: readonly object[];
}

export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  /** Conditions of Deployments alone have it. */
  readonly lastUpdateTime?: string;
  readonly observedGeneration?: number;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly resources?: JsonObject;
  readonly restartPolicy?: string;
  readonly [field: string]: unknown;
}

export interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly volumes?: readonly Volume[];
  readonly nodeName?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly [field: string]: unknown;
}

export interface TemplateMeta {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface PodTemplate {
  readonly metadata?: TemplateMeta;
  readonly spec: PodSpec;
}

export interface ContainerStatus {
  readonly name: string;
  readonly image?: string;
  readonly imageID?: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly ready: boolean;
  readonly state?: {
    readonly running?: { readonly startedAt?: string };
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number };
  };
  readonly resources?: JsonObject;
}

export interface PodStatus {
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly observedGeneration?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly podIP?: string;
  readonly conditions?: readonly Condition[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
}

export interface Node extends KubernetesObject {
  readonly spec?: {
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
    readonly unschedulable?: boolean;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface PersistentVolumeClaim extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: JsonObject;
}

/** What keeps so many pods of one template. Native in both workload APIs. */
export interface ReplicaSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    /** Pods that are neither finished nor being deleted (R3), as of the last look of its controller. */
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly terminatingReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
}

/**
 * One template in the history of a workload. A kind whose history is in other objects (ReplicaSets) shows them in this shape.
 * `revision` is an int64: a bigint where it exceeds 2^53 (C10).
 */
export interface ControllerRevision extends KubernetesObject {
  readonly revision: number | bigint;
  readonly data: JsonObject;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}
