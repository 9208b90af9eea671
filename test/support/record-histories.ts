/**
 * `npm run record:histories [-- NAME…]`: makes the histories of `history-recordings.ts` from real runs and writes them to
 * test/histories. Only new rows need it, or a workflow whose old runs need not go on.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import { startControlPlane } from '../../local/control-plane.ts';
import { Cluster } from './cluster.ts';
import { HistoryGround } from './history-ground.ts';
import type { GroundSettings } from './history-ground.ts';
import { HISTORY_RECORDINGS } from './history-recordings.ts';
import type { HistoryRecording } from './history-recordings.ts';
import { describeEvents, historyToJson, wrongIn } from './recorded-history.ts';

const FOLDER = fileURLToPath(new URL('../histories', import.meta.url));

const names = process.argv.slice(2);
const unknown = names.filter((name) => !HISTORY_RECORDINGS.some((recording) => recording.name === name));
if (unknown.length > 0) {
  const known = HISTORY_RECORDINGS.map(({ name }) => name).join(', ');
  throw new Error(`no recording ${unknown.join(', ')}; there are: ${known}`);
}

const controlPlane = await startControlPlane({ nodes: 3 });
try {
  const temporal = await connectTemporal(controlPlane.temporalAddress);
  const cluster = await Cluster.connect(controlPlane.kubeconfig, controlPlane.workloadApi);
  await mkdir(FOLDER, { recursive: true });
  for (const recording of HISTORY_RECORDINGS) {
    if (names.length === 0 || names.includes(recording.name)) {
      await record({ controlPlane, cluster, temporal }, recording);
    }
  }
  cluster.close();
  await temporal.connection.close();
} finally {
  await controlPlane.down();
}

async function record(
  settings: GroundSettings,
  { name, record: make, ...contents }: HistoryRecording,
): Promise<void> {
  const ground = await HistoryGround.create(settings, name);
  try {
    for (const { runs, runId, suffix } of await make(ground, settings.controlPlane.temporalAddress)) {
      const handle = settings.temporal.workflow.getHandle(runs.workflowId, runId);
      const history = historyToJson(await handle.fetchHistory());
      const wrong = suffix === undefined ? wrongIn(history, contents) : undefined;
      if (wrong !== undefined) {
        throw new Error(`${name}: ${wrong}, among\n${describeEvents(history).join('\n')}`);
      }
      const file = `${name}${suffix === undefined ? '' : `-${suffix}`}.json`;
      await writeFile(
        join(FOLDER, file),
        `${JSON.stringify({ workflowId: runs.workflowId, history }, null, 1)}\n`,
      );
      process.stdout.write(`${file}: ${String(describeEvents(history).length)} events\n`);
    }
  } catch (error) {
    throw new Error(`${name} could not be recorded; the worker's last lines:\n${ground.tail}`, {
      cause: error,
    });
  } finally {
    await ground.close();
  }
}
