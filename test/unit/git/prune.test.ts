/** What a prune tells of objects that are not gone after it, over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { entryKey } from '../../../git/inventory-content.ts';
import type { InventoryEntry } from '../../../git/inventory-content.ts';
import { pruneObjects } from '../../../git/prune.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const ENTRY: InventoryEntry = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'ns', name: 'one', uid: 'u' };
const PATH = '/api/v1/namespaces/ns/configmaps/one';
/** Nothing is there. */
const SET_PATH = '/apis/apps/v1/namespaces/ns/statefulsets/one';
const APPS = {
  name: 'apps',
  versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
  preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
};
const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };

let server: WatchServer;
let client: KubernetesClient;
/** What reads find, one after the other, the last one ever after; a number: the status that is answered. */
let found: readonly (object | number)[];
/** What the delete is answered. */
let deleted: { readonly code: number; readonly body: object };

beforeEach(async () => {
  server = await WatchServer.start();
  server.intercept = ({ method, url }, response) => {
    const [present = 404] = found;
    if (url.pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (url.pathname === '/apis') answer(response, 200, { groups: [APPS] });
    else if (url.pathname === '/apis/apps/v1') {
      const sets = { name: 'statefulsets', kind: 'StatefulSet', namespaced: true, verbs: [] };
      answer(response, 200, { resources: [sets] });
    } else if (url.pathname === '/api/v1') {
      const configMaps = { name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: [] };
      answer(response, 200, { resources: [configMaps] });
    } else if (url.pathname === SET_PATH)
      answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', details: { name: 'one' } });
    else if (url.pathname !== PATH) answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
    else if (method === 'DELETE') answer(response, deleted.code, deleted.body);
    else {
      if (found.length > 1) found = found.slice(1);
      const status = typeof present === 'number' ? present : 200;
      const failure = { kind: 'Status', code: status, reason: status === 403 ? 'Forbidden' : 'NotFound' };
      answer(response, status, typeof present === 'number' ? failure : present);
    }
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

const OURS = { [ANNOTATION.repository]: 'shop' };
const object = (more: object = {}) => ({
  metadata: { name: 'one', namespace: 'ns', uid: 'u', resourceVersion: '7', annotations: OURS, ...more },
});
const going = (finalizers: readonly string[]) =>
  object({ deletionTimestamp: '2026-11-23T00:00:00Z', ...(finalizers.length > 0 && { finalizers }) });

const prune = async () => await pruneObjects(commitContext(client), [ENTRY], { wanted: new Set() });

describe('an object that was deleted and has finalizers', () => {
  const waits = 'ConfigMap ns/one is being deleted, and waits for its';
  const held = going(['h8/x']);
  it.each<[string, object, readonly (object | number)[], readonly string[]]>([
    ['and keeps it', held, [held, held], [`${waits} finalizer h8/x`]],
    [
      'several',
      going(['a/1', 'a/2', 'a/3', 'a/4', 'a/5']),
      [held, going(['a/1', 'a/2', 'a/3', 'a/4', 'a/5'])],
      [`${waits} finalizers a/1, a/2, a/3 and 2 more`],
    ],
    [
      'some of which are taken off',
      going(['a/1', 'a/2']),
      [held, going(['a/2'])],
      [`${waits} finalizer a/2`],
    ],
    ['and is gone at the second look', held, [held, 404], []],
    ['and was made again since', held, [held, object({ uid: 'new', finalizers: ['h8/x'] })], []],
    ['and may not be read any more', held, [held, 403], [`${waits} finalizer h8/x`]],
    ['of the garbage collector alone', going(['orphan']), [held, going(['orphan'])], []],
    ['none', STATUS, [object(), held], []],
  ])('%s', async (_what, body, reads, kept) => {
    found = reads;
    deleted = { code: 200, body };
    const pruned = await prune();
    expect(pruned).toMatchObject({ deleted: ['ConfigMap ns/one'], kept, problems: [] });
    expect(pruned.forgotten).toEqual(new Set([entryKey(ENTRY)]));
  });
});

it('a prune of which no time is left deals with one object all the same, and tells where to go on', async () => {
  found = [object()];
  deleted = { code: 200, body: STATUS };
  const entries = [ENTRY, { ...ENTRY, name: 'two' }, { ...ENTRY, name: 'three' }];
  const pruned = await pruneObjects(
    commitContext(client),
    entries,
    { wanted: new Set() },
    { untilMs: Date.now() - 1 },
  );
  expect(pruned).toMatchObject({ count: 1, deleted: ['ConfigMap ns/one'] });
  expect(pruned.forgotten).toEqual(new Set([entryKey(ENTRY)]));
});

it('what an earlier attempt has detached is told by the one that ends, which finds nothing of it', async () => {
  const detach = { 'client.lifecycle.config.k8s.io/deletion': 'detach' };
  found = [object({ annotations: { ...OURS, ...detach } })];
  const context = commitContext(client);
  const told: (readonly string[])[] = [];
  const setting = { wanted: new Set<string>() };
  const first = await pruneObjects(context, [ENTRY], setting, { onTold: (all) => told.push([...all]) });
  expect(first.kept).toEqual([expect.stringMatching(/^ConfigMap ns\/one was detached, not deleted: /)]);
  expect(told).toEqual([first.kept]);

  found = [object({ annotations: detach })];
  expect((await pruneObjects(context, [ENTRY], setting)).kept).toEqual([]);
  const again = await pruneObjects(context, [ENTRY], setting, { isRepeated: true, told: told.at(-1) ?? [] });
  expect(again.kept).toEqual(first.kept);

  // Its write got lost, and is made once more.
  found = [object({ annotations: { ...OURS, ...detach } })];
  const twice = await pruneObjects(context, [ENTRY], setting, { isRepeated: true, told: told.at(-1) ?? [] });
  expect(twice.kept).toEqual(first.kept);
});

it.each([
  ['was deleted by an attempt that could not tell', new Set<string>(), ['StatefulSet.apps ns/one']],
  [
    'is in the commit under the other workload API was moved',
    new Set(['fairlead.dev/StatefulSet/ns/one']),
    [],
  ],
])('what an attempt that follows another does not find and %s', async (_what, wanted, gone) => {
  const entry = { ...ENTRY, apiVersion: 'apps/v1', kind: 'StatefulSet' };
  const pruned = await pruneObjects(commitContext(client), [entry], { wanted }, { isRepeated: true });
  expect(pruned).toMatchObject({ deleted: gone, problems: [] });
  expect(pruned.forgotten).toEqual(new Set([entryKey(entry)]));
});

describe('an object whose deletion is denied', () => {
  const denied =
    "configmaps \"one\" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: it is kept";
  it.each([
    ['by a policy', 422, 'Invalid', denied, /Do as ValidatingAdmissionPolicy keep says/],
    ['by a webhook', 400, 'BadRequest', 'admission webhook "x.y" denied the request: no', /Have it let go/],
  ])('%s is a problem of that one alone', async (_what, code, reason, message, next) => {
    found = [object()];
    deleted = { code, body: { kind: 'Status', status: 'Failure', code, reason, message } };
    const pruned = await prune();
    expect(pruned).toMatchObject({ deleted: [], kept: [] });
    expect(pruned.forgotten.size).toBe(0);
    expect(pruned.problems).toEqual([
      expect.objectContaining({
        code: 'Refused',
        object: 'ConfigMap ns/one',
        message: expect.stringContaining('it left the commit but is not deleted or detached: '),
        next: expect.stringMatching(next),
      }),
    ]);
  });
});

describe('an object that nothing marks as ours', () => {
  const why = `nothing on it says that git has applied it (annotation ${ANNOTATION.repository}): delete it by hand if nobody needs it`;
  it.each<[string, object, readonly string[]]>([
    ['stays, and is told', { annotations: {} }, [`ConfigMap ns/one was not pruned: ${why}`]],
    [
      'stays without a word for another repository',
      { annotations: { [ANNOTATION.repository]: 'other' } },
      [],
    ],
    [
      'stays without a word when it was detached',
      { annotations: { 'client.lifecycle.config.k8s.io/deletion': 'detach' } },
      [],
    ],
  ])('%s', async (_what, metadata, kept) => {
    found = [object(metadata)];
    deleted = { code: 500, body: {} };
    const pruned = await prune();
    expect(pruned).toMatchObject({ deleted: [], kept, problems: [] });
    expect(pruned.forgotten).toEqual(new Set([entryKey(ENTRY)]));
  });
});

describe('a Namespace whose content the account of the repository may not list', () => {
  it('stays for what the worker sees in it, which is counted and not named', async () => {
    const house = { name: 'house', uid: 'n', resourceVersion: '7' };
    const confirmed = { ...OURS, 'fairlead.dev/prune': 'confirmed' };
    server.intercept = ({ url: { pathname }, headers }, response) => {
      const kinds = [
        { name: 'namespaces', kind: 'Namespace', namespaced: false, verbs: [] },
        { name: 'secrets', kind: 'Secret', namespaced: true, verbs: ['list'] },
      ];
      const theirs = { name: 'hush', namespace: 'house', annotations: { [ANNOTATION.repository]: 'other' } };
      const isWorker = headers['impersonate-user'] === undefined;
      if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
      else if (pathname === '/apis') answer(response, 200, { groups: [] });
      else if (pathname === '/api/v1') answer(response, 200, { resources: kinds });
      else if (pathname === '/api/v1/namespaces/house')
        answer(response, 200, { metadata: { ...house, annotations: confirmed } });
      else if (isWorker) answer(response, 200, { metadata: {}, items: [{ metadata: theirs }] });
      else answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden' });
      return true;
    };
    const context = commitContext(client, client.impersonating('system:serviceaccount:ns:shop'));
    const entry = { apiVersion: 'v1', kind: 'Namespace', name: 'house', uid: 'n' };
    const { kept } = await pruneObjects(context, [entry], { wanted: new Set() });
    expect(kept).toEqual([
      expect.stringMatching(
        /^Namespace house was not pruned: it would take one object that its account may not list \(of another repository\) with it: /,
      ),
    ]);
    expect(kept.join()).not.toMatch(/hush|Secret/);
  });
});

describe('a confirmed Namespace that Fairlead itself cannot do without', () => {
  const account = 'as which the commits of repository';
  it.each<[string, string, ReadonlyMap<string, string> | undefined, RegExp]>([
    ['the workers are in', 'system', undefined, /its Lease and the inventories of all repositories: put the/],
    [
      'the account of another repository is in',
      'house',
      new Map([
        ['lodger', 'house/sync'],
        ['all', ''],
      ]),
      new RegExp(
        `it would take ServiceAccount house/sync with it, ${account} lodger are applied: set another`,
      ),
    ],
    ['its own account is in', 'ns', undefined, new RegExp(`ServiceAccount ns/sync with it, ${account} shop`)],
  ])('%s: it stays, without a look into it', async (_what, name, accounts, why) => {
    const annotations = { ...OURS, 'fairlead.dev/prune': 'confirmed' };
    const kinds = [{ name: 'namespaces', kind: 'Namespace', namespaced: false, verbs: [] }];
    const asked: string[] = [];
    server.intercept = ({ method, url: { pathname } }, response) => {
      asked.push(`${method} ${pathname}`);
      if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
      else if (pathname === '/apis') answer(response, 200, { groups: [] });
      else if (pathname === '/api/v1') answer(response, 200, { resources: kinds });
      else answer(response, 200, { metadata: { name, uid: 'n', resourceVersion: '7', annotations } });
      return true;
    };
    const context = commitContext(client);
    const repository = { ...context.repository, impersonate: 'system:serviceaccount:ns:sync' };
    const entry = { apiVersion: 'v1', kind: 'Namespace', name, uid: 'n' };
    const told = await pruneObjects({ ...context, repository, ...(accounts && { accounts }) }, [entry], {
      wanted: new Set(),
    });
    expect(told).toMatchObject({ deleted: [], kept: [expect.stringMatching(why)] });
    expect(told.forgotten.size).toBe(0);
    expect(asked.filter((one) => one.startsWith('DELETE'))).toEqual([]);
  });
});

describe('an object that an admission webhook is asked about', () => {
  const failure = (message: string) => ({
    code: 500,
    body: { kind: 'Status', code: 500, reason: 'InternalError', message },
  });

  it('is a problem, and stays in the inventory, while that does not answer', async () => {
    found = [object()];
    deleted = failure('Internal error occurred: failed calling webhook "h8.example.com": refused');
    const { problems, forgotten, deleted: gone } = await prune();
    expect(problems).toMatchObject([{ code: 'WebhookFailed', object: 'ConfigMap ns/one' }]);
    expect(problems[0]?.message).toMatch(/^it left the commit but is not deleted or detached: DELETE .*h8/);
    expect(problems[0]?.next).toMatch(/^Mend what serves the webhook h8\.example\.com, /);
    expect([forgotten.size, gone.length]).toEqual([0, 0]);
  });

  it('of another failure of the apiserver the whole prune is tried again', async () => {
    found = [object()];
    deleted = failure('Internal error occurred: etcdserver: no leader');
    await expect(prune()).rejects.toThrow('no leader');
  });
});

describe('an object that was applied in a version that is served no more', () => {
  const entry = {
    apiVersion: 'example.com/v1alpha1',
    kind: 'Widget',
    namespace: 'ns',
    name: 'one',
    uid: 'u',
  };

  /** What the apiserver answers of the version, whose list of resources still has it. */
  async function pruneFrom(body: object) {
    const kinds = [{ name: 'widgets', kind: 'Widget', namespaced: true, verbs: ['get', 'delete'] }];
    const versions = [{ version: 'v1alpha1' }, { version: 'v1' }];
    server.intercept = ({ method, url: { pathname } }, response) => {
      if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
      else if (pathname === '/apis') answer(response, 200, { groups: [{ name: 'example.com', versions }] });
      else if (pathname.split('/').length === 4) answer(response, 200, { resources: kinds });
      else if (pathname.includes('/v1alpha1/')) answer(response, 404, body);
      else answer(response, 200, method === 'DELETE' ? STATUS : object());
      return true;
    };
    const pruned = await pruneObjects(commitContext(client), [entry], { wanted: new Set() });
    const deletes = server.requests.filter(({ method }) => method === 'DELETE');
    return { ...pruned, deletes: deletes.map(({ url }) => url.pathname) };
  }

  it('is deleted in another one', async () => {
    await expect(pruneFrom({})).resolves.toMatchObject({
      deleted: ['Widget.example.com ns/one'],
      deletes: ['/apis/example.com/v1/namespaces/ns/widgets/one'],
    });
  });

  it('is gone where the answer names it: nobody is asked again', async () => {
    const gone = { kind: 'Status', code: 404, reason: 'NotFound', details: { name: 'one', kind: 'widgets' } };
    await expect(pruneFrom(gone)).resolves.toMatchObject({ deleted: [], deletes: [] });
  });
});
