/**
 * The committed manifests are what the generator makes of this apiserver's schemas, and they can be installed as they are; any others
 * are read as kubectl reads them.
 */

import { readdir, readFile } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { load, loadAll } from 'js-yaml';

import { KubernetesClient } from '../../kubernetes/client.ts';
import { Discovery } from '../../kubernetes/discovery.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { trusted } from '../../kubernetes/values.ts';
import { fetchOpenApi } from '../../manifests/generate/openapi-source.ts';
import { findBinary } from '../../local/binaries.ts';
import { generatedManifests } from '../../manifests/generate/write-manifests.ts';
import { openAdmission } from '../support/admission/admission-client.ts';
import { attributesOf, MAY, MAY_NOT } from '../support/admission/worker-permissions.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { readByKubectl } from '../support/kubectl-reading.ts';
import { fc } from '../support/properties.ts';
import { difference } from '../support/yaml-comparison.ts';
import { manifestFile } from '../support/yaml-documents.ts';

/** A client-side `kubectl apply` keeps the whole object in an annotation, and annotations hold this much. */
const ANNOTATION_BYTES = 262_144;

const controlPlane = useControlPlane({ nodes: 0 });
let client: KubernetesClient;
let generated: ReadonlyMap<string, string>;

function committed(path: string): Promise<string> {
  return readFile(new URL(`../../manifests/${path}`, import.meta.url), 'utf8');
}

beforeAll(async () => {
  client = await openAdmission(controlPlane());
  generated = generatedManifests(await fetchOpenApi(controlPlane().kubeconfig));
});
afterAll(() => client.close());

describe('generated manifests', () => {
  it('are committed as generated, each of them', async () => {
    const others: string[] = [];
    for (const [path, text] of generated) {
      if ((await committed(path)) !== text) others.push(path);
    }
    // If this fails: npm run manifests
    expect(others).toEqual([]);
  });

  it('are all that there is of CRDs, each small enough for a client-side apply', async () => {
    const paths = (await readdir(new URL('../../manifests/crds/', import.meta.url))).map(
      (file) => `crds/${file}`,
    );
    expect(paths.sort()).toEqual([...generated.keys()].filter((path) => path.startsWith('crds/')).sort());
    for (const path of paths) {
      const text = await committed(path);
      expect(JSON.stringify(load(text)).length).toBeLessThan(ANNOTATION_BYTES);
    }
  });
});

describe("the worker's ServiceAccount", () => {
  let worker: KubernetesClient;
  beforeAll(async () => {
    const kubeconfig = await controlPlane().workerKubeconfig();
    worker = new KubernetesClient(await loadConnection({}, { kubeconfig }));
  });
  afterAll(() => worker.close());

  it.each([...MAY.map((one) => ['may', one] as const), ...MAY_NOT.map((one) => ['may not', one] as const)])(
    '%s %s',
    async (verdict, permission) => {
      const { status } = await worker.request<{ status: { allowed: boolean } }>({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: attributesOf(permission) },
        },
      });
      expect(status.allowed).toBe(verdict === 'may');
    },
  );
});

describe('other manifests', () => {
  it('examples and the worker for real clusters are valid to the last field', async () => {
    await client.create({ group: '', version: 'v1', resource: 'namespaces' }, namespaceOf('web'));
    const discovery = new Discovery(client);
    const seen: string[] = [];
    for (const folder of ['examples', 'install/worker']) {
      for (const file of await readdir(new URL(`../../manifests/${folder}/`, import.meta.url))) {
        for (const document of loadAll(await committed(`${folder}/${file}`))) {
          const object = trusted<Manifest>(document);
          const { group, version, resource, namespaced } = await discovery.resolve(
            object.apiVersion,
            object.kind,
          );
          const { name, namespace: own = 'default' } = object.metadata;
          const namespace = namespaced ? own : undefined;
          const options = { dryRun: true, fieldValidation: 'Strict' } as const;
          await client.patch({ group, version, resource, namespace, name }, 'apply', object, options);
          seen.push(`${file} ${object.kind} ${name}`);
        }
      }
    }
    expect(seen).toEqual(
      expect.arrayContaining([
        'web.yaml StatefulSet web',
        'web-apps-v1.yaml StatefulSet web',
        'worker.yaml Deployment fairlead-worker',
        'repositories.yaml ConfigMap fairlead-repositories',
        'temporal-dev.yaml Deployment temporal',
        'sync-account.yaml Role deployer',
      ]),
    );
  });
});

/** Files that are generated; kubectl reads a hundred in a second. */
const FILES = Number(process.env['FAIRLEAD_YAML_FILES'] ?? 300);
const FILES_AT_ONCE = 1_000;

describe('generated files of manifests', () => {
  it('are read as kubectl reads them, or differ on purpose', async () => {
    const kubectl = await findBinary('kubectl');
    const differenceOf = async (text: string): Promise<string | undefined> => {
      const [reading] = await readByKubectl(kubectl, controlPlane().kubeconfig, [text]);
      return reading === undefined ? 'not read' : difference(text, reading);
    };
    const texts = fc.sample(manifestFile, FILES);
    const differing: number[] = [];
    let withObjects = 0;
    for (let from = 0; from < texts.length; from += FILES_AT_ONCE) {
      const some = texts.slice(from, from + FILES_AT_ONCE);
      const readings = await readByKubectl(kubectl, controlPlane().kubeconfig, some);
      for (const [index, reading] of readings.entries()) {
        if ('objects' in reading && reading.objects.length > 0) withObjects += 1;
        if (difference(some[index] ?? '', reading) !== undefined) differing.push(from + index);
      }
    }
    // The others are not read by kubectl: of them only the refusal can be compared.
    expect(withObjects).toBeGreaterThan(texts.length * 0.4);
    const [first] = differing;
    if (first === undefined) return;
    const { counterexample } = await fc.check(
      fc.asyncProperty(manifestFile, async (text) => (await differenceOf(text)) === undefined),
      { path: String(first), numRuns: 1, interruptAfterTimeLimit: 120_000 },
    );
    const text = counterexample?.[0] ?? texts[first] ?? '';
    const which = `${String(differing.length)} of ${String(texts.length)}, the first of them in little`;
    throw new Error(`${which}: ${JSON.stringify(text)}\n${String(await differenceOf(text))}`);
  }, 1_200_000);
});

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

function namespaceOf(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}
