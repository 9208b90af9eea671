/** Grammar of the verbs that run something: preflight, plan, worker, and the embedded control plane. */

import { Command } from 'commander';

import { trusted } from '../kubernetes/values.ts';
import type { WorkerFlags } from '../worker/config.ts';
import { EXIT } from './exit-codes.ts';
import { examples } from './operator-verbs.ts';
import type { Attach } from './program.ts';

/** Adds `check`, `plan`, `up`, `worker` and `local`. */
export async function addProcessVerbs(
  program: Command,
  attach: Attach,
  words: readonly string[],
): Promise<void> {
  attach(
    program
      .command('check')
      .description('is everything there that Fairlead needs? Each line says what to do about a ✗')
      .option('--worker', "also what a worker's own identity must be allowed to do")
      .addHelpText('after', examples('fairlead check', 'fairlead check --worker -o json')),
    async () => (await import('./check.ts')).runCheck,
  );
  addWorker(program, attach);
  program.addCommand(await localCommand(words));
}

function addWorker(program: Command, attach: Attach): void {
  const worker = program
    .command('worker')
    .description('run a worker: controllers, git and rollouts, until SIGTERM')
    .option('--repositories <file>', 'YAML list of repositories (FAIRLEAD_REPOSITORIES)')
    .option('--namespaces <names>', 'only these, separated by commas (FAIRLEAD_NAMESPACES)')
    .option(
      '--metrics-address <address>',
      'host:port of /metrics, /healthz, /readyz (FAIRLEAD_METRICS_ADDRESS)',
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error (FAIRLEAD_LOG_LEVEL)')
    .addHelpText('after', examples('fairlead worker --repositories repositories.yaml'));
  attach<WorkerFlags>(worker, async () => {
    const { runWorker } = await import('../worker/main.ts');
    return async ({ options }) => {
      await runWorker(options);
      return EXIT.ok;
    };
  });
}

/** The real one only when it is called: it brings the whole control plane with it. */
async function localCommand(words: readonly string[]): Promise<Command> {
  const description = 'an embedded control plane on this machine: up, down, status, env';
  if (!words.includes('local')) {
    return new Command('local').description(description);
  }
  const path = './local.ts';
  const { createLocalCommand } = trusted<{ createLocalCommand: () => Command }>(await import(path));
  return createLocalCommand();
}
