/** The embedded control plane itself, on real servers (design §4). */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { ApiError } from '../../kubernetes/api-error.ts';
import type { ComponentFailure } from '../../local/component-process.ts';
import { startControlPlane } from '../../local/control-plane.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { openClusterClient } from '../../local/cluster-client.ts';
import type { Pod } from '../../planners/objects.ts';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts';
import { COMPONENT_NAMES, listInstances } from '../../local/instance.ts';
import type { ComponentName } from '../../local/instance.ts';
import { MANAGED_NODE, nodeObject } from '../../local/nodes.ts';
import { identifyProcess } from '../../local/processes.ts';
import { ChildScript } from '../support/child-process.ts';
import { eventually, found } from '../support/eventually.ts';

jest.setTimeout(60_000);

const START_MS = 30 * 60_000;

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

function portsOf({ serverUrl, temporalAddress, temporalUiAddress }: ControlPlane): readonly number[] {
  return [serverUrl, `http://${temporalAddress}`, temporalUiAddress].map((url) => Number(new URL(url).port));
}

function processesOf(controlPlane: ControlPlane): readonly number[] {
  return COMPONENT_NAMES.flatMap((component) => controlPlane.processId(component) ?? []);
}

describe('embedded control plane', () => {
  let state: string;
  let first: ControlPlane;
  let second: ControlPlane;
  const failures: ComponentFailure[] = [];
  const restarts: ComponentFailure[] = [];

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'fairlead-local-'));
    [first, second] = await Promise.all([
      startControlPlane({
        stateDirectory: state,
        name: 'first',
        nodes: 1,
        onFailure: (one) => failures.push(one),
        onRestart: (one) => restarts.push(one),
      }),
      startControlPlane({ stateDirectory: state, name: 'second', nodes: 2, workloadApi: 'apps/v1' }),
    ]);
  }, START_MS);

  afterAll(async () => {
    await Promise.all([first.down(), second.down()]);
    await rm(state, { recursive: true, force: true });
  }, 30_000);

  it('runs two instances side by side, each with its own ports, nodes and certificates', async () => {
    expect(new Set([...portsOf(first), ...portsOf(second)]).size).toBe(6);
    const nodes = { group: '', version: 'v1', resource: 'nodes' };
    const [one, two] = await Promise.all([first.client.list(nodes), second.client.list(nodes)]);
    expect(one.items.map(({ metadata }) => metadata.name)).toEqual(['node-0']);
    expect(two.items.map(({ metadata }) => metadata.name)).toEqual(['node-0', 'node-1']);
    // The other's certificates are worth nothing here.
    const config = (await readFile(second.kubeconfig, 'utf8')).replace(second.serverUrl, first.serverUrl);
    expect(config).toContain(first.serverUrl);
    expect(await readFile(first.caFile, 'utf8')).not.toBe(await readFile(second.caFile, 'utf8'));
  });

  it('lets the worker log in as its ServiceAccount, with what that may do and no more', async () => {
    const client = await openClusterClient(await first.workerKubeconfig());
    try {
      const statefulSets = { group: 'fairlead.dev', version: 'v1beta1', resource: 'statefulsets' };
      expect((await client.list(statefulSets)).items).toEqual([]);
      const services = client.list({
        group: '',
        version: 'v1',
        resource: 'services',
        namespace: 'kube-system',
      });
      await expect(services).rejects.toThrow(ApiError);
      await expect(services).rejects.toThrow(/system:serviceaccount:fairlead-system:fairlead-worker/);
    } finally {
      client.close();
    }
  });

  it('runs the native controllers unless Fairlead takes their place', async () => {
    const set = (namespace: string) => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'native', namespace },
      spec: {
        serviceName: 'native',
        replicas: 1,
        selector: { matchLabels: { app: 'native' } },
        template: {
          metadata: { labels: { app: 'native' } },
          spec: { containers: [{ name: 'app', image: 'web:1' }] },
        },
      },
    });
    const path = { group: 'apps', version: 'v1', resource: 'statefulsets', namespace: 'default' };
    await Promise.all([first, second].map(({ client }) => client.create(path, set('default'))));
    const status = async ({ client }: ControlPlane) =>
      (await client.get<{ status: { observedGeneration?: number } }>({ ...path, name: 'native' })).status;
    let native: { observedGeneration?: number } = {};
    const poll = setInterval(() => {
      void status(first).then((now) => (native = now));
    }, 50);
    try {
      await eventually('the native controller sees it', () => native.observedGeneration === 1, 10_000);
    } finally {
      clearInterval(poll);
    }
    expect((await status(second)).observedGeneration).toBeUndefined();
  });

  it('registers the search attributes, serves the UI, and keeps both over a restart', async () => {
    const { openConnection } = await import('../../controllers/temporal-client.ts');
    const registered = async () => {
      const connection = await openConnection({ address: first.temporalAddress });
      try {
        const answer = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
        return Object.keys(answer.customAttributes ?? {});
      } finally {
        await connection.close();
      }
    };
    expect(await registered()).toEqual(expect.arrayContaining([...SEARCH_ATTRIBUTES]));
    const before = first.processId('temporal');
    await first.restart('temporal');
    expect(first.processId('temporal')).not.toBe(before);
    expect(await registered()).toEqual(expect.arrayContaining([...SEARCH_ATTRIBUTES]));
    expect((await fetch(first.temporalUiAddress)).status).toBe(200);
  }, 30_000);

  it('writes every write into the audit log, with who, what, when, how it ended and the preconditions', async () => {
    const pods = { group: '', version: 'v1', resource: 'pods', namespace: 'default' };
    const created = await second.client.create<{ metadata: { uid: string } }>(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'audited' },
      spec: { containers: [{ name: 'app', image: 'web:1' }] },
    });
    await second.client.delete({ ...pods, name: 'audited' }, { uid: created.metadata.uid });
    await second.client.create(
      { group: '', version: 'v1', resource: 'secrets', namespace: 'default' },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'hidden' },
        stringData: { password: 'do-not-log-me' },
      },
    );
    const text = await readFile(second.auditLog, 'utf8');
    expect(text).not.toContain('do-not-log-me');
    expect(text).not.toContain(Buffer.from('do-not-log-me').toString('base64'));
    const lines = text.trim().split('\n');
    const entries = lines.map(
      (line) => JSON.parse(line) as { verb: string; user: object; objectRef?: { name?: string } },
    );
    const deletion = entries.find(
      ({ verb, objectRef }) => verb === 'delete' && objectRef?.name === 'audited',
    );
    expect(deletion).toMatchObject({
      user: { username: 'admin' },
      objectRef: { resource: 'pods', namespace: 'default', name: 'audited' },
      responseStatus: { code: 200 },
      requestObject: { preconditions: { uid: created.metadata.uid } },
      requestReceivedTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  it('restarts the apiserver on its port, with everything that was in it', async () => {
    const before = first.processId('kube-apiserver');
    await first.restart('kube-apiserver');
    expect(first.processId('kube-apiserver')).not.toBe(before);
    expect((await first.client.list({ group: '', version: 'v1', resource: 'nodes' })).items).toHaveLength(1);
  }, 60_000);

  it('takes up a pod that kwok has let go since then', async () => {
    const nodes = { group: '', version: 'v1', resource: 'nodes' };
    const pods = { group: '', version: 'v1', resource: 'pods', namespace: 'default' };
    const { metadata, ...node } = nodeObject('late', 9);
    const { [MANAGED_NODE]: fake, ...annotations } = metadata.annotations;
    await first.client.create(nodes, { ...node, metadata: { ...metadata, annotations } });
    const name = 'let-go';
    const spec = { nodeName: 'late', containers: [{ name: 'main', image: 'app:1' }] };
    await first.client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
    const change = { metadata: { annotations: { [MANAGED_NODE]: fake } } };
    // A node that becomes one of kwok's, and is not new to it: what is on it already is passed over.
    await first.client.patch({ ...nodes, name: 'late' }, 'merge', change);
    await found(
      'it runs',
      async () => {
        const { status } = await first.client.get<Pod>({ ...pods, name });
        return status?.phase === 'Running' ? true : undefined;
      },
      50_000,
    );
    await first.removeNode('late');
  }, 60_000);

  it('reports a component that is killed, with the end of its log', async () => {
    kill('kube-apiserver');
    await eventually('the failure is reported', () => failures.length > 0, 5000);
    expect(failures[0]?.component).toBe('kube-apiserver');
    expect(failures[0]?.message).toContain('kube-apiserver was ended by SIGKILL');
    expect(failures[0]?.logTail.length).toBeGreaterThan(0);
    expect(first.failures).toEqual(failures);
    await first.start('kube-apiserver');
    expect(first.processId('kube-apiserver')).toBeDefined();
  }, 30_000);

  it.each(['kube-controller-manager', 'kube-scheduler', 'kwok'] as const)(
    'starts %s again when it has ended, as a kubelet would; also soon after the apiserver began to answer',
    async (component) => {
      const known = restarts.length;
      const before = kill(component);
      await eventually('it was started again', () => restarts.length > known, 30_000);
      expect(restarts[known]?.message).toContain(`${component} was ended by SIGKILL`);
      expect(first.processId(component)).not.toBe(before);
      expect(first.failures.map((failure) => failure.component)).not.toContain(component);
    },
    40_000,
  );

  it('has one process of a component, however many start it at one time', async () => {
    await first.stop('kube-scheduler');
    await Promise.all([first.start('kube-scheduler'), first.start('kube-scheduler')]);
    expect(await living('kube-scheduler')).toEqual([first.processId('kube-scheduler')]);
  }, 40_000);

  /** Of the first instance, by their command lines. */
  async function living(component: ComponentName): Promise<readonly number[]> {
    const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
    const lines = await Promise.all(
      pids.map(async (pid) => await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    );
    const isOne = (line: string) =>
      line.split('\0')[0]?.includes(component) && line.includes(first.directory);
    return pids.flatMap((pid, index) => (isOne(lines[index] ?? '') === true ? [Number(pid)] : []));
  }

  function kill(component: ComponentName): number {
    const pid = first.processId(component) ?? 0;
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, 'SIGKILL');
    return pid;
  }

  it('refuses a name that is taken', async () => {
    await expect(startControlPlane({ stateDirectory: state, name: 'first' })).rejects.toThrow(
      /instance first exists already .* fairlead local down --name first/s,
    );
  });

  it('says why a component does not come up, and leaves nothing of the attempt', async () => {
    process.env['FAIRLEAD_ETCD'] = '/bin/false';
    try {
      await expect(startControlPlane({ stateDirectory: state, name: 'broken' })).rejects.toThrow(
        /^etcd ended with exit code 1 while starting\nThe end of .*broken.logs.etcd\.log:/,
      );
    } finally {
      delete process.env['FAIRLEAD_ETCD'];
    }
    expect(await listInstances(state)).not.toContain('broken');
  });

  it('says at once that its state can be written nowhere, also where no directory can be made', async () => {
    const stateDirectory = '/proc/nowhere/fairlead';
    await expect(startControlPlane({ stateDirectory, name: 'x' })).rejects.toThrow(
      /ENOENT.*'\/proc\/nowhere'/,
    );
  });

  it('gives up starting when told to, and leaves nothing of the attempt', async () => {
    const controller = new AbortController();
    const report = () => {
      controller.abort(new Error('changed my mind'));
    };
    await expect(
      startControlPlane({ stateDirectory: state, name: 'given-up', report, signal: controller.signal }),
    ).rejects.toThrow('changed my mind');
    expect(await listInstances(state)).not.toContain('given-up');
  });

  it('leaves no process, port or file behind when it is taken down', async () => {
    const pids = processesOf(second);
    const ports = portsOf(second);
    expect(pids).toHaveLength(COMPONENT_NAMES.length);
    await second.down();
    expect(pids.map((pid) => identifyProcess(pid))).toEqual(pids.map(() => undefined));
    expect(await Promise.all(ports.map((port) => answers(port)))).toEqual([false, false, false]);
    expect(existsSync(second.directory)).toBe(false);
    expect(await listInstances(state)).toEqual(['first']);
  });

  it('is gone soon after the process that started it was killed', async () => {
    const child = new ChildScript(new URL('../support/local-instance-main.ts', import.meta.url), [
      state,
      'orphan',
    ]);
    await child.printed('up', 1, 60_000);
    const { stdout } = await promisify(execFile)('pgrep', ['-f', join(state, 'orphan')]);
    const pids = stdout.trim().split('\n').map(Number);
    // The watchdog is one of them.
    expect(pids.length).toBeGreaterThanOrEqual(COMPONENT_NAMES.length);
    await child.end();
    await eventually('the directory is gone', () => !existsSync(join(state, 'orphan')), 10_000);
    await eventually(
      'every process is gone',
      () => pids.every((pid) => identifyProcess(pid) === undefined),
      5000,
    );
    expect(await readdir(state)).toEqual(['first']);
  }, 90_000);
});
