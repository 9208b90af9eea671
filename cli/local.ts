/** Grammar of `fairlead local …`. The code behind it is loaded when a verb runs. */

import { Command, InvalidArgumentError } from 'commander';

import { withLocalFiles } from './local-files.ts';
import { examples } from './operator-verbs.ts';

const DEFAULT_NAME = 'default';
const MOST_NODES = 1000;

function nodesOption(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0 || count > MOST_NODES) {
    throw new InvalidArgumentError(`a whole number from 0 to ${MOST_NODES}`);
  }
  return count;
}

function verb(parent: Command, name: string): Command {
  return parent
    .command(name)
    .option('--name <name>', 'which instance; several can run side by side', DEFAULT_NAME);
}

/**
 * `local up`, `down`, `status`, `env`. `--workload-api` and `-o` are options of the program. Failures are thrown as `CliError`
 * or as plain errors, which the program turns into words and an exit code.
 */
export function createLocalCommand(): Command {
  const local = new Command('local').description(
    'an embedded control plane on this machine: up, down, status, env',
  );

  verb(local, 'up')
    .description('start Kubernetes (with simulated nodes) and Temporal; what already runs is left as it is')
    .option('--nodes <count>', 'simulated nodes of a new instance (default: 3)', nodesOption)
    .addHelpText(
      'after',
      `
Programs are taken from FAIRLEAD_ETCD, FAIRLEAD_KUBE_APISERVER, FAIRLEAD_KUBE_CONTROLLER_MANAGER, FAIRLEAD_KUBE_SCHEDULER,
FAIRLEAD_KWOK and FAIRLEAD_TEMPORAL, from the PATH if their version fits, from ~/.cache/fairlead/bin, from an official release
(FAIRLEAD_DOWNLOAD_MIRROR replaces https://github.com), or are built with Go: about 8 minutes, once.
${examples('fairlead local up', 'fairlead local up --nodes 10 --workload-api apps/v1 --name native')}`,
    )
    .action(async (_options: unknown, command: Command) => {
      await withLocalFiles(async () => await (await import('./local-up.ts')).runLocalUp(command));
    });

  verb(local, 'down')
    .description('stop everything and remove all that it left, also after a crash')
    .addHelpText('after', examples('fairlead local down', 'fairlead local down --name native'))
    .action(async (_options: unknown, command: Command) => {
      await withLocalFiles(async () => await (await import('./local-verbs.ts')).runLocalDown(command));
    });

  verb(local, 'status')
    .description('addresses, and what runs; exit code 1 if something does not')
    .addHelpText('after', examples('fairlead local status', 'fairlead local status -o json'))
    .action(async (_options: unknown, command: Command) => {
      await withLocalFiles(async () => await (await import('./local-verbs.ts')).runLocalStatus(command));
    });

  verb(local, 'env')
    .description('print what a shell must export to use it')
    .addHelpText('after', examples('eval "$(fairlead local env)"'))
    .action(async (_options: unknown, command: Command) => {
      await withLocalFiles(async () => await (await import('./local-verbs.ts')).runLocalEnv(command));
    });

  return local;
}
