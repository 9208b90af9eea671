/**
 * What the apiserver fills into pod templates of native workloads. A template of ours is stored as it was written, while one
 * that was taken from a revision or from a native object has its defaults: comparing must not see a difference.
 */

/** Defaults of one object: by key, the CEL literal that stands for "absent", or the shape of what is below. */
export interface Shape {
  readonly defaults?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  /** A quantity: compared by amount, not by spelling. */
  readonly quantity?: true;
}

const EMPTY = 'dyn({})';
const FIELD_REF: Shape = { defaults: { apiVersion: '"v1"' } };
const RESOURCE_FIELD_REF: Shape = { defaults: { divisor: '"0"' } };
const DOWNWARD_ITEMS: Shape = {
  items: { fields: { fieldRef: FIELD_REF, resourceFieldRef: RESOURCE_FIELD_REF } },
};
const HTTP_GET: Shape = { defaults: { path: '"/"', scheme: '"HTTP"' } };
const PROBE: Shape = {
  defaults: {
    initialDelaySeconds: '0',
    timeoutSeconds: '1',
    periodSeconds: '10',
    successThreshold: '1',
    failureThreshold: '3',
  },
  fields: { httpGet: HTTP_GET, grpc: { defaults: { service: '""' } } },
};
const FILES: Shape = { defaults: { defaultMode: '420', optional: 'false' } };

export const CONTAINER: Shape = {
  defaults: {
    terminationMessagePath: '"/dev/termination-log"',
    terminationMessagePolicy: '"File"',
    securityContext: EMPTY,
    resources: EMPTY,
  },
  fields: {
    ports: { items: { defaults: { protocol: '"TCP"' } } },
    env: {
      items: {
        defaults: { value: '""' },
        fields: { valueFrom: { fields: { fieldRef: FIELD_REF, resourceFieldRef: RESOURCE_FIELD_REF } } },
      },
    },
    livenessProbe: PROBE,
    readinessProbe: PROBE,
    startupProbe: PROBE,
    lifecycle: {
      fields: { postStart: { fields: { httpGet: HTTP_GET } }, preStop: { fields: { httpGet: HTTP_GET } } },
    },
  },
};

const AMOUNTS: Shape = { fields: { storage: { quantity: true } } };
const CLAIM_SPEC: Shape = {
  defaults: { volumeMode: '"Filesystem"', resources: EMPTY },
  fields: { resources: { fields: { requests: AMOUNTS, limits: AMOUNTS } } },
};

/** An empty map or list in it is the same as none. */
export const SELECTOR: Shape = {
  defaults: { matchLabels: EMPTY },
  fields: { matchExpressions: { items: {} } },
};

/** What may not change of a workload, but may be spelled otherwise; an export has the apiVersion, kind and status of claims. */
export const IMMUTABLE: Shape = {
  defaults: { serviceName: '""' },
  fields: {
    selector: SELECTOR,
    volumeClaimTemplates: {
      items: {
        defaults: {
          apiVersion: '"v1"',
          kind: '"PersistentVolumeClaim"',
          status: 'dyn({"phase": "Pending"})',
        },
        fields: { metadata: { defaults: { labels: EMPTY, annotations: EMPTY } }, spec: CLAIM_SPEC },
      },
    },
  },
};

const PROJECTED_SOURCE: Shape = {
  fields: {
    downwardAPI: { fields: { items: DOWNWARD_ITEMS } },
    serviceAccountToken: { defaults: { expirationSeconds: '3600' } },
  },
};

/** Without the containers, which are compared one by one. */
export const POD_SPEC: Shape = {
  defaults: {
    restartPolicy: '"Always"',
    dnsPolicy: '"ClusterFirst"',
    schedulerName: '"default-scheduler"',
    terminationGracePeriodSeconds: '30',
    enableServiceLinks: 'true',
    securityContext: EMPTY,
    hostNetwork: 'false',
    hostPID: 'false',
    hostIPC: 'false',
  },
  fields: {
    volumes: {
      items: {
        fields: {
          configMap: FILES,
          secret: FILES,
          downwardAPI: { ...FILES, fields: { items: DOWNWARD_ITEMS } },
          projected: { ...FILES, fields: { sources: { items: PROJECTED_SOURCE } } },
          hostPath: { defaults: { type: '""' } },
          emptyDir: { defaults: { medium: '""' }, fields: { sizeLimit: { quantity: true } } },
          ephemeral: {
            fields: {
              volumeClaimTemplate: {
                defaults: { metadata: EMPTY },
                fields: { spec: CLAIM_SPEC },
              },
            },
          },
          azureDisk: {
            defaults: { cachingMode: '"ReadWrite"', kind: '"Shared"', fsType: '"ext4"', readOnly: 'false' },
          },
          iscsi: { defaults: { iscsiInterface: '"default"' } },
          rbd: { defaults: { pool: '"rbd"', user: '"admin"', keyring: '"/etc/ceph/keyring"' } },
          scaleIO: { defaults: { storageMode: '"ThinProvisioned"', fsType: '"xfs"' } },
        },
      },
    },
  },
};

/** CEL that gives `value` without whatever `shape` calls a default. */
export function withoutDefaults(value: string, shape: Shape, depth = 0): string {
  if (shape.quantity === true) return `quantity(string(${value})).asApproximateFloat()`;
  if (shape.items !== undefined) {
    const item = `e${depth}`;
    return `${value}.map(${item}, ${withoutDefaults(item, shape.items, depth + 1)})`;
  }
  const key = `k${depth}`;
  const inner = `v${depth}`;
  const isDefault = Object.entries(shape.defaults ?? {}).map(
    ([name, absent]) => `${key} == "${name}" && ${inner} == ${absent}`,
  );
  const kept = `!(${[`${inner} == dyn([])`, ...isDefault].join(' || ')})`;
  let transformed = inner;
  for (const [name, below] of Object.entries(shape.fields ?? {}).toReversed()) {
    transformed = `${key} == "${name}" ? dyn(${withoutDefaults(inner, below, depth + 1)}) : ${transformed}`;
  }
  return `${value}.transformMap(${key}, ${inner}, ${kept}, ${transformed})`;
}
