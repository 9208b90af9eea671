/** How `rollout status rc/…` waits, against a server that holds one ReplicationController. */

import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { run } from '../../../cli/program.ts';
import { captureIo } from '../../support/cli.ts';
import { WatchServer, answer } from '../../support/watch-server.ts';

let server: WatchServer;
let folder: string;

beforeEach(async () => {
  server = await WatchServer.start();
  folder = await mkdtemp(join(tmpdir(), 'fairlead-views-'));
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

/** Its second pod becomes available at look `done`; the apiserver is away for those that `away` says. */
async function status(timeout: string, away: (look: number) => boolean, done = Infinity) {
  let looks = 0;
  server.intercept = ({ url: { pathname } }, response) => {
    if (pathname.endsWith('/replicationcontrollers')) looks += 1;
    if (away(looks)) {
      answer(response, 503, {
        kind: 'Status',
        code: 503,
        reason: 'ServiceUnavailable',
        message: 'shutting down',
      });
    } else if (pathname.includes('/leases/')) {
      answer(response, 404, {
        kind: 'Status',
        code: 404,
        reason: 'NotFound',
        message: 'no',
        details: { name: 'x' },
      });
    } else {
      const items = pathname.endsWith('/replicationcontrollers') ? [controller(looks < done ? 1 : 2)] : [];
      answer(response, 200, { kind: 'List', metadata: { resourceVersion: '9' }, items });
    }
    return true;
  };
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
  const words = ['rollout', 'status', 'rc/foo', '--kubeconfig', kubeconfig, '--timeout', timeout];
  return { code: await run(words, io), ...io.printed };
}

function controller(availableReplicas: number): object {
  const labels = { app: 'foo' };
  return {
    metadata: { name: 'foo', namespace: 'default', uid: 'u', resourceVersion: '5', generation: 1 },
    spec: { replicas: 2, selector: labels, template: { metadata: { labels }, spec: { containers: [] } } },
    status: { observedGeneration: 1, replicas: 2, availableReplicas },
  };
}

it('outlives an apiserver that is away for a moment, and says so', async () => {
  // The first two looks of the verb find the update.
  const { code, out, err } = await status('60s', (look) => look === 4 || look === 5, 6);
  expect(err).toMatch(
    /^note: the cluster cannot be looked at now: GET .*ServiceUnavailable: shutting down\nnote: the cluster can be looked at again\n$/,
  );
  expect(out).toBe(
    '1 of 2 replicas of foo are available\nreplication controller "foo" successfully rolled out\n',
  );
  expect(code).toBe(0);
});

it('ends at its limit where the apiserver stays away, and says why', async () => {
  const { code, err } = await status('3s', (look) => look > 3);
  expect(err).toMatch(
    /error: timed out waiting for the update of foo: the cluster cannot be looked at now: GET .*/,
  );
  expect(code).toBe(3);
});
