/** What the apiserver refuses by the CRD and the policies alone, in which words, and what it lets through. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ApiError } from '../../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import { inSpellingOf } from '../../kubernetes/template-spelling.ts';
import { trusted } from '../../kubernetes/values.ts';
import { workloadCollection } from '../../kubernetes/workload-api.ts';
import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { KubernetesObject, PodTemplate } from '../../planners/objects.ts';
import { normaliseTemplate } from '../../planners/template-defaults.ts';
import { asFields, asList } from '../../planners/values.ts';
import { ACCEPTED } from '../support/admission/accepted-cases.ts';
import {
  DAEMON_ACCEPTED,
  DAEMON_CASES,
  daemonManifestOf,
  daemonWords,
} from '../support/admission/daemonset-cases.ts';
import {
  DEPLOYMENT_ACCEPTED,
  DEPLOYMENT_CASES,
  deploymentManifestOf,
} from '../support/admission/deployment-cases.ts';
import { openAdmission, refusalOf, waitForPolicies } from '../support/admission/admission-client.ts';
import {
  BEFORE,
  IN_PLACE_ACCEPTED,
  IN_PLACE_REFUSED,
  METADATA_BEFORE,
  SPELLED_OUT,
} from '../support/admission/in-place-cases.ts';
import { ANNOTATION_CASES, SETTING_CASES } from '../support/admission/setting-cases.ts';
import { NATIVE_RULE_CASES } from '../support/admission/statefulset-cases.ts';
import { TEMPLATE_CASES } from '../support/admission/template-cases.ts';
import { BOTH, GATES, manifestOf, PLACES } from '../support/admission/workload-manifest.ts';
import type { Description, Json } from '../support/admission/workload-manifest.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { RICH_TEMPLATES } from '../support/rich-templates.ts';
import { untilAllowed } from '../support/sync-account.ts';

interface WithTemplate extends KubernetesObject {
  readonly spec: Json & { readonly template: PodTemplate };
}

const CLAIM = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const AMOUNT_AGAIN = { requests: { storage: '1024Mi' } };

/** What it costs to compare must stay below the limits of the apiserver. */
const LARGE = {
  containers: Array.from({ length: 20 }, (_, container) => ({
    name: `c${container}`,
    image: 'registry.example/web:1',
    env: Array.from({ length: 200 }, (_empty, i) => ({
      name: `V${i}`,
      value: i === 0 ? '' : 'x'.repeat(50),
    })),
    volumeMounts: Array.from({ length: 20 }, (_empty, i) => ({
      name: 'tmp',
      mountPath: `/tmp/${i}`,
      readOnly: false,
    })),
  })),
  volumes: [{ name: 'tmp' }],
};

const OURS: WorkloadApi = 'fairlead.dev/v1beta1';
const controlPlane = useControlPlane({ nodes: 0 });
let client: KubernetesClient;

beforeAll(async () => {
  client = await openAdmission(controlPlane());
  await waitForPolicies(client);
}, 30_000);
afterAll(() => client.close());

/** The pod spec of a template without the volumes that have this source. */
function withoutVolume(template: Json | undefined, source: string): Json {
  const spec = asFields(template?.['spec']) ?? {};
  return { ...spec, volumes: asList(spec['volumes']).filter((volume) => !(source in volume)) };
}

/** Words of a case with the places of settings filled in. */
function worded(text: string, api: WorkloadApi): string {
  const places: Readonly<Record<string, string>> = PLACES[api];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => places[name] ?? whole);
}

/** Words of a case that are missing from its refusal; the whole message with them, so that a failure shows it. */
async function missingWords(request: Promise<unknown>, words: readonly string[], api: WorkloadApi) {
  const message = await refusalOf(request);
  const missing = words.map((text) => worded(text, api)).filter((text) => !message.includes(text));
  return missing.length === 0 ? [] : [...missing, `in: ${message}`];
}

function collection(api: WorkloadApi): ResourcePath {
  return workloadCollection(api, 'StatefulSet', 'default');
}

function dryCreate(api: WorkloadApi, description: Description): Promise<WithTemplate> {
  const options = { dryRun: true, fieldValidation: 'Strict' } as const;
  return client.create<WithTemplate>(collection(api), manifestOf(api, description), options);
}

describe.each([
  ['settings', SETTING_CASES],
  ['annotations', ANNOTATION_CASES],
  ['StatefulSets', NATIVE_RULE_CASES],
  ['pod templates', TEMPLATE_CASES],
])('refused %s', (_, cases) => {
  const table = cases.flatMap((one) => one.apis.map((api) => [one.name, api, one] as const));
  it.each(table)('%s (%s)', async (_name, api, { given, refused }) => {
    expect(await missingWords(dryCreate(api, given), refused, api)).toEqual([]);
  });
});

describe('DaemonSets', () => {
  const create = (api: WorkloadApi, manifest: Json) =>
    client.create<WithTemplate>(workloadCollection(api, 'DaemonSet', 'default'), manifest, {
      dryRun: true,
      fieldValidation: 'Strict',
    });
  const table = DAEMON_CASES.flatMap((one) => one.apis.map((api) => [one.name, api, one] as const));
  it.each(table)('refused: %s (%s)', async (_name, api, { refused, ...given }) => {
    const words = refused.map((text) => daemonWords(text, api));
    expect(await missingWords(create(api, daemonManifestOf(api, given)), words, api)).toEqual([]);
  });

  const accepted = DAEMON_ACCEPTED.flatMap(([name, given]) => BOTH.map((api) => [name, api, given] as const));
  it.each(accepted)('accepted: %s (%s)', async (_, api, given) => {
    await expect(create(api, daemonManifestOf(api, given))).resolves.toBeDefined();
  });
});

describe('Deployments', () => {
  const create = (api: WorkloadApi, manifest: Json) =>
    client.create<WithTemplate>(workloadCollection(api, 'Deployment', 'default'), manifest, {
      dryRun: true,
      fieldValidation: 'Strict',
    });
  const table = DEPLOYMENT_CASES.flatMap((one) => one.apis.map((api) => [one.name, api, one] as const));
  it.each(table)('refused: %s (%s)', async (_name, api, { refused, ...given }) => {
    expect(await missingWords(create(api, deploymentManifestOf(api, given)), refused, api)).toEqual([]);
  });

  const accepted = DEPLOYMENT_ACCEPTED.flatMap(([name, given]) =>
    BOTH.map((api) => [name, api, given] as const),
  );
  it.each(accepted)('accepted: %s (%s)', async (_, api, given) => {
    await expect(create(api, deploymentManifestOf(api, given))).resolves.toBeDefined();
  });
});

describe.each(BOTH)('selectors of a %s object', (api) => {
  it.each([
    ['DaemonSet', daemonManifestOf(api, {})],
    ['Deployment', deploymentManifestOf(api, {})],
  ] as const)('may be spelled otherwise, but not be another: %s', async (kind, manifest) => {
    const kindPath = workloadCollection(api, kind, 'default');
    const { metadata } = await client.create<WithTemplate>(kindPath, manifest);
    const path = { ...kindPath, name: metadata.name };
    const change = async (selector: Json) =>
      await client.patch(path, 'merge', { spec: { selector } }, { dryRun: true });
    try {
      await expect(change({ matchExpressions: [] })).resolves.toBeDefined();
      const another = change({ matchExpressions: [{ key: 'app', operator: 'Exists' }] });
      await expect(another).rejects.toThrow('field is immutable');
    } finally {
      await client.delete(path);
    }
  });
});

describe('accepted', () => {
  const table = ACCEPTED.flatMap(([name, given]) => BOTH.map((api) => [name, api, given] as const));
  it.each(table)('%s (%s)', async (_, api, given) => {
    await expect(dryCreate(api, given)).resolves.toBeDefined();
  });
});

describe.each(BOTH)('changes of a %s object', (api) => {
  const web = { ...collection(api), name: 'web' };

  beforeAll(async () => {
    const settings = { podUpdatePolicy: 'InPlaceOnly' };
    const given = { settings, pod: BEFORE, templateMetadata: METADATA_BEFORE };
    await client.create(collection(api), manifestOf(api, given));
  });
  afterAll(async () => {
    await client.delete(web);
  });

  it.each(IN_PLACE_ACCEPTED)('InPlaceOnly lets %s change', async (_, patch) => {
    await expect(client.patch(web, 'json', patch, { dryRun: true })).resolves.toBeDefined();
  });

  it.each(IN_PLACE_REFUSED)('InPlaceOnly refuses to change %s', async (_, patch, refused) => {
    const change = client.patch(web, 'json', patch, { dryRun: true });
    expect(await missingWords(change, refused, api)).toEqual([]);
  });

  it('InPlaceOnly: a template that comes back from a revision with its defaults is no change (S6)', async () => {
    const { spec } = await client.get<WithTemplate>(web);
    const change = [{ op: 'replace', path: '/spec/template', value: normaliseTemplate(spec.template) }];
    await expect(client.patch(web, 'json', change, { dryRun: true })).resolves.toBeDefined();
  });

  it('InPlaceOnly: going back to another image leaves what the manifest spells out and no revision holds', async () => {
    const spelled = { ...collection(api), name: 'spelled' };
    const settings = { podUpdatePolicy: 'InPlaceOnly' };
    const given = { settings, pod: SPELLED_OUT, metadata: { name: 'spelled' } };
    await client.create(collection(api), manifestOf(api, given));
    try {
      const { spec } = await client.get<WithTemplate>(spelled);
      const text = JSON.stringify(normaliseTemplate(spec.template)).replaceAll('web:1', 'web:0');
      const before = trusted<PodTemplate>(JSON.parse(text));
      const change = (value: PodTemplate) => [{ op: 'replace', path: '/spec/template', value }];
      const back = change(inSpellingOf(spec.template, before));
      const made = await client.patch<WithTemplate>(spelled, 'json', back, { dryRun: true });
      expect(normaliseTemplate(made.spec.template)).toEqual(before);
    } finally {
      await client.delete(spelled);
    }
  });

  it.each([
    // Without what names images that are none, and a default that follows from another field.
    ...Object.entries(RICH_TEMPLATES).filter(
      ([name]) => !['pull policies follow from tags', 'volumes'].includes(name),
    ),
    ['volumes', { spec: withoutVolume(RICH_TEMPLATES['volumes'], 'image') }] as const,
    ['what charts spell out', { spec: SPELLED_OUT }] as const,
    ['a large template', { spec: LARGE }] as const,
  ])('InPlaceOnly: in another spelling it is the same template (S6): %s', async (_, template: Json) => {
    const rich = { ...collection(api), name: 'rich' };
    const given = {
      settings: { podUpdatePolicy: 'InPlaceOnly' },
      metadata: { name: 'rich' },
      templateMetadata: { ...asFields(template['metadata']), labels: { app: 'web' } },
      pod: { ...asFields(template['spec']), readinessGates: GATES },
    };
    await client.create(collection(api), manifestOf(api, given));
    try {
      const { spec: made } = await client.get<WithTemplate>(rich);
      const change = [{ op: 'replace', path: '/spec/template', value: normaliseTemplate(made.template) }];
      await expect(client.patch(rich, 'json', change, { dryRun: true })).resolves.toBeDefined();
    } finally {
      await client.delete(rich);
    }
  });

  it('immutable fields are refused (S20)', async () => {
    const patch = { spec: { serviceName: 'other', podManagementPolicy: 'OrderedReady' } };
    const ours = [
      'spec.podManagementPolicy',
      'spec.serviceName',
      'kubectl delete --cascade=orphan keeps the pods',
    ];
    const words = [
      'Forbidden: updates to statefulset spec for fields other than',
      ...(api === OURS ? ours : []),
    ];
    const change = client.patch(web, 'merge', patch, { dryRun: true });
    expect(await missingWords(change, words, api)).toEqual([]);
  });

  it.each<[string, Json]>([
    ['amounts and defaults', { spec: { ...CLAIM.spec, resources: AMOUNT_AGAIN, volumeMode: 'Filesystem' } }],
    [
      'what an export adds',
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Pending' } },
    ],
    ['empty maps', { metadata: { ...CLAIM.metadata, labels: {}, annotations: {} } }],
  ])('a claim template may be spelled otherwise, but not be another (S20): %s', async (_, spelling) => {
    const claimed = { ...collection(api), name: 'claimed' };
    const given = { spec: { volumeClaimTemplates: [CLAIM] }, metadata: { name: 'claimed' } };
    await client.create(collection(api), manifestOf(api, given));
    const change = (claim: Json, matchExpressions?: Json[]) => {
      const selector = { matchLabels: { app: 'web' }, ...(matchExpressions && { matchExpressions }) };
      return client.patch(
        claimed,
        'merge',
        { spec: { selector, volumeClaimTemplates: [claim] } },
        { dryRun: true },
      );
    };
    try {
      await expect(change({ ...CLAIM, ...spelling }, [])).resolves.toBeDefined();
      const other = { ...CLAIM, spec: { ...CLAIM.spec, resources: { requests: { storage: '2Gi' } } } };
      await expect(change({ ...other, ...spelling, spec: other.spec })).rejects.toThrow(
        'Forbidden: updates to statefulset spec',
      );
    } finally {
      await client.delete(claimed);
    }
  });

  it.each([
    ['replicas', { replicas: 7 }],
    ['minReadySeconds', { minReadySeconds: 3 }],
    ['revisionHistoryLimit', { revisionHistoryLimit: 0 }],
    ['ordinals', { ordinals: { start: 3 } }],
    [
      'persistentVolumeClaimRetentionPolicy',
      { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } },
    ],
    ['partition', { updateStrategy: { rollingUpdate: { partition: 1 } } }],
  ])('%s may change (S20)', async (_, spec: Json) => {
    await expect(client.patch(web, 'merge', { spec }, { dryRun: true })).resolves.toBeDefined();
  });

  it('status and scale are served, and policies do not look at them', async () => {
    const selector = api === OURS ? { labelSelector: 'app=web' } : {};
    const status = { replicas: 2, readyReplicas: 1, observedGeneration: 1, ...selector };
    const written = client.patch({ ...web, subresource: 'status' }, 'merge', { status });
    await expect(written).resolves.toMatchObject({ status });
    const scaled = client.patch({ ...web, subresource: 'scale' }, 'merge', { spec: { replicas: 4 } });
    await expect(scaled).resolves.toMatchObject({
      spec: { replicas: 4 },
      status: { replicas: 2, selector: 'app=web' },
    });
    await expect(client.get(web)).resolves.toMatchObject({ spec: { replicas: 4 } });
  });

  it('server-side apply merges containers, ports and env by their keys', async () => {
    const container = { name: 'main', env: [{ name: 'MORE', value: 'x' }], ports: [{ containerPort: 81 }] };
    const policy = 'InPlaceIfPossible';
    const ours = { updateStrategy: { rollingUpdate: { podUpdatePolicy: policy } } };
    const applied = {
      apiVersion: api,
      kind: 'StatefulSet',
      metadata: {
        name: 'web',
        namespace: 'default',
        ...(api === OURS ? {} : { annotations: { 'fairlead.dev/pod-update-policy': policy } }),
      },
      spec: { ...(api === OURS ? ours : {}), template: { spec: { containers: [container] } } },
    };
    const options = { dryRun: true, fieldManager: 'other', force: true } as const;
    const { spec } = await client.patch<WithTemplate>(web, 'apply', applied, options);
    const [main, side] = spec.template.spec.containers;
    expect(main?.image).toBe('registry.example/web:1');
    const names = trusted<Json[]>(main?.['env']).map((entry) => entry['name']);
    expect(names).toEqual(['TIER', 'MODE', 'CPUS', 'MORE']);
    expect(trusted<Json[]>(main?.['ports']).map((entry) => entry['containerPort'])).toEqual([80, 81]);
    expect(side?.name).toBe('side');
  });
});

describe('the CRD', () => {
  it('has short name fsts and category all in discovery, and its subresources', async () => {
    const path = '/apis/fairlead.dev/v1beta1';
    const { resources } = await client.request<{ resources: readonly Json[] }>({ method: 'GET', path });
    const found = resources.find(({ name }) => name === 'statefulsets');
    expect(found).toMatchObject({ kind: 'StatefulSet', shortNames: ['fsts'], categories: ['all'] });
    const names = resources.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['statefulsets/scale', 'statefulsets/status']));
  });

  it('has the defaults of native objects at its top level, and none inside the template', async () => {
    const plain = { replicas: undefined, podManagementPolicy: undefined };
    const made = await dryCreate(OURS, { spec: plain });
    expect(made.spec).toMatchObject({
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      revisionHistoryLimit: 10,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    });
    const given = trusted<WithTemplate>(manifestOf(OURS, { spec: plain }));
    expect(made.spec.template).toEqual(given.spec.template);
  });

  it('prints what an operator looks for', async () => {
    const crd = await client.get<KubernetesObject & { spec: { versions: readonly Json[] } }>({
      group: 'apiextensions.k8s.io',
      version: 'v1',
      resource: 'customresourcedefinitions',
      name: 'statefulsets.fairlead.dev',
    });
    const columns = trusted<readonly { name: string }[]>(crd.spec.versions[0]?.['additionalPrinterColumns']);
    const names = ['Desired', 'Ready', 'Updated', 'Available', 'Reason', 'Age', 'Images', 'Revision'];
    expect(columns.map(({ name }) => name)).toEqual(names);
  });
});

describe('the policies', () => {
  it('leave native StatefulSets alone that say nothing of Fairlead', async () => {
    const metadata = { annotations: {}, name: 'w'.repeat(60) };
    await expect(dryCreate('apps/v1', { metadata })).resolves.toBeDefined();
  });

  it('let an object that is being deleted lose its finalizers', async () => {
    const path = collection(OURS);
    const leaving = { ...path, name: 'leaving' };
    const metadata = { name: 'leaving', finalizers: ['example.com/wait'] };
    await client.create(path, manifestOf(OURS, { metadata }));
    await client.delete(leaving);
    const change = { metadata: { finalizers: null, annotations: { 'fairlead.dev/nonsense': 'x' } } };
    await client.patch(leaving, 'merge', change);
    await expect(client.get(leaving)).rejects.toBeInstanceOf(ApiError);
  });

  it('let only those write a record of a rolling update who may roll it out themselves', async () => {
    const namespace = 'default';
    const revisions = { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespace } as const;
    const apps = { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['create', 'patch'] };
    const core = { apiGroups: [''], resources: ['replicationcontrollers'], verbs: ['create', 'patch'] };
    const as = async (name: string, rules: readonly object[]) => {
      const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespace } as const;
      const roleRef = { apiGroup: rbac.group, kind: 'Role', name };
      const subjects = [{ apiGroup: rbac.group, kind: 'User', name }];
      await client.create({ ...rbac, resource: 'roles' }, { metadata: { name }, rules });
      await client.create({ ...rbac, resource: 'rolebindings' }, { metadata: { name }, roleRef, subjects });
      const { resource, group } = revisions;
      await untilAllowed(client, { user: name, verb: 'create', resource, group, there: namespace });
      return client.impersonating(name);
    };
    const revision = (name: string, labels: Json = {}) => ({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name, labels },
      revision: 1,
      data: {},
    });
    const label = { 'fairlead.dev/rolling-update': 'record' };
    const [clerk, roller] = [await as('clerk', [apps]), await as('roller', [apps, core])];
    const refused = {
      status: 403,
      message: expect.stringContaining('has to be allowed to create and patch replicationcontrollers'),
    };

    await client.create(revisions, revision('record', label));
    await clerk.create(revisions, revision('plain'));
    await expect(clerk.create(revisions, revision('forged', label))).rejects.toMatchObject(refused);
    const forge = clerk.patch({ ...revisions, name: 'plain' }, 'merge', { metadata: { labels: label } });
    await expect(forge).rejects.toMatchObject(refused);
    const change = { metadata: { annotations: { 'fairlead.dev/rolling-update-state': '{}' } } };
    await expect(clerk.patch({ ...revisions, name: 'record' }, 'merge', change)).rejects.toMatchObject(
      refused,
    );
    const unlabel = { metadata: { labels: { 'fairlead.dev/rolling-update': null } } };
    await expect(clerk.patch({ ...revisions, name: 'record' }, 'merge', unlabel)).rejects.toMatchObject(
      refused,
    );
    await roller.create(revisions, revision('rolled', label));
    await roller.patch({ ...revisions, name: 'rolled' }, 'merge', change);
  });

  it('pass the type check of the apiserver', async () => {
    const policies = await client.list<KubernetesObject & { status?: Json }>({
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      resource: 'validatingadmissionpolicies',
    });
    const ours = policies.items.filter(({ metadata }) => metadata.name.startsWith('fairlead-'));
    // One for each kind and workload API, and that of records.
    expect(ours).toHaveLength(7);
    for (const { status } of ours) expect(status?.['typeChecking']).toEqual({});
  });
});
