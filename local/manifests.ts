/** Reads manifests and applies them to the instance's own cluster, server side. */

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { loadAll } from 'js-yaml';

import type { AdminApi } from './api-request.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

const RETRY_MS = 50;
const TIMEOUT_MS = 20_000;

/** All objects of the YAML files directly in a directory, file by file in name order; none if it does not exist. */
export async function readManifests(directory: string): Promise<readonly Manifest[]> {
  let files: string[];
  try {
    files = await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const manifests: Manifest[] = [];
  for (const file of files.filter((name) => /\.ya?ml$/.test(name)).toSorted()) {
    manifests.push(...(await readManifestFile(join(directory, file))));
  }
  return manifests;
}

/** All objects of one YAML file. */
export async function readManifestFile(path: string): Promise<readonly Manifest[]> {
  const documents = loadAll(await readFile(path, 'utf8')) as readonly (Manifest | null)[];
  return documents.filter((document) => document !== null);
}

function apiRoot(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

/** Applies manifests one after the other, in the order given. */
export class ManifestApplier {
  readonly #admin: AdminApi;
  readonly #discovered = new Map<string, ResourceList>();

  constructor(admin: AdminApi) {
    this.#admin = admin;
  }

  async #pathOf({ apiVersion, kind, metadata }: Manifest): Promise<string | undefined> {
    const root = apiRoot(apiVersion);
    let list = this.#discovered.get(root);
    if (list === undefined) {
      const answer = await this.#admin.request('GET', root);
      if (answer.status !== 200) return undefined;
      list = answer.body as ResourceList;
    }
    const resource = list.resources.find((entry) => entry.kind === kind && !entry.name.includes('/'));
    if (resource === undefined) return undefined;
    this.#discovered.set(root, list);
    const namespace = resource.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
    return `${root}${namespace}/${resource.name}/${metadata.name}`;
  }

  /**
   * Applies one object and takes over its fields. A kind that is not served yet (its CRD is new) is waited for.
   * Rejects with the apiserver's own words.
   */
  async apply(manifest: Manifest): Promise<void> {
    const deadline = Date.now() + TIMEOUT_MS;
    const subject = `${manifest.kind} ${manifest.metadata.name}`;
    for (;;) {
      const path = await this.#pathOf(manifest);
      const answer =
        path === undefined
          ? { status: 404, body: { message: `${manifest.apiVersion} does not serve ${manifest.kind}` } }
          : await this.#admin.request(
              'PATCH',
              `${path}?fieldManager=fairlead-local&force=true`,
              manifest,
              'application/apply-patch+yaml',
            );
      if (answer.status < 300) return;
      const message = (answer.body as { readonly message?: string }).message ?? JSON.stringify(answer.body);
      // 404: not served yet. 503 and 429: still starting. 403 with "not yet ready": quota and the like.
      const passing = [404, 429, 503].includes(answer.status) || /not yet ready/.test(message);
      if (!passing || Date.now() > deadline) {
        throw new Error(`cannot apply ${subject}: ${answer.status} ${message}`);
      }
      await delay(RETRY_MS);
    }
  }

  /** Waits until the apiserver serves every custom resource among the manifests. */
  async waitUntilServed(manifests: readonly Manifest[]): Promise<void> {
    for (const { kind, metadata } of manifests) {
      if (kind !== 'CustomResourceDefinition') continue;
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`;
      const deadline = Date.now() + TIMEOUT_MS;
      for (;;) {
        const crd = (await this.#admin.request('GET', path)).body as {
          readonly spec?: {
            readonly group: string;
            readonly versions: readonly { readonly name: string; readonly served: boolean }[];
            readonly names: { readonly plural: string };
          };
        };
        const version = crd.spec?.versions.find(({ served }) => served)?.name;
        if (crd.spec !== undefined && version !== undefined) {
          const list = `/apis/${crd.spec.group}/${version}/${crd.spec.names.plural}?limit=1`;
          if ((await this.#admin.request('GET', list)).status === 200) break;
        }
        if (Date.now() > deadline)
          throw new Error(`${metadata.name} is not served ${TIMEOUT_MS / 1000} s after it was applied`);
        await delay(RETRY_MS);
      }
    }
  }
}
