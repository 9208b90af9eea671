/** `fairlead get repositories`: a line for each repository: what of it is in the cluster, and why not more. */

import { shortSha } from '../git/problems.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { colorsOf } from './colors.ts';
import type { Colors } from './colors.ts';
import { ageOf } from './durations.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { GetOptions } from './get.ts';
import type { Call } from './io.ts';
import { repositoryName, repositoryOperand } from './repository-argument.ts';
import { withReasons } from './repository-progress.ts';
import { listRepositories, readRepository } from './read-repositories.ts';
import type { RepositoryState, RepositoryView } from './repository-views.ts';
import { withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { Column } from './table.ts';
import { formatTable, sentenceCell } from './table.ts';

interface RepositoryListDocument extends Document {
  readonly kind: 'RepositoryList';
  readonly items: readonly RepositoryView[];
  /** What keeps the worker from following as it should. */
  readonly troubles: readonly string[];
}

/** Runs the verb. Fails with 1 when a named repository does not exist. */
export async function runGetRepositories(call: Call<GetOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    if (options.selector !== undefined)
      throw new CliError('repositories have no labels: leave -l away', EXIT.usage);
    const named = repositoryOperand(call.operands[0])?.name;
    const found =
      named === undefined
        ? await listRepositories(session)
        : await readRepository(session, repositoryName(named)).then(({ view, troubles }) => ({
            items: [view],
            troubles,
            unsure: undefined,
          }));
    const { items, troubles } = await withReasons(session, found);
    const { unsure } = found;
    const document: RepositoryListDocument = {
      apiVersion: CLI_API_VERSION,
      kind: 'RepositoryList',
      items,
      troubles,
    };
    if (await printStructured(io, options, document)) return EXIT.ok;
    for (const trouble of troubles) io.err(`warning: ${oneLine(trouble)}\n`);
    if (options.output === 'name') {
      for (const { name } of items) io.out(`repository/${name}\n`);
    } else if (items.length === 0) {
      if (troubles.length === 0)
        io.err(`No repositories: ${oneLine(unsure ?? 'the worker follows none.')}\n`);
    } else {
      io.out(formatTable(columnsOf(io.now(), colorsOf(io), options.output === 'wide'), items));
    }
    return EXIT.ok;
  });
}

function columnsOf(now: number, colors: Colors, wide: boolean): readonly Column<RepositoryView>[] {
  const paints: Readonly<Record<RepositoryState, (text: string) => string>> = {
    Synced: colors.good,
    Drifted: colors.held,
    Progressing: colors.busy,
    Pending: colors.busy,
    Suspended: colors.held,
    Unreadable: colors.bad,
    InventoryUnreadable: colors.bad,
    Refused: colors.bad,
    Failed: colors.bad,
    Canceled: colors.held,
    Terminated: colors.held,
    NotFollowed: colors.dim,
    Unknown: colors.dim,
  };
  return [
    { title: 'NAME', value: ({ name }) => name },
    { title: 'URL', value: ({ url }) => url ?? '<none>' },
    { title: 'REF', value: ({ path, ref }) => ref ?? (path === undefined ? '<none>' : 'HEAD') },
    ...(wide
      ? [
          { title: 'PATH', value: ({ path }: RepositoryView) => (path === '' ? '.' : (path ?? '<none>')) },
          { title: 'NAMESPACE', value: ({ namespace }: RepositoryView) => namespace ?? '<none>' },
          { title: 'ACCOUNT', value: accountCell },
          { title: 'SEEN', value: ({ seen }: RepositoryView) => short(seen) },
        ]
      : []),
    { title: 'APPLIED', value: ({ applied }) => short(applied) },
    { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paints[state](text) },
    // Written at the next change, or a minute later: the last look may be younger.
    {
      title: 'LOOKED',
      value: ({ lookedAt }) => (lookedAt === undefined ? 'never' : `≤${ageOf(lookedAt, now)}`),
    },
    {
      title: 'WHY',
      value: (view) => (view.state === 'Synced' && !wide ? besides(view) : repositoryWhy(view.message, wide)),
    },
  ];
}

function accountCell({ serviceAccount }: RepositoryView): string {
  return serviceAccount === '' ? '<worker>' : (serviceAccount ?? '<none>');
}

/** Of one that is well there is no why: that there is more to know, in few words, and where. */
export function besides({ message, receivers = {}, commit, drift, driftProblem }: RepositoryView): string {
  if (message === '') return '-';
  const notes = commit?.notes?.length ?? 0;
  const parts = [
    ...Object.keys(receivers).map((id) => `${id} is not told`),
    ...(notes === 0 ? [] : [notes === 1 ? 'one note' : `${String(notes)} notes`]),
    ...(driftProblem === undefined ? [] : ['drift cannot be looked at']),
    ...((drift?.unwatched ?? []).length === 0 ? [] : ['drift is not seen of all']),
  ];
  return `(${parts.join(', ')}: -o wide)`;
}

function short(sha: string | undefined): string {
  return sha === undefined ? '<none>' : shortSha(sha);
}

/** `Code file:line@commit: Kind.group namespace/name: what is wrong`, as problems are written; the place and the object may be missing. */
const PROBLEM =
  /^([A-Z][A-Za-z]+)(?: (.+?@[0-9a-f]{8}|commit [0-9a-f]{8}))?: (?:([A-Z]\w*(?:\.[-.\w]+)? \S+): )?(.+)$/s;

/** A repository's message as a cell. Where it is cut, what is wrong comes before the object and the place. */
export function repositoryWhy(message: string, wide: boolean): string {
  if (message === '') return '-';
  const [, code, place, object, text] = PROBLEM.exec(message) ?? [];
  if (wide || code === undefined || text === undefined) return sentenceCell(message, wide);
  const where = [object, place].filter((part) => part !== undefined).join(', ');
  return sentenceCell(`${code}: ${text}${where === '' ? '' : ` (${where})`}`, wide);
}
