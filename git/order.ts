/**
 * The order in which a commit is applied: stages of kinds, so that nothing needs what comes after it, within a stage the waves that
 * its objects ask for, and within a wave what they depend on. Pruning goes the other way, by kinds alone: what left the commit has no manifest any more.
 */

/** Stages in order; what is in none of them (custom resources, Ingress, autoscalers) comes last. */
export const STAGES = ['Foundations', 'Configuration', 'Network', 'Workloads', 'Rest'] as const;
export type Stage = (typeof STAGES)[number];

const KINDS: Readonly<Record<Exclude<Stage, 'Rest'>, ReadonlySet<string>>> = {
  Foundations: new Set([
    '/Namespace',
    'apiextensions.k8s.io/CustomResourceDefinition',
    'rbac.authorization.k8s.io/ClusterRole',
    'scheduling.k8s.io/PriorityClass',
    'storage.k8s.io/StorageClass',
    'node.k8s.io/RuntimeClass',
    'networking.k8s.io/IngressClass',
  ]),
  Configuration: new Set([
    '/ResourceQuota',
    '/LimitRange',
    '/ServiceAccount',
    'rbac.authorization.k8s.io/Role',
    'rbac.authorization.k8s.io/RoleBinding',
    'rbac.authorization.k8s.io/ClusterRoleBinding',
    'networking.k8s.io/NetworkPolicy',
    '/ConfigMap',
    '/Secret',
    '/PersistentVolume',
    '/PersistentVolumeClaim',
  ]),
  Network: new Set(['/Service', '/Endpoints', 'discovery.k8s.io/EndpointSlice']),
  Workloads: new Set([
    'fairlead.dev/DaemonSet',
    'fairlead.dev/StatefulSet',
    'fairlead.dev/Deployment',
    'apps/DaemonSet',
    'apps/StatefulSet',
    'apps/Deployment',
    'apps/ReplicaSet',
    '/ReplicationController',
    '/Pod',
    'batch/Job',
    'batch/CronJob',
  ]),
};

const BY_KIND: ReadonlyMap<string, number> = new Map(
  Object.values(KINDS).flatMap((kinds, stage) => [...kinds].map((kind) => [kind, stage] as const)),
);

/** Index into {@link STAGES}. */
export function stageOf(object: { readonly group: string; readonly kind: string }): number {
  return BY_KIND.get(`${object.group}/${object.kind}`) ?? STAGES.length - 1;
}

/** An object's wave within its stage; waves are applied in ascending order, each when the one before is ready. */
export const DEFAULT_WAVE = 0;

/** The value of the annotation `fairlead.dev/wave`: a whole number of at most nine digits. Undefined: it is none. */
export function parseWave(text: string): number | undefined {
  return /^(?:0|-?[1-9]\d{0,8})$/.test(text) ? Number(text) : undefined;
}

/** Objects of one wave of one stage: applied together. */
export interface ApplyStep {
  /** Index into {@link STAGES}. */
  readonly stage: number;
  readonly wave: number;
  /** Within the wave, after those of lower ones, which its objects depend on. @default 0 */
  readonly rank?: number;
  /** Some of its objects depend on others, of this stage or of earlier ones: these are awaited. */
  readonly dependent?: boolean;
  /** Its stage has waves: what comes in later stages waits for all of them. Absent also in checks of before that was so. */
  readonly inWaves?: true;
  /** Objects. */
  readonly count: number;
  /** Those of them that are not yet as the commit wants them. */
  readonly changes: number;
}

/** The steps of a commit in the order in which they are applied. */
export function applySteps<T extends StepObject>(
  objects: readonly T[],
  isChange: (object: T) => boolean,
): readonly ApplyStep[] {
  const waved = stagesWithWaves(objects);
  const steps = new Map<string, ApplyStep>();
  for (const object of objects) {
    const { stage, wave, rank = 0, dependsOn = [] } = object;
    const key = `${stage}/${wave}/${rank}`;
    const { count, changes, dependent = false } = steps.get(key) ?? { count: 0, changes: 0 };
    const isDependent = dependent || dependsOn.length > 0;
    steps.set(key, {
      stage,
      wave,
      ...(rank > 0 && { rank }),
      ...(isDependent && { dependent: true }),
      ...(waved.has(stage) && { inWaves: true }),
      count: count + 1,
      changes: changes + (isChange(object) ? 1 : 0),
    });
  }
  return [...steps.values()].toSorted(compareSteps);
}

/** Stages in which something has a wave of its own. */
export function stagesWithWaves(objects: readonly Pick<StepObject, 'stage' | 'wave'>[]): ReadonlySet<number> {
  return new Set(objects.filter(({ wave }) => wave !== DEFAULT_WAVE).map(({ stage }) => stage));
}

interface StepObject {
  readonly stage: number;
  readonly wave: number;
  readonly rank?: number;
  readonly dependsOn?: readonly unknown[];
}

/** Which of two steps, or of the objects in them, is applied first. */
export function compareSteps(
  a: Pick<StepObject, 'stage' | 'wave' | 'rank'>,
  b: Pick<StepObject, 'stage' | 'wave' | 'rank'>,
): number {
  return a.stage - b.stage || a.wave - b.wave || (a.rank ?? 0) - (b.rank ?? 0);
}

interface Ordered {
  readonly group: string;
  readonly kind: string;
  /** @default {@link DEFAULT_WAVE} */
  readonly wave?: number;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Stage, wave, the place of the kind within its stage, namespace and name: the same commit always in the same order. */
export function compareObjects(a: Ordered, b: Ordered): number {
  return (
    stageOf(a) - stageOf(b) ||
    (a.wave ?? DEFAULT_WAVE) - (b.wave ?? DEFAULT_WAVE) ||
    placeOf(a) - placeOf(b) ||
    compareText(a.group, b.group) ||
    compareText(a.kind, b.kind) ||
    compareText(a.namespace ?? '', b.namespace ?? '') ||
    compareText(a.name, b.name)
  );
}

const PLACES: ReadonlyMap<string, number> = new Map([...BY_KIND.keys()].map((kind, place) => [kind, place]));

function placeOf(object: Ordered): number {
  return PLACES.get(`${object.group}/${object.kind}`) ?? PLACES.size;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
