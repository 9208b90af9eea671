/** Normalised templates and revisions against what kube-apiserver serves and what the built-in controller makes (C8, C9). */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { KubernetesClient } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import { readStatefulSet } from '../../kubernetes/statefulset-adapter.ts';
import { canonicalJson } from '../../planners/canonical-json.ts';
import type { ControllerRevision, JsonObject, PodTemplate } from '../../planners/objects.ts';
import { planStatefulSetRevision } from '../../planners/statefulset-revision.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';
import { found } from '../support/eventually.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { RICH_TEMPLATES } from '../support/rich-templates.ts';

const NAMESPACE = 'default';
const NATIVE_SETS = { group: 'apps', version: 'v1', resource: 'statefulsets', namespace: NAMESPACE } as const;
const OURS = 'fairlead.dev/v1beta1';
const OUR_SETS = {
  group: 'fairlead.dev',
  version: 'v1beta1',
  resource: 'statefulsets',
  namespace: NAMESPACE,
} as const;
const REVISIONS = {
  group: 'apps',
  version: 'v1',
  resource: 'controllerrevisions',
  namespace: NAMESPACE,
} as const;

// With our own API the built-in StatefulSet controller keeps running beside it.
const controlPlane = useControlPlane({ nodes: 0 });
let client: KubernetesClient;

beforeAll(async () => {
  client = new KubernetesClient(await loadConnection({}, { kubeconfig: controlPlane().kubeconfig }));
});
afterAll(() => client.close());

function labelled(template: JsonObject, app: string): JsonObject {
  const metadata = (template['metadata'] ?? {}) as { readonly labels?: JsonObject };
  return { ...template, metadata: { ...metadata, labels: { ...metadata.labels, app } } };
}

function manifest(name: string, template: JsonObject): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: {
      replicas: 0,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: labelled(template, name),
    },
  };
}

/** Waits for the revision that the built-in controller makes of a set. */
async function revisionOf(set: StatefulSetObject): Promise<ControllerRevision> {
  const { name } = set.metadata;
  return await found(`the built-in controller makes a revision of ${name}`, async () => {
    const { items } = await client.list<ControllerRevision>(REVISIONS, { labelSelector: `app=${name}` });
    return items[0];
  });
}

describe('against kube-apiserver and the built-in controller', () => {
  it.each(Object.entries(RICH_TEMPLATES))('C9: %s', async (about, template) => {
    const name = `t-${about.replace(/\W+/g, '-')}`;
    const sent = manifest(name, template);
    const served = await client.create<StatefulSetObject>(NATIVE_SETS, sent);
    const ours = normaliseTemplate(labelled(template, name) as unknown as PodTemplate);
    expect(JSON.parse(canonicalJson(ours))).toEqual(JSON.parse(canonicalJson(served.spec.template)));
    expect(canonicalJson(normaliseTemplate(served.spec.template))).toBe(canonicalJson(served.spec.template));

    const native = await revisionOf(served);
    const set = readStatefulSet(served, 'apps/v1');
    const plan = planStatefulSetRevision(set, []);
    const made = plan.outcome === 'create' ? (plan.manifest as unknown as ControllerRevision) : undefined;
    expect(canonicalJson(made?.data)).toBe(canonicalJson(native.data));
    // The name is a hash of the bytes that the controller wrote: equal names are equal bytes (C8).
    expect(made?.metadata.name).toBe(native.metadata.name);
    expect(made?.metadata.labels).toEqual(native.metadata.labels);
    expect(planStatefulSetRevision(set, [native])).toEqual({ outcome: 'exists', revision: native });

    const stored = await client.create<StatefulSetObject>(
      OUR_SETS,
      { ...sent, apiVersion: OURS },
      { dryRun: true },
    );
    const taken = readStatefulSet(stored, OURS);
    const { ownerReferences: _, ...metadata } = native.metadata;
    const orphan = { ...native, metadata };
    expect(planStatefulSetRevision(taken, [orphan])).toEqual({ outcome: 'exists', revision: orphan });
    expect(canonicalJson(taken.template)).toBe(canonicalJson(served.spec.template));
  });
});
