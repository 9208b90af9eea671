/** What the throw-away repository of the demo holds: files as a user would write them. */

export interface WebDescription {
  readonly image: string;
  readonly greeting: string;
  /** From the start of a container to its readiness, on simulated nodes: `1s`. */
  readonly readyDelay: string;
}

/** Where the demo keeps the image; the first container of the StatefulSet. */
export const WORKLOAD_FILE = 'statefulset.yaml';
export const REPLICAS = 6;
export const MAX_UNAVAILABLE = 2;

/** `registry.example/web:v2` → `web:v2` and back; nothing is ever pulled. */
export function imageOf(tag: string): string {
  return `registry.example/web:${tag}`;
}

/** Content by file name. */
export function webManifests({
  image,
  greeting,
  readyDelay,
}: WebDescription): Readonly<Record<string, string>> {
  return {
    'configmap.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  greeting: ${greeting}
`,
    'service.yaml': `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  clusterIP: None
  selector:
    app: web
  ports:
    - name: http
      port: 80
`,
    [WORKLOAD_FILE]: `apiVersion: fairlead.dev/v1beta1
kind: StatefulSet
metadata:
  name: web
spec:
  replicas: ${String(REPLICAS)}
  serviceName: web
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      app: web
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: ${String(MAX_UNAVAILABLE)}
      podUpdatePolicy: InPlaceIfPossible
  template:
    metadata:
      labels:
        app: web
      annotations:
        # Simulated nodes only: a started container is ready after this long.
        sim.fairlead.dev/ready-delay: ${readyDelay}
    spec:
      # False while a container is replaced in place: the Service sends the pod nothing meanwhile.
      readinessGates:
        - conditionType: InPlaceUpdateReady
      containers:
        - name: web
          image: ${image}
          ports:
            - name: http
              containerPort: 80
          env:
            - name: GREETING
              valueFrom:
                configMapKeyRef:
                  name: web
                  key: greeting
`,
  };
}

/** `registry.example/agent:v1`; nothing is ever pulled. */
export function agentImageOf(tag: string): string {
  return `registry.example/agent:${tag}`;
}

/** A DaemonSet that may take all nodes of a zone at once, and no two zones. */
export function agentManifest(image: string): string {
  return `apiVersion: fairlead.dev/v1beta1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels:
      app: agent
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 100%
      topologyKey: topology.kubernetes.io/zone
  template:
    metadata:
      labels:
        app: agent
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: agent
          image: ${image}
`;
}

export const API_REPLICAS = 4;

/** `registry.example/api:v1`; nothing is ever pulled. */
export function apiImageOf(tag: string): string {
  return `registry.example/api:${tag}`;
}

/** A Deployment that is rolled with up to two pods more, never one less, and only when `web` is ready. */
export function apiManifest(image: string): string {
  return `apiVersion: fairlead.dev/v1beta1
kind: Deployment
metadata:
  name: api
  annotations:
    # Workloads of wave 0, such as web, come first; this one when they are rolled out.
    fairlead.dev/wave: "1"
spec:
  replicas: ${String(API_REPLICAS)}
  selector:
    matchLabels:
      app: api
  strategy:
    rollingUpdate:
      maxSurge: 2
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app: api
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: api
          image: ${image}
`;
}

export const LEGACY_REPLICAS = 2;

/** `registry.example/legacy:v1`; nothing is ever pulled. */
export function legacyImageOf(tag: string): string {
  return `registry.example/legacy:${tag}`;
}

/** A ReplicationController, which by itself would never change a pod that runs. */
export function legacyManifest(image: string): string {
  return `apiVersion: v1
kind: ReplicationController
metadata:
  name: legacy
spec:
  replicas: ${String(LEGACY_REPLICAS)}
  selector:
    app: legacy
  template:
    metadata:
      labels:
        app: legacy
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: legacy
          image: ${image}
`;
}
