/** `--reason` and `--by` of every verb that changes something. */

import type { Command } from 'commander';

import { CliError, EXIT } from './exit-codes.ts';

/** Characters. What is written is kept on the object, beside much else, and printed wherever it is looked at. */
const LONGEST = 1_024;

/** Adds who wants it and why. @param keptOn Completes "kept …" in the help of `--reason` */
export function wisherOptions(command: Command, keptOn: string): Command {
  return command
    .option('--reason <text>', `why; kept ${keptOn}`, atMost('--reason'))
    .option('--by <name>', "who (default: the kubeconfig's user)", atMost('--by'));
}

/** Blank is as if it was not given: a script's variable was empty. Too long is not the grammar's own error, which would repeat all of it. */
function atMost(flag: string): (text: string) => string | undefined {
  return (text) => {
    const { length } = Array.from(text);
    if (length <= LONGEST) return text.trim() === '' ? undefined : text;
    throw new CliError(
      `${flag} has ${String(length)} characters, and may have ${String(LONGEST)} at the most`,
      EXIT.usage,
    );
  };
}
