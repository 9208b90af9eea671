/** The embedded control plane: real servers, one directory, and a handle to everything. */

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { KubernetesClient } from '../kubernetes/client.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { auditPolicy } from './audit-policy.ts';
import { findBinaries } from './binaries.ts';
import { bringUp, startComponents } from './bring-up.ts';
import { claimDirectory } from './claimed-directory.ts';
import { openClusterClient } from './cluster-client.ts';
import type { ComponentFailure } from './component-process.ts';
import { schedulerConfiguration } from './components.ts';
import { createCredentials } from './credentials.ts';
import {
  checkInstanceName,
  currentBootId,
  defaultStateDirectory,
  readInstance,
  writeInstance,
} from './instance.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import { instanceLayout } from './layout.ts';
import { findFreePorts } from './ports.ts';
import { currentPidNamespace, identifyProcess } from './processes.ts';
import { removeAbandonedInstances, removeInstance } from './removal.ts';
import { RunningControlPlane, serverUrlOf } from './running-control-plane.ts';
import { startWatchdog } from './watchdog.ts';

export interface ControlPlaneOptions {
  /** @default a random name */
  readonly name?: string;
  /** @default `$XDG_STATE_HOME/fairlead/local` */
  readonly stateDirectory?: string;
  /** Simulated nodes to begin with. @default 3 */
  readonly nodes?: number;
  /** @default 'fairlead.dev/v1beta1' */
  readonly workloadApi?: WorkloadApi;
  /** Of apiserver and controller-manager, where they are not to be as upstream has them. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** The servers outlive this process (`fairlead local up`). @default false: they end with it, however it ends */
  readonly detached?: boolean;
  /** One line per step. */
  readonly report?: (line: string) => void;
  /** A component ended by itself, and stays so. @default its message goes to standard error */
  readonly onFailure?: (failure: ComponentFailure) => void;
  /** One that a kubelet would start again ended by itself, and has been started again. @default as `onFailure` */
  readonly onRestart?: (failure: ComponentFailure) => void;
  /** Gives up starting; nothing is left then. */
  readonly signal?: AbortSignal;
}

export interface ControlPlane {
  readonly name: string;
  readonly directory: string;
  readonly workloadApi: WorkloadApi;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly serverUrl: string;
  readonly caFile: string;
  /** host:port of the frontend. */
  readonly temporalAddress: string;
  /** URL of the web UI. */
  readonly temporalUiAddress: string;
  /** Path of the audit log: one JSON object a line. */
  readonly auditLog: string;
  /** The administrator's client. */
  readonly client: KubernetesClient;
  /** Components that ended by themselves so far, and were not started again. */
  readonly failures: readonly ComponentFailure[];
  /** Path of a kubeconfig that logs in as the ServiceAccount of `manifests/install`. */
  workerKubeconfig(): Promise<string>;
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Resolves with the names of the new nodes. */
  addNodes(count: number): Promise<readonly string[]>;
  removeNode(name: string): Promise<void>;
  /** Of the living process. */
  processId(component: ComponentName): number | undefined;
  /** SIGTERM, and SIGKILL if it takes its time. */
  stop(component: ComponentName): Promise<void>;
  /** On the ports that it had before. Resolves when it does its work. */
  start(component: ComponentName): Promise<void>;
  restart(component: ComponentName): Promise<void>;
  /** The built-in controllers of `apps/v1` leave (`apps/v1`) or come back, as after a change of the controller manager's flags. */
  changeWorkloadApi(workloadApi: WorkloadApi): Promise<void>;
  /** SIGKILL, as a crash; not reported as a failure. */
  kill(component: ComponentName): Promise<void>;
  /** Ends this handle alone: the servers go on, for whoever opens the instance next, and nobody watches over them meanwhile. */
  close(): Promise<void>;
  /** Ends everything and removes the directory. */
  down(): Promise<void>;
}

function printFailure({ message }: ComponentFailure): void {
  process.stderr.write(`${message}\n`);
}

function printRestart({ component, message }: ComponentFailure): void {
  process.stderr.write(`${message}\n${component} was started again, as a kubelet would\n`);
}

async function createRecord(options: ControlPlaneOptions, name: string): Promise<InstanceRecord> {
  const starter = identifyProcess(process.pid);
  if (starter === undefined) throw new Error('cannot find out when this process started; is /proc mounted?');
  const binaries = await findBinaries({ report: options.report, signal: options.signal });
  const [etcd = 0, apiserver = 0, temporal = 0, temporalUi = 0, temporalHttp = 0, temporalMetrics = 0] =
    await findFreePorts(6);
  return {
    name,
    id: randomBytes(16).toString('hex'),
    createdAt: new Date().toISOString(),
    workloadApi: options.workloadApi ?? 'fairlead.dev/v1beta1',
    featureGates: options.featureGates ?? {},
    ports: { etcd, apiserver, temporal, temporalUi, temporalHttp, temporalMetrics },
    bootId: currentBootId(),
    pidNamespace: currentPidNamespace(),
    starter,
    detached: options.detached === true,
    binaries,
    processes: {},
    complete: false,
  };
}

/**
 * Starts a whole control plane; builds programs that are missing. Rejects with `ComponentFailure` if a component does not
 * come up, or with the signal's reason; nothing is left then.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { stateDirectory = defaultStateDirectory(), report = () => undefined } = options;
  const name = options.name ?? `run-${randomBytes(4).toString('hex')}`;
  checkInstanceName(name);
  await removeAbandonedInstances(stateDirectory, report);
  const record = await createRecord(options, name);
  const directory = join(stateDirectory, name);
  const layout = instanceLayout(directory);
  await claimDirectory(directory, name);
  await writeInstance(directory, record);
  const watchdog = record.detached ? undefined : startWatchdog(record, directory);
  let controlPlane: RunningControlPlane | undefined;
  try {
    await Promise.all([
      ...[layout.logs, layout.home, dirname(layout.temporalDatabase)].map((path) =>
        mkdir(path, { recursive: true, mode: 0o700 }),
      ),
      writeFile(layout.auditPolicy, auditPolicy()),
      writeFile(layout.schedulerConfig, schedulerConfiguration(layout)),
      createCredentials(layout, name, serverUrlOf(record)),
    ]);
    controlPlane = new RunningControlPlane({
      record,
      directory,
      client: await openClusterClient(layout.kubeconfig),
      watchdog,
      onFailure: options.onFailure ?? printFailure,
      onRestart: options.onRestart ?? printRestart,
    });
    await bringUp(controlPlane, { nodes: options.nodes ?? 3, report, signal: options.signal });
    await controlPlane.update({ complete: true });
    return controlPlane;
  } catch (error) {
    if (controlPlane === undefined) {
      await removeInstance(directory);
      await watchdog?.release();
    } else {
      await controlPlane.down();
    }
    throw error;
  }
}

async function openInstance(name: string, stateDirectory: string): Promise<RunningControlPlane> {
  const directory = join(stateDirectory, name);
  const record = await readInstance(directory);
  if (record?.complete !== true) throw new Error(`there is no instance ${name} in ${stateDirectory}`);
  const client = await openClusterClient(instanceLayout(directory).kubeconfig);
  return new RunningControlPlane({
    record,
    directory,
    client,
    onFailure: printFailure,
    onRestart: printRestart,
  });
}

/**
 * A handle to a complete instance that somebody else has started and closed; it looks after the components as that one did. Rejects if
 * there is no such instance.
 */
export async function openControlPlane(
  name: string,
  stateDirectory: string = defaultStateDirectory(),
): Promise<ControlPlane> {
  const controlPlane = await openInstance(name, stateDirectory);
  controlPlane.watchOver();
  return controlPlane;
}

/** Starts whatever of a detached instance does not run: after a crash, or a reboot. What it held is still there. */
export async function resumeControlPlane(
  name: string,
  report: (line: string) => void,
  stateDirectory: string = defaultStateDirectory(),
): Promise<void> {
  const controlPlane = await openInstance(name, stateDirectory);
  try {
    await controlPlane.forgetTheDead();
    await startComponents(controlPlane, report);
  } finally {
    controlPlane.client.close();
  }
}
