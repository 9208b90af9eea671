/** The annotation `deprecated.deployment.rollback.to` (P6), over real HTTP. */

import { expect, it } from '@jest/globals';

import { grantRollback } from '../../../controllers/rollback-request.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { DEPLOYMENT_ANNOTATION } from '../../../planners/names.ts';
import type { Workload } from '../../../planners/workload.ts';
import { jsonPatched } from '../../support/json-patched.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

const NAME = DEPLOYMENT_ANNOTATION.rollbackTo;

/** Asked for on `web`; every write that `isRefused` says so of is answered with this. `annotations` are those that the object has by now. */
async function ask(
  rollbackTo: string,
  code: number,
  isRefused: (body: string) => boolean,
  annotations: Readonly<Record<string, string>> = { [NAME]: rollbackTo },
) {
  const metadata = {
    name: 'web',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1',
    annotations,
  };
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'web:2' }] },
  };
  const live = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { selector: { matchLabels: { app: 'web' } }, template },
  };
  const set = {
    ...live,
    kind: 'ReplicaSet',
    metadata: {
      ...metadata,
      name: 'web-1',
      labels: { app: 'web' },
      annotations: { [DEPLOYMENT_ANNOTATION.revision]: '1' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u', controller: true },
      ],
    },
    spec: {
      ...live.spec,
      template: { ...template, spec: { containers: [{ name: 'main', image: 'web:1' }] } },
    },
  };
  const patches: string[] = [];
  ground.server.intercept = ({ method, url: { pathname }, body }, response) => {
    if (pathname.endsWith('/replicasets'))
      answer(response, 200, { metadata: { resourceVersion: '1' }, items: [set] });
    else if (method === 'GET') answer(response, 200, live);
    else if (isRefused(body))
      answer(response, code, { kind: 'Status', code, reason: 'Forbidden', message: 'denied by a policy' });
    else {
      patches.push(body);
      answer(response, 200, jsonPatched(live, trusted(JSON.parse(body))));
    }
    return true;
  };
  const ref = {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    namespace: 'default',
    name: 'web',
    uid: 'u',
  };
  const workload = trusted<Workload>({ ref, rollbackTo, paused: undefined, deleting: false });
  return { granted: grantRollback(ground.client, workload, 0), patches };
}

it('that the apiserver refuses is told, and taken away', async () => {
  const { granted, patches } = await ask('1', 403, (body) => body.includes('web:1'));
  expect(await granted).toMatchObject({
    type: 'Warning',
    message: expect.stringMatching(/^revision 1 is refused by the apiserver: .*denied by a policy/),
  });
  expect(patches).toEqual([expect.stringContaining('rollback.to')]);
});

it('that nobody answers stays: it is tried again', async () => {
  const { granted, patches } = await ask('1', 503, () => true);
  await expect(granted).rejects.toMatchObject({ status: 503 });
  expect(patches).toEqual([]);
});

it.each([
  ['is not granted again from what was cached before', {}],
  ['gives way to another that came meanwhile', { [NAME]: '1' }],
])('one that the object does not have any more %s', async (_, annotations) => {
  for (const rollbackTo of ['0', '7', 'spoilt']) {
    const { granted, patches } = await ask(rollbackTo, 500, () => false, annotations);
    expect([await granted, patches]).toEqual([undefined, []]);
  }
});
