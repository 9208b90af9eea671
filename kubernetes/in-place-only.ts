/** What podUpdatePolicy InPlaceOnly forbids to a verb, told before the apiserver refuses the write. */

import { ANNOTATION } from '../planners/names.ts';
import type { PodTemplate } from '../planners/objects.ts';
import { diffTemplates } from '../planners/template-diff.ts';
import { asRecord } from './values.ts';
import type { WorkloadObject } from './workload-edit.ts';

/** Whether the policy is InPlaceOnly: a field in our API, an annotation in apps/v1 (design §2). */
export function isInPlaceOnly({ metadata, spec }: WorkloadObject): boolean {
  const strategy = asRecord(asRecord(spec['updateStrategy'])['rollingUpdate']);
  return (
    (strategy['podUpdatePolicy'] ?? metadata.annotations?.[ANNOTATION.podUpdatePolicy]) === 'InPlaceOnly'
  );
}

/** Fields of `template` that differ from the present one and that InPlaceOnly lets nobody change (A37); none under other policies. */
export function forbiddenChanges(object: WorkloadObject, template: PodTemplate): readonly string[] {
  return isInPlaceOnly(object) ? diffTemplates(object.spec.template, template).impossible : [];
}
