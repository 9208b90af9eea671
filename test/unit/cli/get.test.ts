/** `fairlead get` where nobody acts, over real HTTP. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { microTime } from '../../../kubernetes/lease.ts';
import { runCli } from '../../support/cli.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();
let directory: string;
let spec: object | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'get-'));
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: ground.server.url } }],
    users: [{ name: 'u', user: {} }],
  };
  await writeFile(join(directory, 'config'), JSON.stringify(config));
  const set = {
    metadata: { name: 'web', namespace: 'default', uid: 'u', generation: 1 },
    spec: { replicas: 1, template: { spec: { containers: [{ name: 'web', image: 'app:1' }] } } },
    status: {
      observedGeneration: 1,
      replicas: 1,
      updateRevision: 'web-1',
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
  ground.server.intercept = ({ url: { pathname } }, response) => {
    const isLease = pathname.endsWith('/leases/fairlead-default');
    if (isLease && spec !== undefined)
      answer(response, 200, { metadata: { name: 'fairlead-default' }, spec });
    else if (isLease) answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'no' });
    else answer(response, 200, { metadata: {}, items: pathname.endsWith('/statefulsets') ? [set] : [] });
    return true;
  };
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('workloads, whatever the last worker has said of them', () => {
  it.each([
    [
      'under whose name no worker has run',
      undefined,
      'note: nothing is done by Fairlead about any of these: there is no Lease fairlead-system/fairlead-default: no Fairlead worker has run under this --cluster\n',
    ],
    [
      'whose worker has died',
      { holderIdentity: 'w-1', leaseDurationSeconds: 6, renewTime: '2026-01-01T08:00:00.000000Z' },
      'note: nothing is done by Fairlead about any of these: no Fairlead worker holds the Lease fairlead-system/fairlead-default (last w-1, 2026-01-01T08:00:00.000000Z)\n',
    ],
    [
      'whose worker leads',
      { holderIdentity: 'w-1', leaseDurationSeconds: 6, renewTime: microTime(Date.now() + 60_000) },
      '',
    ],
  ])('%s', async (_what, lease, note) => {
    spec = lease;
    const { out, err, code } = await runCli(['get', '--kubeconfig', join(directory, 'config')]);
    expect({ code, err }).toEqual({ code: 0, err: note });
    expect(out).toMatch(/statefulset\/web /);
  });
});

describe('a selector that the apiserver cannot read', () => {
  const why = "unable to parse requirement: found '', expected: ',' or ')'";
  beforeEach(() => {
    ground.server.intercept = ({ url: { searchParams } }, response) => {
      const status = { kind: 'Status', code: 400, reason: 'BadRequest', message: why };
      if (searchParams.get('labelSelector') === 'a in (b') answer(response, 400, status);
      else answer(response, 200, { metadata: {}, items: [] });
      return true;
    };
  });

  it.each(['get', 'get sts', 'get rc'])('is a mistake of usage: `%s`', async (line) => {
    const kubeconfig = ['--kubeconfig', join(directory, 'config')];
    expect(await runCli([...line.split(' '), '-l', 'a in (b', ...kubeconfig])).toEqual({
      code: 2,
      out: '',
      err: `error: -l "a in (b" is not understood (${why}): write it like app=web,tier!=db or 'app in (web,api)'\n`,
    });
  });
});
