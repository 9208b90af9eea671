/** A third kind: a Deployment, whose ReplicaSets are its history. */

import type { DeploymentObject } from '../kubernetes/deployment-adapter.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../kubernetes/workload-api.ts';
import { isReady, isTerminating } from '../planners/availability.ts';
import type { Pod } from '../planners/objects.ts';
import { NAMESPACE } from './accounts.ts';
import { API_REPLICAS, apiImageOf, apiManifest } from './manifests.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';

const TIMEOUT_MS = 60_000;
const LOOK_MS = 100;

async function api(stage: Stage): Promise<string> {
  await commit(stage, 'v1', 'an api');
  await untilRolledOut(stage, 'v1');
  await commit(stage, 'v2', 'api v2');
  const { fewest } = await untilRolledOut(stage, 'v2');
  const history = await stage.fairlead('rollout', 'history', 'deploy/api');
  check(/2 .*Succeeded/.test(history), 'the history does not tell of the second revision');
  check(fewest >= API_REPLICAS, `only ${String(fewest)} of ${String(API_REPLICAS)} were ready at a time`);
  return `api v2, never fewer than ${String(fewest)} ready`;
}

async function commit(stage: Stage, tag: string, message: string): Promise<void> {
  const { screen, repository } = stage;
  const { sha } = await repository.commit({ 'api.yaml': apiManifest(apiImageOf(tag)) }, message);
  screen.say(`${screen.colors.bold('  $ git commit')}  ${sha.slice(0, 8)} ${message}`);
}

/** Resolves with the fewest ready pods that were seen on the way. */
async function untilRolledOut(stage: Stage, tag: string): Promise<{ readonly fewest: number }> {
  const { client } = stage.controlPlane;
  const pods = { group: '', version: 'v1', resource: 'pods', namespace: NAMESPACE };
  const path = {
    ...groupVersion('fairlead.dev/v1beta1'),
    resource: WORKLOAD_RESOURCES.Deployment,
    namespace: NAMESPACE,
  };
  const end = Date.now() + TIMEOUT_MS;
  let fewest = Infinity;
  while (Date.now() < end) {
    const [{ items }, deployments] = await Promise.all([
      client.list<Pod>(pods, { labelSelector: 'app=api' }),
      client.list<DeploymentObject>(path),
    ]);
    const ready = items.filter((pod) => isReady(pod) && !isTerminating(pod));
    fewest = Math.min(fewest, ready.length);
    const isThere = ready.filter((pod) => pod.spec.containers[0]?.image === apiImageOf(tag)).length;
    if (isThere === API_REPLICAS && deployments.items.every(isSettled)) return { fewest };
    await stage.hold(LOOK_MS);
  }
  throw new Error(`not within ${String(TIMEOUT_MS / 1000)} s: api:${tag} on all pods of api`);
}

function isSettled({ metadata, status }: DeploymentObject): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && status?.observedGeneration === metadata.generation;
}

export const STEP_OF_API: Step = {
  name: 'api',
  title: 'A Deployment is rolled by a surge',
  expected: 'all pods new, never one too few',
  play: api,
};
