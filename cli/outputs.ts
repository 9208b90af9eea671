/** Which outputs of `-o` each verb serves. What a verb does not serve is refused: a script would take the table for the JSON it asked for. */

import type { Command } from 'commander';

import { CliError, EXIT } from './exit-codes.ts';
import type { GlobalOptions, OutputFormat } from './io.ts';

const LISTS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
const SENTENCES = ['table', 'json', 'yaml'] as const;
const WISHES = ['table', 'json', 'yaml', 'name'] as const;

/** By the words of the verb. A verb that is not named here prints for people only. */
const SERVED: Readonly<Record<string, readonly OutputFormat[]>> = {
  get: LISTS,
  // A line for each change: a document that is closed by Ctrl-C would be none.
  watch: ['table', 'json'],
  explain: SENTENCES,
  sync: SENTENCES,
  history: ['table', 'wide', 'json', 'yaml'],
  suspend: WISHES,
  resume: WISHES,
  check: SENTENCES,
  plan: SENTENCES,
  'rollout status': SENTENCES,
  'rollout history': LISTS,
  'rollout pause': WISHES,
  'rollout resume': WISHES,
  'rollout abort': WISHES,
  'rollout retry': WISHES,
  'rollout restart': WISHES,
  'rollout undo': WISHES,
  'set image': WISHES,
  'rolling-update': WISHES,
  'local status': WISHES,
};

/** @throws CliError (usage) when the verb does not print what was asked for */
export function checkOutput(command: Command): void {
  const { output } = command.optsWithGlobals<GlobalOptions>();
  const verb = wordsOf(command);
  const served = SERVED[verb] ?? ['table'];
  if (served.includes(output)) return;
  const others = served.filter((format) => format !== 'table');
  throw new CliError(
    `\`fairlead ${verb}\` does not print -o ${output}; ` +
      (others.length === 0
        ? 'leave -o away'
        : `it prints ${others.join(', ')}, and without -o text for people`),
    EXIT.usage,
  );
}

function wordsOf(command: Command): string {
  const { parent } = command;
  return parent?.parent == null ? command.name() : `${wordsOf(parent)} ${command.name()}`;
}
