/** Grammar of the verbs that look at repositories and steer them. */

import type { Command } from 'commander';

import { examples } from './operator-verbs.ts';
import type { Attach } from './program.ts';
import type { SuspendOptions } from './suspend-repository.ts';
import { wisherOptions } from './wisher-options.ts';

const REPOSITORY = 'its name in the repositories file; `fairlead get repositories` shows them';
const KEPT = 'with the repository';

/** Adds `sync`, `suspend`, `resume` and `history`. */
export function addRepositoryVerbs(program: Command, attach: Attach): void {
  attach(
    wisherOptions(
      program
        .command('sync')
        .description('look at a repository now, apply its newest commit, and wait for the outcome')
        .argument('<REPOSITORY>', REPOSITORY),
      KEPT,
    )
      .option('--no-wait', 'do not wait for the outcome')
      .addHelpText('after', examples('fairlead sync shop', 'fairlead sync shop --timeout 10m -o json')),
    async () => (await import('./sync-repository.ts')).runSync,
  );
  addSuspension(program, attach, 'suspend', 'begin no further commit of a repository, until it is resumed');
  addSuspension(program, attach, 'resume', 'apply the commits of a suspended repository again');
  attach(
    program
      .command('history')
      .description(
        'every commit of a repository that was tried: whose it is, what became of it, how long it took',
      )
      .argument('<REPOSITORY>', REPOSITORY)
      .addHelpText('after', examples('fairlead history shop', 'fairlead history shop -o json')),
    async () => (await import('./repository-history.ts')).runRepositoryHistory,
  );
}

function addSuspension(
  program: Command,
  attach: Attach,
  verb: 'suspend' | 'resume',
  description: string,
): void {
  attach<SuspendOptions>(
    wisherOptions(
      program.command(verb).description(description).argument('<REPOSITORY>', REPOSITORY),
      KEPT,
    ).addHelpText('after', examples(`fairlead ${verb} shop`, `fairlead ${verb} shop --reason "disk alarm"`)),
    async () => {
      const { runSuspension } = await import('./suspend-repository.ts');
      return async (call) => await runSuspension(verb, call);
    },
  );
}
