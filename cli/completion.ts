/** Shell completion: a script for each shell that asks `fairlead complete` what may follow, and its answers. */

import type { Command, Option } from 'commander';

import { kindsOf } from './controller-argument.ts';
import { EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call, Io } from './io.ts';
import { REPOSITORY_KIND } from './repository-argument.ts';
import { CONTROLLER_KIND, OBJECT_NAME } from './workload-argument.ts';

/** Without `compgen -W`, which would run what a word says. */
const BASH = `_fairlead() {
  local found word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r found; do
    if [[ "$found" == "$word"* ]]; then COMPREPLY+=("$found"); fi
  done < <(fairlead complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ "\${COMPREPLY[0]:-}" == */ ]]; then compopt -o nospace; fi
}
complete -o default -F _fairlead fairlead
`;

const ZSH = `#compdef fairlead
_fairlead() {
  local -a found
  found=("\${(@f)$(fairlead complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -S '' -- "\${(@M)found:#*/}"
  compadd -- "\${(@)found:#*/}"
  (( \${#\${(@)found:#}} )) || _files
}
compdef _fairlead fairlead
`;

const FISH = `complete -c fairlead -a '(fairlead complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`;

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

/** Runs `fairlead completion SHELL`; the grammar knows the shells. */
export function runCompletion({ io, operands }: Call): Promise<ExitCode> {
  io.out(SCRIPTS[operands[0] ?? ''] ?? '');
  return Promise.resolve(EXIT.ok);
}

/** What may stand in a place: words that the grammar knows, or names of objects of a KIND. */
export type Wanted =
  | { readonly words: readonly string[] }
  | {
      readonly kind: string;
      /** In front of each name. */
      readonly prefix: string;
      /** What was typed of the cluster and the namespace in which names are looked up. */
      readonly options: readonly string[];
    };

/** Where the last of the words stands in the grammar. */
interface Place {
  readonly command: Command;
  /** Operands of it before the word. */
  readonly operands: number;
  /** The option whose value the word is. */
  readonly pending: Option | undefined;
  readonly options: readonly string[];
}

/**
 * What may stand in the place of the last word. Nothing where only the user knows: the shell then offers files.
 */
export function whatMayFollow(program: Command, words: readonly string[]): Wanted {
  const last = words.at(-1) ?? '';
  const { command, operands, pending, options } = placeOf(program, words.slice(0, -1));
  if (pending !== undefined) return { words: pending.argChoices ?? [] };
  if (last.startsWith('-')) return { words: optionsOf(command).flatMap(longName) };
  const verbs = operands === 0 && command.commands.length > 0;
  if (verbs)
    return {
      words: command
        .createHelp()
        .visibleCommands(command)
        .map((one) => one.name()),
    };
  const argument = command.registeredArguments[operands];
  const name = argument?.name() ?? '';
  if (name === 'OLD') return { kind: CONTROLLER_KIND, prefix: '', options };
  if (name === 'REPOSITORY') return { kind: REPOSITORY_KIND, prefix: '', options };
  if (!/^KIND\b/.test(name)) return { words: argument?.argChoices ?? [] };
  const slash = last.indexOf('/');
  if (slash < 0) {
    const kinds = kindsOf(command.name()).map((kind) => `${kind}/`);
    return { words: command.name() === 'get' ? [...kinds, REPOSITORY_KIND] : kinds };
  }
  return { kind: last.slice(0, slash), prefix: last.slice(0, slash + 1), options };
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  const options: string[] = [];
  for (const word of words) {
    if (pending !== undefined) {
      if (LOOK_UP.has(pending.long ?? '')) options.push(pending.long ?? '', word);
      pending = undefined;
    } else if (word.startsWith('-')) {
      const option = optionsOf(command).find(({ short, long }) => word === short || word === long);
      pending = option?.required === true || option?.optional === true ? option : undefined;
    } else {
      const inner = operands === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (inner === undefined) operands += 1;
      else command = inner;
    }
  }
  return { command, operands, pending, options };
}

/** Options that decide which cluster and namespace names are looked up in. */
const LOOK_UP: ReadonlySet<string> = new Set([
  '--namespace',
  '--context',
  '--kubeconfig',
  '--workload-api',
  '--cluster',
  '--lease-namespace',
]);

function longName({ long, hidden }: Option): readonly string[] {
  return hidden || long == null ? [] : [long];
}

function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...(command.parent === null ? [] : optionsOf(command.parent))];
}

/** Runs a command line and gives what it printed; a failure prints nothing. */
export type Ask = (words: readonly string[], io: Io) => Promise<ExitCode>;

/** The verb behind the scripts: a line for each word that may stand in the place of the last one. */
export function completer(program: Command, ask: Ask) {
  return async ({ io, operands }: Call): Promise<ExitCode> => {
    const wanted = whatMayFollow(program, operands);
    const words = 'words' in wanted ? wanted.words : await namesOf(wanted, io, ask);
    io.out(words.map((word) => `${word}\n`).join(''));
    return EXIT.ok;
  };
}

/** Longer than this, and whoever pressed the key has typed on. */
const PATIENCE = '2s';

async function namesOf(
  { kind, prefix, options }: Exclude<Wanted, { words: readonly string[] }>,
  io: Io,
  ask: Ask,
): Promise<readonly string[]> {
  let printed = '';
  // A cluster that does not answer has no names to offer, and a prompt is no place for errors: the verb itself will tell.
  const quiet: Io = { ...io, out: (text) => void (printed += text), err: () => undefined };
  await ask(['get', kind, '-o', 'name', '--timeout', PATIENCE, ...options], quiet);
  return printed.split('\n').flatMap((line) => {
    const [, name = ''] = line.split('/');
    // Repositories are called what a ConfigMap says: a shell must get nothing to run, now or when the line is sent.
    return OBJECT_NAME.test(name) ? [`${prefix}${name}`] : [];
  });
}
