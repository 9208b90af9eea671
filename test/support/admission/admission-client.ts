/** Talking to an apiserver about admission. */

import { setTimeout as delay } from 'node:timers/promises';

import type { ControlPlane } from '../../../local/control-plane.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { loadConnection } from '../../../kubernetes/kubeconfig.ts';
import { workloadCollection } from '../../../kubernetes/workload-api.ts';
import { BOTH, manifestOf } from './workload-manifest.ts';

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

/** Policies take effect a moment after they are stored: waits until each API refuses what it must. */
export async function waitForPolicies(client: KubernetesClient): Promise<void> {
  const deadline = Date.now() + POLICIES_TIMEOUT_MS;
  for (const api of BOTH) {
    const bad = manifestOf(api, { settings: { maxUnavailable: 0 } });
    for (;;) {
      try {
        await client.create(workloadCollection(api, 'StatefulSet', 'default'), bad, { dryRun: true });
      } catch (error) {
        if (error instanceof ApiError && error.status === 422) break;
        throw error;
      }
      if (Date.now() > deadline)
        throw new Error(`the policy for ${api} is not in force after ${POLICIES_TIMEOUT_MS / 1000} s`);
      await delay(50);
    }
  }
}
