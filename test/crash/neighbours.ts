/** Other pods on the nodes of a scene: those that a drain moves. */

import type { Pod } from '../../planners/objects.ts';
import type { Scene } from '../support/scene.ts';
import { isPodReady } from '../support/scene.ts';
import { untilObjects } from '../support/until-objects.ts';
import type { DescribedKindName } from '../support/described-kinds.ts';

const LABELS = { app: 'shop' };

/** Resolves when so many pods of a ReplicaSet, in a namespace of their own that goes with the scene, are Ready on its nodes. */
export async function moveInNeighbours(scene: Scene<DescribedKindName>, replicas: number): Promise<void> {
  const { cluster, namespace, nodes } = scene;
  const shop = await cluster.createNamespaceNamed(`${namespace}-shop`);
  scene.neighbourhood = shop;
  await cluster.client.create(
    { group: 'apps', version: 'v1', resource: 'replicasets', namespace: shop },
    {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'shop' },
      spec: {
        replicas,
        selector: { matchLabels: LABELS },
        template: {
          metadata: { labels: LABELS },
          spec: {
            ...nodes?.placement,
            terminationGracePeriodSeconds: 1,
            containers: [{ name: 'shop', image: 'shop:1' }],
          },
        },
      },
    },
  );
  await untilObjects<Pod>(
    cluster.client,
    { group: '', version: 'v1', resource: 'pods', namespace: shop },
    'the shop is open',
    (pods) => pods.length === replicas && pods.every(isPodReady),
    30_000,
  );
}
