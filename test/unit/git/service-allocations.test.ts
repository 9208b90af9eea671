/** Who has a port or an address that the apiserver refuses to a Service, asked of an apiserver over real HTTP. */

import { expect, it } from '@jest/globals';

import type { InventoryEntry } from '../../../git/inventory-content.ts';
import { problemOf } from '../../../git/prepare.ts';
import { formatProblem } from '../../../git/problems.ts';
import { withHolders } from '../../../git/service-allocations.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { commitContext, preparedObjects } from '../../support/commit-context.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

const PORT = 'spec.ports[0].nodePort: Invalid value: 30180: provided port is already allocated.';
const ADDRESS =
  'spec.clusterIPs: Invalid value: failed to allocate IP 10.0.0.9: provided IP is already allocated.';

function live(
  name: string,
  { repository = 'shop', ...metadata }: Record<string, string> = {},
  spec: object = {},
) {
  const annotations = { [ANNOTATION.repository]: repository };
  const ports = [{ port: 80, nodePort: 30180 }];
  return {
    metadata: { namespace: 'ns', uid: '1', resourceVersion: '1', annotations, ...metadata, name },
    spec: { clusterIP: '10.0.0.9', ports, ...spec },
  };
}

/** What is told of `np-new`, whose commit holds `stays` too and leaves out `old`; `may`: the paths that its account may read. */
async function told(
  services: readonly ReturnType<typeof live>[],
  {
    message = PORT,
    may = ['/api/v1/services'],
    prune = true,
    ports = [30180],
  }: { message?: string; may?: readonly string[]; prune?: boolean; ports?: readonly number[] } = {},
) {
  ground.server.intercept = ({ url: { pathname } }, response) => {
    const one = services.find(({ metadata: { name } }) =>
      pathname.endsWith(`/namespaces/ns/services/${name}`),
    );
    if (!may.includes(pathname))
      answer(response, 403, { kind: 'Status', reason: 'Forbidden', message: 'no' });
    else answer(response, 200, one ?? { kind: 'ServiceList', metadata: {}, items: services });
    return true;
  };
  const items = ['np-new', 'stays'].map((name) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: ports.map((nodePort, index) => ({ port: 80 + index, nodePort })) },
  }));
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const objects = await preparedObjects({ path: 'np.json', text }, () =>
    Promise.resolve({ resource: 'services', namespaced: true }),
  );
  const [object] = objects;
  if (object === undefined) throw new Error('no object');
  const left: InventoryEntry = { apiVersion: 'v1', kind: 'Service', namespace: 'ns', name: 'old', uid: '1' };
  const context = commitContext(ground.client);
  const repository = { ...context.repository, prune };
  const problems = [problemOf(object, 'Invalid', message)];
  const found = await withHolders({ ...context, repository }, problems, { objects, left: [left] });
  return found.map((item) => formatProblem(item)).join('\n');
}

const FREED =
  'Delete that one: `kubectl delete service old -n ns`, then `fairlead sync shop`; or commit its removal alone, and Service ns/np-new when that is applied: what left a commit is deleted after the rest of it; the commit is tried again by itself.';

it('one that leaves with the commit is named, with what frees it', async () => {
  const port = `Invalid np.json:1: Service ns/np-new: ${PORT} Service ns/old, which the commit no longer holds, has it. ${FREED}`;
  expect(await told([live('old')])).toBe(port);
  expect(await told([live('old')], { message: ADDRESS })).toBe(port.replace(PORT, ADDRESS));
});

it('one that leaves is found by an account that may list nothing', async () => {
  expect(await told([live('old')], { may: ['/api/v1/namespaces/ns/services/old'] })).toContain(FREED);
});

it('one that would stay in two commits, too, is to be deleted by hand', async () => {
  const by = 'Delete that one: `kubectl delete service old -n ns`, then `fairlead sync shop`; the commit is';
  expect(await told([live('old')], { prune: false })).toContain(by);
});

it('another one is named where it may be listed', async () => {
  const said = 'Service ns/foreign has it. Have that one let go of it, or commit another port; the commit';
  const services = [live('np-new'), live('foreign', { repository: 'other' })];
  expect(await told(services)).toContain(said);
  expect(await told(services, { may: ['/api/v1/namespaces/ns/services'] })).toContain(said);
  expect(await told([live('old', { repository: 'other' })])).toContain(
    'Service ns/old has it. Have that one',
  );
  const health = live('foreign', {}, { ports: [], healthCheckNodePort: 30180 });
  expect(await told([health])).toContain(said);
});

it('one that cannot be seen is not named', async () => {
  expect(await told([live('old')], { may: [] })).toContain(
    'Another Service has it. `kubectl get services -A` shows which: have that one let go of it, or commit another port; the commit is tried again by itself.',
  );
});

it('one of the same commit lets go in a commit of its own', async () => {
  expect(await told([live('stays')])).toContain(
    'Service ns/stays, which is in the commit too, has it. Commit that one without it, and Service ns/np-new when that is applied; or',
  );
});

it('one that is being deleted is waited for', async () => {
  expect(await told([live('old', { deletionTimestamp: '2026-01-01T00:00:00Z' })])).toContain(
    'Service ns/old, which is being deleted, has it. Wait until that one is gone (`kubectl get service old -n ns -o yaml` names',
  );
});

it('nobody is blamed for a port that no other Service has', async () => {
  expect(await told([live('np-new')])).toContain(`${PORT} No Service has it any more; the commit is tried`);
  expect(await told([], { ports: [30180, 30180] })).toMatch(/allocated\. Correct the field\.$/);
});

it('other problems stay as they are, and nothing is asked', async () => {
  expect(await told([live('old')], { message: 'not today.' })).toMatch(/not today\. Correct the field\.$/);
  expect(ground.server.requests).toEqual([]);
});
