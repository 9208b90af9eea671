/**
 * What is the same as nothing in a pod template of ours, which is stored as it was written: a default that the apiserver fills into
 * native workloads, and a zero value that Go leaves out. Comparing must see no difference, as the planner sees none.
 */

import { fieldsOf } from '../../planners/go-shape.ts';
import { literals } from './cel.ts';
import type { Variable } from './policy-view.ts';

/** How an object is compared. */
export interface Shape {
  /** By key, the CEL literal that stands for "absent". */
  readonly defaults?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, Shape>>;
  /** Keys whose zero value is another than none: pointers in Go. */
  readonly pointers?: readonly string[];
  readonly items?: Shape;
  /** Compared by amount, not by spelling: a quantity, or a map of them. */
  readonly quantity?: 'one' | 'map';
}

/** What Go leaves out where it is no pointer. */
export const ZEROS: Variable = {
  name: 'zeros',
  expression: '[dyn(""), dyn(false), dyn(0), dyn([]), dyn({})]',
};

const EMPTY = 'dyn({})';
const MODE = { defaultMode: '420' } as const;

/** By Go type. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AzureDiskVolumeSource: {
    cachingMode: '"ReadWrite"',
    kind: '"Shared"',
    fsType: '"ext4"',
    readOnly: 'false',
  },
  ConfigMapVolumeSource: MODE,
  Container: { terminationMessagePath: '"/dev/termination-log"', terminationMessagePolicy: '"File"' },
  ContainerPort: { protocol: '"TCP"' },
  DownwardAPIVolumeSource: MODE,
  FileKeySelector: { optional: 'false' },
  GRPCAction: { service: '""' },
  HTTPGetAction: { path: '"/"', scheme: '"HTTP"' },
  HostPathVolumeSource: { type: '""' },
  ISCSIVolumeSource: { iscsiInterface: '"default"' },
  ObjectFieldSelector: { apiVersion: '"v1"' },
  PersistentVolumeClaimSpec: { volumeMode: '"Filesystem"' },
  PodSpec: {
    restartPolicy: '"Always"',
    dnsPolicy: '"ClusterFirst"',
    schedulerName: '"default-scheduler"',
    terminationGracePeriodSeconds: '30',
    securityContext: EMPTY,
  },
  Probe: { timeoutSeconds: '1', periodSeconds: '10', successThreshold: '1', failureThreshold: '3' },
  ProjectedVolumeSource: MODE,
  RBDVolumeSource: { pool: '"rbd"', user: '"admin"', keyring: '"/etc/ceph/keyring"' },
  ScaleIOVolumeSource: { storageMode: '"ThinProvisioned"', fsType: '"xfs"' },
  SecretVolumeSource: MODE,
  ServiceAccountTokenProjection: { expirationSeconds: '3600' },
  /** What a volume without a source is. */
  Volume: { emptyDir: EMPTY },
};

/** Fields of a Go type, without the excepted ones. */
function shapeOf(type: string, except: readonly string[] = []): Shape {
  const known = fieldsOf(type);
  const fields = known.flatMap((field): readonly (readonly [string, Shape])[] => {
    if (except.includes(field.name)) return [];
    if (field.kind === 'quantity' || field.kind === 'quantityPointer')
      return [[field.name, { quantity: 'one' }]];
    if (field.kind === 'quantityMap') return [[field.name, { quantity: 'map' }]];
    if (field.type === undefined) return [];
    const below = shapeOf(field.type);
    return [[field.name, field.kind === 'list' ? { items: below } : below]];
  });
  const pointers = known.filter(({ kind }) => kind.toLowerCase().endsWith('pointer'));
  return {
    defaults: DEFAULTS[type] ?? {},
    fields: Object.fromEntries(fields),
    pointers: pointers.map(({ name }) => name),
  };
}

export const CONTAINER = shapeOf('Container');
/** Without the containers, which are compared one by one. */
export const POD_SPEC = shapeOf('PodSpec', ['containers', 'initContainers', 'ephemeralContainers']);
export const METADATA = shapeOf('ObjectMeta', ['ownerReferences']);
export const SELECTOR = shapeOf('LabelSelector');

/** What may not change of a workload, but may be spelled otherwise; an export has the apiVersion, kind and status of claims. */
export const IMMUTABLE: Shape = {
  fields: {
    selector: SELECTOR,
    volumeClaimTemplates: {
      items: {
        defaults: {
          apiVersion: '"v1"',
          kind: '"PersistentVolumeClaim"',
          status: 'dyn({"phase": "Pending"})',
        },
        fields: { metadata: METADATA, spec: shapeOf('PersistentVolumeClaimSpec') },
      },
    },
  },
};

/** CEL that gives `value` without whatever `shape` calls the same as nothing. Uses {@link ZEROS}. */
export function withoutDefaults(value: string, shape: Shape, depth = 0): string {
  const [key, inner, item] = [`k${depth}`, `v${depth}`, `e${depth}`];
  if (shape.quantity === 'one') return amount(value);
  if (shape.quantity === 'map') return `${value}.transformMap(${key}, ${inner}, ${amount(inner)})`;
  if (shape.items !== undefined)
    return `${value}.map(${item}, ${withoutDefaults(item, shape.items, depth + 1)})`;
  const isDefault = Object.entries(shape.defaults ?? {}).map(
    ([name, absent]) => `${key} == "${name}" && ${inner} == ${absent}`,
  );
  const pointers = shape.pointers ?? [];
  const isPointer = pointers.length === 0 ? '' : ` && !(${key} in ${literals(pointers)})`;
  const isNothing = [`${inner} in variables.zeros${isPointer}`, ...isDefault].join(' || ');
  return `${comparedBelow(value, shape, depth)}.transformMap(${key}, ${inner}, !(${isNothing}), ${inner})`;
}

/** `value` with what is below its fields made comparable; fields of one shape share its text, which the apiserver compiles. */
function comparedBelow(value: string, { fields = {} }: Shape, depth: number): string {
  const [key, inner] = [`k${depth}`, `v${depth}`];
  const names = new Map<string, string[]>();
  for (const [name, below] of Object.entries(fields)) {
    const text = withoutDefaults(inner, below, depth + 1);
    names.set(text, [...(names.get(text) ?? []), name]);
  }
  if (names.size === 0) return value;
  const cases = [...names].map(([text, of]) => `${key} in ${literals(of)} ? dyn(${text}) : `);
  return `${value}.transformMap(${key}, ${inner}, ${cases.join('')}${inner})`;
}

function amount(value: string): string {
  return `quantity(string(${value})).asApproximateFloat()`;
}
