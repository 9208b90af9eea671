/** Grammar of the verbs that run something: preflight, plan, worker, and the embedded control plane. */

import { Command } from 'commander';

import type { WorkerFlags } from '../worker/config.ts';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';
import type { Call } from './io.ts';
import { examples } from './operator-verbs.ts';
import type { Attach } from './program.ts';
import { checkTemporalAddress } from './variables.ts';

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
      .option(
        '--repositories <file>',
        'also a YAML list of repositories, and whose rights their commits have (FAIRLEAD_REPOSITORIES)',
      )
      .addHelpText(
        'after',
        examples('fairlead check', 'fairlead check --worker --repositories repositories.yaml -o json'),
      ),
    async () => (await import('./check.ts')).runCheck,
  );
  attach(
    sourceOptions(
      program
        .command('plan')
        .description('what a commit would change; exit code 4 if anything, 1 if it cannot be applied'),
    )
      .option('--repositories <file>', 'YAML list of repositories, instead of --repo; --name picks one')
      .addHelpText(
        'after',
        examples(
          'fairlead plan',
          'fairlead plan --name shop -n shop    # in a checkout of what a worker follows as shop, before a merge',
          'fairlead plan --repo https://git.example/shop --ref main --path deploy',
          'fairlead plan --repositories repositories.yaml --name shop -o json',
        ),
      ),
    async () => (await import('./plan.ts')).runPlan,
  );
  addWorkers(program, attach);
  program.addCommand(await localCommand(words));
}

function addWorkers(program: Command, attach: Attach): void {
  const load = async () => {
    const { runWorker } = await import('../worker/main.ts');
    return async ({ io, options }: Call<WorkerFlags>): Promise<ExitCode> => {
      checkTemporalAddress(io.environment);
      const signal = await runWorker(options, io);
      // Node aborts at its exit when it cannot restore the terminal, and this one was closed: it ends by the signal itself.
      if (signal === 'SIGHUP') process.kill(process.pid, signal);
      // Everything has ended; what is left are retry timers of Temporal's client, which nothing waits for.
      process.exit(EXIT.ok);
    };
  };
  attach(
    workerOptions(
      program.command('worker').description('run a worker: controllers, git and rollouts, until SIGTERM'),
    )
      .option('--repositories <file>', 'YAML list of repositories (FAIRLEAD_REPOSITORIES)')
      .addHelpText('after', examples('fairlead worker --repositories repositories.yaml')),
    load,
  );
  attach(
    workerOptions(
      sourceOptions(
        program
          .command('up')
          .description(
            'follow a repository: a worker with it, beside those of FAIRLEAD_REPOSITORIES, in the foreground',
          ),
        '.',
      ),
    )
      .option('--service-account <name>', 'apply as this ServiceAccount, NAME or NAMESPACE/NAME')
      .option('--interval <duration>', 'between two looks at the repository')
      .option('--no-prune', 'do not delete what leaves the repository')
      .option('--heal', 'put back what is changed in the cluster')
      .addHelpText(
        'after',
        examples('fairlead up', 'fairlead up --repo https://git.example/shop --path deploy -n shop'),
      ),
    load,
  );
}

/** @param repo Where it is without the option; absent: the verb may take it from elsewhere. */
function sourceOptions(command: Command, repo?: string): Command {
  return command
    .option(
      '--repo <url>',
      `https or ssh URL, or local path${repo === undefined ? ' (default: ".")' : ''}`,
      repo,
    )
    .option('--name <name>', "the repository's name (default: the last part of its URL)")
    .option('--ref <ref>', 'branch, tag or full sha (default: HEAD)')
    .option('--path <folder>', 'folder with the manifests (default: the root)')
    .option('--token-file <file>', 'file with a token for https')
    .option('--username <name>', 'user whom the token is of (default: x-access-token)')
    .option('--ca-file <file>', 'certificate authorities for https')
    .option('--ssh-key-file <file>', 'private key for ssh, without a passphrase')
    .option('--known-hosts-file <file>', 'host keys that are trusted, for ssh')
    .option('--allowed-signers-file <file>', 'ssh keys of which one must have signed the commit')
    .option('--gpg-keys-file <file>', 'public gpg keys of which one must have signed it')
    .addHelpText('after', '\nObjects that name no namespace go to that of -n, here by default to "default".');
}

function workerOptions(command: Command): Command {
  return command
    .option(
      '--namespaces <names>',
      'keep workloads of these alone, separated by commas (FAIRLEAD_NAMESPACES); commits are limited by the rights of their account',
    )
    .option(
      '--metrics-address <address>',
      'host:port of /metrics, /healthz, /readyz and /hook (FAIRLEAD_METRICS_ADDRESS)',
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error (FAIRLEAD_LOG_LEVEL)');
}

/** The real one only when it is called: it brings the whole control plane with it. */
async function localCommand(words: readonly string[]): Promise<Command> {
  const description = 'an embedded control plane on this machine: up, down, status, env';
  if (!words.includes('local')) {
    return new Command('local').description(description);
  }
  const { createLocalCommand } = await import('./local.ts');
  return createLocalCommand();
}
