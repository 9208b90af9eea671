/** On which node a pod runs, or is to run. */

import type { Pod } from './objects.ts';
import { asFields, asList } from './values.ts';

/** The node of a pod, or the one that its affinity names; a pod that has neither is none of ours to place (D3). */
export function targetNodeOf({ spec }: Pod): string | undefined {
  if (spec.nodeName !== undefined && spec.nodeName !== '') return spec.nodeName;
  const affinity = asFields(asFields(spec['affinity'])?.['nodeAffinity']);
  const required = asFields(affinity?.['requiredDuringSchedulingIgnoredDuringExecution']);
  for (const term of asList(required?.['nodeSelectorTerms'])) {
    for (const field of asList(term['matchFields'])) {
      const values: unknown = field['values'];
      const [name]: readonly unknown[] = Array.isArray(values) ? values : [];
      if (field['key'] === 'metadata.name' && field['operator'] === 'In' && typeof name === 'string')
        return name;
    }
  }
  return undefined;
}
