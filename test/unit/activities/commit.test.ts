/** The check of a commit while the apiserver is just starting, over real HTTP. */

import { expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import type { CommitActivityDependencies } from '../../../activities/commit-access.ts';
import { createCommitActivities } from '../../../activities/commit.ts';
import type { CheckCommitInput } from '../../../activities/commit-types.ts';
import type { Mirror } from '../../../git/mirror.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

it('is tried again until the roles of the cluster are read: nobody may do anything before, nor ask whether it is ready', async () => {
  // Roles of namespaces are read already: the inventory is asked for with one.
  ground.server.intercept = ({ url: { pathname } }, response) => {
    const resources = [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: [] }];
    if (pathname === '/api/v1') answer(response, 200, { resources });
    else if (pathname.startsWith('/api/v1/namespaces/system/'))
      answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' });
    else
      answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'RBAC: not found' });
    return true;
  };
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n';
  const mirror = trusted<Mirror>({
    readManifests: async () => await Promise.resolve({ files: [{ path: 'a.yaml', text }], problems: [] }),
  });
  const flags = { repo: '/srv/shop', name: 'shop', namespace: 'ns', serviceAccount: 'deployer' };
  const { checkCommit } = createCommitActivities(
    trusted<CommitActivityDependencies>({
      client: ground.client,
      clusterUid: 'u',
      cluster: 'c',
      repository: () => repositoryFromFlags(flags),
      followed: () => [],
      mirror: () => mirror,
      inventoryNamespace: 'system',
    }),
  );
  const input = { repository: 'shop', sha: 'a'.repeat(40), clusterUid: 'u', onlyDeferred: false };
  const checking = new MockActivityEnvironment().run(checkCommit, trusted<CheckCommitInput>(input));
  await expect(checking).rejects.toMatchObject({ type: 'Forbidden', nonRetryable: false });
});
