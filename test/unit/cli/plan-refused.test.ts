/** Objects that the apiserver does not take: the check of a commit tells them, and a plan leaves none out. Over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { planCommit } from '../../../cli/plan-changes.ts';
import { checkCommit } from '../../../git/check.ts';
import { ManifestReader } from '../../../git/manifests.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { ANNOTATION, UPDATE_FIELD_MANAGER } from '../../../planners/names.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const IMAGE = '.spec.template.spec.containers[name="main"].image';
const FILE = {
  path: 'foo.yaml',
  text: `apiVersion: v1
kind: ReplicationController
metadata: {name: foo}
spec:
  template:
    metadata: {labels: {app: foo}}
    spec: {containers: [{name: main, image: "app:2", imagePullPolicy: Sometimes}]}
`,
};
const PATH = '/api/v1/namespaces/ns/replicationcontrollers';

let server: WatchServer;
let client: KubernetesClient;
/** Who has the image, where that is another. */
let owner: string | undefined;
/** So many tries are taken before one is refused. */
let taken: number;
/** Reads of the object. */
let reads: number;
/** Of which commit it is when it is read for the first time. */
let appliedFirst: string | undefined;
/** What the repository has applied, as its inventory has it. */
let inventory: string | undefined;

const status = (code: number, reason: string, causes: readonly object[] = []) => ({
  kind: 'Status',
  code,
  reason,
  message: `ReplicationController "foo" is ${reason}: spec.template: no`,
  details: { causes },
});

beforeEach(async () => {
  [owner, taken, reads, appliedFirst, inventory] = [undefined, 0, 0, undefined, undefined];
  server = await WatchServer.start();
  server.intercept = ({ method, url }, response) => {
    const controller = () => {
      reads += 1;
      const annotations =
        (reads === 1 || inventory !== undefined) && appliedFirst !== undefined
          ? { [ANNOTATION.repository]: 'shop', [ANNOTATION.manifestHash]: appliedFirst }
          : {};
      return {
        metadata: { name: 'foo', uid: 'u', resourceVersion: '1', annotations },
        spec: { replicas: 1 },
      };
    };
    if (url.pathname === '/api') {
      answer(response, 200, { versions: ['v1'] });
    } else if (url.pathname.endsWith('/selfsubjectaccessreviews')) {
      answer(response, 201, { status: { allowed: true } });
    } else if (url.pathname === '/apis') {
      answer(response, 200, { groups: [] });
    } else if (url.pathname === '/api/v1') {
      const one = {
        name: 'replicationcontrollers',
        kind: 'ReplicationController',
        namespaced: true,
        verbs: [],
      };
      answer(response, 200, { resources: [one] });
    } else if (
      url.pathname.endsWith('/replicationcontrollers') ||
      url.pathname.endsWith('/controllerrevisions')
    ) {
      answer(response, 200, { metadata: { resourceVersion: '1' }, items: [] });
    } else if (inventory !== undefined && url.pathname.endsWith('/configmaps/fairlead-shop')) {
      const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
      const labels = { 'fairlead.dev/inventory': 'shop' };
      const metadata = { name: 'fairlead-shop', uid: 'i', annotations, labels };
      answer(response, 200, { metadata, data: { objects: inventory, status: '{}' } });
    } else if (![`${PATH}/foo`, `${PATH}/bar`].includes(url.pathname)) {
      answer(response, 404, status(404, 'NotFound'));
    } else if (method === 'GET') {
      answer(response, 200, controller());
    } else if (owner !== undefined && url.searchParams.get('force') !== 'true') {
      const message = `conflict with "${owner}" using v1`;
      answer(
        response,
        409,
        status(409, 'Conflict', [{ reason: 'FieldManagerConflict', field: IMAGE, message }]),
      );
    } else if ((taken -= 1) >= 0) {
      answer(response, 200, controller());
    } else {
      const field = 'spec.template.spec.containers[0].imagePullPolicy';
      const cause = { reason: 'FieldValueNotSupported', field, message: 'Unsupported value: "Sometimes"' };
      answer(response, 422, status(422, 'Invalid', [cause]));
    }
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

function content(text = FILE.text): ManifestReader {
  const reader = new ManifestReader();
  for (const _document of reader.read({ ...FILE, text }));
  return reader;
}

async function plan(of = content()) {
  const session = { leaseNamespace: 'system', cluster: 'default', api: 'apps/v1' } as const;
  const { repository } = commitContext(client);
  return await planCommit(client, session, { ...repository, name: 'shop', prune: true }, 'a', of);
}

const INVALID = { code: 'Invalid', object: 'ReplicationController ns/foo', file: 'foo.yaml' };

describe('an object whose fields somebody has, and that is not valid', () => {
  it.each([
    ['an update has made it', UPDATE_FIELD_MANAGER],
    ['an undo', 'kubectl-rollout'],
  ])('%s: it is validated all the same, for the commit takes them', async (_, manager) => {
    owner = manager;
    const { problems } = await checkCommit(commitContext(client), content());
    expect(problems).toMatchObject([INVALID]);
    expect(await plan()).toMatchObject({ problems: [INVALID], changes: [] });
  });

  it('another owner: that is the problem', async () => {
    owner = 'kubectl-edit';
    const { problems } = await checkCommit(commitContext(client), content());
    expect(problems).toMatchObject([{ ...INVALID, code: 'Conflict' }]);
  });

  it('and is, is taken by force', async () => {
    [owner, taken] = [UPDATE_FIELD_MANAGER, 10];
    const { problems } = await checkCommit(commitContext(client), content());
    expect(problems).toEqual([]);
  });
});

describe('a plan', () => {
  it('tells what is refused only when it tries it: somebody has written since the check', async () => {
    const [manifest] = content().manifests;
    appliedFirst = manifest?.hash;
    expect(await plan()).toMatchObject({ problems: [INVALID], changes: [] });
  });

  const foo = FILE.text;
  const bar = foo.replace('foo', 'bar');
  it.each([
    ['that was applied is read', foo, [], []],
    ['is read', bar, ['ReplicationController ns/foo'], []],
    ['but one document is read', `${bar}---\na: [`, [], [/when all of it can be read/]],
    ['but one kind is known', `${bar}---\n{apiVersion: v1, kind: Nothing, metadata: {name: a}}`, [], [/./]],
  ])('tells of deletions where all %s', async (_, text, deleted, notes) => {
    [inventory, appliedFirst, taken] = ['v1 ReplicationController ns foo u', 'h', 10];
    const planned = await plan(content(text));
    const gone = planned.changes.filter(({ action }) => action === 'delete');
    expect(gone.map(({ object }) => object)).toEqual(deleted);
    expect(planned.notes).toEqual(notes.map((note) => expect.stringMatching(note)));
  });
});
