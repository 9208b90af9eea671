/** Talking to an apiserver about admission. */

import { setTimeout as delay } from 'node:timers/promises';

import type { ControlPlane } from '../../../local/control-plane.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import type { ResourcePath } from '../../../kubernetes/client.ts';
import { loadConnection } from '../../../kubernetes/kubeconfig.ts';
import { workloadCollection } from '../../../kubernetes/workload-api.ts';
import type { WorkloadKind } from '../../../planners/workload.ts';
import { daemonManifestOf } from './daemonset-cases.ts';
import { deploymentManifestOf } from './deployment-cases.ts';
import { patient } from '../patience.ts';
import { BOTH, manifestOf } from './workload-manifest.ts';
import type { Json } from './workload-manifest.ts';

const POLICIES_TIMEOUT_MS = 20_000;

/** A client with all rights. */
export async function openAdmission(controlPlane: ControlPlane): Promise<KubernetesClient> {
  return new KubernetesClient(await loadConnection({}, { kubeconfig: controlPlane.kubeconfig }));
}

/** The message of a refusal (422 or 400); anything else is an error of the test. */
export async function refusalOf(request: Promise<unknown>): Promise<string> {
  let answer: unknown;
  try {
    answer = await request;
  } catch (error) {
    if (error instanceof ApiError && [400, 422].includes(error.status)) return error.message;
    throw error;
  }
  throw new Error(`accepted, and should have been refused: ${JSON.stringify(answer)}`);
}

/** An annotation of ours that nobody knows: refused for every kind. */
const UNKNOWN = { 'fairlead.dev/nobody-knows-this': 'true' };

/** Policies take effect a moment after they are stored: waits until each API refuses what it must, of every kind. */
export async function waitForPolicies(client: KubernetesClient): Promise<void> {
  const deadline = Date.now() + patient(POLICIES_TIMEOUT_MS);
  for (const api of BOTH) {
    const bad: Readonly<Record<WorkloadKind, Json>> = {
      StatefulSet: manifestOf(api, { settings: { maxUnavailable: 0 } }),
      DaemonSet: withAnnotations(daemonManifestOf(api, {})),
      Deployment: deploymentManifestOf(api, { annotations: UNKNOWN }),
    };
    for (const [kind, manifest] of Object.entries(bad)) {
      await untilRefused(
        client,
        workloadCollection(api, kind as WorkloadKind, 'default'),
        manifest,
        deadline,
      );
    }
  }
}

function withAnnotations(manifest: Json): Json {
  return { ...manifest, metadata: { ...(manifest['metadata'] as Json), annotations: UNKNOWN } };
}

async function untilRefused(
  client: KubernetesClient,
  path: ResourcePath,
  manifest: Json,
  deadline: number,
): Promise<void> {
  for (;;) {
    try {
      await client.create(path, manifest, { dryRun: true });
    } catch (error) {
      if (error instanceof ApiError && error.status === 422) return;
      throw error;
    }
    if (Date.now() > deadline) {
      const { resource, group } = path;
      throw new Error(
        `the policy for ${resource}.${group} is not in force after ${patient(POLICIES_TIMEOUT_MS) / 1000} s`,
      );
    }
    await delay(50);
  }
}
