/** A commit with an object that the apiserver cannot reach: that is a problem of the object, and all else goes on. Over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { planCommit } from '../../../cli/plan-changes.ts';
import { checkCommit } from '../../../git/check.ts';
import { prepareCommit, prepareWhole } from '../../../git/commit.ts';
import { ManifestReader } from '../../../git/manifests.ts';
import { pruneObjects } from '../../../git/prune.ts';
import { NotYetError } from '../../../git/refusals.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const SETTINGS = '{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n';
const THING = '{apiVersion: gone.example/v1, kind: Thing, metadata: {name: lever}}\n';
const BAR = '{apiVersion: ex.com/v2, kind: Bar, metadata: {name: bar}}\n';
const BARS = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bars.ex.com}
spec: {group: ex.com, scope: Namespaced, names: {kind: Bar, plural: bars}, versions: [{name: v2, served: true}]}
`;
const AWAY = { code: 'ApiServiceUnavailable', object: 'Thing.gone.example lever', file: 'a.yaml', line: 3 };
const UNCONVERTED = { code: 'WebhookFailed', object: 'Bar.ex.com ns/bar', file: 'a.yaml', line: 3 };

const CONVERSION = {
  kind: 'Status',
  code: 500,
  message:
    'conversion webhook for ex.com/v1, Kind=Bar failed: Post "https://gone.ns.svc": service "gone" not found',
};
const KINDS: Readonly<Record<string, object>> = {
  '/api/v1': { name: 'configmaps', kind: 'ConfigMap', namespaced: true },
  '/apis/ex.com/v2': { name: 'bars', kind: 'Bar', namespaced: true },
  '/apis/apiextensions.k8s.io/v1': { name: 'customresourcedefinitions', kind: 'CustomResourceDefinition' },
};

let server: WatchServer;
let client: KubernetesClient;

beforeEach(async () => {
  server = await WatchServer.start();
  server.intercept = ({ method, url: { pathname } }, response) => {
    const kind = KINDS[pathname];
    if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (pathname === '/apis') answer(response, 200, { groups: [] });
    else if (kind !== undefined) answer(response, 200, { resources: [kind] });
    else if (pathname.startsWith('/apis/gone.example/')) {
      response.writeHead(503, { 'content-type': 'text/plain' }).end('service unavailable\n');
    } else if (/\/bars(?:$|\/)/.test(pathname)) answer(response, 500, CONVERSION);
    else if (method === 'PATCH') answer(response, 200, { metadata: { name: 'made', uid: 'u' } });
    else answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' });
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

function content(...documents: readonly string[]): ManifestReader {
  const reader = new ManifestReader();
  for (const _document of reader.read({ path: 'a.yaml', text: documents.join('---\n') }));
  return reader;
}

describe.each([
  ['an aggregated API that is away', THING, AWAY],
  ['a conversion webhook that is away', BAR, UNCONVERTED],
])('%s', (_, document, problem) => {
  it('is a problem of its object alone, to the check and to a plan', async () => {
    const { problems, changes } = await checkCommit(commitContext(client), content(SETTINGS, document));
    expect(problems).toMatchObject([problem]);
    expect(changes).toBe(1);
    const session = { leaseNamespace: 'system', cluster: 'default', api: 'apps/v1' } as const;
    const { repository } = commitContext(client);
    const planned = await planCommit(client, session, repository, 'a', content(SETTINGS, document));
    expect(planned.problems).toMatchObject([problem]);
    expect(planned.changes[0]).toMatchObject({ object: 'ConfigMap ns/settings', action: 'create' });
  });

  it('keeps what left the commit, and the others are pruned', async () => {
    const [manifest] = content(document).manifests;
    const { apiVersion = '', kind = '', name = '' } = manifest ?? {};
    const entries = [
      { apiVersion, kind, namespace: 'ns', name, uid: 'u' },
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'ns', name: 'old', uid: 'v' },
    ];
    const setting = { wanted: new Set<string>(), rightsLeave: false };
    const { problems, forgotten } = await pruneObjects(commitContext(client), entries, setting);
    expect(problems).toMatchObject([
      { code: problem.code, object: expect.stringContaining(kind) as unknown },
    ]);
    expect([...forgotten]).toEqual(['/ConfigMap/ns/old']);
  });
});

describe('an API that has gone away since the check', () => {
  it('hides what the commit holds of it: nobody may take it for gone', async () => {
    const { objects } = await prepareCommit(commitContext(client), content(SETTINGS, THING));
    expect(objects.map(({ label }) => label)).toEqual(['ConfigMap ns/settings']);
    await expect(prepareWhole(commitContext(client), content(SETTINGS, THING))).rejects.toThrow(NotYetError);
    await expect(prepareWhole(commitContext(client), content(SETTINGS))).resolves.toMatchObject({
      problems: [],
    });
  });
});

describe('a conversion that the commit itself changes', () => {
  it('is looked at again when that is written', async () => {
    const { problems, deferred, changes } = await checkCommit(commitContext(client), content(BARS, BAR));
    expect(problems).toEqual([]);
    expect([deferred, changes]).toEqual([1, 2]);
    const again = await checkCommit(commitContext(client), content(BARS, BAR), { onlyDeferred: true });
    expect(again.problems).toMatchObject([{ ...UNCONVERTED, line: 6 }]);
  });
});
