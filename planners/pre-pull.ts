/**
 * Fetching the images of the next nodes before their pods are replaced (seed 000, "pre-pull"): one short-lived pod a node and
 * revision, whose containers name the images and run nothing. It needs no agent on the nodes: a kubelet pulls before it starts.
 */

import { createHash } from 'node:crypto';

import { controllerReference } from './controller-ref.ts';
import { LABEL } from './names.ts';
import type { ContainerStatus, JsonObject, Pod, PodTemplate } from './objects.ts';
import { targetNodeOf } from './target-node.ts';
import type { Workload } from './workload.ts';

/** What waits in a container's status when its image is not there (kubelet's words). */
const WITHOUT_IMAGE: ReadonlySet<string> = new Set([
  'ContainerCreating',
  'PodInitializing',
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'ImageInspectError',
  'InvalidImageName',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
/** Names nothing: the container ends as soon as its image is there. */
const NO_COMMAND = '/fairlead-pre-pull';
const LONGEST_PREFIX = 40;

/** How far the pull of one node is. */
export type PullState =
  | { readonly phase: 'none' | 'pulled' }
  /** `detail` is the kubelet's last word; until then, milliseconds since the epoch. */
  | { readonly phase: 'pulling'; readonly detail: string; readonly until: number }
  /** It took too long: the node goes on without. */
  | { readonly phase: 'late'; readonly detail: string };

/** Images of `to` that a node which runs `from` need not have, each with the pull policy that its first container gives it. */
export function imagesToPull(
  from: PodTemplate | undefined,
  to: PodTemplate,
): readonly { readonly image: string; readonly imagePullPolicy?: string }[] {
  const there = new Set(from === undefined ? [] : containersOf(from).map(({ image }) => image));
  const wanted = new Map<string, string | undefined>();
  for (const { image, imagePullPolicy } of containersOf(to)) {
    if (image === undefined || there.has(image) || wanted.has(image) || imagePullPolicy === 'Never') continue;
    wanted.set(image, imagePullPolicy);
  }
  return [...wanted].map(([image, policy]) => ({
    image,
    ...(policy !== undefined && { imagePullPolicy: policy }),
  }));
}

function containersOf({ spec }: PodTemplate) {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/**
 * A pod of the workload that pulls, whatever it is for; it has no controller, so that nobody counts or adopts it. One that has lost
 * its owner (a delete with `--cascade=orphan`) is of the workload that would give it its name.
 */
export function isPullerOf(workload: Pick<Workload, 'ref'>, puller: Pod): boolean {
  const { name, labels, ownerReferences = [] } = puller.metadata;
  const revisionHash = labels?.[LABEL.prePull];
  if (revisionHash === undefined) return false;
  if (!isOrphanedPuller(puller)) return ownerReferences.some(({ uid }) => uid === workload.ref.uid);
  return name === pullerName(workload, targetNodeOf(puller) ?? '', revisionHash);
}

/** Its owner is gone, and the garbage collector left it. */
export function isOrphanedPuller({ metadata }: Pod): boolean {
  return (metadata.ownerReferences ?? []).length === 0;
}

/** The name follows from node and revision, so that a crash never makes two (design "Once"). */
export function pullerName({ ref }: Pick<Workload, 'ref'>, node: string, revisionHash: string): string {
  const hash = createHash('sha256').update(`${node}\n${revisionHash}`).digest('hex').slice(0, 10);
  return `${ref.name.slice(0, LONGEST_PREFIX).replace(/[.-]+$/, '')}-pull-${hash}`;
}

/**
 * The pod that pulls. It is of the workload's service account and pull secrets, asks for no resources, and passes the
 * strictest Pod Security level: what it may not do it does not need.
 */
export function pullerManifest(
  { ref }: Pick<Workload, 'ref'>,
  name: string,
  revisionHash: string,
  images: ReturnType<typeof imagesToPull>,
  /** Where it runs: `affinity` and `tolerations` as of the pods themselves. */
  placed: JsonObject,
  { spec }: PodTemplate,
  timeoutSeconds: number,
): JsonObject {
  const carried = Object.fromEntries(
    [
      'imagePullSecrets',
      'serviceAccountName',
      'priorityClassName',
      'runtimeClassName',
      'schedulerName',
      'os',
    ].flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])),
  );
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: ref.namespace,
      labels: { [LABEL.prePull]: revisionHash },
      ownerReferences: [{ ...controllerReference(ref), controller: false, blockOwnerDeletion: false }],
    },
    spec: {
      ...carried,
      ...placed,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: timeoutSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } },
      containers: images.map(({ image, imagePullPolicy }, index) => ({
        name: `image-${String(index)}`,
        image,
        ...(imagePullPolicy !== undefined && { imagePullPolicy }),
        command: [NO_COMMAND],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      })),
    },
  };
}

/** What the puller of a node has done. `now` in milliseconds since the epoch. */
export function pullStateOf(puller: Pod | undefined, timeoutSeconds: number, now: number): PullState {
  if (puller === undefined) return { phase: 'none' };
  const statuses = puller.status?.containerStatuses ?? [];
  const missing = puller.spec.containers.filter(
    ({ name }) => !statuses.some((status) => status.name === name && hasImage(status)),
  );
  if (missing.length === 0) return { phase: 'pulled' };
  const until = Date.parse(puller.metadata.creationTimestamp ?? '') + timeoutSeconds * 1000;
  const waiting = statuses.find((status) => !hasImage(status))?.state?.waiting;
  const [first] = missing;
  const why = [waiting?.reason, waiting?.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
  const detail = `${first?.image ?? ''}${why === '' ? '' : ` (${why.slice(0, 200)})`}`;
  const isOver = puller.status?.phase === 'Failed' || puller.metadata.deletionTimestamp !== undefined;
  return isOver || !(now < until) ? { phase: 'late', detail } : { phase: 'pulling', detail, until };
}

function hasImage({ state }: ContainerStatus): boolean {
  if (state?.running !== undefined || state?.terminated !== undefined) return true;
  const reason = state?.waiting?.reason;
  return reason !== undefined && !WITHOUT_IMAGE.has(reason);
}
