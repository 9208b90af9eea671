/**
 * What the budget checker looks at, as it comes from outside of the product: the apiserver's audit log and its watches. Only
 * the fields that decide are named. Nothing here comes from the planners: the judge must not share their mistakes.
 */

export interface SeenObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[];
  };
}

export interface SeenContainer {
  readonly name: string;
  readonly image?: string;
  readonly resources?: unknown;
}

export interface SeenContainerStatus {
  readonly name: string;
  readonly containerID?: string;
  readonly state?: { readonly running?: unknown };
}

export interface SeenCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | null;
}

interface SeenNodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms?: readonly {
      readonly matchFields?: readonly { readonly key: string; readonly values?: readonly string[] }[];
    }[];
  };
}

export interface SeenNode extends SeenObject {
  readonly spec?: {
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
  readonly status?: { readonly conditions?: readonly SeenCondition[] };
}

export interface SeenToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface SeenPod extends SeenObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly affinity?: { readonly nodeAffinity?: SeenNodeAffinity };
    readonly containers: readonly SeenContainer[];
    readonly initContainers?: readonly SeenContainer[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly SeenCondition[];
    readonly containerStatuses?: readonly SeenContainerStatus[];
    readonly initContainerStatuses?: readonly SeenContainerStatus[];
  };
}

export type SeenKind = 'StatefulSet' | 'DaemonSet';

/** Those whose pods stand in for each other, and what makes pods for a Deployment. */
export type SeenReplicaKind = 'Deployment' | 'ReplicaSet' | 'ReplicationController';

/** A workload of either API. */
export interface SeenWorkload extends SeenObject {
  readonly spec: {
    readonly replicas?: number;
    readonly ordinals?: { readonly start?: number };
    readonly minReadySeconds?: number;
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: {
      readonly rollingUpdate?: {
        readonly maxUnavailable?: number | string;
        readonly maxSurge?: number | string;
      };
    };
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxUnavailable?: number | string;
        readonly maxSurge?: number | string;
      };
    };
    readonly template: {
      readonly spec?: {
        readonly containers?: readonly SeenContainer[];
        readonly nodeSelector?: Readonly<Record<string, string>>;
        readonly tolerations?: readonly SeenToleration[];
        readonly affinity?: unknown;
        readonly nodeName?: string;
      };
      readonly [field: string]: unknown;
    };
  };
}

interface Watched {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** When the watch brought it, milliseconds since the epoch. */
  readonly at: number;
}

export type Observation =
  | (Watched & { readonly kind: 'pod'; readonly object: SeenPod })
  | (Watched & { readonly kind: 'node'; readonly object: SeenNode })
  | (Watched & { readonly kind: SeenKind; readonly object: SeenWorkload })
  | (Watched & { readonly kind: SeenReplicaKind; readonly object: SeenWorkload });

/** A delete or patch of a pod by a worker that the apiserver answered with 2xx, from the audit log. */
export interface PodWrite {
  readonly auditID: string;
  readonly verb: 'delete' | 'patch';
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Of the answer: the version that this write made, or found if it changed nothing. */
  readonly resourceVersion: string;
  /** When the apiserver received it, milliseconds since the epoch. */
  readonly at: number;
}

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly responseObject?: Partial<SeenObject>;
}

/**
 * A line of the audit log → the write that it tells of, or undefined if it is another user's, another resource's, a read, a dry
 * run or a refusal.
 * @throws Error for a delete or patch of a pod whose answer was not logged: the judge would be blind
 */
export function readAuditLine(line: string, isWorker: (user: string) => boolean): PodWrite | undefined {
  // Most lines are of no interest, and parsing is what costs.
  if (!line.includes('"pods"')) {
    return undefined;
  }
  const event = JSON.parse(line) as AuditEvent;
  const { objectRef, verb } = event;
  const code = event.responseStatus?.code ?? 0;
  if (
    event.stage !== 'ResponseComplete' ||
    objectRef?.resource !== 'pods' ||
    (objectRef.apiGroup ?? '') !== '' ||
    (verb !== 'delete' && verb !== 'patch' && verb !== 'update') ||
    code < 200 ||
    code > 299 ||
    !isWorker(event.user.username) ||
    event.requestURI.includes('dryRun=All')
  ) {
    return undefined;
  }
  const metadata = event.responseObject?.metadata;
  if (metadata?.uid === undefined || objectRef.namespace === undefined || objectRef.name === undefined) {
    throw new Error(
      `the audit log does not hold the answer of ${verb} ${event.requestURI}; see local/audit-policy.ts`,
    );
  }
  return {
    auditID: event.auditID,
    verb: verb === 'delete' ? 'delete' : 'patch',
    subresource: objectRef.subresource ?? '',
    namespace: objectRef.namespace,
    name: objectRef.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    at: Date.parse(event.requestReceivedTimestamp),
  };
}
