/** What `rollout pause|resume|abort|retry rc/…` says where Temporal, or the apiserver, goes away. Over real HTTP. */

import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { run } from '../../../cli/program.ts';
import { captureIo } from '../../support/cli.ts';
import { begin, foo } from '../../support/simulated-update.ts';
import { WatchServer, answer } from '../../support/watch-server.ts';

let server: WatchServer;
let folder: string;
let world: ReturnType<typeof foo>;

beforeEach(async () => {
  server = await WatchServer.start();
  folder = await mkdtemp(join(tmpdir(), 'fairlead-wishes-'));
  world = foo();
  begin(world);
  server.intercept = ({ method, url: { pathname } }, response) => {
    const name = pathname.split('/').at(-1) ?? '';
    const lists: Readonly<Record<string, readonly unknown[]>> = {
      replicationcontrollers: world.controllers,
      controllerrevisions: world.revisions,
      pods: world.pods,
    };
    if (lists[name] !== undefined) answer(response, 200, { metadata: {}, items: lists[name] });
    else if (pathname.includes('/leases/')) {
      const renewTime = new Date().toISOString();
      const metadata = { name, resourceVersion: '1' };
      answer(response, 200, { metadata, spec: { holderIdentity: 'w', leaseDurationSeconds: 60, renewTime } });
    } else if (pathname === '/api/v1/namespaces/default')
      answer(response, 200, { metadata: { name, uid: 'n' }, status: { phase: 'Active' } });
    else answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message: method });
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
