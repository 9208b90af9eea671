/** Who is asked for the same workload under the other workload API, over real HTTP with an apiserver's order: permissions first. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { CommitContext } from '../../git/commit.ts';
import { findCounterpart } from '../../git/counterpart.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { commitContext, preparedObjects } from '../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../support/watch-server.ts';

const DEPLOYER = 'system:serviceaccount:ns:deployer';

let server: WatchServer;
let worker: KubernetesClient;
let context: CommitContext;
/** Paths of objects that exist. */
let existing: ReadonlySet<string>;

beforeEach(async () => {
  existing = new Set();
  server = await WatchServer.start();
  server.intercept = ({ url, headers }, response) => {
    const kinds = { apps: ['Deployment', 'StatefulSet'], 'fairlead.dev': ['StatefulSet'] };
    const [, group = '', , ...rest] = url.pathname.split('/').slice(1);
    const kindsOfGroup = kinds[group === 'apps' ? 'apps' : 'fairlead.dev'];
    const refuse = (code: number, reason: string): void =>
      answer(response, code, { kind: 'Status', code, reason, message: `${reason}: ${url.pathname}` });
    if (rest.length === 0) {
      const resources = kindsOfGroup.map((kind) => ({
        name: `${kind.toLowerCase()}s`,
        kind,
        namespaced: true,
        verbs: [],
      }));
      answer(response, 200, { resources });
    } else if (group !== 'apps' && headers['impersonate-user'] === DEPLOYER) refuse(403, 'Forbidden');
    else if (existing.has(url.pathname)) answer(response, 200, { metadata: { name: 'web', uid: 'u' } });
    else refuse(404, 'NotFound');
    return true;
  };
  worker = new KubernetesClient(plainConnection(server.url));
  context = commitContext(worker, worker.impersonating(DEPLOYER));
});

afterEach(async () => {
  worker.close();
  await server.stop();
});

async function find(apiVersion: string, kind: string) {
  const text = JSON.stringify({ apiVersion, kind, metadata: { name: 'web' } });
  const objects = await preparedObjects(
    { path: 'web.json', text },
    async (version, wanted) => await context.discovery.find(version, wanted),
  );
  const [object] = objects;
  if (object === undefined) throw new Error('nothing was prepared');
  return await findCounterpart(context, object);
}

const reads = (): readonly string[] =>
  server.requests
    .filter(({ url }) => url.pathname.includes('/namespaces/'))
    .map(
      ({ method, url, headers }) =>
        `${headers['impersonate-user'] === undefined ? 'worker' : 'account'} ${method} ${url.pathname}`,
    );

describe('the same workload under the other API', () => {
  it('is not asked for where the kind is not served: a deployer has no rights in it', async () => {
    expect(await find('apps/v1', 'Deployment')).toBeUndefined();
    expect(reads()).toEqual([]);
  });

  it('is read as the account where that may', async () => {
    const path = '/apis/apps/v1/namespaces/ns/statefulsets/web';
    expect(await find('fairlead.dev/v1beta1', 'StatefulSet')).toBeUndefined();
    existing = new Set([path]);
    expect(await find('fairlead.dev/v1beta1', 'StatefulSet')).toMatchObject({
      live: { metadata: { uid: 'u' } },
    });
    expect(reads()).toEqual([`account GET ${path}`, `account GET ${path}`]);
  });

  it('that the account may not read is only known to be there, from the worker', async () => {
    const path = '/apis/fairlead.dev/v1beta1/namespaces/ns/statefulsets/web';
    expect(await find('apps/v1', 'StatefulSet')).toBeUndefined();
    existing = new Set([path]);
    expect(await find('apps/v1', 'StatefulSet')).toMatchObject({
      path: { group: 'fairlead.dev', resource: 'statefulsets' },
      live: undefined,
    });
    const asked = [`account GET ${path}`, `worker GET ${path}`];
    expect(reads()).toEqual([...asked, ...asked]);
  });

  it('that nobody may read is an error that names the request', async () => {
    context = { ...context, worker: context.client };
    await expect(find('apps/v1', 'StatefulSet')).rejects.toThrow(/Forbidden.*statefulsets/);
  });
});
