/** `repositories`, `repository/shop`: what `get` lists besides workloads. */

import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call } from './io.ts';

/** How the kind is offered to shells. */
export const REPOSITORY_KIND = 'repositories';

const OPERAND = /^(?:repo|repos|repository|repositories)(?:\/(.*))?$/i;

/** Whether the operand is about repositories; `name` is absent for all of them. */
export function repositoryOperand(
  operand: string | undefined,
): { readonly name: string | undefined } | undefined {
  const match = OPERAND.exec(operand ?? '');
  return match === null ? undefined : { name: match[1] };
}

/** The name that an operand means: `shop`, or `repository/shop`. @throws CliError (usage) for what none can be called */
export function repositoryName(operand: string | undefined): string {
  const name = repositoryOperand(operand)?.name ?? operand ?? '';
  if (/^[a-z0-9](?:[-a-z0-9]{0,48}[a-z0-9])?$/.test(name)) return name;
  throw new CliError(
    `"${name}" cannot be the name of a repository: lower-case letters, digits and dashes; \`fairlead get repositories\` shows them`,
    EXIT.usage,
  );
}

/**
 * The verb for what is rolled out, or for the operand `repositories` the one for these; only what is needed is loaded. It throws a
 * CliError (usage) where a name is apart from its kind.
 */
export function orRepositories<O>(
  others: () => Promise<(call: Call<O>) => Promise<ExitCode>>,
  repositories: () => Promise<(call: Call<O>) => Promise<ExitCode>>,
): () => Promise<(call: Call<O>) => Promise<ExitCode>> {
  return async () => async (call) => {
    const [kind, name] = call.operands;
    if (name !== undefined) {
      const one = name.includes('/')
        ? name
        : `${repositoryOperand(kind) === undefined ? kind : 'repository'}/${name}`;
      throw new CliError(`too many arguments: one of them by its name is \`get ${one}\``, EXIT.usage);
    }
    const load = repositoryOperand(call.operands[0]) === undefined ? others : repositories;
    return await (
      await load()
    )(call);
  };
}
