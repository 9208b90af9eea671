/** What a ControllerRevision holds: a pod template, as the built-in controllers write it (C9). */

import { canonicalJson } from './canonical-json.ts';
import { GROUP, LAST_APPLIED } from './names.ts';
import type { ControllerRevision, JsonObject, PodTemplate } from './objects.ts';
import { normaliseTemplate } from './template-defaults.ts';
import { asFields, trusted } from './values.ts';
import type { Fields } from './values.ts';
import type { Workload } from './workload.ts';

const dataOfTemplate = new WeakMap<PodTemplate, JsonObject>();
const templateOfData = new WeakMap<JsonObject, PodTemplate>();

/** The data of the revision of a template: a strategic merge patch that replaces `spec.template` (C9). */
export function revisionData(template: PodTemplate): JsonObject {
  let data = dataOfTemplate.get(template);
  if (data === undefined) {
    data = { spec: { template: { ...template, $patch: 'replace' } } };
    dataOfTemplate.set(template, data);
  }
  return data;
}

/**
 * The pod template that a revision holds, as it is stored.
 * @throws {Error} if the revision holds none
 */
export function templateOfRevision(revision: ControllerRevision): PodTemplate {
  let template = templateOfData.get(revision.data);
  if (template === undefined) {
    const stored = storedTemplate(revision);
    if (stored === undefined) {
      throw new Error(
        `ControllerRevision ${revision.metadata.namespace ?? 'default'}/${revision.metadata.name} holds no spec.template: ` +
          'it was not made for this kind; delete it',
      );
    }
    const { $patch: _, ...rest } = stored;
    template = trusted<PodTemplate>(rest);
    templateOfData.set(revision.data, template);
  }
  return template;
}

/** The pod template in a revision's data (C9), with its patch directive; undefined if it holds none. */
export function storedTemplate(revision: ControllerRevision): Fields | undefined {
  return asFields(asFields(revision.data['spec'])?.['template']);
}

/** Whether the revision's template and this one differ in nothing but spelling, order of keys and defaults (S6). */
export function meansTheSame(revision: ControllerRevision, template: PodTemplate): boolean {
  return (
    storedTemplate(revision) !== undefined &&
    canonicalJson(normaliseTemplate(templateOfRevision(revision))) ===
      canonicalJson(normaliseTemplate(template))
  );
}

/** The workload's annotations (change-cause and the like, S7) without our wishes and kubectl's bulky record. */
export function childAnnotations(workload: Workload): Record<string, string> {
  return Object.fromEntries(
    Object.entries(workload.metadata.annotations ?? {}).filter(
      ([key]) => key !== LAST_APPLIED && !key.startsWith(`${GROUP}/`),
    ),
  );
}
