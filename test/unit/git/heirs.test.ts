/** Who may have what leaves a repository: asked as the account of who names it. Over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ClaimedObject, HeirSetting } from '../../../git/heirs.ts';
import { chooseHeir } from '../../../git/heirs.ts';
import { entryKey } from '../../../git/inventory-content.ts';
import type { InventoryEntry } from '../../../git/inventory-content.ts';
import type { Claim } from '../../../git/other-commits.ts';
import { problem } from '../../../git/problems.ts';
import { pruneObjects } from '../../../git/prune.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

let server: WatchServer;
let client: KubernetesClient;
/** `<account> <verb> <group>/<resource> <namespace>/<name>`: each that may. */
let allowed: ReadonlySet<string>;
let mayImpersonate: boolean;
/** What the apiserver says in place of an answer, when admission stands in between. */
let unanswered: string | undefined;

beforeEach(async () => {
  server = await WatchServer.start();
  mayImpersonate = true;
  unanswered = undefined;
  allowed = new Set();
  server.intercept = ({ method, url: { pathname }, headers, body }, response) => {
    const kind = { name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: [] };
    if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (pathname === '/apis') answer(response, 200, { groups: [] });
    else if (pathname === '/api/v1') answer(response, 200, { resources: [kind] });
    else if (pathname.endsWith('/selfsubjectaccessreviews')) {
      const { spec } = JSON.parse(body) as { spec: { resourceAttributes: Record<string, string> } };
      const { verb, group, resource, namespace = '', name } = spec.resourceAttributes;
      const account = String(headers['impersonate-user'] ?? 'worker')
        .split(':')
        .at(-1);
      const isAllowed = allowed.has(`${account} ${verb} ${group}/${resource} ${namespace}/${name}`);
      if (unanswered !== undefined)
        answer(response, 500, { kind: 'Status', code: 500, reason: 'InternalError', message: unanswered });
      else if (mayImpersonate) answer(response, 201, { status: { allowed: isAllowed } });
      else answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden' });
    } else if (method === 'DELETE') answer(response, 200, { kind: 'Status', metadata: {} });
    else
      answer(response, 200, {
        metadata: {
          name: 'one',
          namespace: 'ns',
          uid: 'u',
          resourceVersion: '7',
          annotations: { [ANNOTATION.repository]: 'shop' },
        },
      });
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

const MAP: ClaimedObject = { group: '', resource: 'configmaps', namespace: 'ns', name: 'one' };
const GRANT = { ...MAP, group: 'rbac.authorization.k8s.io', resource: 'rolebindings' };

/** Of a repository with an account of its own, of the same name; or of the worker. */
function claim(name: string, more: Partial<Claim> & { readonly asWorker?: boolean } = {}): Claim {
  const { asWorker = false, ...rest } = more;
  const repository = repositoryFromFlags({
    repo: '/srv/x',
    name,
    namespace: 'ns',
    ...(!asWorker && { serviceAccount: name }),
  });
  const { impersonate } = repository;
  const account = impersonate === undefined ? client : client.impersonating(impersonate);
  return { repository, account, ...rest };
}

async function choose(object: ClaimedObject, claims: readonly Claim[], setting: HeirSetting = {}) {
  const { heir, ...rest } = await chooseHeir(commitContext(client), object, claims, setting);
  return { heir: heir?.repository.name, ...rest };
}

describe('of those that want an object', () => {
  it('the first whose account may change it has it, asked as that account', async () => {
    allowed = new Set(['b patch /configmaps ns/one', 'c patch /configmaps ns/one']);
    expect(
      await choose(
        MAP,
        ['a', 'b', 'c'].map((name) => claim(name)),
      ),
    ).toMatchObject({ heir: 'b' });
  });

  it('who may not is named, and what its account lacks', async () => {
    expect(await choose(MAP, [claim('a')])).toEqual({
      heir: undefined,
      refused: ['repository a names it, but its account may not patch configmaps there'],
      makers: [],
    });
    mayImpersonate = false;
    expect((await choose(MAP, [claim('a')])).refused).toEqual([
      'repository a names it, but its account may not be impersonated by the worker',
    ]);
  });

  it('of one that cannot be asked now nothing is known: what it names stays', async () => {
    allowed = new Set(['a patch /configmaps ns/one']);
    unanswered = 'Internal error occurred: failed calling webhook "x.example.com": connection refused';
    expect(await choose(MAP, [claim('a')])).toMatchObject({
      heir: undefined,
      refused: [],
      undecided: expect.stringMatching(
        /^repository a wants it, and what its account may do cannot be told now/,
      ),
    });
  });

  it('a Namespace is asked for as the apiserver sees it', async () => {
    allowed = new Set(['a patch /namespaces shop/shop']);
    expect(await choose({ group: '', resource: 'namespaces', name: 'shop' }, [claim('a')])).toMatchObject({
      heir: 'a',
    });
  });

  it('who takes a workload over to the other API has to delete this one and to make that one', async () => {
    const object = { ...MAP, group: 'apps', resource: 'statefulsets' };
    const ask = async () => await choose(object, [claim('a')], { isCounterpart: true });
    allowed = new Set(['a delete apps/statefulsets ns/one']);
    expect((await ask()).refused).toEqual([
      'repository a names it, but its account may not patch statefulsets.fairlead.dev there',
    ]);
    allowed = new Set([...allowed, 'a patch fairlead.dev/statefulsets ns/one']);
    expect(await ask()).toMatchObject({ heir: 'a' });
  });

  it('a commit whose signature is not accepted counts for nothing; of one that cannot be verified now it is not known', async () => {
    allowed = new Set(['a patch /configmaps ns/one']);
    const unsigned = problem('CommitUnsigned', 'it is not signed.');
    expect(await choose(MAP, [claim('a', { unsigned })])).toMatchObject({
      heir: undefined,
      refused: [expect.stringMatching(/^repository a names it, but in a commit whose signature/)],
    });
    const unusable = problem('SignersUnusable', 'the file is gone.');
    expect(await choose(MAP, [claim('a', { unsigned: unusable })])).toMatchObject({
      heir: undefined,
      undecided: expect.stringMatching(/^repository a wants it, and whether its commit is signed/),
    });
    // Who cannot have it in any case keeps nothing.
    expect(await choose(MAP, [claim('b', { unsigned: unusable })])).not.toHaveProperty('undecided');
  });

  it('a grant goes to no other account, which may have its rights by it; to the worker itself it does', async () => {
    allowed = new Set([
      'a patch rbac.authorization.k8s.io/rolebindings ns/one',
      'worker patch rbac.authorization.k8s.io/rolebindings ns/one',
    ]);
    expect(await choose(GRANT, [claim('a')])).toMatchObject({ heir: undefined, makers: ['a'] });
    expect(await choose(GRANT, [claim('a', { asWorker: true })])).toMatchObject({ heir: 'a' });
  });

  it('while grants leave with the commit it is not known what another account may do after it', async () => {
    allowed = new Set(['a patch /configmaps ns/one', 'worker patch /configmaps ns/one']);
    const setting = { rightsLeave: true };
    expect(await choose(MAP, [claim('a')], setting)).toMatchObject({
      heir: undefined,
      undecided: expect.stringMatching(/asks again$/),
    });
    expect(await choose(MAP, [claim('a'), claim('w', { asWorker: true })], setting)).toMatchObject({
      heir: 'w',
    });
  });
});

describe('what leaves a commit and is named by another repository', () => {
  const entry: InventoryEntry = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: 'ns',
    name: 'one',
    uid: 'u',
  };
  const prune = async (claims: readonly Claim[]) => {
    const wanted = { by: new Map([[entryKey(entry), claims]]), unread: [] };
    const others = {
      repository: () => undefined,
      wanted: async () => await Promise.resolve(wanted),
      newest: async () => await Promise.resolve(undefined),
      lastTried: async () => await Promise.resolve(undefined),
    };
    const result = await pruneObjects({ ...commitContext(client), others }, [entry], { wanted: new Set() });
    const writes = server.requests.flatMap(({ method, url }) =>
      url.pathname.endsWith('/one') && method !== 'GET' ? [method] : [],
    );
    return { ...result, writes };
  };

  it('is deleted where that may not have it, and the commit tells who named it', async () => {
    expect(await prune([claim('tenant')])).toMatchObject({
      writes: ['DELETE'],
      deleted: ['ConfigMap ns/one'],
      kept: [
        'ConfigMap ns/one was deleted, not handed over: repository tenant names it, but its account may not patch configmaps there',
      ],
      heirs: new Set(),
    });
  });

  it('is let go where that may have it', async () => {
    allowed = new Set(['tenant patch /configmaps ns/one']);
    expect(await prune([claim('tenant')])).toMatchObject({
      writes: ['PATCH'],
      deleted: [],
      kept: ['ConfigMap ns/one was handed over, not deleted: repository tenant wants it'],
      heirs: new Set(['tenant']),
    });
  });

  it('stays where it is, and in the inventory, while that is not known', async () => {
    allowed = new Set(['tenant patch /configmaps ns/one']);
    const unsigned = problem('SignersUnusable', 'the file is gone.');
    expect(await prune([claim('tenant', { unsigned })])).toMatchObject({
      writes: [],
      deleted: [],
      forgotten: new Set(),
      kept: [expect.stringMatching(/^ConfigMap ns\/one was not pruned: repository tenant wants it, and/)],
    });
  });
});
