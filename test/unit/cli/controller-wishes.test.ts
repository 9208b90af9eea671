/** What `rollout pause|resume|abort|retry rc/…` says where Temporal, or the apiserver, goes away. Over real HTTP. */

import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { run } from '../../../cli/program.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../../../planners/objects.ts';
import type { UpdateWrite } from '../../../planners/rolling-update-steps.ts';
import { captureIo } from '../../support/cli.ts';
import { STATE, begin, foo } from '../../support/simulated-update.ts';
import { WatchServer, answer } from '../../support/watch-server.ts';

let server: WatchServer;
let folder: string;
let world: ReturnType<typeof foo>;
/** Whether the apiserver is away for what follows the write, but for the lists of the update. */
let isAway: boolean;
/** Whether namespace kube-system may be read. */
let isOpen: boolean;

beforeEach(async () => {
  server = await WatchServer.start();
  folder = await mkdtemp(join(tmpdir(), 'fairlead-wishes-'));
  world = foo();
  begin(world);
  isOpen = true;
  isAway = false;
  server.intercept = ({ method, url: { pathname }, body }, response) => {
    const name = pathname.split('/').at(-1) ?? '';
    const lists: Readonly<Record<string, readonly unknown[]>> = {
      replicationcontrollers: world.controllers,
      controllerrevisions: world.revisions,
      pods: world.pods,
    };
    if (lists[name] !== undefined) answer(response, 200, { metadata: {}, items: lists[name] });
    else if (isAway && method === 'GET' && server.requests.some((one) => one.method === 'PATCH'))
      answer(response, 503, { kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: 'away' });
    else if (pathname.includes('/leases/')) {
      const renewTime = new Date().toISOString();
      const metadata = { name, resourceVersion: '1' };
      answer(response, 200, { metadata, spec: { holderIdentity: 'w', leaseDurationSeconds: 60, renewTime } });
    } else if (pathname === '/api/v1/namespaces/default' || (isOpen && name === 'kube-system'))
      answer(response, 200, { metadata: { name, uid: 'n' }, status: { phase: 'Active' } });
    else if (method === 'PATCH') {
      const resource = trusted<UpdateWrite['resource']>(pathname.split('/').at(-2));
      const patch = trusted<JsonObject>(JSON.parse(body));
      const { uid, resourceVersion } = trusted<KubernetesObject>(patch).metadata;
      const write = { verb: 'patch', resource, name, body: patch, purpose: 'Annotate', message: '' } as const;
      const isDone = world.apply({ ...write, uid, ...(resourceVersion && { resourceVersion }) }) === 'done';
      answer(response, isDone ? 200 : 409, { kind: 'Status', metadata: {}, reason: 'Conflict' });
    } else {
      const message = `User "ann" cannot get resource "namespaces" in API group ""`;
      answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message });
    }
    return true;
  };
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

/** With a Temporal that does not answer. */
async function wish(verb: string, ...flags: readonly string[]) {
  const kubeconfig = join(folder, 'kubeconfig');
  const [name, cluster] = ['c', { server: server.url }];
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': name,
      clusters: [{ name, cluster }],
      contexts: [{ name, context: { cluster: name } }],
    }),
  );
  const io = captureIo({ environment: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  const code = await run(['rollout', verb, 'rc/foo', '--kubeconfig', kubeconfig, ...flags], io);
  const patched = server.requests.filter(({ method }) => method === 'PATCH');
  return { code, ...io.printed, patched: patched.map(({ url }) => url.pathname.split('/').at(-1)) };
}

it('retry is nothing without a run: it fails, and says that nothing was written', async () => {
  const { code, out, err, patched } = await wish('retry', '-o', 'json');
  expect(err).toMatch(/^error: Temporal at 127\.0\.0\.1:1 does not answer: .*\n {2}nothing was written; set/);
  expect(JSON.parse(out)).toMatchObject({ kind: 'Failure', code: 'TemporalUnreachable' });
  expect({ code, patched }).toEqual({ code: 5, patched: [] });
});

it.each(['pause', 'abort'])(
  '%s by somebody who may not read namespace kube-system is written: its run was not told',
  async (verb) => {
    isOpen = false;
    const { code, out, err, patched } = await wish(verb, '--no-wait');
    expect(patched).toContain('foo');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^the update of foo is /) });
    expect(err).toMatch(
      /^note: written on the object; the run was not told: you may not read namespace kube-system, whose uid tells clusters apart; add it: kubectl create clusterrole fairlead-get-namespaces-kube-system .*--resource-name=kube-system --dry-run=client -o yaml \| kubectl apply -f - && kubectl create clusterrolebinding fairlead-get-namespaces-kube-system-ann .* --user=ann/,
    );
  },
);

it.each(['resume', 'abort'])(
  '%s without Temporal says what it takes where the run is over: no wish starts another',
  async (verb) => {
    const paused = JSON.stringify({ by: 'ann' });
    const [old] = world.controllers;
    if (old === undefined) throw new Error('no controller');
    const { uid, resourceVersion } = old.metadata;
    const body = { metadata: { annotations: { [ANNOTATION.paused]: paused } } };
    const write = { verb: 'patch', resource: 'replicationcontrollers', name: 'foo', body } as const;
    world.apply({ ...write, uid, resourceVersion, purpose: 'Annotate', message: '' });
    const { code, err, patched } = await wish(verb, '--no-wait');
    expect({ code, patched }).toEqual({ code: 0, patched: ['foo'] });
    expect(err).toMatch(
      /^note: written on the object; the run was not told: Temporal at 127\.0\.0\.1:1 does not answer: .*; if its run is over, the update goes on only with another: fairlead rollout retry rc\/foo -n default\n$/,
    );
  },
);

it('an apiserver that goes away when the pause is written takes nothing from that', async () => {
  isAway = true;
  const { code, out, err, patched } = await wish('pause');
  expect({ code, out, patched }).toEqual({
    code: 0,
    out: 'the update of foo is paused\n',
    patched: ['foo'],
  });
  expect(err).toMatch(/^note: written on the object; the run was not told: GET .*away\n/);
  expect(err).toMatch(
    /\nnote: written on the object; whether a worker is there was not looked at: .*away\n$/,
  );
});

it('abort again tells the run again: the first may have told nobody', async () => {
  world = foo();
  begin(world, undefined, { ...STATE, updatePeriodMs: 60_000 });
  await wish('abort', '--no-wait');
  const { code, out, err } = await wish('abort', '--no-wait');
  expect({ code, out }).toEqual({
    code: 0,
    out: 'nothing to do: the update of foo is being rolled back already\n',
  });
  expect(err).toMatch(
    /^note: written on the object; the run was not told: Temporal at 127\.0\.0\.1:1 does not/,
  );
});
