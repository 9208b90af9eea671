/** How one process names a workload: in queues, mutexes, feeds; and what tells two templates apart. */

import { createHash } from 'node:crypto';

import { canonicalJson } from '../planners/canonical-json.ts';
import type { PodTemplate } from '../planners/objects.ts';
import type { Workload, WorkloadKind } from '../planners/workload.ts';
import { trusted } from './values.ts';

/** Key of a workload in queues, mutexes and feeds: kind, namespace, name. The API is the process's own. */
export function workloadKey(kind: WorkloadKind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** Takes a key apart. */
export function parseWorkloadKey(key: string): {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
} {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return { kind: trusted<WorkloadKind>(kind), namespace, name };
}

/** Hash of the template that a run is to bring about: equal for equal templates of either workload API. */
export function templateTarget(workload: Workload): string {
  return templateHash(workload.template);
}

/** The same of a template that is normalised already. */
export function templateHash(template: PodTemplate): string {
  return createHash('sha256').update(canonicalJson(template)).digest('hex').slice(0, 16);
}
