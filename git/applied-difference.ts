/** What a server-side apply of a manifest would change of an object, without what the server, sync and operators write. Pure. */

import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION, COUNTED_ANNOTATIONS, LAST_APPLIED } from '../planners/names.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { ownField } from '../planners/values.ts';
import type { Difference } from './differences.ts';
import { differences } from './differences.ts';
import { APPLYSET } from './inventory.ts';
import type { Manifest } from './manifests.ts';

/** From what is there to the answer of a dry run; values of Secrets are masked, those of their annotations as well. */
export function compareApplied(
  object: { readonly manifest: Pick<Manifest, 'kind' | 'group'> },
  live: KubernetesObject,
  result: KubernetesObject,
): readonly Difference[] {
  const [before, after] = [comparable(live), comparable(result)];
  const isSecret = object.manifest.kind === 'Secret' && object.manifest.group === '';
  if (!isSecret) return differences(before, after);
  const masked = ['data', 'stringData'].map((field) => maskValues(before[field], after[field]));
  const [data, stringData] = masked;
  const [old, present] = [asRecord(before['metadata']), asRecord(after['metadata'])];
  const annotations = maskValues(old['annotations'], present['annotations']);
  return differences(
    {
      ...before,
      data: data?.before,
      stringData: stringData?.before,
      metadata: { ...old, annotations: annotations.before },
    },
    {
      ...after,
      data: data?.after,
      stringData: stringData?.after,
      metadata: { ...present, annotations: annotations.after },
    },
  );
}

/** Values of Secrets never leave this function: equal ones become equal, others are told apart by their side only. */
export function maskValues(
  before: unknown,
  after: unknown,
): { readonly before: unknown; readonly after: unknown } {
  const [old, present] = [asRecord(before), asRecord(after)];
  const mask = (values: Readonly<Record<string, unknown>>, side: string) =>
    Object.fromEntries(
      Object.keys(values).map((key) => [
        key,
        ownField(old, key) === ownField(present, key) ? '***' : `*** (${side})`,
      ]),
    );
  return {
    before: before === undefined ? undefined : mask(old, 'before'),
    after: after === undefined ? undefined : mask(present, 'after'),
  };
}

const OWN_ANNOTATIONS = [
  ANNOTATION.repository,
  ANNOTATION.manifestHash,
  ANNOTATION.commit,
  ANNOTATION.pinned,
  LAST_APPLIED,
];

/** Without what the server, sync and operators write; the last applied configuration may quote a Secret. */
function comparable(object: KubernetesObject): Readonly<Record<string, unknown>> {
  const counted = COUNTED_ANNOTATIONS.get(object.kind);
  const { metadata, status: _, ...rest } = asRecord(object);
  const { annotations, labels, namespace, name, finalizers, ownerReferences } = asRecord(metadata);
  return {
    ...rest,
    metadata: {
      name,
      namespace,
      finalizers,
      ownerReferences,
      annotations: without(asRecord(annotations), [
        ...OWN_ANNOTATIONS,
        ...(counted === undefined ? [] : [counted]),
      ]),
      labels: without(asRecord(labels), [APPLYSET.partOf]),
    },
  };
}

function without(
  values: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
}
