/** When a component counts as started. */

import { request } from 'node:https';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { AdminApi } from './api-request.ts';
import { ComponentFailure } from './component-process.ts';
import type { StartedProcess } from './component-process.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import type { InstanceLayout } from './layout.ts';
import { listensOn } from './processes.ts';
import { temporalServes } from './temporal-health.ts';

const POLL_MS = 25;

export interface ReadinessContext {
  readonly record: InstanceRecord;
  readonly layout: InstanceLayout;
  readonly admin: AdminApi;
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

async function apiserverServes({ record, admin }: ReadinessContext, pid: number): Promise<boolean> {
  if (!listensOn(pid, record.ports.apiserver)) return false;
  try {
    return (await admin.request('GET', '/readyz')).status === 200;
  } catch {
    // Refused or reset while it is still starting.
    return false;
  }
}

/** Pods cannot be created in a namespace before its `default` ServiceAccount is there. */
async function controllersWork({ admin }: ReadinessContext): Promise<boolean> {
  const answer = await admin.request('GET', '/api/v1/namespaces/default/serviceaccounts/default');
  return answer.status === 200;
}

async function temporalIsUp({ record }: ReadinessContext, pid: number): Promise<boolean> {
  if (!listensOn(pid, record.ports.temporal) || !listensOn(pid, record.ports.temporalUi)) return false;
  return temporalServes(`127.0.0.1:${record.ports.temporal}`);
}

/** The scheduler and kwok serve nothing: what they do is seen in the cluster, and if they end we hear of it. */
const PROBES: Readonly<Partial<Record<ComponentName, Probe>>> = {
  etcd: etcdServes,
  'kube-apiserver': apiserverServes,
  'kube-controller-manager': controllersWork,
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
