/**
 * `npm run manifests`: writes the generated manifests from the OpenAPI document of the embedded control plane. With
 * `--openapi FILE` from a saved document (`kubectl get --raw /openapi/v3/apis/apps/v1` of the same version).
 */

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { startControlPlane } from '../../local/control-plane.ts';
import { fetchOpenApi, parseOpenApi } from './openapi-source.ts';
import type { OpenApi } from './structural-schema.ts';
import { writeManifests } from './write-manifests.ts';

const { values } = parseArgs({ options: { openapi: { type: 'string' } } });
const openapi =
  values.openapi === undefined
    ? await ofControlPlane()
    : parseOpenApi(await readFile(values.openapi, 'utf8'));
for (const path of await writeManifests(openapi)) console.log(`wrote manifests/${path}`);

async function ofControlPlane(): Promise<OpenApi> {
  const controlPlane = await startControlPlane({ nodes: 0, report: (line) => console.log(line) });
  try {
    return await fetchOpenApi(controlPlane.kubeconfig);
  } finally {
    await controlPlane.down();
  }
}
