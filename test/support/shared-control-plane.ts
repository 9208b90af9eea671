/**
 * Control planes that the test files of one jest process use one after the other. To start one costs twenty seconds of CPU (the apiserver
 * and the controller manager are busy for half a minute after they answer), to give it back the state of its first moment one or two.
 */

import { existsSync } from 'node:fs';
import { readFile, readdir, readlink, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import { openControlPlane, startControlPlane } from '../../local/control-plane.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import {
  COMPONENT_NAMES,
  defaultStateDirectory,
  listInstances,
  livingProcess,
  readInstance,
} from '../../local/instance.ts';
import type { InstanceRecord } from '../../local/instance.ts';
import { signalProcess } from '../../local/processes.ts';
import { instanceLayout } from '../../local/layout.ts';
import type { KubernetesObject, Pod } from '../../planners/objects.ts';
import { Etcd } from './etcd-keys.ts';
import type { EtcdKeys } from './etcd-keys.ts';
import { untilObjects } from './until-objects.ts';

export interface ControlPlaneUse {
  /** @default 3 */
  readonly nodes?: number;
  /** @default 'fairlead.dev/v1beta1' */
  readonly workloadApi?: WorkloadApi;
}

/** What the cluster held when it was new. */
const BASE = 'base.json';
/** Controllers that have not heard of a deletion yet make something anew; they hear of it within milliseconds. */
const PASSES = 50;
const BETWEEN_PASSES_MS = 100;
/** Against hanging: it takes a second. */
const SETTLE_MS = 60_000;

/** Those that an earlier file may have stopped, in the order in which they start. */
const SERVERS_OF_KUBERNETES = COMPONENT_NAMES.filter((component) => component !== 'temporal');

/** The instances of this process, which ends them when it ends (`startWatchdog`). */
const PREFIX = `tests-${String(process.pid)}-`;
/** Taken by this file, and not given back. */
const taken = new Set<string>();

/** One that nobody uses, as new, or a new one; with its nodes. */
export async function takeControlPlane(use: ControlPlaneUse = {}): Promise<ControlPlane> {
  const { nodes = 3, workloadApi = 'fairlead.dev/v1beta1' } = use;
  const name = await claim(workloadApi);
  const directory = join(defaultStateDirectory(), name);
  const isNew = !existsSync(directory);
  if (isNew) {
    const started = await startControlPlane({ name, nodes: 0, workloadApi });
    await untilFurnished(started);
    await started.close();
    await writeFile(join(directory, BASE), JSON.stringify([...(await withEtcd(directory, readKeys))]));
  }
  await freezeTheIdle();
  const controlPlane = await openControlPlane(name);
  if (!isNew) await makeNew(controlPlane, workloadApi);
  const last = (await controlPlane.addNodes(nodes)).at(-1);
  if (!isNew && last !== undefined) await untilScheduledTo(controlPlane, last);
  return controlPlane;
}

/** Leaves it to the next file of this process. Rejects if a component has ended by itself: then it is taken down. */
export async function giveBack(controlPlane: ControlPlane): Promise<void> {
  taken.delete(controlPlane.name);
  const [failure] = controlPlane.failures;
  await (failure === undefined ? controlPlane.close() : controlPlane.down());
  if (failure !== undefined) throw failure;
}

/** Those that nobody uses would cost a twentieth of a core each. Not when they are given back: hooks of that file may still use them. */
async function freezeTheIdle(): Promise<void> {
  for (const name of await ownInstances()) {
    const record = await recordOf(name);
    if (record?.complete === true && !taken.has(name)) signalServers(record, 'SIGSTOP');
  }
}

function signalServers(record: InstanceRecord | undefined, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const component of COMPONENT_NAMES) {
    const identity = record && livingProcess(record, component);
    if (identity !== undefined) signalProcess(identity, signal);
  }
}

async function recordOf(name: string): Promise<InstanceRecord | undefined> {
  return await readInstance(join(defaultStateDirectory(), name));
}

async function ownInstances(): Promise<readonly string[]> {
  return (await listInstances(defaultStateDirectory())).filter((name) => name.startsWith(PREFIX));
}

/** The name of one that is free, rather of the same workload API; or a new name. */
async function claim(workloadApi: WorkloadApi): Promise<string> {
  const free: { readonly name: string; readonly isSame: boolean }[] = [];
  for (const name of (await ownInstances()).filter((each) => !taken.has(each))) {
    const record = await recordOf(name);
    if (record?.complete === true) free.push({ name, isSame: record.workloadApi === workloadApi });
  }
  const found = free.find(({ isSame }) => isSame) ?? free[0];
  const name = found?.name ?? `${PREFIX}${Math.random().toString(36).slice(2, 8)}`;
  // Two that claim at the same time may have found the same.
  if (taken.has(name)) return await claim(workloadApi);
  taken.add(name);
  return name;
}

/** Its first state: the objects of then, no history in Temporal, an empty audit log, and nobody who still works on it. */
async function makeNew(controlPlane: ControlPlane, workloadApi: WorkloadApi): Promise<void> {
  const { directory } = controlPlane;
  signalServers(await recordOf(controlPlane.name), 'SIGCONT');
  await endLeftovers(directory);
  for (const component of SERVERS_OF_KUBERNETES) await controlPlane.start(component);
  if (controlPlane.workloadApi !== workloadApi) await controlPlane.changeWorkloadApi(workloadApi);
  await Promise.all([emptyTemporal(controlPlane), emptyCluster(directory)]);
  await truncate(controlPlane.auditLog);
}

/** Until the controllers have made what they make in every namespace: it is of the first state, or it would be deleted and made for ever. */
async function untilFurnished({ client }: ControlPlane): Promise<void> {
  const core = { group: '', version: 'v1' } as const;
  const { items } = await client.list({ ...core, resource: 'namespaces' });
  for (const [resource, name] of [
    ['serviceaccounts', 'default'],
    ['configmaps', 'kube-root-ca.crt'],
  ] as const) {
    const areThere = (all: readonly KubernetesObject[]) =>
      items.every(({ metadata: { name: namespace } }) =>
        all.some(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
      );
    await untilObjects(client, { ...core, resource }, `${name} in every namespace`, areThere, SETTLE_MS);
  }
}

async function emptyCluster(directory: string): Promise<void> {
  const base: EtcdKeys = new Map(
    JSON.parse(await readFile(join(directory, BASE), 'utf8')) as readonly [string, string][],
  );
  await withEtcd(directory, async (etcd) => {
    let deleted: readonly string[] = [];
    for (let pass = 0; pass < PASSES; pass += 1) {
      deleted = await etcd.putBack(base);
      if (deleted.length === 0) return;
      await delay(BETWEEN_PASSES_MS);
    }
    throw new Error(
      `something makes these again and again in the cluster of ${directory}: ${deleted.join(' ')}`,
    );
  });
}

/**
 * Until the scheduler and kwok have heard of the newest node, and so, in the same watch, of all those before it that are gone: pods would
 * be sent there for good.
 */
async function untilScheduledTo({ client }: ControlPlane, node: string): Promise<void> {
  // Its account is there from the beginning; that of `default` is made anew just now.
  const pods = { group: '', version: 'v1', resource: 'pods', namespace: 'fairlead-system' } as const;
  const name = 'settled';
  await client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      serviceAccountName: 'fairlead-worker',
      nodeSelector: { 'kubernetes.io/hostname': node },
      containers: [{ name, image: 'settled:1' }],
    },
  });
  const isRunning = ([pod]: readonly Pod[]) => pod?.status?.phase === 'Running';
  await untilObjects<Pod>(client, pods, `a pod runs on ${node}`, isRunning, SETTLE_MS);
  await client.delete({ ...pods, name }, { gracePeriodSeconds: 0 });
}

async function emptyTemporal(controlPlane: ControlPlane): Promise<void> {
  await controlPlane.stop('temporal');
  const database = dirname(instanceLayout(controlPlane.directory).temporalDatabase);
  for (const file of await readdir(database)) await rm(join(database, file));
  await controlPlane.start('temporal');
}

/** A worker that an earlier file has left would work against the next one's. */
async function endLeftovers(directory: string): Promise<void> {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const environment = await readFile(`/proc/${entry}/environ`, 'latin1').catch(() => '');
    const isOurs = environment.split('\0').some((each) => each.startsWith(`KUBECONFIG=${directory}/`));
    if (!isOurs) continue;
    const program = await readlink(`/proc/${entry}/exe`).catch(() => '');
    if (program === process.execPath) process.kill(Number(entry), 'SIGKILL');
  }
}

async function readKeys(etcd: Etcd): Promise<EtcdKeys> {
  return await etcd.keys();
}

/** Of the instance with this state. */
export async function withEtcd<T>(directory: string, act: (etcd: Etcd) => Promise<T>): Promise<T> {
  const record = await readInstance(directory);
  if (record === undefined) throw new Error(`no instance in ${directory}`);
  const etcd = await Etcd.open(instanceLayout(directory), record.ports.etcd);
  try {
    return await act(etcd);
  } finally {
    etcd.close();
  }
}
