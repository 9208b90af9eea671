/** Reads manifests and applies them to the instance's own cluster, server side. */

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { loadAll } from 'js-yaml';

import { ApiError, isNotFound, isTransient } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Discovery, UnknownKind } from '../kubernetes/discovery.ts';
import { errorCode, trusted } from '../kubernetes/values.ts';
import { FIELD_MANAGER } from './cluster-client.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface CustomResourceDefinition extends Manifest {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

const RETRY_MS = 50;
/** A busy machine takes its time to compile a policy's expressions. */
const TIMEOUT_MS = 120_000;

/** All objects of the YAML files directly in a directory, file by file in name order; none if it does not exist. */
export async function readManifests(directory: string): Promise<readonly Manifest[]> {
  let files: string[];
  try {
    files = await readdir(directory);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
  const yaml = files.filter((name) => /\.ya?ml$/.test(name)).toSorted();
  return (await Promise.all(yaml.map((file) => readManifestFile(join(directory, file))))).flat();
}

/** All objects of one YAML file; empty documents are left out. */
export async function readManifestFile(path: string): Promise<readonly Manifest[]> {
  const documents = loadAll(await readFile(path, 'utf8'));
  return documents
    .filter((document) => document !== null && document !== undefined)
    .map((document) => trusted<Manifest>(document));
}

/** What passes by itself: the apiserver is starting, or a kind is not served yet because its CRD is new. */
function isPassing(error: unknown): boolean {
  if (error instanceof UnknownKind || isNotFound(error) || isTransient(error)) return true;
  return error instanceof ApiError && error.message.includes('not yet ready');
}

/** Tries until it works, the error does not pass by itself, or two minutes are over. */
async function untilItWorks<T>(subject: string, attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isPassing(error) || Date.now() > deadline) {
        throw new Error(`${subject}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      }
    }
    await delay(RETRY_MS);
  }
}

/** Applies manifests and takes over their fields. Rejects with the apiserver's own words. */
export class ManifestApplier {
  readonly #client: KubernetesClient;
  readonly #discovery: Discovery;

  constructor(client: KubernetesClient) {
    this.#client = client;
    this.#discovery = new Discovery(client);
  }

  async apply(manifest: Manifest): Promise<void> {
    await untilItWorks(`cannot apply ${manifest.kind} ${manifest.metadata.name}`, async () => {
      const path = await this.#discovery.pathOf(manifest, 'default');
      await this.#client.patch(path, 'apply', manifest, {
        fieldManager: FIELD_MANAGER,
        force: true,
        timeoutMs: TIMEOUT_MS,
      });
    });
  }

  /** Waits until the apiserver serves every custom resource among the manifests. */
  async waitUntilServed(manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) {
      if (manifest.kind !== 'CustomResourceDefinition') continue;
      const { metadata, spec } = trusted<CustomResourceDefinition>(manifest);
      for (const { name: version, served } of spec.versions) {
        if (!served) continue;
        const path = { group: spec.group, version, resource: spec.names.plural };
        await untilItWorks(`${metadata.name} is not served`, () => this.#client.list(path, { limit: 1 }));
      }
    }
  }
}
