/** A third kind: a Deployment in a wave after `web`, so that one commit of both rolls it when `web` is done. */

import { formatTable } from '../cli/table.ts';
import type { DeploymentObject } from '../kubernetes/deployment-adapter.ts';
import { WORKLOAD_RESOURCES, groupVersion } from '../kubernetes/workload-api.ts';
import { isReady, isTerminating } from '../planners/availability.ts';
import type { Pod } from '../planners/objects.ts';
import { NAMESPACE } from './accounts.ts';
import { API_REPLICAS, REPLICAS, apiImageOf, apiManifest, imageOf } from './manifests.ts';
import type { ApiChange } from './observer.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';
import { seconds, withinBudget } from './steps-of-commits.ts';

/** Web's rollout comes first. */
const TIMEOUT_MS = 120_000;
const LOOK_MS = 100;
const RECORDED_MS = 10_000;

async function api(stage: Stage): Promise<string> {
  const { observer, screen } = stage;
  const first = await stage.commit('v6', 'web v6, and an api in wave 1', { files: apiFile('v1') });
  await untilRolledOut(stage, 'v1');
  afterWeb(observer.apiChanges(first.at), 'v1', 'v6');
  const second = await stage.commit('v7', 'web v7 and api v2', { files: apiFile('v2') });
  const { fewest } = await untilRolledOut(stage, 'v2');
  const changed = afterWeb(observer.apiChanges(second.at), 'v2', 'v7');
  const moves = observer.imageChanges(second.at).filter(({ image }) => image === imageOf('v7'));
  screen.quote(
    formatTable<{ readonly what: string; readonly at: number }>(
      [
        { title: 'AFTER THE COMMIT', value: ({ at }) => seconds(at - second.at) },
        { title: 'SEEN', value: ({ what }) => what },
      ],
      [
        ...moves.map(({ at, pod }) => ({ at, what: `${pod} gets web:v7` })),
        {
          at: changed.at,
          what: `api gets api:v2; ${String(changed.web.length)} pods of web are ready at v7`,
        },
      ],
    ),
  );
  withinBudget(stage, second.at);
  // A rollout is recorded right after the object is Ready.
  const isTold = (history: string) => /^ *2 .*Succeeded/m.test(history);
  const history = await stage.fairleadUntil(isTold, RECORDED_MS, 'rollout', 'history', 'deploy/api');
  check(isTold(history), 'the history does not tell of the second revision');
  check(fewest >= API_REPLICAS, `only ${String(fewest)} of ${String(API_REPLICAS)} were ready at a time`);
  return `api v2 after web v7, never fewer than ${String(fewest)} ready`;
}

const apiFile = (tag: string) => ({ 'api.yaml': apiManifest(apiImageOf(tag)) });

/** The change of the Deployment to this image, which must come when all of web is ready at its own. */
function afterWeb(changes: readonly ApiChange[], tag: string, webTag: string): ApiChange {
  const change = changes.find(({ image }) => image === apiImageOf(tag));
  check(change !== undefined, `the Deployment never got api:${tag}`);
  const ready = change.web.filter((image) => image === imageOf(webTag)).length;
  check(
    ready === REPLICAS,
    `api:${tag} came when only ${String(ready)} of ${String(REPLICAS)} pods of web were ready at web:${webTag}`,
  );
  return change;
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
  title: 'A Deployment is rolled in a wave after web, by a surge',
  expected: 'web first; all pods new, never one too few',
  play: api,
};
