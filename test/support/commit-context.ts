/** What functions of `git/` are given, for tests of one of them against a server that answers as an apiserver does. */

import type { CommitContext } from '../../git/commit.ts';
import { InventoryStore } from '../../git/inventory.ts';
import { ManifestReader } from '../../git/manifests.ts';
import type { PreparedObject } from '../../git/prepare.ts';
import { prepareObjects } from '../../git/prepare.ts';
import { repositoryFromFlags } from '../../git/repositories.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { Discovery } from '../../kubernetes/discovery.ts';

/** A commit of the repository `shop`, whose namespace is `ns`. `client` is its account's, where that is another than the worker's. */
export function commitContext(worker: KubernetesClient, client = worker): CommitContext {
  return {
    repository: repositoryFromFlags({ repo: '/srv/shop', namespace: 'ns' }),
    sha: 'a',
    client,
    worker,
    discovery: new Discovery(worker),
    store: new InventoryStore(worker, 'system', 'shop'),
    workloadApi: 'apps/v1',
    isFollowed: () => true,
    startRollingUpdate: async () => await Promise.reject(new Error('none is expected')),
    inTurn: async (_object, section) => await section(),
  };
}

/** The objects of a file, found by `find` as a commit's are. */
export async function preparedObjects(
  file: { readonly path: string; readonly text: string },
  find: Parameters<typeof prepareObjects>[1]['find'],
): Promise<readonly PreparedObject[]> {
  const reader = new ManifestReader();
  for (const _document of reader.read(file));
  const { objects } = await prepareObjects(reader.manifests, {
    defaultNamespace: 'ns',
    find,
    versions: () => Promise.resolve([]),
  });
  return objects;
}
