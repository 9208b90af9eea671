/** Two clusters on one Temporal namespace, one for each workload API: what belongs to one never acts on the other. */

import { describe, expect, it } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { WORKLOAD_APIS, groupVersion } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import type { RolloutInput } from '../../workflows/messages.ts';
import { ROLLOUT_WORKFLOW, workflowTaskQueue } from '../../workflows/messages.ts';
import type { Bench } from '../support/faults/fault-case.ts';
import { useBenches } from '../support/faults/fault-case.ts';
import { apisOf } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import type { Scene } from '../support/scene.ts';
import { conditionOf, imageOf, uidOf } from '../support/scene.ts';
import type { WorkerOptions } from '../support/worker-process.ts';

const PAIRS = apisOf('fairlead.dev/v1beta1').map((one) => ({
  one,
  other: WORKLOAD_APIS.find((api) => api !== one) as WorkloadApi,
}));

/** Several plays go on at a time, each with workers of its own. */
const PATIENCE_MS = 180_000;

const bench = useBenches();
const inLane = useLanes(3);

describe.each(PAIRS)(
  'the Temporal of a cluster with $one, used by another with $other, too',
  ({ one, other }) => {
    /** Set, namespace and worker of the guest; equal names are no accident. */
    async function guestScene(home: Scene, owner?: string): Promise<Scene> {
      const { stage } = guestBench();
      const namespace = await stage.cluster.createNamespaceNamed(home.namespace);
      return await stage.scene('', { namespace, owner, temporal: bench(one).stage.temporal });
    }

    function guestBench(): Bench {
      return bench(other);
    }

    function onHomeTemporal(): Partial<WorkerOptions> {
      return { temporalAddress: bench(one).controlPlane.temporalAddress };
    }

    it(
      'each with its own FAIRLEAD_CLUSTER: both roll, each its own',
      inLane(async () => {
        const home = await bench(one).scene('home');
        const away = await guestScene(home, `${home.namespace}-guest`);
        await Promise.all([bench(one).worker(home), guestBench().worker(away, onHomeTemporal())]);
        await Promise.all([home.deploy(), away.deploy()]);
        await Promise.all([home.apply({ image: 'app:2' }), away.apply({ image: 'app:3' })]);
        await Promise.all([home.untilDone(), away.untilDone()]);
        for (const scene of [home, away]) {
          expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
          await scene.expectWarnings([]);
          await scene.judge();
        }
      }),
      PATIENCE_MS,
    );

    it(
      'both with the same FAIRLEAD_CLUSTER: the other refuses the run, writes nothing, and the object says so',
      inLane(async () => {
        const home = await bench(one).scene('shared');
        const away = await guestScene(home, home.owner);
        const first = await bench(one).worker(home);
        await home.deploy();
        await home.apply({ image: 'app:2' });
        await home.untilMidRollout('app:2');
        await first.kill();
        const before = await settled(home);
        // Only the other cluster's worker is left on the task queues that the two share.
        const stranger = await guestBench().worker(away, onHomeTemporal());
        await away.apply({});
        await home.runs.until('refused', (runs) => runs.at(-1)?.status === 'FAILED', 60_000);
        await away.untilPods('its own pods', (pods) => pods.length === 6);
        await stranger.stop();
        expect((await home.pods()).map(uidOf)).toEqual(before.map(uidOf));
        await bench(one).worker(home);
        const set = await home.untilSet(
          'Stalled',
          (object) => conditionOf(object, 'Stalled')?.status === 'True',
        );
        expect(conditionOf(set, 'Stalled')).toMatchObject({ reason: 'RunFailed' });
        expect(conditionOf(set, 'Stalled')?.message).toContain('give each cluster its own FAIRLEAD_CLUSTER');
        await home.annotate({ [ANNOTATION.retried]: JSON.stringify({ at: new Date().toISOString() }) });
        await home.untilDone(120_000);
        expect(await home.statuses()).toEqual(['COMPLETED', 'FAILED', 'COMPLETED']);
        await home.judge();
        await away.judge();
      }),
      PATIENCE_MS,
    );

    it(
      'a run of another cluster under the id of a workload of this one is refused, and touches nothing',
      inLane(async () => {
        const home = await bench(one).scene('foreign', { replicas: 2 });
        const worker = await bench(one).worker(home);
        await home.deploy();
        await worker.stop();
        const before = await home.pods();
        await startForeignRun(home, workflowTaskQueue(home.owner));
        await bench(one).worker(home);
        await home.runs.until('refused', (runs) => runs.at(-1)?.status === 'FAILED', 30_000);
        expect((await home.pods()).map(uidOf)).toEqual(before.map(uidOf));
        // It was not this workload's run, and stands in the way of nothing.
        await home.apply({ image: 'app:2' });
        await home.untilDone();
        expect(await home.statuses()).toEqual(['COMPLETED', 'FAILED', 'COMPLETED']);
        await home.expectWarnings([]);
        await home.judge();
      }),
      PATIENCE_MS,
    );

    it(
      'an open run of another cluster under that id is not cancelled; the object says so',
      inLane(async () => {
        const home = await bench(one).scene('taken', { replicas: 2 });
        await bench(one).worker(home);
        await home.deploy();
        await startForeignRun(home, 'a queue of another cluster');
        await home.apply({ image: 'app:2' });
        const set = await home.untilSet(
          'Stalled',
          (object) => conditionOf(object, 'Stalled')?.status === 'True',
        );
        expect(conditionOf(set, 'Stalled')).toMatchObject({ reason: 'RunOfAnotherCluster' });
        expect(conditionOf(set, 'Stalled')?.message).toContain('give each cluster its own FAIRLEAD_CLUSTER');
        expect(await home.statuses()).toEqual(['COMPLETED', 'RUNNING']);
        expect(await home.runs.cancelRequested()).toBe(false);
        await home.runs.terminate();
        await home.annotate({ [ANNOTATION.retried]: JSON.stringify({ at: new Date().toISOString() }) });
        await home.untilDone();
        expect(await home.statuses()).toEqual(['COMPLETED', 'TERMINATED', 'COMPLETED']);
        await home.expectWarnings(['RunOfAnotherCluster']);
        await home.judge();
      }),
      PATIENCE_MS,
    );

    /** As the guest would start it for a workload of the same name. */
    async function startForeignRun(home: Scene, taskQueue: string): Promise<void> {
      const { metadata } = await home.set();
      const system = { group: '', version: 'v1', resource: 'namespaces', name: 'kube-system' };
      const { uid: clusterUid } = (await guestBench().stage.cluster.client.get(system)).metadata;
      const { name, uid } = metadata;
      const target = '0123456789abcdef';
      const input: RolloutInput = {
        cluster: home.owner,
        clusterUid,
        workload: { ...groupVersion(one), kind: 'StatefulSet', namespace: home.namespace, name, uid },
        target,
        onDeadline: 'Report',
        searchAttributes: [],
      };
      await bench(one).stage.temporal.workflow.start(ROLLOUT_WORKFLOW, {
        workflowId: home.runs.workflowId,
        taskQueue,
        args: [input],
        memo: { clusterUid, uid, target },
      });
    }
  },
);

/** The pods when nothing more happens by itself: no worker runs. */
async function settled(scene: Scene): Promise<readonly Pod[]> {
  return await scene.untilPods('nothing terminating, nothing starting', (pods) =>
    pods.every(
      (pod) =>
        pod.metadata.deletionTimestamp === undefined &&
        imageOf(pod) !== undefined &&
        pod.status?.phase === 'Running',
    ),
  );
}
