/** What the verbs on `rc/NAME` say of a controller that somebody has deleted after its last update. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { run } from '../../../cli/program.ts';
import { ROLLING_UPDATE } from '../../../planners/names.ts';
import { DEFAULT_STATE, recordManifest } from '../../../planners/rolling-update-record.ts';
import { captureIo } from '../../support/cli.ts';
import { IMAGE_TEMPLATE } from '../../support/simulated-controllers.ts';
import { WatchServer, answer } from '../../support/watch-server.ts';

const SELECTOR = { app: 'foo' };
const template = IMAGE_TEMPLATE('app:2');

let server: WatchServer;
let folder: string;
/** What is there, by the end of its path. */
let lists: Record<string, readonly object[]>;

beforeEach(async () => {
  server = await WatchServer.start();
  folder = await mkdtemp(join(tmpdir(), 'fairlead-deleted-'));
  server.intercept = ({ url: { pathname } }, response) => {
    const items = lists[pathname.split('/').at(-1) ?? ''];
    if (items === undefined) answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
    else answer(response, 200, { kind: 'List', metadata: { resourceVersion: '9' }, items });
    return true;
  };
  const [name, cluster] = ['c', { server: server.url }];
  const contexts = [{ name, context: { cluster: name } }];
  const config = { 'current-context': name, clusters: [{ name, cluster }], contexts };
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(config));
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

function controller(name: string) {
  const metadata = { name, namespace: 'default', uid: name, resourceVersion: '5' };
  const spec = { replicas: 2, selector: SELECTOR, template };
  return { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec } as const;
}

/** That of an update of foo which came to its end. */
function recordTo(to: string): object {
  const key = ROLLING_UPDATE.deployment;
  const data = { from: 'foo', next: 'foo-next', to, key, hash: 'abc', controller: controller(to) };
  return recordManifest(data, { ...DEFAULT_STATE, phase: 'Done', desired: 2 }, []);
}

function pod(name: string): object {
  const metadata = { name, namespace: 'default', uid: name, resourceVersion: '5', labels: SELECTOR };
  return { metadata, spec: template.spec, status: { phase: 'Running' } };
}

async function say(words: string) {
  const io = captureIo({ environment: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  const flags = ['--kubeconfig', join(folder, 'kubeconfig')];
  return { code: await run([...words.split(' '), ...flags], io), ...io.printed };
}

const VERBS = ['explain', 'rollout status', 'rollout pause', 'rollout abort', 'rollout retry'];
const SHOWS = '  `fairlead get rc -n default` shows what there is; choose a namespace with -n\n';

describe.each(VERBS)('%s', (verb) => {
  it('of one whose pods were left names them', async () => {
    const pods = [pod('a'), pod('b')];
    lists = { controllerrevisions: [recordTo('foo')], replicationcontrollers: [], pods };
    expect(await say(`${verb} rc/foo`)).toMatchObject({
      code: 1,
      out: '',
      err:
        'error: replicationcontroller/foo not found in namespace default\n' +
        '  foo was deleted after its last update, and 2 pods that it left have no controller: `kubectl get pods -n default -l app=foo`\n' +
        SHOWS,
    });
  });

  it('of one whose place another took that is gone too says so', async () => {
    lists = { controllerrevisions: [recordTo('foo-v2')], replicationcontrollers: [], pods: [] };
    expect(await say(`${verb} rc/foo`)).toMatchObject({
      code: 1,
      err:
        'error: replicationcontroller/foo not found in namespace default\n' +
        '  foo-v2 was deleted after its last update\n' +
        SHOWS,
    });
  });
});

it('one whose place another has taken is well, and its history is there for as long as its records', async () => {
  const controllerrevisions = [recordTo('foo-v2')];
  lists = { controllerrevisions, replicationcontrollers: [controller('foo-v2')], pods: [] };
  expect(await say('explain rc/foo')).toMatchObject({
    code: 0,
    out: expect.stringContaining('"foo-v2" has taken the place of "foo"'),
  });
  lists = { controllerrevisions, replicationcontrollers: [], pods: [] };
  expect(await say('rollout history rc/foo')).toMatchObject({
    code: 0,
    out: expect.stringContaining('app:2'),
  });
});
