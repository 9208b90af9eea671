/** What a prune tells of workloads that were on their way to the other workload API: their pods have no owner. Over real HTTP. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { entryKey } from '../../../git/inventory-content.ts';
import type { InventoryEntry } from '../../../git/inventory-content.ts';
import { pruneObjects } from '../../../git/prune.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const IN = { kind: 'StatefulSet', namespace: 'ns', name: 'web' };
const OLD: InventoryEntry = { ...IN, apiVersion: 'fairlead.dev/v1beta1', uid: 'u' };
const NEXT: InventoryEntry = { ...IN, apiVersion: 'apps/v1' };
const HASH = { 'controller.kubernetes.io/hash': '5d', app: 'web' };

let server: WatchServer;
let client: KubernetesClient;
/** What is there, by the end of its URL. */
let there: Readonly<Record<string, readonly object[] | 'forbidden'>>;
let old: object | undefined;

beforeEach(async () => {
  server = await WatchServer.start();
  server.intercept = ({ method, url: { pathname } }, response) => {
    const groups = [
      { name: 'apps', versions: [{ version: 'v1' }] },
      { name: 'fairlead.dev', versions: [{ version: 'v1beta1' }] },
    ];
    const kinds = [{ name: 'statefulsets', kind: 'StatefulSet', namespaced: true, verbs: [] }];
    const list = there[pathname.split('/').at(-1) ?? ''];
    if (pathname === '/api') answer(response, 200, { versions: ['v1'] });
    else if (pathname === '/apis') answer(response, 200, { groups });
    else if (/^\/apis\/[\w.]+\/\w+$/.test(pathname)) answer(response, 200, { resources: kinds });
    else if (list === 'forbidden') answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden' });
    else if (list !== undefined) answer(response, 200, { metadata: {}, items: list });
    else if (old !== undefined && pathname.includes('fairlead.dev'))
      answer(response, 200, method === 'DELETE' ? { kind: 'Status', metadata: {} } : old);
    else answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', details: { name: 'web' } });
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

const going = (finalizers: readonly string[], spec: object = {}) => ({
  metadata: {
    name: 'web',
    namespace: 'ns',
    uid: 'u',
    resourceVersion: '7',
    annotations: { [ANNOTATION.repository]: 'shop' },
    deletionTimestamp: '2026-11-23T00:00:00Z',
    finalizers,
  },
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
});
const child = (name: string, owner?: string, labels: object = { app: 'web' }) => ({
  metadata: { name, labels, ...(owner !== undefined && { ownerReferences: [{ uid: owner }] }) },
});
const children = (owner?: string) => ({
  pods: [child('web-0', owner), child('web-1', owner)],
  controllerrevisions: [child('web-5d', owner, HASH)],
  persistentvolumeclaims: [child('data-web-0', owner)],
});
const DELETES_CLAIMS = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } };
const PUT_BACK =
  'put the manifest back into git, which takes them over, and take it out again once that commit is applied';

async function notes(wanted: readonly InventoryEntry[] = []): Promise<readonly string[]> {
  const setting = { wanted: new Set(wanted.map((entry) => entryKey(entry))) };
  const left = [NEXT, OLD].filter((entry) => !wanted.includes(entry));
  return (await pruneObjects(commitContext(client), left, setting)).kept;
}

describe('a workload that was being deleted without its pods when it left the commit', () => {
  const why =
    'without an owner, as its deletion was begun without them (a move to the other workload API, or --cascade=orphan)';
  const label = 'StatefulSet.fairlead.dev ns/web';
  const command = (resources: string) =>
    `to delete them, kubectl delete ${resources} -n ns -l app=web; to keep them, put the manifest back into git, which takes them over`;

  it('leaves what the garbage collector has freed, with the command that deletes it', async () => {
    [old, there] = [going(['x.y/z']), children()];
    expect(await notes()).toEqual([
      `${label} leaves 2 pods and 1 controllerrevision ${why}: ${command('pods,controllerrevisions')}`,
    ]);
  });

  it('leaves its claims too, where they were to go with it', async () => {
    [old, there] = [going(['x.y/z'], DELETES_CLAIMS), children()];
    expect(await notes()).toEqual([
      `${label} leaves 2 pods, 1 persistentvolumeclaim and 1 controllerrevision ${why}: ${command('pods,persistentvolumeclaims,controllerrevisions')}`,
    ]);
  });

  it('may leave what the garbage collector has yet to free: it goes on with that', async () => {
    [old, there] = [going(['orphan']), children('u')];
    expect(await notes()).toEqual([
      `${label} may leave 2 pods and 1 controllerrevision ${why}: ${command('pods,controllerrevisions')}`,
    ]);
  });

  it('no command where another workload has what the selector matches as well', async () => {
    const pods = [child('web-0'), child('web-1', 'other')];
    [old, there] = [going(['x.y/z']), { ...children(), pods }];
    expect(await notes()).toEqual([`${label} leaves 1 pod and 1 controllerrevision ${why}: ${PUT_BACK}`]);
  });

  it('says so where that may not be looked at', async () => {
    [old, there] = [going(['x.y/z']), { ...children(), pods: 'forbidden' }];
    expect(await notes()).toEqual([
      expect.stringMatching(/^StatefulSet\.fairlead\.dev ns\/web may leave pods without an owner: .*pods/),
    ]);
  });

  it.each<[string, string[], ReturnType<typeof children>, readonly InventoryEntry[]]>([
    ['its pods go with it', ['x.y/z'], children('u'), []],
    ['another workload has adopted all', ['x.y/z'], children('other'), []],
    ['the commit has it under the other workload API', ['x.y/z'], children(), [NEXT]],
  ])('not a word where %s', async (_what, finalizers, all, wanted) => {
    [old, there] = [going(finalizers), all];
    expect(await notes(wanted)).toEqual([]);
  });
});

describe('a workload that was to be made under the other workload API, and was not', () => {
  it('is told by what the old one has left', async () => {
    [old, there] = [undefined, children()];
    expect(await notes()).toEqual([
      `StatefulSet.apps ns/web was never made, and 2 pods and 1 controllerrevision of a workload of that name have no owner, as when its move from the other workload API is cut off: ${PUT_BACK}`,
    ]);
  });

  it('not a word where nothing is left, or what is left is of another name', async () => {
    [old, there] = [undefined, { ...children(), controllerrevisions: [child('web-x-5d', undefined, HASH)] }];
    expect(await notes()).toEqual([]);
    there = children('other');
    expect(await notes()).toEqual([]);
  });
});
