/** How one object of a commit is written, over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { applyObject } from '../../git/apply.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { ANNOTATION } from '../../planners/names.ts';
import { commitContext, preparedObjects } from '../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../support/watch-server.ts';

const PATH = '/api/v1/namespaces/ns/configmaps/one';

let server: WatchServer;
let client: KubernetesClient;
/** What is there, by uid; each read finds the next. */
let present: readonly (string | undefined)[];

beforeEach(async () => {
  server = await WatchServer.start();
  server.intercept = ({ method, url, body }, response) => {
    const found = present[0];
    const metadata = { name: 'one', uid: found, annotations: { [ANNOTATION.repository]: 'shop' } };
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

async function apply() {
  const context = commitContext(client);
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } });
  const objects = await preparedObjects(
    { path: 'one.json', text },
    async (version, wanted) => await context.discovery.find(version, wanted),
  );
  const [object] = objects;
  if (object === undefined) throw new Error('nothing was prepared');
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
