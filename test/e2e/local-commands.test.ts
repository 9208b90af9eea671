/** `fairlead local …` as its users type it: up, status, a crash, up again, env, check, down. */

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { InstanceStatus } from '../../cli/local-verbs.ts';
import { findBinaries } from '../../local/binaries.ts';
import { openClusterClient } from '../../local/cluster-client.ts';
import { identifyProcess } from '../../local/processes.ts';
import type { CliProcessRun } from '../support/cli-process.ts';
import { found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { runCliProcess } from '../support/cli-process.ts';

const BUILD_MS = 30 * 60_000;
const NAME = 'typed';

describe('fairlead local', () => {
  let state: string;

  async function local(words: string): Promise<CliProcessRun> {
    return await runCliProcess(['local', ...words.split(' '), '--name', NAME], {
      environment: { PATH: process.env['PATH'] ?? '', XDG_STATE_HOME: state },
    });
  }

  async function status(): Promise<InstanceStatus> {
    return JSON.parse((await local('status -o json')).out) as InstanceStatus;
  }

  function pidOf({ components }: InstanceStatus, component: string): number {
    const pid = components.find(({ name }) => name === component)?.pid;
    if (pid === undefined) throw new Error(`${component} does not run`);
    return pid;
  }

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'fairlead-state-'));
    await findBinaries();
  }, BUILD_MS);

  afterAll(async () => {
    await local('down');
    await rm(state, { recursive: true, force: true });
  }, 30_000);

  it('up starts it, with progress, and says what to type next', async () => {
    const { code, out, err } = await local('up --nodes 2');
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(out).toMatch(/^instance typed is up \([\d.]+ s\)/);
    expect(out).toContain(`fairlead local down --name ${NAME}`);
    expect(err).toContain('kube-apiserver');
    expect(await local('status')).toMatchObject({ code: 0, err: '' });
  }, 120_000);

  itInFull(
    'an apiserver that was told to end takes no connections while it does: status says so, and up starts it when it has',
    async () => {
      const before = await status();
      const pid = pidOf(before, 'kube-apiserver');
      // A client that watches keeps it alive for a minute.
      process.kill(pid, 'SIGTERM');
      const ending = await found('it takes no connections', async () => {
        const told = await local('status');
        return told.code === 0 ? undefined : told;
      });
      expect(ending.out).toMatch(/✗ kube-apiserver (?:\(process \d+\) takes no connections|does not run)/);
      const up = await local('up');
      expect(up).toMatchObject({ code: 0 });
      const after = await status();
      expect(after.running).toBe(true);
      expect(pidOf(after, 'kube-apiserver')).not.toBe(pid);
    },
    240_000,
  );

  it('a component that has crashed is named, with the end of its log, and up starts it again', async () => {
    const before = await status();
    process.kill(pidOf(before, 'kube-scheduler'), 'SIGKILL');
    const crashed = await local('status');
    expect(crashed.code).toBe(1);
    expect(crashed.out).toMatch(/✗ kube-scheduler does not run; the end of .*:\n {6}\| /);
    expect(crashed.err).toContain(`fairlead local up --name ${NAME}`);
    expect(await local('up')).toMatchObject({ code: 0 });
    const after = await status();
    expect(after.running).toBe(true);
    expect(pidOf(after, 'kube-scheduler')).not.toBe(pidOf(before, 'kube-scheduler'));
    expect(pidOf(after, 'etcd')).toBe(pidOf(before, 'etcd'));
  }, 120_000);

  it('a whole instance that was killed, as by a reboot, comes up again with what was in it', async () => {
    const before = await status();
    for (const { name } of before.components) process.kill(pidOf(before, name), 'SIGKILL');
    expect((await local('up')).code).toBe(0);
    const after = await status();
    expect(after).toMatchObject({ running: true, kubeconfig: before.kubeconfig });
    const { out, code } = await local('env');
    expect(code).toBe(0);
    const variables = Object.fromEntries(
      [...out.matchAll(/^export (\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value] as const),
    );
    expect(variables).toMatchObject({
      KUBECONFIG: after.kubeconfig,
      TEMPORAL_ADDRESS: after.temporalAddress,
    });
    const environment = { ...variables, PATH: process.env['PATH'] ?? '' };
    const check = await runCliProcess(['check'], { environment });
    expect({ code: check.code, bad: /✗.*/.exec(check.out)?.[0] }).toEqual({ code: 0, bad: undefined });

    // A cluster of somebody who has not installed it.
    const client = await openClusterClient(after.kubeconfig);
    try {
      const crd = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
      await client.delete({ ...crd, namespace: undefined, name: 'statefulsets.fairlead.dev' });
      const bare = await found('it is not served any more', async () => {
        const told = await runCliProcess(['check'], { environment });
        return told.out.includes('✗') ? told : undefined;
      });
      expect(bare.code).toBe(1);
      expect(bare.out).toMatch(
        /✗ StatefulSet of fairlead\.dev\/v1beta1 is not served\n.*kubectl apply --server-side -f manifests\/crds/,
      );
    } finally {
      client.close();
    }
  }, 120_000);

  it('other options for an instance that is there are refused, with what to do instead', async () => {
    const other = await local('up --workload-api apps/v1');
    expect(other.code).toBe(2);
    expect(other.err).toContain('fairlead local up --workload-api apps/v1 --name another');
    expect(await local('up --nodes 5')).toMatchObject({ code: 2 });
  }, 30_000);

  it('down leaves nothing behind, and is no failure when nothing is there', async () => {
    const before = await status();
    const { components, directory } = before;
    const pids = components.map(({ name }) => pidOf(before, name));
    expect(await local('down')).toMatchObject({ code: 0, err: '' });
    expect(existsSync(directory)).toBe(false);
    expect(await readdir(state)).toEqual([]);
    expect(pids.map((pid) => identifyProcess(pid))).toEqual(pids.map(() => undefined));
    expect(await local('down')).toMatchObject({ code: 0 });
    const gone = await local('status');
    expect(gone.code).toBe(1);
    expect(gone.err).toContain(`fairlead local up --name ${NAME}`);
  }, 60_000);
});
