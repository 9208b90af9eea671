/**
 * The pod template as kube-apiserver 1.36 would serve it in an apps/v1 object: defaults filled in, nulls and empty optional
 * fields gone. Both workload APIs then give the same revision bytes (C9), and templates can be compared by value (S6, A20).
 */

import type { JsonObject, PodTemplate } from './objects.ts';

type Fields = Record<string, unknown>;

const memory = new WeakMap<object, PodTemplate>();

/**
 * Normalises a template. Idempotent; the input is not changed, and the same input object gives the same output object (inputs
 * must not be changed afterwards).
 */
export function normaliseTemplate(template: PodTemplate): PodTemplate {
  const known = memory.get(template);
  if (known !== undefined) return known;
  const copy = withoutEmpty(template) as Fields;
  const metadata = { ...(copy['metadata'] as Fields | undefined) };
  delete metadata['creationTimestamp'];
  const spec = { ...(copy['spec'] as Fields | undefined) };
  defaultSpec(spec);
  const normal = { ...copy, metadata, spec } as unknown as PodTemplate;
  memory.set(template, normal);
  memory.set(normal, normal);
  return normal;
}

/** A deep copy without nulls and undefined fields, and without empty lists. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Fields = {};
  for (const [key, field] of Object.entries(value as JsonObject)) {
    if (field === null || field === undefined || (Array.isArray(field) && field.length === 0)) continue;
    copy[key] = withoutEmpty(field);
  }
  return copy;
}

function defaultSpec(spec: Fields): void {
  spec['dnsPolicy'] ??= 'ClusterFirst';
  spec['restartPolicy'] ??= 'Always';
  spec['securityContext'] ??= {};
  spec['terminationGracePeriodSeconds'] ??= 30;
  spec['schedulerName'] ??= 'default-scheduler';
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of (spec[list] as Fields[] | undefined) ?? []) {
      defaultContainer(container);
    }
  }
}

function defaultContainer(container: Fields): void {
  container['imagePullPolicy'] ??= defaultPullPolicy(container['image'] as string | undefined);
  container['terminationMessagePath'] ??= '/dev/termination-log';
  container['terminationMessagePolicy'] ??= 'File';
  container['resources'] ??= {};
}

/** `Always` for the tag `latest`, also an implied one; `IfNotPresent` for any other tag and for digests (A20). */
export function defaultPullPolicy(image: string | undefined): 'Always' | 'IfNotPresent' {
  return tagOf(image ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
}

/** The tag of an image reference; `latest` if it has neither tag nor digest, empty if it has a digest only. */
function tagOf(image: string): string {
  const [name = '', digest] = image.split('@', 2);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  if (colon >= 0) return name.slice(colon + 1);
  return digest === undefined ? 'latest' : '';
}
