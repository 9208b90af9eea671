/** One embedded control plane on which everything is measured, with the connections that measuring takes. */

import type { Client } from '@temporalio/client';

import { connectTemporal } from '../controllers/temporal-client.ts';
import { startControlPlane } from '../local/control-plane.ts';
import type { ControlPlane } from '../local/control-plane.ts';
import { readInstance } from '../local/instance.ts';
import { AuditLog } from './audit-log.ts';

export interface Arena {
  readonly controlPlane: ControlPlane;
  /** What its processes carry. */
  readonly instanceId: string;
  readonly temporal: Client;
  readonly audit: AuditLog;
  /** host:port of the Temporal server's own metrics. */
  readonly temporalMetrics: string;
  /** Folder for the worker's CPU profiles; absent: none are made. */
  readonly profiles: string | undefined;
  /** One line of what is going on. */
  readonly say: (line: string) => void;
  close(): Promise<void>;
}

/** Room for the sets of both sides, 10,000 pods each. */
const NODES = 10;

/**
 * Brings the control plane up. Upstream has maxUnavailable of StatefulSets behind a gate that is off: without it the built-in
 * controller takes one pod at a time, and there would be nothing to compare.
 */
export async function openArena(options: Pick<Arena, 'profiles' | 'say'>): Promise<Arena> {
  const controlPlane = await startControlPlane({
    nodes: NODES,
    featureGates: { MaxUnavailableStatefulSet: true },
    report: options.say,
  });
  try {
    const record = await readInstance(controlPlane.directory);
    const temporal = await connectTemporal(controlPlane.temporalAddress);
    return {
      ...options,
      controlPlane,
      instanceId: record?.id ?? '',
      temporal,
      audit: new AuditLog(controlPlane.auditLog),
      temporalMetrics: `127.0.0.1:${String(record?.ports.temporalMetrics ?? 0)}`,
      async close() {
        await temporal.connection.close();
        await controlPlane.down();
      },
    };
  } catch (error) {
    await controlPlane.down();
    throw error;
  }
}
