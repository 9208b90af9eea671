/** When a component counts as started. */

import { request } from 'node:https';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { isNotFound } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ComponentFailure } from './component-process.ts';
import type { StartedProcess } from './component-process.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import type { InstanceLayout } from './layout.ts';
import { managedNodes } from './nodes.ts';
import { listensOn } from './processes.ts';
import { temporalServes } from './temporal-health.ts';

const POLL_MS = 25;

export interface ReadinessContext {
  readonly record: InstanceRecord;
  readonly layout: InstanceLayout;
  readonly client: KubernetesClient;
  readonly timeoutMs: number;
}

type Probe = (context: ReadinessContext, pid: number) => Promise<boolean>;

async function etcdServes({ record, layout }: ReadinessContext, pid: number): Promise<boolean> {
  if (!listensOn(pid, record.ports.etcd)) return false;
  const [ca, cert, key] = await Promise.all([
    readFile(layout.caFile),
    readFile(layout.certificate('etcd-client')),
    readFile(layout.key('etcd-client')),
  ]);
  return new Promise((resolve) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: record.ports.etcd,
        path: '/readyz',
        ca,
        cert,
        key,
        agent: false,
        timeout: 1000,
      },
      (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode === 200);
      },
    );
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => {
      resolve(false);
    });
    outgoing.end();
  });
}

async function apiserverServes({ record, client }: ReadinessContext, pid: number): Promise<boolean> {
  if (!listensOn(pid, record.ports.apiserver)) return false;
  try {
    await client.request({ method: 'GET', path: '/readyz', timeoutMs: 2000 });
    return true;
  } catch {
    // Refused, reset or not ready: it is still starting.
    return false;
  }
}

/** Pods cannot be created in a namespace before its `default` ServiceAccount is there. */
async function controllersWork({ client }: ReadinessContext): Promise<boolean> {
  try {
    await client.get({
      group: '',
      version: 'v1',
      resource: 'serviceaccounts',
      namespace: 'default',
      name: 'default',
    });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** kwok makes the nodes Ready that it manages. */
async function nodesAreKept({ client }: ReadinessContext): Promise<boolean> {
  const nodes = await managedNodes(client);
  return nodes.every(({ status }) =>
    status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True'),
  );
}

async function temporalIsUp({ record }: ReadinessContext, pid: number): Promise<boolean> {
  if (!listensOn(pid, record.ports.temporal) || !listensOn(pid, record.ports.temporalUi)) return false;
  return temporalServes(`127.0.0.1:${record.ports.temporal}`);
}

/** The scheduler serves nothing, and nothing in the cluster tells of it before the first pod; if it ends we hear of it. */
const PROBES: Readonly<Partial<Record<ComponentName, Probe>>> = {
  etcd: etcdServes,
  'kube-apiserver': apiserverServes,
  'kube-controller-manager': controllersWork,
  kwok: nodesAreKept,
  temporal: temporalIsUp,
};

/** Waits until the component does its work. Rejects with `ComponentFailure` if it ends before, or takes too long. */
export async function waitUntilReady(
  component: ComponentName,
  started: StartedProcess,
  context: ReadinessContext,
): Promise<void> {
  const probe = PROBES[component];
  if (probe === undefined) return;
  let end: string | undefined;
  const watching = started.ended.then((how) => {
    end = how;
  });
  watching.catch(() => undefined);
  const deadline = Date.now() + context.timeoutMs;
  for (;;) {
    if (end !== undefined) throw new ComponentFailure(component, `${end} while starting`, context.layout);
    if (await probe(context, started.identity.pid)) return;
    if (Date.now() > deadline) {
      throw new ComponentFailure(
        component,
        `is not ready after ${context.timeoutMs / 1000} s`,
        context.layout,
      );
    }
    await delay(POLL_MS);
  }
}
