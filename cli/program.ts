/** The grammar of the command line. Code of a verb is loaded when it runs, so that `--help` stays fast. */

import { manyLines } from '../kubernetes/safe-text.ts';
import { Argument, Command, CommanderError, Option } from 'commander';

import { trusted } from '../kubernetes/values.ts';
import { addOperatorVerbs, examples } from './operator-verbs.ts';
import { durationOption } from './durations.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call, GlobalOptions, Io } from './io.ts';
import { OUTPUT_FORMATS } from './io.ts';
import { checkOutput } from './outputs.ts';
import { addProcessVerbs } from './process-verbs.ts';
import { addRepositoryVerbs } from './repository-verbs.ts';

/** Loads a verb's code and runs it. */
type Verb<O> = (call: Call<O>) => Promise<ExitCode>;

/** Attaches a verb to its command: `load` is an import of the file that holds it. */
export type Attach = <O>(command: Command, load: () => Promise<Verb<O>>) => Command;

const VERSION = '0.1.0';
const SHELLS = ['bash', 'zsh', 'fish'] as const;

/**
 * Runs one command line (without `node` and the script).
 * @returns its exit code; every error has been printed
 */
export async function run(words: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  let asked: GlobalOptions | undefined;
  const attach: Attach = (command, load) =>
    command.action(async (...parameters: unknown[]) => {
      const self = trusted<Command>(parameters.at(-1));
      asked = self.optsWithGlobals<GlobalOptions>();
      const verb = await load();
      code = await verb({ io, operands: self.args, options: trusted(asked) });
    });
  const program = await createProgram(words, io, attach);
  try {
    if (words.length === 0) {
      program.outputHelp();
      return EXIT.ok;
    }
    refuseUnknownHelp(program, words);
    await program.parseAsync(rewriteBooleans(words), { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    if (io.interrupted.aborted) {
      return EXIT.interrupted;
    }
    const { describeFailure, printFailure } = await import('./failures.ts');
    const failure = describeFailure(error);
    io.err(`error: ${failure.message}\n`);
    if (asked !== undefined) await printFailure(io, asked, failure);
    return failure.exitCode;
  }
}

/** `help nope`: commander prints the help of what is above, as if that had been asked for. @throws CommanderError */
function refuseUnknownHelp(program: Command, words: readonly string[]): void {
  let at = program;
  let isHelp = false;
  for (const word of words) {
    if (word.startsWith('-')) return;
    const next = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (next !== undefined) at = next;
    else if (word === 'help' && !isHelp) isHelp = true;
    else {
      if (isHelp && word !== 'help' && at.commands.length > 0) at.error(`error: unknown command '${word}'`);
      return;
    }
  }
}

/** kubectl's `--watch=false`; commander only knows `--no-watch`. */
function rewriteBooleans(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  return words.map((word, index) => {
    const match = end >= 0 && index > end ? null : /^--(watch|wait)=(true|false)$/.exec(word);
    return match === null ? word : match[2] === 'true' ? `--${String(match[1])}` : `--no-${String(match[1])}`;
  });
}

async function createProgram(words: readonly string[], io: Io, attach: Attach): Promise<Command> {
  const program = new Command('fairlead')
    .description('Rollouts of Kubernetes workloads from git, each one durable run on Temporal.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpCommand('help [command]', 'help for a command')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: io.out,
      // Its errors repeat what was typed.
      writeErr: (text) => {
        io.err(manyLines(text));
      },
      getOutHasColors: () => io.color,
      getErrHasColors: () => io.color,
      getOutHelpWidth: () => io.size().columns,
      getErrHelpWidth: () => io.size().columns,
      outputError: (text, write) => {
        write(text);
      },
    })
    .showHelpAfterError('(--help shows how it is used)')
    .exitOverride();
  addGlobalOptions(program);
  program.hook('preAction', (_, command) => {
    checkOutput(command);
  });
  addOperatorVerbs(program, attach);
  addRepositoryVerbs(program, attach);
  await addProcessVerbs(program, attach, words);
  addCompletion(program, attach);
  program.addHelpText(
    'after',
    `
Exit codes:
  0 ok   1 failed or degraded   2 usage   3 timeout   4 differences found (plan)
  5 Temporal unreachable   6 Kubernetes unreachable   130 Ctrl-C   141 output not read

Examples:
  fairlead check                        is everything there that a rollout needs?
  fairlead get -A                       all workloads, a line each
  fairlead watch sts/web                a live tree of one rollout
  fairlead explain sts/web              why is nothing happening?
  fairlead rollout undo sts/web         back to the revision before
  fairlead sync shop                    apply the newest commit of a repository now`,
  );
  inherit(program);
  // It says itself how `get repositories shop` is written.
  program.commands.find((command) => command.name() === 'get')?.allowExcessArguments();
  return program;
}

function addCompletion(program: Command, attach: Attach): void {
  attach(
    program
      .command('completion')
      .description('print what makes a shell complete verbs, options and names')
      .addArgument(new Argument('<SHELL>', 'which one').choices(SHELLS).argParser(shellArgument))
      .addHelpText(
        'after',
        examples('source <(fairlead completion bash)', 'fairlead completion fish | source'),
      ),
    async () => (await import('./completion.ts')).runCompletion,
  );
  attach(program.command('complete', { hidden: true }).argument('[WORDS...]'), async () =>
    (await import('./completion.ts')).completer(program, run),
  );
}

/** In words of our own: the grammar's speak of a "command-argument value". */
function shellArgument(text: string): string {
  if (SHELLS.some((shell) => shell === text)) return text;
  throw new CliError(`there is no completion for "${text}": choose one of ${SHELLS.join(', ')}`, EXIT.usage);
}

function addGlobalOptions(program: Command): void {
  program
    .option('-n, --namespace <name>', "namespace (default: the kubeconfig context's)")
    .option('--context <name>', 'context of the kubeconfig')
    .option('--kubeconfig <file>', 'kubeconfig file (default: KUBECONFIG, ~/.kube/config, the pod itself)')
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(OUTPUT_FORMATS)
        .default('table' satisfies GlobalOptions['output']),
    )
    .option('--timeout <duration>', 'how long to wait, like 30s or 5m; 0 = no limit', durationOption)
    .option(
      '--workload-api <api>',
      'fairlead.dev/v1beta1 or apps/v1 (default: FAIRLEAD_WORKLOAD_API, fairlead.dev/v1beta1)',
    )
    .option('--cluster <name>', 'name of the cluster in Temporal (default: FAIRLEAD_CLUSTER, "default")')
    .addOption(new Option('--lease-namespace <name>', "namespace of the workers' Lease").hideHelp());
}

/** Sub-commands that were made elsewhere get the program's ways of printing and ending. */
function inherit(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inherit(command);
  }
}
