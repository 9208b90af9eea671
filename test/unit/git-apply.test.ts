/** How one object of a commit is written, over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { applyStage } from '../../git/apply-stage.ts';
import { applyObject } from '../../git/apply.ts';
import { listMetadata } from '../../git/listed-metadata.ts';
import { mayPassLater } from '../../git/problems.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { ANNOTATION } from '../../planners/names.ts';
import { commitContext, preparedObjects } from '../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../support/watch-server.ts';

const PATH = '/api/v1/namespaces/ns/configmaps/one';

let server: WatchServer;
let client: KubernetesClient;
/** Of what is there, beside its uid. */
let also: object;
/** What is there, by uid; each read finds the next. */
let present: readonly (string | undefined)[];

beforeEach(async () => {
  also = {};
  server = await WatchServer.start();
  server.intercept = ({ method, url, body }, response) => {
    const found = present[0];
    const metadata = { name: 'one', uid: found, annotations: { [ANNOTATION.repository]: 'shop' }, ...also };
    const status = (code: number, reason: string) =>
      answer(response, code, { kind: 'Status', code, reason, message: `${reason}: ${url.pathname}` });
    if (url.pathname === '/api/v1') {
      answer(response, 200, {
        resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: [] }],
      });
    } else if (url.pathname !== PATH) status(404, 'NotFound');
    else if (method === 'GET') {
      present = present.slice(1);
      if (found === undefined) status(404, 'NotFound');
      else answer(response, 200, { metadata });
    } else {
      // As an apiserver takes a uid: it is a precondition.
      const { uid } = (JSON.parse(body) as { metadata: { uid?: string } }).metadata;
      if (uid !== undefined && uid !== found) status(409, 'Conflict');
      else answer(response, 200, { metadata: { ...metadata, uid: found ?? 'new' } });
    }
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

async function prepared() {
  const context = commitContext(client);
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } });
  const objects = await preparedObjects(
    { path: 'one.json', text },
    async (version, wanted) => await context.discovery.find(version, wanted),
  );
  const [object] = objects;
  if (object === undefined) throw new Error('nothing was prepared');
  return { context, object };
}

async function apply() {
  const { context, object } = await prepared();
  return await applyObject(context, object);
}

describe('an apply', () => {
  it('is of the object that was read', async () => {
    present = ['first', 'first'];
    expect(await apply()).toMatchObject({ outcome: 'changed', uid: 'first' });
  });

  it('does not touch one that was made anew since: what was decided was about another', async () => {
    present = ['first', 'second'];
    await expect(apply()).rejects.toMatchObject({ status: 409, reason: 'Conflict' });
  });

  it('makes what is not there', async () => {
    present = [undefined, undefined];
    expect(await apply()).toMatchObject({ outcome: 'created', uid: 'new' });
  });
});

describe('an object that is on its way out', () => {
  beforeEach(() => {
    present = ['first', 'first'];
    also = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/held'] };
  });

  const why = 'it is being deleted since 2026-01-01T00:00:00Z, held by example.com/held';

  it('is waited for, by another try', async () => {
    const { context, object } = await prepared();
    const options = { texts: new Map(), untilMs: Infinity, patientUntilMs: Infinity };
    await expect(applyStage(context, [object], options)).rejects.toThrow(`ConfigMap ns/one: ${why}`);
  });

  it('and no longer than anything else: then the commit fails for it, and is tried again', async () => {
    const { context, object } = await prepared();
    const options = { texts: new Map(), untilMs: Infinity, patientUntilMs: 0 };
    const { problems, count } = await applyStage(context, [object], options);
    expect(count).toBe(1);
    expect(problems).toMatchObject([
      {
        code: 'NotReady',
        message: `${why}.`,
        next: expect.stringContaining('`kubectl get configmaps one -n ns -o yaml`'),
      },
    ]);
    expect(mayPassLater({ first: problems })).toBe(true);
  });
});

it('a stage of which no time is left applies one object all the same: the next slice goes on from there', async () => {
  present = [undefined, undefined];
  const { context, object } = await prepared();
  const stage = await applyStage(context, [object, object, object], { texts: new Map(), untilMs: 0 });
  expect(stage).toMatchObject({ count: 1, created: 1, problems: [] });
});

it('what is refused because what mends it is still being written is tried again, and is no problem', async () => {
  const group = 'rbac.authorization.k8s.io';
  const kinds = [
    { name: 'roles', kind: 'Role', namespaced: true, verbs: [] },
    { name: 'rolebindings', kind: 'RoleBinding', namespaced: true, verbs: [] },
  ];
  let isThere = false;
  server.intercept = ({ method, url: { pathname } }, response) => {
    const role = { metadata: { name: 'reader', uid: 'r', annotations: { [ANNOTATION.commit]: 'a' } } };
    if (pathname === `/apis/${group}/v1`) answer(response, 200, { resources: kinds });
    else if (pathname.endsWith('/roles/reader') && method === 'PATCH')
      setTimeout(() => {
        isThere = true;
        answer(response, 200, role);
      }, 200);
    else if (pathname.endsWith('/roles/reader') && isThere) answer(response, 200, role);
    else answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'no reader' });
    return true;
  };
  const apiVersion = `${group}/v1`;
  const items = [
    { apiVersion, kind: 'Role', metadata: { name: 'reader' } },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name: 'readers' },
      roleRef: { kind: 'Role', name: 'reader' },
    },
  ];
  const context = commitContext(client);
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const objects = await preparedObjects(
    { path: 'all.json', text },
    async (version, wanted) => await context.discovery.find(version, wanted),
  );
  const untilMs = Date.now() + 60_000;
  const applied = applyStage(context, objects, { texts: new Map(), untilMs, menders: { objects, untilMs } });
  await expect(applied).rejects.toThrow(/RoleBinding\S* ns\/readers: it is refused, and Role\S* ns\/reader/);
});

it('lists that are not there in time are done without, each is read; others are of use', async () => {
  const resource = (name: string, kind: string) => ({ name, kind, namespaced: true, verbs: ['patch'] });
  let lists = 0;
  server.intercept = ({ url: { pathname } }, response) => {
    const items = Array.from({ length: 20 }, (_, index) => ({ metadata: { name: `n${index}`, uid: 'u' } }));
    if (pathname === '/api/v1')
      answer(response, 200, { resources: [resource('configmaps', 'ConfigMap'), resource('pods', 'Pod')] });
    else if ((lists += 1) > 1) answer(response, 200, { kind: 'List', metadata: {}, items });
    // The first is never answered.
    return true;
  };
  const context = commitContext(client);
  const text = ['ConfigMap', 'Pod']
    .flatMap((kind) =>
      Array.from(
        { length: 20 },
        (_, index) => `apiVersion: v1\nkind: ${kind}\nmetadata: {name: n${index}}\n`,
      ),
    )
    .join('---\n');
  const objects = await preparedObjects(
    { path: 'all.yaml', text },
    async (version, wanted) => await context.discovery.find(version, wanted),
  );
  const listed = await listMetadata(context, objects, 300);
  expect([...listed.keys()].map(({ manifest }) => manifest.kind)).toEqual(Array(20).fill('Pod'));
  const stop = new AbortController();
  const stopped = listMetadata({ ...context, signal: stop.signal }, objects, 300);
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
});
