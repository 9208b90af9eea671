/** What came before Deployments: a ReplicationController, rolled by a commit, and its name given back to it at the end. */

import { formatTable } from '../cli/table.ts';
import { isReady, isTerminating } from '../planners/availability.ts';
import { controllerOf } from '../planners/controller-ref.ts';
import type { Pod } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { NAMESPACE } from './accounts.ts';
import { LEGACY_REPLICAS, legacyImageOf, legacyManifest } from './manifests.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';

const TIMEOUT_MS = 60_000;
const LOOK_MS = 100;
const NAME = 'legacy';

/** The controllers and pods of `legacy` at one moment. */
interface Look {
  readonly controllers: readonly ReplicationController[];
  /** Ready, and not on their way out. */
  readonly pods: readonly Pod[];
}

/** A pod under the next controller, and after that has got the old one's name. */
interface Kept {
  readonly pod: string;
  readonly uid: string;
  readonly before: string;
  readonly after: string;
}

async function legacy(stage: Stage): Promise<string> {
  await stage.commitFiles(legacyFile('v1'), 'a ReplicationController from long ago');
  await untilLook(stage, 'legacy:v1 on all pods', (look) => isRolled(look, 'v1'));
  await stage.commitFiles(legacyFile('v2'), 'legacy v2');
  let beforeRename: Look | undefined;
  let most = 0;
  let fewest = Infinity;
  const after = await untilLook(stage, 'legacy:v2 on all pods, under the name legacy', (look) => {
    // The rename leaves the pods without a controller for a moment: what was before is the last look at which they had the next one.
    if (look.pods.filter(isOfNext).length === LEGACY_REPLICAS) beforeRename = look;
    most = Math.max(most, look.pods.length);
    fewest = Math.min(fewest, look.pods.length);
    return isRolled(look, 'v2');
  });
  check(beforeRename !== undefined, 'no next controller ever had all of the pods: nothing was rolled');
  const kept = keptPods(beforeRename, after);
  stage.screen.quote(
    formatTable<Kept>(
      [
        { title: 'POD', value: ({ pod }) => pod },
        { title: 'UID', value: ({ uid }) => uid },
        { title: 'CONTROLLER', value: ({ before }) => before },
        { title: 'AFTER THE RENAME', value: (pod) => pod.after },
      ],
      kept,
    ),
  );
  check(
    kept.length === LEGACY_REPLICAS,
    `only ${String(kept.length)} of ${String(LEGACY_REPLICAS)} pods outlived the rename`,
  );
  check(
    most <= LEGACY_REPLICAS + 1 && fewest >= LEGACY_REPLICAS,
    `between ${String(fewest)} and ${String(most)} pods were ready, not ${String(LEGACY_REPLICAS)} or one more`,
  );
  await stage.fairlead('rollout', 'history', `rc/${NAME}`);
  return `${String(kept.length)} uids kept through the rename, ${String(fewest)} to ${String(most)} pods ready`;
}

const legacyFile = (tag: string) => ({ 'legacy.yaml': legacyManifest(legacyImageOf(tag)) });

function isRolled({ controllers, pods }: Look, tag: string): boolean {
  const [controller] = controllers;
  return (
    controllers.length === 1 &&
    controller?.metadata.name === NAME &&
    pods.length === LEGACY_REPLICAS &&
    pods.every(
      (pod) =>
        pod.spec.containers[0]?.image === legacyImageOf(tag) &&
        controllerOf(pod)?.uid === controller.metadata.uid,
    )
  );
}

function isOfNext(pod: Pod): boolean {
  return (controllerOf(pod)?.name ?? NAME) !== NAME;
}

/** The pods of the next controller that are there under the old name as well. */
function keptPods(before: Look, after: Look): readonly Kept[] {
  return after.pods.flatMap((pod) => {
    const old = before.pods.filter(isOfNext).find(({ metadata }) => metadata.uid === pod.metadata.uid);
    const controller = old && controllerOf(old)?.name;
    if (controller === undefined) return [];
    const { name, uid } = pod.metadata;
    return [{ pod: name, uid, before: controller, after: controllerOf(pod)?.name ?? 'none' }];
  });
}

async function untilLook(stage: Stage, what: string, wanted: (look: Look) => boolean): Promise<Look> {
  const { client } = stage.controlPlane;
  const path = (resource: string) => ({ group: '', version: 'v1', resource, namespace: NAMESPACE });
  const end = Date.now() + TIMEOUT_MS;
  while (Date.now() < end) {
    const [controllers, pods] = await Promise.all([
      client.list<ReplicationController>(path('replicationcontrollers')),
      client.list<Pod>(path('pods'), { labelSelector: `app=${NAME}` }),
    ]);
    const look = {
      controllers: controllers.items,
      pods: pods.items.filter((pod) => isReady(pod) && !isTerminating(pod)),
    };
    if (wanted(look)) return look;
    await stage.hold(LOOK_MS);
  }
  throw new Error(`not within ${String(TIMEOUT_MS / 1000)} s: ${what}`);
}

export const STEP_OF_LEGACY: Step = {
  name: 'legacy',
  title: 'A ReplicationController is rolled by a commit',
  expected: 'pods kept through the rename, none too few',
  play: legacy,
};
