/** `fairlead history REPOSITORY`: every commit that was tried, from the cluster alone, without Temporal. */

import type { CommitAttempt } from '../git/inventory-status.ts';
import { shortSha } from '../git/problems.ts';
import { ageOf, formatAge } from './durations.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import { repositoryName } from './repository-argument.ts';
import { readRepository, whyNotFollowed } from './read-repositories.ts';
import { withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';
import type { Column } from './table.ts';
import { formatTable, sentenceCell } from './table.ts';

interface CommitHistoryDocument extends Document {
  readonly kind: 'CommitHistory';
  readonly repository: string;
  /** Oldest first, at most 50; of commits that are over. */
  readonly attempts: readonly CommitAttempt[];
  /** The one that is under way. */
  readonly underWay?: { readonly sha: string; readonly startedAt?: string | undefined };
}

/** Runs the verb. */
export async function runRepositoryHistory(call: Call): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { io, options } = call;
    const name = repositoryName(call.operands[0]);
    const known = await readRepository(session, name);
    const { status, damage, elsewhere, view } = known;
    if (damage !== undefined) throw new CliError(damage);
    // What is tried here is written down nowhere: the inventory of that name is of others.
    if (elsewhere !== undefined && view.state === 'Refused') throw new CliError(whyNotFollowed(known));
    const { history = [], commit } = status;
    const document: CommitHistoryDocument = {
      apiVersion: CLI_API_VERSION,
      kind: 'CommitHistory',
      repository: name,
      attempts: history,
      ...(commit?.outcome === 'Progressing' && {
        underWay: { sha: commit.sha, ...(commit.startedAt !== undefined && { startedAt: commit.startedAt }) },
      }),
    };
    if (await printStructured(io, options, document)) return EXIT.ok;
    const { underWay } = document;
    if (history.length === 0 && underWay === undefined) {
      io.err(`No commit of repository ${name} was tried yet.\n`);
      return EXIT.ok;
    }
    if (history.length > 0) io.out(formatTable(historyColumns(io.now(), options.output === 'wide'), history));
    if (underWay !== undefined)
      io.out(`${shortSha(underWay.sha)} is under way since ${ageOf(underWay.startedAt, io.now())}\n`);
    return EXIT.ok;
  });
}

/** Columns of the table; ages end at `now`, milliseconds since the epoch. Problems are told in full where it is `wide`. */
export function historyColumns(now: number, wide: boolean): readonly Column<CommitAttempt>[] {
  return [
    { title: 'COMMIT', value: ({ sha }) => shortSha(sha) },
    { title: 'AUTHOR', value: ({ author }) => author ?? '<unknown>' },
    { title: 'OUTCOME', value: outcomeCell },
    { title: 'TOOK', value: tookCell },
    { title: 'AGE', value: ({ finishedAt }) => formatAge(now - Date.parse(finishedAt)) },
    { title: 'APPLIED', value: ({ applied }) => countCell(applied) },
    { title: 'PRUNED', value: ({ pruned }) => countCell(pruned) },
    { title: 'ASKED-BY', value: ({ askedBy }) => askedBy ?? '-' },
    ...(wide ? [{ title: 'RUN', value: ({ runId }: CommitAttempt) => runId }] : []),
    { title: 'SUBJECT', value: ({ subject }) => subject ?? '-' },
    { title: 'WHY', value: (attempt) => sentenceCell(whyCell(attempt), wide) },
  ];
}

function outcomeCell({ outcome, supersededBy, tries }: CommitAttempt): string {
  if (tries !== undefined) return `${outcome} ×${String(tries)}`;
  return supersededBy === undefined ? outcome : `${outcome} by ${shortSha(supersededBy)}`;
}

function countCell(count: number | undefined): string {
  return count === undefined ? '-' : String(count);
}

/** Of several tries the last: from the first to the last nothing was done most of the time. */
function tookCell({ startedAt, lastStartedAt, finishedAt }: CommitAttempt): string {
  return ageOf(lastStartedAt ?? startedAt, Date.parse(finishedAt));
}

/** What is wrong with it, or why somebody asked for it; then what else is worth knowing. */
function whyCell({ problem, problemCount = 0, reason, notes = [] }: CommitAttempt): string {
  const more = problemCount > 1 ? ` (${String(problemCount)} problems in all)` : '';
  const first = problem === undefined ? reason : `${problem}${more}`;
  return [...(first === undefined ? [] : [first]), ...notes].join('; ') || '-';
}
