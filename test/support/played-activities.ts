/** The real workflows on a Temporal server of their own, with activities that the test plays. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { afterAll, beforeAll } from '@jest/globals';
import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import { findBinary } from '../../local/binaries.ts';
import { findFreePorts } from '../../local/ports.ts';
import { temporalServes } from '../../local/temporal-health.ts';
import { HEARTBEAT_THROTTLE_MS } from '../../activities/attempt.ts';
import { leaderTaskQueue, waitsTaskQueue, workflowTaskQueue } from '../../workflows/messages.ts';
import { builtWorker } from './built-worker.ts';
import { found } from './eventually.ts';

/** Less than the shortest time in which an activity has to show that it lives. */
const HEARTBEAT_MS = 200;

interface PlayedActivities {
  readonly client: Client;
  /** Runs workflows of this cluster with these activities, until the function has resolved; at a time `slots` that do not wait. */
  readonly play: (
    cluster: string,
    activities: NonNullable<WorkerOptions['activities']>,
    during: () => Promise<void>,
    slots?: number,
  ) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** A Temporal server of its own for the tests of a file. */
export function usePlayedActivities(): () => PlayedActivities {
  let played: PlayedActivities | undefined;
  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    played = await startPlayedActivities();
  }, 240_000);
  afterAll(async () => {
    await played?.stop();
  });
  return () => {
    if (played === undefined) throw new Error('Temporal was not started');
    return played;
  };
}

/** An activity that goes on until its run is cancelled, or its worker ends. */
export async function waitForCancellation(): Promise<never> {
  const { cancelled, heartbeat } = Context.current();
  const timer = setInterval(heartbeat, HEARTBEAT_MS);
  try {
    return await cancelled;
  } finally {
    clearInterval(timer);
  }
}

async function startPlayedActivities(): Promise<PlayedActivities> {
  const codePath = join(await builtWorker(), 'workflow-bundle.js');
  const [port = 0] = await findFreePorts(1);
  const address = `127.0.0.1:${String(port)}`;
  const options = ['--headless', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'never'];
  const server = spawn(await findBinary('temporal'), ['server', 'start-dev', ...options], {
    stdio: 'ignore',
  });
  await found('Temporal serves', async () => ((await temporalServes(address)) ? true : undefined));
  const client = await connectTemporal(address);
  const native = await NativeConnection.connect({ address });
  return {
    client,
    async play(cluster, activities, during, slots = 100) {
      const workflows = await Worker.create({
        connection: native,
        taskQueue: workflowTaskQueue(cluster),
        workflowBundle: { codePath },
      });
      const played = { connection: native, activities, maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS };
      const leader = await Worker.create({
        ...played,
        taskQueue: leaderTaskQueue(cluster),
        maxConcurrentActivityTaskExecutions: slots,
      });
      const waits = await Worker.create({ ...played, taskQueue: waitsTaskQueue(cluster) });
      await workflows.runUntil(leader.runUntil(waits.runUntil(during)));
    },
    async stop() {
      await native.close();
      await client.connection.close();
      server.kill();
    },
  };
}
