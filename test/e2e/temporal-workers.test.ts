/** A worker that reaches Temporal and still cannot run: it says so once, and runs as soon as it can. Real server, real worker. */

import { afterEach, describe, expect, it } from '@jest/globals';
import proto from '@temporalio/proto';
import { pino } from 'pino';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import { findFreePorts } from '../../local/ports.ts';
import { createTemporalClient } from '../../worker/temporal-connection.ts';
import { runTemporalWorker } from '../../worker/temporal-workers.ts';
import { useControlPlane } from '../support/control-plane.ts';
import { eventually, found } from '../support/eventually.ts';
import type { LogLine, WorkerProcess } from '../support/worker-process.ts';
import { startWorker } from '../support/worker-process.ts';

const WARN = 40;
let worker: WorkerProcess | undefined;
const controlPlane = useControlPlane({ nodes: 0 });
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});

describe('a Temporal worker that cannot run', () => {
  it('for want of its namespace: said once, on /readyz too, and over when the namespace is there', async () => {
    const [port = 0] = await findFreePorts(1);
    const readiness = async () =>
      await fetch(`http://127.0.0.1:${String(port)}/readyz`).then(
        async (answer) => await answer.text(),
        () => '',
      );
    let started: Promise<unknown> = Promise.resolve();
    const lost = await new Promise<WorkerProcess>((resolve, reject) => {
      started = startWorker({
        controlPlane: controlPlane(),
        cluster: 'lost',
        waitFor: 'started',
        environment: {
          TEMPORAL_NAMESPACE: 'not-there',
          FAIRLEAD_METRICS_ADDRESS: `127.0.0.1:${String(port)}`,
        },
        onSpawn: resolve,
      });
      started.catch(reject);
    });
    worker = lost;
    const isWarning = (of: string) => (line: LogLine) =>
      line.level === WARN && line.msg.includes('not-there') && line['worker'] === of;
    const warned = await lost.untilLine(isWarning('workflows'), 30_000);
    expect(warned.msg).toMatch(
      /into namespace not-there: .*not found.*temporal operator namespace create --namespace not-there/i,
    );
    expect(await readiness()).toMatch(/^\[\+\] temporal: reachable; Temporal at .*not-there/m);
    // Further tries say nothing new.
    const tries = () => lost.lines.filter(({ msg }) => msg.includes('will be started again')).length;
    const before = tries();
    await eventually('it tries again', () => tries() >= before + 4, 10_000);
    expect(lost.lines.filter(isWarning('workflows'))).toHaveLength(1);

    const client = await connectTemporal(controlPlane().temporalAddress);
    await client.workflowService.registerNamespace({
      namespace: 'not-there',
      workflowExecutionRetentionPeriod: proto.google.protobuf.Duration.fromObject({ seconds: 86_400 }),
    });
    await client.connection.close();
    await started;
    await found(
      'readiness is well',
      async () => (/temporal: reachable$/m.test(await readiness()) ? true : undefined),
      30_000,
    );
  }, 120_000);

  it('for its bundle: said with what to do', async () => {
    const address = controlPlane().temporalAddress;
    const settings = { address, namespace: 'default', connectionOptions: { address } };
    const client = createTemporalClient(settings);
    const stop = new AbortController();
    const problems: (string | undefined)[] = [];
    const running = runTemporalWorker({
      settings,
      client,
      log: pino({ level: 'silent' }),
      signal: stop.signal,
      name: 'workflows',
      onProblem: (problem) => problems.push(problem),
      options: { taskQueue: 'bundle', workflowBundle: { code: 'this is no JavaScript' } },
    });
    await eventually('it says so', () => problems.length > 0, 20_000);
    stop.abort();
    await running;
    await client.connection.close();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/Temporal answers, but the worker of workflows cannot run: .*npm run build/);
  }, 60_000);
});

it('a worker that may not listen ends and says why, instead of staying without its probes', async () => {
  // Temporal has the address.
  const taken = { FAIRLEAD_METRICS_ADDRESS: controlPlane().temporalAddress };
  const started = startWorker({ controlPlane: controlPlane(), cluster: 'deaf', environment: taken });
  await expect(started).rejects.toThrow(/^the worker ended:[^]*cannot listen on [^]*EADDRINUSE/);
}, 90_000);
