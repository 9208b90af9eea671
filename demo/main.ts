#!/usr/bin/env node
/**
 * `npm run demo`: the whole story of a few commits on real servers, judged by what the cluster and Temporal say; everything is
 * taken down at the end. `npm start` (`--keep`): the first two steps, or the whole story (`--all`), and then all of it stays for playing
 * until Ctrl-C.
 */

import { isLiveTerminal, terminalSize } from '../cli/io.ts';
import type { Io } from '../cli/io.ts';
import { cutToWidth, formatTable } from '../cli/table.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { shellAlias, shellWord } from '../kubernetes/shell-word.ts';
import { CLI } from './cli-process.ts';
import { WORKLOAD_FILE } from './manifests.ts';
import { Screen } from './screen.ts';
import { withStage } from './set-up.ts';
import type { Stage } from './stage.ts';
import type { Step, StepResult } from './step.ts';
import { playSteps } from './step.ts';
import { STEP_OF_AGENT } from './step-of-agent.ts';
import { STEP_OF_API } from './step-of-api.ts';
import { STEP_OF_LEGACY } from './step-of-legacy.ts';
import { STEP_OF_TEMPORAL } from './step-of-temporal.ts';
import { STEPS_OF_COMMITS } from './steps-of-commits.ts';
import { STEPS_OF_VERBS } from './steps-of-verbs.ts';

const HELP = `usage: demo [--keep [--all]]
  --keep  play the first two steps, then leave everything running until Ctrl-C
  --all   with --keep: play every step before
`;

const STEPS: readonly Step[] = [
  ...STEPS_OF_COMMITS,
  ...STEPS_OF_VERBS,
  STEP_OF_AGENT,
  STEP_OF_API,
  STEP_OF_LEGACY,
  STEP_OF_TEMPORAL,
];

const INTERRUPTED = 130;
const USAGE = 2;
/** Errors can be long; they were printed whole when they happened. */
const SEEN_COLUMNS = 100;
const KEPT_NAME = 'demo';
/** The longest that a timer takes: 24 days. */
const FOREVER_MS = 2 ** 31 - 1;

async function main(words: readonly string[]): Promise<number> {
  const keep = words.includes('--keep');
  const steps = !keep || words.includes('--all') ? STEPS : STEPS.slice(0, 2);
  if (words.some((word) => word !== '--keep' && word !== '--all')) {
    process.stderr.write(HELP);
    return USAGE;
  }
  const interrupted = interruption();
  const io = terminal(interrupted);
  const screen = new Screen(io);
  const begun = performance.now();
  try {
    const results = await withStage(
      { screen, interrupted, name: keep ? KEPT_NAME : undefined },
      async (stage) => await (keep ? playAndKeep : playAll)(stage, steps, interrupted),
    );
    printClosingTable(screen, results, performance.now() - begun);
    screen.print(
      `everything is taken down${keep ? '' : ', and the Temporal UI with it: `npm start -- --all` leaves it running'}\n`,
    );
    return results.every(({ ok }) => ok) ? 0 : 1;
  } catch (error) {
    if (interrupted.aborted) {
      io.err('interrupted; everything is taken down\n');
      return INTERRUPTED;
    }
    if (error instanceof StoryFailed) {
      printClosingTable(screen, error.results, performance.now() - begun);
      return 1;
    }
    io.err(`error: ${toMessage(error)}\n`);
    return 1;
  }
}

/** Thrown so that the logs are kept. */
class StoryFailed extends Error {
  override name = 'StoryFailed';
  readonly results: readonly StepResult[];

  constructor(results: readonly StepResult[]) {
    super('a step of the story failed');
    this.results = results;
  }
}

async function playAll(
  stage: Stage,
  steps: readonly Step[],
  interrupted: AbortSignal,
): Promise<readonly StepResult[]> {
  const results = await playSteps(stage, steps, interrupted);
  if (results.some(({ ok }) => !ok)) throw new StoryFailed(results);
  return results;
}

/** The steps, and then until Ctrl-C; a worker or a server that ends meanwhile is a failure. */
async function playAndKeep(
  stage: Stage,
  steps: readonly Step[],
  interrupted: AbortSignal,
): Promise<readonly StepResult[]> {
  const results = await playAll(stage, steps, interrupted);
  const { screen, repository, controlPlane } = stage;
  const { path } = repository;
  const version = Number(/\/web:v(\d+)$/m.exec(await repository.read(WORKLOAD_FILE))?.[1]);
  const [here, next] = [`web:v${String(version)}`, `web:v${String(version + 1)}`];
  screen.head('Everything runs until Ctrl-C. In another terminal:');
  for (const line of [
    shellAlias('fairlead', [process.execPath, CLI]),
    `eval "$(fairlead local env --name ${KEPT_NAME})"`,
    '',
    `# the repository is ${path}; Temporal UI: ${controlPlane.temporalUiAddress}; three things to try:`,
    `sed -i.bak s/${here}/${next}/ ${shellWord(`${path}/${WORKLOAD_FILE}`)} && git -C ${shellWord(path)} commit -qam "${next}"`,
    'fairlead rollout pause sts/web --reason "just looking"   # and: rollout resume',
    'fairlead rollout undo sts/web',
  ]) {
    screen.say(`  ${line}`);
  }
  await stage.hold(FOREVER_MS).catch((error: unknown) => {
    if (!interrupted.aborted) throw error;
  });
  return results;
}

function printClosingTable(screen: Screen, results: readonly StepResult[], milliseconds: number): void {
  const seconds = (value: number) => (value / 1000).toFixed(1);
  const { good, bad } = screen.colors;
  screen.print(
    `\n${formatTable<StepResult>(
      [
        { title: 'STEP', value: ({ name }) => name },
        { title: 'EXPECTED', value: ({ expected }) => expected },
        { title: 'SEEN', value: ({ seen }) => cutToWidth(seen.split('\n', 1)[0] ?? '', SEEN_COLUMNS) },
        { title: 'SECONDS', value: ({ milliseconds: took }) => seconds(took) },
        { title: '', value: ({ ok }) => (ok ? '✔' : '✗'), paint: (text, { ok }) => (ok ? good : bad)(text) },
      ],
      results,
    )}\n`,
  );
  const failed = results.filter(({ ok }) => !ok).length;
  screen.print(
    failed === 0
      ? `${String(results.length)} of ${String(results.length)} steps had their effect, ${seconds(milliseconds)} s in all\n`
      : `${String(failed)} of ${String(results.length)} steps did not have their effect\n`,
  );
}

/** Aborts at the first Ctrl-C; further ones change nothing, so that taking down comes to its end. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!controller.signal.aborted) controller.abort(new Error(`interrupted by ${signal}`));
    });
  }
  // Whoever reads our output has gone: nobody looks on any more.
  process.stdout.on('error', (error) => {
    if (!controller.signal.aborted) controller.abort(error);
  });
  return controller.signal;
}

function terminal(interrupted: AbortSignal): Io {
  const { stdout, stderr, env } = process;
  const live = isLiveTerminal(stdout, env);
  return {
    out: (text) => stdout.write(text),
    err: (text) => stderr.write(text),
    environment: env,
    live,
    color: live,
    size: () => terminalSize(stdout),
    now: () => Date.now(),
    interrupted,
  };
}

process.exitCode = await main(process.argv.slice(2));
