/** How the demo's servers, accounts, repository and worker go up, and how all of it comes down again. */

import { cp, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { trusted } from '../kubernetes/values.ts';
import { INSTANCE_VARIABLE, tailOfLog } from '../local/component-process.ts';
import type { ControlPlane } from '../local/control-plane.ts';
import { startControlPlane } from '../local/control-plane.ts';
import { readInstance } from '../local/instance.ts';
import { LeaseStore, holderOf, leaseNameOf } from '../kubernetes/lease.ts';
import { syncWorkflowId } from '../workflows/sync-messages.ts';
import { DEPLOYER, NAMESPACE, OPERATOR, createAccounts } from './accounts.ts';
import { startCommand } from './cli-process.ts';
import { reportCommits } from './commit-reports.ts';
import { Observer } from './observer.ts';
import { RolloutRuns } from './rollout-runs.ts';
import type { Screen } from './screen.ts';
import { Stage } from './stage.ts';
import { ThrowAwayRepository } from './throw-away-repository.ts';

export interface SetUpOptions {
  readonly screen: Screen;
  /** Of the instance; absent: a random one. */
  readonly name?: string | undefined;
  /** Ends the demo: Ctrl-C. */
  readonly interrupted: AbortSignal;
}

/** `fairlead up` alone looks at a local path every two seconds. */
const INTERVAL = '1s';
const LEADER_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const REQUEST_MS = 5_000;
const REPOSITORY = 'shop';
/** Folder of the demo below the instance's, which goes away as a whole. */
const STUFF = 'demo';

const COMMIT_WENT_WELL: ReadonlySet<string> = new Set(['Progressing', 'Succeeded', 'Superseded']);

/** Pushed as things come up, called in reverse: a stage that is half up comes down as well. */
type Closing = () => Promise<void>;

/**
 * Brings everything up, runs `play` on it and takes everything down, whatever happens. When something went wrong the logs are
 * kept and their place is said.
 */
export async function withStage<T>(options: SetUpOptions, play: (stage: Stage) => Promise<T>): Promise<T> {
  const { screen, interrupted } = options;
  const closings: Closing[] = [];
  const closing = async () => {
    screen.endTree();
    for (const close of closings.toReversed()) await close();
  };
  const found = { path: '' };
  let result: T;
  try {
    result = await play(await setUp(options, closings, found));
  } catch (error) {
    // The first error is what matters; a second one, of keeping logs or of taking down, is only told.
    const tell = (second: unknown) => {
      screen.say(screen.colors.bad(`while taking everything down: ${toMessage(second)}`));
    };
    if (!interrupted.aborted && found.path !== '') {
      await keepLogs(found.path).then((kept) => {
        screen.say(`logs are kept in ${kept}`);
      }, tell);
    }
    await closing().catch(tell);
    throw error;
  }
  await closing();
  return result;
}

async function setUp(
  { screen, name, interrupted }: SetUpOptions,
  closings: Closing[],
  found: { path: string },
): Promise<Stage> {
  const { dim, bad } = screen.colors;
  const failed = new AbortController();
  const ended = new AbortController();
  const signal = AbortSignal.any([interrupted, failed.signal]);
  const fail = (message: string) => {
    if (!signal.aborted && !ended.signal.aborted) failed.abort(new Error(message));
  };
  const warn = (message: string) => {
    screen.say(bad(`  ${message}`));
  };

  screen.head('A control plane of its own: Kubernetes with simulated nodes, and Temporal');
  const controlPlane = await startControlPlane({
    ...(name !== undefined && { name }),
    signal,
    report: (line) => {
      screen.say(dim(`  ${line}`));
    },
    onFailure: ({ message }) => {
      fail(message);
    },
    onRestart: ({ component }) => {
      warn(`${component} ended by itself and was started again`);
    },
  });
  closings.push(async () => {
    await controlPlane.down();
  });
  found.path = controlPlane.directory;
  const directory = join(controlPlane.directory, STUFF);
  const home = join(directory, 'home');
  await mkdir(home, { recursive: true });
  const [repository, runs, workerKubeconfig] = await Promise.all([
    ThrowAwayRepository.create(join(directory, REPOSITORY), home),
    RolloutRuns.connect(controlPlane.temporalAddress, controlPlane.temporalUiAddress),
    controlPlane.workerKubeconfig(),
    createAccounts(controlPlane.client),
  ]);
  closings.push(async () => {
    await runs.close();
  });

  screen.head(
    'fairlead up: a worker that follows the repository, under the ServiceAccount of manifests/install',
  );
  const words = ['up', '--repo', repository.path, '--service-account', `${NAMESPACE}/${DEPLOYER}`];
  screen.say(screen.colors.bold(`  $ fairlead ${words.join(' ')}`));
  const log = join(controlPlane.directory, 'logs', 'fairlead-up.log');
  const environment = {
    KUBECONFIG: workerKubeconfig,
    TEMPORAL_ADDRESS: controlPlane.temporalAddress,
    XDG_CACHE_HOME: join(directory, 'cache'),
    // Whatever becomes of this process: what ends the servers ends the worker too.
    [INSTANCE_VARIABLE]: await instanceId(controlPlane),
  };
  const worker = await startCommand([...words, '--interval', INTERVAL], environment, log);
  closings.push(async () => {
    ended.abort();
    await worker.stop();
  });
  const lost = (how: string) => {
    fail(`fairlead up ended by itself (${how}); the end of ${log}:\n${tailOfLog(log).join('\n')}`);
  };
  void worker.ended.then(lost, (error: unknown) => {
    lost(toMessage(error));
  });
  await untilLed(controlPlane.client, signal);
  screen.say(dim(`  it leads; Temporal UI: ${runs.url(syncWorkflowId('default', REPOSITORY))}`));

  const watching = AbortSignal.any([signal, ended.signal]);
  const observer = await Observer.start({
    client: controlPlane.client,
    signal: watching,
    onView: (view) => {
      screen.show(view);
    },
    onError: warn,
  });
  void runs.announce(
    ({ url }) => {
      screen.say(dim(`  rollout run in the Temporal UI: ${url}`));
    },
    warn,
    watching,
  );
  void reportCommits(
    controlPlane.client,
    REPOSITORY,
    (line, outcome) => {
      screen.say((COMMIT_WENT_WELL.has(outcome) ? dim : bad)(`  ${line}`));
      if (outcome === 'Refused') observer.giveUp(line);
    },
    watching,
  );
  const operator = {
    KUBECONFIG: await controlPlane.kubeconfigFor(NAMESPACE, OPERATOR),
    TEMPORAL_ADDRESS: controlPlane.temporalAddress,
  };
  return new Stage({ screen, controlPlane, repository, observer, runs, operator, signal });
}

/** Copies the logs of all servers and of the worker to a place that stays. @returns its path */
async function keepLogs(directory: string): Promise<string> {
  const kept = await mkdtemp(join(tmpdir(), 'fairlead-demo-'));
  await cp(join(directory, 'logs'), kept, { recursive: true });
  return kept;
}

async function instanceId({ directory }: ControlPlane): Promise<string> {
  const record = await readInstance(directory);
  if (record === undefined) throw new Error(`${directory} holds no instance: somebody removed it`);
  return record.id;
}

async function untilLed(client: KubernetesClient, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + LEADER_TIMEOUT_MS;
  const lease = new LeaseStore(client, 'fairlead-system', leaseNameOf('default'));
  for (;;) {
    if (signal.aborted) throw trusted<Error>(signal.reason);
    if (holderOf(await lease.read(REQUEST_MS)) !== '') return;
    if (Date.now() > deadline) {
      throw new Error(`fairlead up does not hold the Lease after ${String(LEADER_TIMEOUT_MS / 1000)} s`);
    }
    await pause(POLL_MS, signal);
  }
}
