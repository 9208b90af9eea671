/** Whether an object that is no workload of ours is ready for the next wave, from the object alone: kstatus' rules. Pure. */

import { asRecord } from '../kubernetes/values.ts';
import type { Manifest } from './manifests.ts';
import type { Condition, JsonObject, KubernetesObject } from '../planners/objects.ts';

export interface LiveObject extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject & { readonly conditions?: readonly Condition[] };
}

export type Readiness =
  | { readonly state: 'Done' }
  | { readonly state: 'InProgress'; readonly message: string }
  | { readonly state: 'Failed'; readonly message: string };

const DONE: Readiness = { state: 'Done' };

/** Kinds that are what they are as soon as they are written; of all others the status is looked at. */
const WITHOUT_STATUS: ReadonlySet<string> = new Set([
  '/ConfigMap',
  '/Secret',
  '/ServiceAccount',
  '/LimitRange',
  '/Endpoints',
  'discovery.k8s.io/EndpointSlice',
  'rbac.authorization.k8s.io/Role',
  'rbac.authorization.k8s.io/RoleBinding',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'networking.k8s.io/NetworkPolicy',
  'networking.k8s.io/IngressClass',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/StorageClass',
  'node.k8s.io/RuntimeClass',
]);

export function hasReadiness({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return !WITHOUT_STATUS.has(`${group}/${kind}`);
}

/** `group` as the manifest has it: objects in lists name none. */
export function readiness(
  { group, kind }: { readonly group: string; readonly kind: string },
  live: LiveObject | undefined,
): Readiness {
  if (live === undefined) return failed('it was deleted while it was awaited');
  if (live.metadata.deletionTimestamp !== undefined) return inProgress('it is being deleted');
  const { spec = {}, status = {} } = live;
  const observed = status['observedGeneration'];
  if (typeof observed === 'number' && observed < (live.metadata.generation ?? 0))
    return inProgress('its controller has not seen it yet');
  const conditions = new Map((live.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  switch (`${group}/${kind}`) {
    case 'batch/Job':
      return jobState(spec, status, conditions);
    case '/Pod':
      return podState(status, conditions);
    case '/Service':
      return serviceState(spec, status);
    case '/Namespace':
      return status['phase'] === 'Active' ? DONE : inProgress(`its phase is ${phase(status)}`);
    case '/PersistentVolumeClaim':
      // Not `Bound`: many are bound only when a pod wants them, and pods are of a later stage.
      return status['phase'] === 'Lost' ? failed('its volume is lost') : DONE;
    case 'apiextensions.k8s.io/CustomResourceDefinition':
      return isTrue(conditions.get('Established')) ? DONE : inProgress('it is not established');
    case 'apps/ReplicaSet':
      return replicaSetState(spec, status);
    default:
      return stateByConditions(conditions);
  }
}

/** What any controller may say of its object: kstatus' Stalled, Reconciling, Ready. One that says nothing is ready. */
function stateByConditions(conditions: ReadonlyMap<string, Condition>): Readiness {
  const [stalled, reconciling, ready] = ['Stalled', 'Reconciling', 'Ready'].map((type) =>
    conditions.get(type),
  );
  if (isTrue(stalled)) return failed(words(stalled));
  if (isTrue(reconciling)) return inProgress(words(reconciling));
  return ready === undefined || isTrue(ready) ? DONE : inProgress(words(ready));
}

/** Ready is a Job that has done its work: that is what a wave after it waits for. */
function jobState(
  spec: JsonObject,
  status: JsonObject,
  conditions: ReadonlyMap<string, Condition>,
): Readiness {
  const failure = conditions.get('Failed');
  if (isTrue(failure)) return failed(words(failure));
  if (isTrue(conditions.get('Complete'))) return DONE;
  return inProgress(
    spec['suspend'] === true ? 'it is suspended' : `it has not completed${podsOfJob(status)}`,
  );
}

/** ` (1 pod active, 0 ready, 2 failed)`: one that is not ready for long is to be looked at. Empty where none was made yet. */
function podsOfJob(status: JsonObject): string {
  const [active, ready, lost] = ['active', 'ready', 'failed'].map((name) => Number(status[name] ?? 0));
  if (!active && !lost) return '';
  const pods = `${String(active)} ${active === 1 ? 'pod' : 'pods'} active, ${String(ready)} ready`;
  return ` (${pods}${lost ? `, ${String(lost)} failed` : ''})`;
}

function podState(status: JsonObject, conditions: ReadonlyMap<string, Condition>): Readiness {
  if (status['phase'] === 'Succeeded' || isTrue(conditions.get('Ready'))) return DONE;
  if (status['phase'] === 'Failed') return failed('it has failed');
  return inProgress(`its phase is ${phase(status)}, and it is not ready`);
}

function serviceState(spec: JsonObject, status: JsonObject): Readiness {
  const ingress = asRecord(status['loadBalancer'])['ingress'];
  const isReady = spec['type'] !== 'LoadBalancer' || (Array.isArray(ingress) && ingress.length > 0);
  return isReady ? DONE : inProgress('its load balancer has no address yet');
}

function replicaSetState(spec: JsonObject, status: JsonObject): Readiness {
  const wanted = Number(spec['replicas'] ?? 1);
  const available = Number(status['availableReplicas'] ?? 0);
  if (typeof status['observedGeneration'] !== 'number')
    return inProgress('its controller has not seen it yet');
  return available >= wanted ? DONE : inProgress(`${available} of ${wanted} pods available`);
}

function isTrue(condition: Condition | undefined): boolean {
  return condition?.status === 'True';
}

function words(condition: Condition | undefined): string {
  const { reason, message } = condition ?? {};
  return (
    [reason, message].filter((part) => part !== undefined && part !== '').join(': ') || 'it gives no reason'
  );
}

function phase(status: JsonObject): string {
  return typeof status['phase'] === 'string' ? status['phase'] : 'not known';
}

function inProgress(message: string): Readiness {
  return { state: 'InProgress', message };
}

function failed(message: string): Readiness {
  return { state: 'Failed', message };
}

export function isJob({ group, kind }: Pick<Manifest, 'group' | 'kind'>): boolean {
  return group === 'batch' && kind === 'Job';
}

/** A Job that the cluster removes a while after its end, as it was told to: that it is gone may say that it has been run. */
export function isRemovedAtEnd(manifest: Pick<Manifest, 'group' | 'kind' | 'body'>): boolean {
  return isJob(manifest) && asRecord(manifest.body['spec'])['ttlSecondsAfterFinished'] !== undefined;
}
