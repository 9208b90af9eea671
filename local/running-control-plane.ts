/** The handle of a control plane whose record exists: components are started, stopped and watched here. */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { KubernetesClient } from '../kubernetes/client.ts';
import { ComponentFailure, spawnComponent } from './component-process.ts';
import type { StartedProcess } from './component-process.ts';
import type { ControlPlane } from './control-plane.ts';
import { COMPONENT_NAMES, currentBootId, livingProcess, writeInstance } from './instance.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import { instanceLayout } from './layout.ts';
import type { InstanceLayout } from './layout.ts';
import { readManifests } from './manifests.ts';
import { addNodes, removeNode } from './nodes.ts';
import { hasOverduePods } from './overdue-pods.ts';
import { packageRoot } from './package-root.ts';
import { currentPidNamespace, isAlive, signalProcess, stopProcess, waitForExit } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';
import { waitUntilReady } from './readiness.ts';
import { removeInstance } from './removal.ts';
import { createServiceAccountKubeconfig } from './service-account-kubeconfig.ts';
import type { Watchdog } from './watchdog.ts';

const READY_TIMEOUT_MS = 120_000;
const STOP_GRACE_MS = 10_000;
/** Between two questions whether a process that is no child lives. */
const ASK_MS = 50;
/** It would wait for its clients' watches, which do not end by themselves. */
const APISERVER_GRACE_MS = 1500;

export interface RunningControlPlaneOptions {
  readonly record: InstanceRecord;
  readonly directory: string;
  readonly client: KubernetesClient;
  readonly watchdog?: Watchdog | undefined;
  readonly onFailure: (failure: ComponentFailure) => void;
  readonly onRestart: (failure: ComponentFailure) => void;
}

/** They leave when their view of the cluster is broken, and rely on a kubelet that starts them again. */
const RESTARTED: ReadonlySet<ComponentName> = new Set(['kube-controller-manager', 'kube-scheduler', 'kwok']);
/** Whoever ends sooner than this after a restart, milliseconds, is broken for good; */
const RESTART_PAYS_MS = 5_000;
/** unless the apiserver has begun to answer so lately, milliseconds: kwok leaves where its discovery is not complete yet. */
const SETTLING_MS = 30_000;

/** From when the apiserver began to answer, kwok may have let a pod go, milliseconds: */
const OVERDUE_FOR_MS = 60_000;
/** it is asked so often, */
const OVERDUE_ASK_MS = 2_000;
/** and has so long for what it takes up. */
const OVERDUE_AGAIN_MS = 8_000;

/** An apiserver that was killed is known to have ended within this, milliseconds. */
const APISERVER_END_MS = 3_000;

/** Where the instance's apiserver listens. */
export function serverUrlOf({ ports }: InstanceRecord): string {
  return `https://127.0.0.1:${ports.apiserver}`;
}

export class RunningControlPlane implements ControlPlane {
  readonly name: string;
  readonly directory: string;
  readonly kubeconfig: string;
  readonly serverUrl: string;
  readonly caFile: string;
  readonly temporalAddress: string;
  readonly temporalUiAddress: string;
  readonly auditLog: string;
  readonly client: KubernetesClient;
  readonly failures: ComponentFailure[] = [];
  readonly #layout: InstanceLayout;
  readonly #watchdog: Watchdog | undefined;
  readonly #onFailure: (failure: ComponentFailure) => void;
  readonly #onRestart: (failure: ComponentFailure) => void;
  /** Processes whose end is our own doing. */
  readonly #expected = new Set<number>();
  /** Set by `down`; a start that is under way then ends what it has spawned. */
  #closed = false;
  #record: InstanceRecord;
  #writing: Promise<void> = Promise.resolve();
  /** Those that are started when the apiserver is. */
  readonly #awaiting = new Set<ComponentName>();
  /** The last start of each. */
  readonly #starting = new Map<ComponentName, Promise<void>>();
  /** From its end until it answers again. */
  #isApiserverAway = false;
  /** When the apiserver began to answer, of the clock that never goes back. */
  #answersSince = -Infinity;

  constructor({ record, directory, client, watchdog, onFailure, onRestart }: RunningControlPlaneOptions) {
    this.#record = record;
    this.#layout = instanceLayout(directory);
    this.#watchdog = watchdog;
    this.#onFailure = onFailure;
    this.#onRestart = onRestart;
    this.client = client;
    this.name = record.name;
    this.directory = directory;
    this.kubeconfig = this.#layout.kubeconfig;
    this.serverUrl = serverUrlOf(record);
    this.caFile = this.#layout.caFile;
    this.temporalAddress = `127.0.0.1:${record.ports.temporal}`;
    this.temporalUiAddress = `http://127.0.0.1:${record.ports.temporalUi}`;
    this.auditLog = this.#layout.auditLog;
  }

  get workloadApi(): InstanceRecord['workloadApi'] {
    return this.#record.workloadApi;
  }

  /** Changes the record; writes go to disk one after the other. */
  update(change: Partial<InstanceRecord>): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#record = { ...this.#record, ...change };
    // One that the disk had no room for stops no later one.
    this.#writing = this.#writing
      .catch(() => undefined)
      .then(() => writeInstance(this.directory, this.#record));
    return this.#writing;
  }

  processId(component: ComponentName): number | undefined {
    return livingProcess(this.#record, component)?.pid;
  }

  /** One that ends by itself is started by whoever sees it first; a second start that comes meanwhile finds it running. */
  async start(component: ComponentName): Promise<void> {
    const before = this.#starting.get(component) ?? Promise.resolve();
    const start = async () => {
      await this.#startOnce(component);
    };
    const started = before.then(start, start);
    this.#starting.set(component, started);
    await started;
  }

  async #startOnce(component: ComponentName): Promise<void> {
    if (livingProcess(this.#record, component) !== undefined) return;
    if (component === 'kube-apiserver') this.#isApiserverAway = true;
    this.#failIfClosed();
    const started = await spawnComponent(component, this.#record, this.#layout);
    if (this.#closed) signalProcess(started.identity, 'SIGKILL');
    this.#failIfClosed();
    await this.update({ processes: { ...this.#record.processes, [component]: started.identity } });
    await waitUntilReady(component, started, {
      record: this.#record,
      layout: this.#layout,
      client: this.client,
      timeoutMs: READY_TIMEOUT_MS,
    });
    this.#reportEnd(component, started);
    if (component !== 'kube-apiserver') return;
    this.#answersSince = performance.now();
    this.#isApiserverAway = false;
    await this.#restartThoseThatGiveUp();
  }

  /**
   * What kwok tried while the apiserver began to answer (it refuses even permissions then) it does not try again, as a kubelet
   * would. The scheduler waits longer with each failure (up to 30 s) before it looks again.
   */
  async #restartThoseThatGiveUp(): Promise<void> {
    const running = (['kube-scheduler', 'kwok'] as const).filter(
      (name) => this.#awaiting.delete(name) || this.processId(name) !== undefined,
    );
    await Promise.all(running.map(async (name) => await this.restart(name)));
    // Before it is first started there are no pods, and then there may be so many that it is only busy.
    if (running.includes('kwok')) void this.#takeUpOverduePods();
  }

  /** kwok comes back to a pod that it has let go only when it is started. */
  async #takeUpOverduePods(): Promise<void> {
    const since = this.#answersSince;
    const isOver = () => this.#closed || this.#isApiserverAway || since !== this.#answersSince;
    while (performance.now() - since < OVERDUE_FOR_MS) {
      await delay(OVERDUE_ASK_MS, undefined, { ref: false });
      if (isOver()) return;
      // Where the apiserver does not answer, whoever uses it says so.
      const isOverdue = await hasOverduePods(this.client).catch(() => false);
      if (!isOverdue || isOver() || this.processId('kwok') === undefined) continue;
      await this.restart('kwok').catch((error: unknown) => {
        if (error instanceof ComponentFailure) void this.#failOrAwait(error);
      });
      await delay(OVERDUE_AGAIN_MS, undefined, { ref: false });
    }
  }

  #failIfClosed(): void {
    if (this.#closed) throw new Error(`instance ${this.name} was taken down`);
  }

  #reportEnd(component: ComponentName, started: StartedProcess): void {
    const since = performance.now();
    started.ended.then(
      (how) => {
        if (this.#closed || this.#expected.has(started.identity.pid)) return;
        if (component === 'kube-apiserver') this.#isApiserverAway = true;
        if (this.#mayAwait(component)) return;
        const failure = new ComponentFailure(component, how, this.#layout);
        const now = performance.now();
        const pays = now - since > RESTART_PAYS_MS || now - this.#answersSince < SETTLING_MS;
        if (RESTARTED.has(component) && pays) {
          this.#restartAfter(failure);
        } else {
          void this.#failOrAwait(failure);
        }
      },
      () => undefined,
    );
  }

  /** kwok, which began while the apiserver answered, leaves when that goes away again; it is started with it. */
  #mayAwait(component: ComponentName): boolean {
    if (component !== 'kwok' || !this.#isApiserverAway) return false;
    this.#awaiting.add(component);
    return true;
  }

  #restartAfter(failure: ComponentFailure): void {
    this.start(failure.component).then(
      () => {
        this.#onRestart(failure);
      },
      (error: unknown) => {
        void this.#failOrAwait(error instanceof ComponentFailure ? error : failure);
      },
    );
  }

  /** An apiserver that is killed takes a moment to end, and kwok, which loses its connections at once, may have left twice before. */
  async #failOrAwait(failure: ComponentFailure): Promise<void> {
    const until = performance.now() + (failure.component === 'kwok' ? APISERVER_END_MS : 0);
    while (!this.#closed && !this.#mayAwait(failure.component)) {
      if (performance.now() >= until) {
        this.#fail(failure);
        return;
      }
      await delay(ASK_MS);
    }
  }

  #fail(failure: ComponentFailure): void {
    this.failures.push(failure);
    this.#onFailure(failure);
  }

  async stop(component: ComponentName): Promise<void> {
    const identity = livingProcess(this.#record, component);
    if (identity === undefined) return;
    this.#expected.add(identity.pid);
    if (component === 'kube-apiserver') this.#isApiserverAway = true;
    await stopProcess(identity, component === 'kube-apiserver' ? APISERVER_GRACE_MS : STOP_GRACE_MS);
  }

  async kill(component: ComponentName): Promise<void> {
    const identity = livingProcess(this.#record, component);
    if (identity === undefined) return;
    this.#expected.add(identity.pid);
    if (component === 'kube-apiserver') this.#isApiserverAway = true;
    signalProcess(identity, 'SIGKILL');
    await waitForExit(identity, STOP_GRACE_MS);
  }

  async restart(component: ComponentName): Promise<void> {
    await this.stop(component);
    await this.start(component);
  }

  async changeWorkloadApi(workloadApi: InstanceRecord['workloadApi']): Promise<void> {
    await this.stop('kube-controller-manager');
    await this.update({ workloadApi });
    await this.start('kube-controller-manager');
  }

  addNodes(count: number): Promise<readonly string[]> {
    return addNodes(this.client, count);
  }

  removeNode(name: string): Promise<void> {
    return removeNode(this.client, name);
  }

  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string> {
    const { client, serverUrl } = this;
    return createServiceAccountKubeconfig({
      client,
      layout: this.#layout,
      serverUrl,
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

  /** Looks after those that another handle has started: no children of this process, so it has to ask whether they live. */
  watchOver(): void {
    for (const component of COMPONENT_NAMES) {
      const identity = livingProcess(this.#record, component);
      if (identity !== undefined) this.#reportEnd(component, { identity, ended: this.#endOf(identity) });
    }
  }

  async #endOf(identity: ProcessIdentity): Promise<string> {
    while (!this.#closed && isAlive(identity)) await delay(ASK_MS, undefined, { ref: false });
    return 'has ended';
  }

  /** Takes processes out of the record that do not live any more, also those of an earlier boot. */
  async forgetTheDead(): Promise<void> {
    const living = COMPONENT_NAMES.flatMap((component) => {
      const identity = livingProcess(this.#record, component);
      return identity === undefined ? [] : [[component, identity] as const];
    });
    await this.update({
      bootId: currentBootId(),
      pidNamespace: currentPidNamespace(),
      processes: Object.fromEntries(living),
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.client.close();
    await this.#writing;
  }

  /** Also where its record could not be written: what it says does not matter any more. */
  async down(): Promise<void> {
    await this.close().catch(() => undefined);
    await removeInstance(this.directory);
    await this.#watchdog?.release();
  }
}
