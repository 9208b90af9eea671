/** In what a whole controller (of a file, of a commit) differs from what an update rolls out, whose record may be gone (K4). */

import { ANNOTATION } from './names.ts';
import type { ReplicationControllerSpec } from './replication-controller.ts';
import {
  isHashValue,
  labelKeyOf,
  labelValue,
  labelled,
  relabelled,
  selectorOf,
  selectsSame,
} from './rolling-update-definition.ts';
import type { ControllerManifest, PlainMetadata, UpdateRecord } from './rolling-update-record.ts';
import { changedFields, diffTemplates } from './template-diff.ts';

/** So many fields are named. */
const NAMED_FIELDS = 5;

/** What an update rolls out: the controller of its record, or its next one. */
export interface RolledOut {
  readonly metadata: PlainMetadata;
  readonly spec: ReplicationControllerSpec;
}

/**
 * Whether a manifest is what the record rolls out. The hash is of what was asked for, before the apiserver filled in its defaults, and
 * counts `minReadySeconds`, which no pod has: one that differs in that alone is the same update.
 */
export function isRecorded(manifest: ControllerManifest, record: UpdateRecord, key: string): boolean {
  const { minReadySeconds: own, ...spec } = manifest.spec;
  const { minReadySeconds: recorded } = record.controller.spec;
  // Of a 0 that was asked for the record has none.
  return [own, recorded, 0, undefined].some((one) => {
    const same = { ...manifest, spec: { ...spec, ...(one !== undefined && { minReadySeconds: one }) } };
    return labelled(same, record.key ?? key, takenOf(record)).hash === record.hash;
  });
}

/** The label's value that the next controller's had to differ from; a controller of its own has none (K3). */
function takenOf({ key, hash, controller, replaced }: UpdateRecord): string | undefined {
  return labelValue(controller.spec.selector, key) === hash ? labelValue(replaced?.selector, key) : undefined;
}

/**
 * A manifest as the update would roll it out: with the label by which the update tells its pods apart. One that has a value of its own
 * for that keeps it, for no update writes such a value (K3).
 * @param key Of the label, where the other does not say which it is.
 */
export function asRolledOut(
  manifest: ControllerManifest,
  rolled: RolledOut,
  key: string,
): ControllerManifest {
  const selector = selectorOf(manifest.spec);
  const whole = { ...manifest, spec: { ...manifest.spec, selector } };
  const label = labelKeyOf(rolled.spec, rolled.metadata.annotations?.[ANNOTATION.deploymentLabelKey] ?? key);
  const own = label === undefined ? undefined : labelValue(selector, label);
  if (label === undefined || (own !== undefined && !isHashValue(own))) return whole;
  return relabelled(whole, label, labelValue(rolled.spec.selector, label));
}

/** Paths of the fields that make other pods; none where the pods are the same, whatever the apiserver has filled in. */
export function differingFields(
  manifest: ControllerManifest,
  rolled: RolledOut,
  key: string,
): readonly string[] {
  const { spec } = asRolledOut(manifest, rolled, key);
  const [present, wanted] = [rolled.spec.template, spec.template];
  const ofTemplate =
    present === undefined || wanted === undefined
      ? ['spec.template']
      : changedFields(diffTemplates(present, wanted)).map((field) => `spec.template.${field}`);
  return [...(selectsSame(rolled.spec, spec) ? [] : ['spec.selector']), ...ofTemplate];
}

/** `it has another spec.selector, spec.template.spec.containers[app].image`: never values, which may be secret. */
export function describeDiffering(fields: readonly string[]): string {
  const more = fields.length - NAMED_FIELDS;
  const named = fields.slice(0, NAMED_FIELDS).join(', ');
  return `it has another ${named}${more > 0 ? ` and ${String(more)} more` : ''}`;
}
