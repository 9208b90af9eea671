/** The embedded control plane: real servers, one directory, and a handle to everything. */

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { openAdminApi } from './api-request.ts';
import type { AdminApi } from './api-request.ts';
import { auditPolicy } from './audit-policy.ts';
import { findBinaries } from './binaries.ts';
import { ComponentFailure, spawnComponent } from './component-process.ts';
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
import type { InstanceLayout } from './layout.ts';
import { ManifestApplier, readManifestFile, readManifests } from './manifests.ts';
import { addNodes, removeNode } from './nodes.ts';
import { packageRoot } from './package-root.ts';
import { findFreePorts } from './ports.ts';
import { identifyProcess, isAlive, signalProcess, stopProcess, waitForExit } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';
import { waitUntilReady } from './readiness.ts';
import { removeInstance } from './removal.ts';
import { createServiceAccountKubeconfig } from './service-account-kubeconfig.ts';
import { startWatchdog } from './watchdog.ts';
import type { Watchdog } from './watchdog.ts';

export interface ControlPlaneOptions {
  /** @default a random name */
  readonly name?: string;
  /** @default `$XDG_STATE_HOME/fairlead/local` */
  readonly stateDirectory?: string;
  /** Simulated nodes to begin with. @default 3 */
  readonly nodes?: number;
  /** @default 'fairlead.dev/v1beta1' */
  readonly workloadApi?: WorkloadApi;
  /** The servers outlive this process (`fairlead local up`). @default false: they end with it, however it ends */
  readonly detached?: boolean;
  /** One line per step. */
  readonly report?: (line: string) => void;
  /** A component ended by itself. @default its message goes to standard error */
  readonly onFailure?: (failure: ComponentFailure) => void;
}

export interface ControlPlane {
  readonly name: string;
  readonly directory: string;
  readonly workloadApi: WorkloadApi;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly serverUrl: string;
  readonly caFile: string;
  readonly temporalAddress: string;
  readonly temporalUiAddress: string;
  /** Path of the audit log: one JSON object a line. */
  readonly auditLog: string;
  /** Path of a kubeconfig that logs in as the ServiceAccount of `manifests/install`. */
  workerKubeconfig(): Promise<string>;
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Resolves with the names of the new nodes. */
  addNodes(count: number): Promise<readonly string[]>;
  removeNode(name: string): Promise<void>;
  /** SIGTERM, and SIGKILL after ten seconds. */
  stop(component: ComponentName): Promise<void>;
  /** On the ports that it had before. Resolves when it does its work. */
  start(component: ComponentName): Promise<void>;
  restart(component: ComponentName): Promise<void>;
  /** SIGKILL, as a crash; not reported as a failure. */
  kill(component: ComponentName): Promise<void>;
  /** Ends everything and removes the directory. */
  down(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 10_000;

class RunningControlPlane implements ControlPlane {
  readonly name: string;
  readonly directory: string;
  readonly workloadApi: WorkloadApi;
  readonly kubeconfig: string;
  readonly serverUrl: string;
  readonly caFile: string;
  readonly temporalAddress: string;
  readonly temporalUiAddress: string;
  readonly auditLog: string;
  readonly #layout: InstanceLayout;
  readonly #admin: AdminApi;
  readonly #onFailure: (failure: ComponentFailure) => void;
  readonly #watchdog: Watchdog | undefined;
  /** Processes whose end is our own doing. */
  readonly #expected = new Set<number>();
  #record: InstanceRecord;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    record: InstanceRecord,
    layout: InstanceLayout,
    admin: AdminApi,
    watchdog: Watchdog | undefined,
    onFailure: (failure: ComponentFailure) => void,
  ) {
    this.#record = record;
    this.#layout = layout;
    this.#admin = admin;
    this.#watchdog = watchdog;
    this.#onFailure = onFailure;
    this.name = record.name;
    this.directory = layout.directory;
    this.workloadApi = record.workloadApi;
    this.kubeconfig = layout.kubeconfig;
    this.serverUrl = serverUrlOf(record);
    this.caFile = layout.caFile;
    this.temporalAddress = `127.0.0.1:${record.ports.temporal}`;
    this.temporalUiAddress = `http://127.0.0.1:${record.ports.temporalUi}`;
    this.auditLog = layout.auditLog;
  }

  async markComplete(): Promise<void> {
    await this.#update({ complete: true });
  }

  #update(change: Partial<InstanceRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    this.#writing = this.#writing.then(() => writeInstance(this.directory, this.#record));
    return this.#writing;
  }

  async start(component: ComponentName): Promise<void> {
    const present = this.#record.processes[component];
    if (present !== undefined && isAlive(present)) return;
    if (component === 'kwok') await this.#forgetNodeLeases();
    const started = await spawnComponent(component, this.#record, this.#layout);
    await this.#update({ processes: { ...this.#record.processes, [component]: started.identity } });
    let starting = true;
    started.ended.then(
      (how) => {
        if (!starting && !this.#expected.has(started.identity.pid)) {
          this.#onFailure(new ComponentFailure(component, how, this.#layout));
        }
      },
      () => undefined,
    );
    await waitUntilReady(component, started, {
      record: this.#record,
      layout: this.#layout,
      admin: this.#admin,
      timeoutMs: READY_TIMEOUT_MS,
    });
    starting = false;
  }

  /** A new kwok has another identity and would leave the nodes alone until the leases of the old one run out (40 s). */
  async #forgetNodeLeases(): Promise<void> {
    await this.#admin.request('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases');
  }

  #expectEnd(component: ComponentName): ProcessIdentity | undefined {
    const identity = this.#record.processes[component];
    if (identity !== undefined) this.#expected.add(identity.pid);
    return identity;
  }

  async stop(component: ComponentName): Promise<void> {
    const identity = this.#expectEnd(component);
    if (identity !== undefined) await stopProcess(identity, STOP_GRACE_MS);
  }

  async kill(component: ComponentName): Promise<void> {
    const identity = this.#expectEnd(component);
    if (identity === undefined) return;
    signalProcess(identity, 'SIGKILL');
    await waitForExit(identity, STOP_GRACE_MS);
  }

  async restart(component: ComponentName): Promise<void> {
    await this.stop(component);
    await this.start(component);
  }

  addNodes(count: number): Promise<readonly string[]> {
    return addNodes(this.#admin, count);
  }

  removeNode(name: string): Promise<void> {
    return removeNode(this.#admin, name);
  }

  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string> {
    return createServiceAccountKubeconfig({
      admin: this.#admin,
      layout: this.#layout,
      serverUrl: this.serverUrl,
      namespace,
      serviceAccount,
    });
  }

  async workerKubeconfig(): Promise<string> {
    const directory = join(packageRoot(), 'manifests', 'install');
    const account = (await readManifests(directory)).find(({ kind }) => kind === 'ServiceAccount');
    if (account === undefined) throw new Error(`no ServiceAccount in ${directory}`);
    return this.kubeconfigFor(account.metadata.namespace ?? 'default', account.metadata.name);
  }

  async down(): Promise<void> {
    for (const component of Object.keys(this.#record.processes)) this.#expectEnd(component as ComponentName);
    this.#admin.close();
    await this.#writing;
    await removeInstance(this.directory);
    await this.#watchdog?.release();
  }
}

function serverUrlOf({ ports }: InstanceRecord): string {
  return `https://127.0.0.1:${ports.apiserver}`;
}

async function createRecord(options: ControlPlaneOptions, name: string): Promise<InstanceRecord> {
  const [binaries, ports] = await Promise.all([findBinaries(), findFreePorts(6)]);
  const [etcd, apiserver, temporal, temporalUi, temporalHttp, temporalMetrics] = ports as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    name,
    id: randomBytes(16).toString('hex'),
    createdAt: new Date().toISOString(),
    workloadApi: options.workloadApi ?? 'fairlead.dev/v1beta1',
    ports: { etcd, apiserver, temporal, temporalUi, temporalHttp, temporalMetrics },
    bootId: currentBootId(),
    owner: options.detached === true ? null : (identifyProcess(process.pid) ?? null),
    binaries,
    processes: {},
    complete: false,
  };
}

/** Starts a whole control plane. Rejects with `ComponentFailure` if a component does not come up; nothing is left then. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { stateDirectory = defaultStateDirectory(), nodes = 3, report = () => undefined } = options;
  const name = options.name ?? `run-${randomBytes(4).toString('hex')}`;
  checkInstanceName(name);
  const directory = join(stateDirectory, name);
  if ((await readInstance(directory)) !== undefined) {
    throw new Error(
      `instance ${name} exists already in ${directory}; remove it with: fairlead local down --name ${name}`,
    );
  }
  const record = await createRecord(options, name);
  const layout = instanceLayout(directory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeInstance(directory, record);
  const watchdog = options.detached === true ? undefined : startWatchdog(record, directory);
  try {
    await Promise.all([
      ...[layout.logs, layout.home, dirname(layout.temporalDatabase)].map((path) =>
        mkdir(path, { recursive: true }),
      ),
      writeFile(layout.auditPolicy, auditPolicy()),
      writeFile(layout.schedulerConfig, schedulerConfiguration(layout)),
      createCredentials(layout, name, serverUrlOf(record)),
    ]);
    const admin = await openAdminApi(layout.kubeconfig);
    const onFailure =
      options.onFailure ?? ((failure: ComponentFailure) => process.stderr.write(`${failure.message}\n`));
    const controlPlane = new RunningControlPlane(record, layout, admin, watchdog, onFailure);
    await bringUp(controlPlane, admin, nodes, report);
    await controlPlane.markComplete();
    return controlPlane;
  } catch (error) {
    await removeInstance(directory);
    await watchdog?.release();
    throw error;
  }
}

async function bringUp(
  controlPlane: ControlPlane,
  admin: AdminApi,
  nodes: number,
  report: (line: string) => void,
): Promise<void> {
  const start = async (component: ComponentName) => {
    await controlPlane.start(component);
    report(`${component} is up`);
  };
  const temporal = start('temporal');
  temporal.catch(() => undefined);
  await start('etcd');
  await start('kube-apiserver');
  const applier = new ManifestApplier(admin);
  const root = packageRoot();
  const crds = await readManifests(join(root, 'manifests', 'crds'));
  const rest = await readManifests(join(root, 'manifests', 'install'));
  const own = await readManifestFile(join(root, 'local', 'cluster.yaml'));
  const install = async () => {
    await Promise.all(crds.map((manifest) => applier.apply(manifest)));
    for (const manifest of rest) await applier.apply(manifest);
    await applier.waitUntilServed(crds);
    report('manifests are applied');
  };
  const simulate = async () => {
    for (const manifest of own) await applier.apply(manifest);
    await addNodes(admin, nodes);
    await start('kwok');
  };
  await Promise.all([
    install(),
    simulate(),
    start('kube-controller-manager'),
    start('kube-scheduler'),
    temporal,
  ]);
}
