/** Workers that are killed, frozen, cut off, started twice: each scene has workers of its own. */

import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from '@jest/globals';

import { ANNOTATION } from '../../../planners/names.ts';
import type { KubernetesObject, Pod } from '../../../planners/objects.ts';
import { ApiProxy } from '../api-proxy.ts';
import type { ApiProxyOptions } from '../api-proxy.ts';
import type { ApiWrite } from '../api-write.ts';
import type { Scene } from '../scene.ts';
import { conditionOf, imageOf, isPodReady, uidOf } from '../scene.ts';
import type { LogLine, WorkerProcess } from '../worker-process.ts';
import type { Bench, FaultCase } from './fault-case.ts';

interface Lease extends KubernetesObject {
  readonly spec: { readonly holderIdentity?: string };
}

/** The Lease lasts 6 s; a candidate that waits has it soon after. */
const TAKEOVER_MS = 20_000;

const leads = (line: LogLine) => line.msg === 'this replica leads';
const resigned = (line: LogLine) => line.msg === 'this replica does not lead any more';

function isLeading({ lines }: WorkerProcess): boolean {
  return lines.filter(leads).length > lines.filter(resigned).length;
}

async function untilLeading(worker: WorkerProcess): Promise<void> {
  await worker.untilLine(leads, TAKEOVER_MS);
}

/** Identity of the process that holds the Lease; it names the pid. */
async function holderOf({ cluster, owner }: Scene): Promise<string> {
  const lease = await cluster.client.get<Lease>({
    group: 'coordination.k8s.io',
    version: 'v1',
    resource: 'leases',
    namespace: 'fairlead-system',
    name: `fairlead-${owner}`,
  });
  return lease.spec.holderIdentity ?? '';
}

/** A proxy between one worker and the apiserver, and the kubeconfig that leads through it. */
async function throughProxy(
  { controlPlane }: Bench,
  use: (proxy: ApiProxy, kubeconfig: string) => Promise<void>,
  onWrite?: ApiProxyOptions['onWrite'],
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-'));
  const proxy = await ApiProxy.start({
    server: controlPlane.serverUrl,
    ca: await readFile(controlPlane.caFile),
    ...(onWrite !== undefined && { onWrite }),
  });
  try {
    const source = await controlPlane.workerKubeconfig();
    await use(proxy, await proxy.writeKubeconfig(source, join(directory, 'kubeconfig')));
  } finally {
    await proxy.close();
    await rm(directory, { recursive: true });
  }
}

/** One pod at a time: long enough for a Lease to run out in the middle. */
const SLOW = { replicas: 8, maxUnavailable: 1 };

async function expectDone(scene: Scene): Promise<void> {
  await scene.untilDone();
  expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
  await scene.expectWarnings([]);
  await scene.judge();
}

export const WORKER_CASES: readonly FaultCase[] = [
  ...(
    [
      {
        name: 'leader frozen past its Lease and woken: the standby goes on, the woken one writes nothing',
        sees: async (scene) => expect((await scene.pods()).map(imageOf)).toContain('app:1'),
      },
      {
        name: 'leader frozen and woken when its successor is done: it knows of no end, and starts no run',
        sees: async (scene) => await scene.untilDone(),
      },
    ] satisfies readonly { name: string; sees: (scene: Scene) => Promise<unknown> }[]
  ).map(({ name, sees }): FaultCase => ({
    name,
    run: async (bench) => {
      await throughProxy(bench, async (proxy, kubeconfig) => {
        const scene = await bench.scene('frozen', SLOW);
        const leader = await bench.worker(scene, { kubeconfig });
        const standby = await bench.worker(scene, { waitFor: 'started' });
        await scene.deploy();
        await scene.apply({ image: 'app:2' });
        await scene.untilMidRollout('app:2');
        leader.freeze();
        await untilLeading(standby);
        await sees(scene);
        // A write that had passed its guard when it was frozen goes with its connection: only what the woken one begins is judged.
        proxy.closeToWorker();
        proxy.openToWorker();
        const written = proxy.writes.length;
        leader.wake();
        await leader.untilLine(resigned, TAKEOVER_MS);
        await expectDone(scene);
        expect(proxy.writes.slice(written).map(({ key }) => key)).toEqual([]);
      });
    },
  })),
  {
    name: 'leader killed mid-rollout: the standby takes over and finishes',
    run: async (bench) => {
      const scene = await bench.scene('killed', SLOW);
      const leader = await bench.worker(scene);
      const standby = await bench.worker(scene, { waitFor: 'started' });
      await scene.deploy();
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      await leader.kill();
      await untilLeading(standby);
      await expectDone(scene);
    },
  },
  {
    name: 'another leader: a pause and a terminated run are still what they were',
    run: async (bench) => {
      const scene = await bench.scene('remembered', { maxUnavailable: 1 });
      const first = await bench.worker(scene);
      await scene.deploy();
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      await scene.runs.signal('pause');
      await scene.runs.untilPhase('Paused');
      await first.kill();
      const second = await bench.worker(scene);
      await expectHealing(scene);
      const updatedOf = (pods: readonly Pod[]) => pods.filter((pod) => imageOf(pod) === 'app:2').length;
      const updated = updatedOf(await scene.pods());
      await scene.annotate({ [ANNOTATION.paused]: undefined });
      await scene.untilPods('it goes on', (pods) => updatedOf(pods) > updated);
      await scene.runs.terminate();
      await scene.untilSet('Stalled', isStalled);
      await second.stop();
      await bench.worker(scene);
      await expectHealing(scene);
      const stalled = conditionOf(await scene.set(), 'Stalled');
      expect(stalled).toMatchObject({ status: 'True', reason: 'RunTerminated' });
      expect(await scene.statuses()).toEqual(['COMPLETED', 'TERMINATED']);
      await scene.apply({ image: 'app:3' });
      await scene.untilDone();
      expect(await scene.statuses()).toEqual(['COMPLETED', 'TERMINATED', 'COMPLETED']);
      await scene.judge();
    },
  },
  {
    name: 'two workers started at once: one leads; stopped mid-rollout, it hands over at once',
    run: async (bench) => {
      const scene = await bench.scene('two', SLOW);
      const workers = await Promise.all([
        bench.worker(scene, { waitFor: 'started' }),
        bench.worker(scene, { waitFor: 'started' }),
      ]);
      await scene.deploy();
      const leaders = workers.filter(isLeading);
      expect(leaders).toHaveLength(1);
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      const [leader] = leaders as [WorkerProcess];
      await leader.stop();
      // Released: the other one need not wait until it runs out.
      expect(await holderOf(scene)).not.toContain(`-${String(leader.pid)}-`);
      await Promise.all(workers.filter((worker) => worker !== leader).map(untilLeading));
      await expectDone(scene);
    },
  },
  {
    name: 'watch connections cut, again and again, mid-rollout: nothing is missed',
    run: async (bench) => {
      await throughProxy(bench, async (proxy, kubeconfig) => {
        const scene = await bench.scene('cut', { maxUnavailable: 1 });
        await bench.worker(scene, { kubeconfig });
        await scene.deploy();
        await scene.apply({ image: 'app:2' });
        for (const updated of [1, 2, 3]) {
          const pods = await scene.untilPods(`${String(updated)} updated and ready`, (all) => {
            const done = all.filter((pod) => imageOf(pod) === 'app:2' && isPodReady(pod));
            return done.length >= updated;
          });
          expect(proxy.cutWatches()).toBeGreaterThan(0);
          // Deleted while nobody watches.
          const victim = pods.find((pod) => imageOf(pod) === 'app:1' && isPodReady(pod));
          if (updated === 2 && victim !== undefined) await scene.deletePod(victim.metadata.name);
        }
        await expectDone(scene);
      });
    },
  },
  {
    name: 'an apiserver that is slow: pods are made again while others of a large batch are still to be deleted',
    isForFull: true,
    run: async (bench) => {
      const isDelete = ({ resource, verb }: ApiWrite) => resource === 'pods' && verb === 'delete';
      await throughProxy(
        bench,
        async (proxy, kubeconfig) => {
          const scene = await bench.scene('slow', { replicas: 30, maxUnavailable: 30, parallel: true });
          await bench.worker(scene, { kubeconfig });
          await scene.deploy();
          const written = proxy.writes.length;
          await scene.apply({ image: 'app:2' });
          await expectDone(scene);
          const writes = proxy.writes.slice(written);
          const again = writes.findIndex(({ resource, verb }) => resource === 'pods' && verb === 'create');
          expect(writes.filter(isDelete)).toHaveLength(30);
          // A turn lasts a second, an answer 400 ms; without turns it is the whole batch.
          expect(writes.slice(0, again).filter(isDelete).length).toBeLessThan(5);
        },
        (write, side) =>
          isDelete(write) && side === 'before' ? { fault: 'delay', milliseconds: 400 } : undefined,
      );
    },
  },
];

function isStalled(set: Awaited<ReturnType<Scene['set']>>): boolean {
  return conditionOf(set, 'Stalled')?.status === 'True';
}

/** The present leader does its work, and takes no pod from the old revision. */
async function expectHealing(scene: Scene): Promise<void> {
  const pods = await scene.untilPods(
    'settled',
    (all) => all.length === 6 && all.every((pod) => isPodReady(pod)),
  );
  const old = pods.filter((pod) => imageOf(pod) === 'app:1').map(uidOf);
  expect(old.length).toBeGreaterThan(0);
  const victim = pods.findLast((pod) => imageOf(pod) === 'app:2');
  if (victim === undefined) throw new Error('no pod was updated before the pause');
  await scene.deletePod(victim.metadata.name);
  await scene.untilHealed(victim);
  const after = new Set((await scene.pods()).map(uidOf));
  expect(old.filter((uid) => !after.has(uid))).toEqual([]);
}
