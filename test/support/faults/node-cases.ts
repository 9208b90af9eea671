/** A node that goes away mid-rollout with the pods on it. */

import { expect } from '@jest/globals';

import { imageOf, isPodReady, nameOf, uidOf } from '../scene.ts';
import type { Bench, FaultCase } from './fault-case.ts';

const HOSTNAME = 'kubernetes.io/hostname';

/** A node that only pods of the case use: it is cordoned, and they tolerate that. */
async function addCordonedNode({ controlPlane, stage }: Bench): Promise<string> {
  const [node = ''] = await controlPlane.addNodes(1);
  await stage.cluster.client.patch({ group: '', version: 'v1', resource: 'nodes', name: node }, 'merge', {
    spec: { unschedulable: true },
  });
  return node;
}

/** Pods half on that node, half on the first one; all on the first one when that node is gone. */
function onBoth(node: string, app: string): Readonly<Record<string, unknown>> {
  const labelSelector = { matchLabels: { app } };
  return {
    tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: HOSTNAME, operator: 'In', values: ['node-0', node] }] },
          ],
        },
      },
    },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: HOSTNAME, whenUnsatisfiable: 'DoNotSchedule', labelSelector },
    ],
  };
}

export const NODE_CASES: readonly FaultCase[] = [
  {
    // kube-controller-manager gives pods of a node that does not exist 40 to 60 s.
    name: 'node gone mid-rollout: its pods come back elsewhere, at the new revision',
    run: async (bench) => {
      const node = await addCordonedNode(bench);
      const scene = await bench.deployed('node', { podSpec: onBoth(node, 'web') });
      const lost = (await scene.pods()).filter((pod) => pod.spec.nodeName === node);
      expect(lost.length).toBeGreaterThan(0);
      await scene.apply({ image: 'app:2' });
      await scene.untilMidRollout('app:2');
      await bench.controlPlane.removeNode(node);
      const pods = await scene.untilDone(120_000);
      expect(pods.map(({ spec }) => spec.nodeName)).not.toContain(node);
      expect(pods.map(uidOf).filter((uid) => lost.some((pod) => pod.metadata.uid === uid))).toEqual([]);
      expect(pods.filter((pod) => !isPodReady(pod) || imageOf(pod) !== 'app:2').map(nameOf)).toEqual([]);
      expect(await scene.statuses()).toEqual(['COMPLETED', 'COMPLETED']);
      await scene.expectWarnings([]);
      await scene.judge();
    },
  },
];
