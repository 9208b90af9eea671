/** `fairlead suspend|resume REPOSITORY`: written on the repository's inventory; whoever leads is told to look. */

import { resumeRepository, suspendRepository } from '../git/suspension.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import { repositoryName } from './repository-argument.ts';
import { readRepository, whyNotFollowed } from './read-repositories.ts';
import { withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { SignalOutcome } from './temporal.ts';
import { askForLook } from './temporal-sync.ts';
import { whoAmI } from './who-am-i.ts';

export interface SuspendOptions {
  readonly reason?: string;
  readonly by?: string;
}

interface RepositoryWishDocument extends Document {
  readonly kind: 'WishResult';
  readonly verb: 'suspend' | 'resume';
  readonly repository: string;
  readonly changed: boolean;
  readonly message: string;
  readonly by?: string;
  readonly reason?: string;
  /** What the running sync was told. */
  readonly run?: SignalOutcome;
}

/** Runs one of the two verbs. What is so already is "nothing to do". */
export async function runSuspension(
  verb: 'suspend' | 'resume',
  call: Call<SuspendOptions>,
): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const repository = repositoryName(call.operands[0]);
    const known = await readRepository(session, repository);
    if (known.elsewhere !== undefined) throw new CliError(whyNotFollowed(known));
    const { store } = known;
    const by = options.by ?? (await whoAmI(session));
    const { reason } = options;
    const result =
      verb === 'suspend'
        ? await suspendRepository(store, { by, reason }, io.now())
        : await resumeRepository(store);
    const run = result.changed ? await askForLook(session, repository) : undefined;
    const document: RepositoryWishDocument = {
      apiVersion: CLI_API_VERSION,
      kind: 'WishResult',
      verb,
      repository,
      ...result,
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      ...(run !== undefined && { run }),
    };
    if (await printStructured(io, options, document)) return EXIT.ok;
    if (options.output === 'name') io.out(`repository/${repository}\n`);
    else io.out(`${oneLine(result.message)}\n`);
    if (known.view.state === 'NotFollowed' && result.changed)
      io.err(`note: no worker follows ${repository}${known.beside}: it takes effect when one does\n`);
    if (run?.outcome === 'unreachable')
      io.err(
        `note: ${oneLine(run.message)}: it takes effect when the worker looks at the repository again\n`,
      );
    return EXIT.ok;
  });
}
