/** Activities of a commit that the apiserver refuses what the worker needs for every commit, over real HTTP. */

import { expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';

import type { CommitActivityDependencies } from '../../../activities/commit-access.ts';
import { createCommitActivities } from '../../../activities/commit.ts';
import type { CheckCommitInput, RecordCommitInput } from '../../../activities/commit-types.ts';
import type { Mirror } from '../../../git/mirror.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

const flags = { repo: '/srv/shop', name: 'shop', namespace: 'ns', serviceAccount: 'deployer' };

/** What was told of Events that nobody takes. */
const lost: string[] = [];

/** Of a commit with one object, or those of the text. */
function activities(text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n') {
  const mirror = trusted<Mirror>({
    readManifests: async () => await Promise.resolve({ files: [{ path: 'a.yaml', text }], problems: [] }),
    describeCommit: async () => await Promise.resolve(undefined),
  });
  return createCommitActivities(
    trusted<CommitActivityDependencies>({
      client: ground.client,
      clusterUid: 'u',
      cluster: 'c',
      repository: () => repositoryFromFlags(flags),
      followed: () => [],
      mirror: () => mirror,
      inventoryNamespace: 'system',
      now: () => 0,
      onRecorded: () => undefined,
      onEventLost: (_: string, message: string) => void lost.push(message),
    }),
  );
}

function quiet(attempt = 1): MockActivityEnvironment {
  return new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') });
}

const input = { repository: 'shop', sha: 'a'.repeat(40), clusterUid: 'u', onlyDeferred: false };

it.each([1, 100])(
  'is checked only when the roles of the cluster are read, attempt %i: nobody may do anything before, nor ask whether it is ready',
  async (attempt) => {
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
    const { checkCommit } = activities();
    const checking = quiet(attempt).run(checkCommit, trusted<CheckCommitInput>(input));
    await expect(checking).rejects.toMatchObject({ type: 'Forbidden', nonRetryable: false });
  },
);

const POLICY =
  "configmaps \"fairlead-shop\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";

const INVENTORY = {
  metadata: {
    name: 'fairlead-shop',
    uid: 'i',
    resourceVersion: '1',
    labels: { 'fairlead.dev/inventory': 'shop' },
    annotations: { 'applyset.kubernetes.io/tooling': 'fairlead/v1', 'fairlead.dev/cluster': 'c' },
  },
  data: {},
};

/** The record of a commit whose inventory is not there, and may not be made: how the apiserver refuses it. */
async function recording(code: number, reason: string, message: string, of = 'configmaps'): Promise<unknown> {
  ground.server.intercept = ({ method, url: { pathname } }, response) => {
    const isOther = !pathname.includes(`/${of}`);
    if (method === 'GET')
      answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: '' });
    else if (isOther) answer(response, 201, INVENTORY);
    else answer(response, code, { kind: 'Status', code, reason, message });
    return true;
  };
  const { recordCommit } = activities();
  const problems = { total: 0, first: [], lines: [] };
  const run = { workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z', outcome: 'Succeeded' };
  const recorded = trusted<RecordCommitInput>({ ...input, ...run, problems, notes: [] });
  return await quiet().run(recordCommit, recorded);
}

it.each([
  ['permission', 403, 'Forbidden', 'User "worker" cannot create resource "configmaps"'],
  ['policy', 422, 'Invalid', POLICY],
])(
  'an inventory that may not be written, by %s, is tried again, and says what to mend',
  async (_, ...said) => {
    await expect(recording(...said)).rejects.toMatchObject({
      type: 'Forbidden',
      nonRetryable: false,
      message: expect.stringMatching(
        /^POST configmaps system: .*; mend what it names .*`fairlead check --worker`/,
      ),
    });
  },
);

it('an inventory that is too long stays so', async () => {
  const message = 'ConfigMap "fairlead-shop" is invalid: []: Too long';
  await expect(recording(422, 'Invalid', message)).rejects.toMatchObject({ nonRetryable: true });
});

it('an Event that nobody takes is told, and ends no run: the record of the commit is written', async () => {
  lost.length = 0;
  const said = 'User "worker" cannot create resource "events"';
  await expect(recording(403, 'Forbidden', said, 'events')).resolves.toEqual({ mayPassLater: false });
  expect(lost).toEqual([expect.stringContaining(said)]);
  // Nobody answered: it is tried again.
  await expect(recording(503, 'ServiceUnavailable', 'away', 'events')).rejects.toMatchObject({
    nonRetryable: false,
  });
  expect(lost).toHaveLength(1);
});

const CUSTOM = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true}]
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
`;

it('a kind whose CustomResourceDefinition was deleted since the last check comes with the commit again', async () => {
  let isServed = true;
  ground.server.intercept = ({ method, url: { pathname } }, response) => {
    const isOfWidgets = pathname.startsWith('/apis/example.com/');
    const [, , , , name] = pathname.split('/');
    if (isOfWidgets && !isServed) answer(response, 404, {});
    else if (isOfWidgets && name === undefined)
      answer(response, 200, { resources: [{ name: 'widgets', kind: 'Widget', namespaced: true }] });
    else if (pathname === '/apis/apiextensions.k8s.io/v1') {
      const kind = 'CustomResourceDefinition';
      answer(response, 200, { resources: [{ name: 'customresourcedefinitions', kind, namespaced: false }] });
    } else if (pathname === '/api/v1/namespaces/kube-system') answer(response, 200, { metadata: {} });
    else if (method === 'PATCH') answer(response, 200, { metadata: { name: 'one', uid: 'w' } });
    else answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' });
    return true;
  };
  const { checkCommit } = activities(CUSTOM);
  const check = async () => await quiet().run(checkCommit, trusted<CheckCommitInput>(input));
  await expect(check()).resolves.toMatchObject({ deferred: 0, problems: { lines: [] } });
  isServed = false;
  await expect(check()).resolves.toMatchObject({ deferred: 1, problems: { lines: [] } });
});
