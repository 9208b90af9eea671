/** `fairlead plan`: what a commit would change, before anybody applies it. */

import { CommitReader } from '../git/commit.ts';
import type { Mirror } from '../git/mirror.ts';
import { openMirror } from '../git/mirror.ts';
import type { FollowedSources } from '../git/other-commits.ts';
import { ProblemError, formatOnce, formatProblem, problem, shortSha, withNext } from '../git/problems.ts';
import type { Repository, RepositoryFlags } from '../git/repositories.ts';
import { readRepositories, repositoryFromFlags } from '../git/repositories.ts';
import { isForbidden, isUnreached } from '../kubernetes/api-error.ts';
import { DeadlineExceeded, startDeadline } from '../kubernetes/deadline.ts';
import type { Colors } from './colors.ts';
import { colorsOf } from './colors.ts';
import { formatDifference } from './format-difference.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { unreachedProblem } from '../git/unreached.ts';
import { describeFailure } from './failures.ts';
import type { Call } from './io.ts';
import type { LeaseState } from './lease.ts';
import { glanceAtLease, leaseName, whyNotKept } from './lease.ts';
import type { RepositoryPlan } from './plan-changes.ts';
import { planCommit } from './plan-changes.ts';
import type { PlannedChange } from './planned-change.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { withScratch } from './scratch.ts';
import type { Session } from './session.ts';
import { withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';

export interface PlanOptions extends Partial<RepositoryFlags> {
  /** File with the list of repositories, instead of --repo. */
  readonly repositories?: string;
}

interface PlanDocument extends Document {
  readonly kind: 'Plan';
  readonly repositories: readonly RepositoryPlan[];
}

/** Repositories of a file that are read at the same time: one that does not answer holds few others up. */
const AT_A_TIME = 8;

/**
 * Runs the verb: 0 nothing would change, 4 something would, 1 a commit could not be applied or not even be read, 3 the time of
 * `--timeout` is up. Without one the limits of git and of the cluster alone hold. Of the repositories of a file each is planned, whatever
 * is wrong with another.
 */
export async function runPlan(call: Call<PlanOptions>): Promise<ExitCode> {
  return await withScratch('fairlead-plan-', call.io.interrupted, async (cache, interrupted) => {
    const planned = { ...call, io: { ...call.io, interrupted } };
    const { timeout = 0 } = call.options;
    if (timeout === 0) return await planAll(planned, cache);
    const limit = startDeadline(timeout, interrupted);
    try {
      return await planAll({ ...planned, io: { ...call.io, interrupted: limit.signal } }, cache);
    } catch (error) {
      if (!(limit.signal.reason instanceof DeadlineExceeded)) throw error;
      const late = `timed out: the repository was not read and compared within ${String(timeout / 1_000)} s`;
      throw new CliError(late, EXIT.timeout, { cause: error });
    } finally {
      limit.clear();
    }
  });
}

async function planAll(call: Call<PlanOptions>, cache: string): Promise<ExitCode> {
  const { all, chosen: repositories } = await repositoriesOf(call);
  const { io, options } = call;
  const sources = sourcesOf(all, cache, options.timeout ?? 0);
  return await withSession(call, async (session) => {
    const colors = colorsOf(io);
    const plans: RepositoryPlan[] = [];
    const planOne = options.repositories === undefined ? planOnly : planOneOfMany;
    const planning = inOrder(repositories, AT_A_TIME, io.interrupted, async (repository, interrupted) => {
      const own = { ...session, io: { ...session.io, interrupted } };
      return await planOne(own, repository, sources);
    });
    for await (const plan of planning) {
      plans.push(plan);
      if (options.output === 'table') io.out(await formatPlan(plan, colors));
    }
    const told = plans.map((plan) => ({ ...plan, problems: plan.problems.map((one) => withNext(one)) }));
    const document: PlanDocument = { apiVersion: CLI_API_VERSION, kind: 'Plan', repositories: told };
    await printStructured(io, options, document);
    if (io.interrupted.aborted) return EXIT.timeout;
    if (plans.some(({ problems }) => problems.length > 0)) return EXIT.failed;
    return plans.some(({ changes }) => changes.some(isChange)) ? EXIT.differences : EXIT.ok;
  });
}

/** Does some at a time, and yields each result when those before it are there. What is under way is aborted and awaited when one fails. */
async function* inOrder<T, R>(
  items: readonly T[],
  atATime: number,
  interrupted: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<R>,
): AsyncGenerator<R> {
  const ending = new AbortController();
  const signal = AbortSignal.any([interrupted, ending.signal]);
  const begun: Promise<R>[] = [];
  const begin = (count: number): void => {
    for (const item of items.slice(begun.length, count)) {
      const result = work(item, signal);
      // Whoever comes before it may fail first.
      result.catch(() => undefined);
      begun.push(result);
    }
  };
  try {
    begin(atATime);
    // It grows meanwhile.
    for (const [index, result] of begun.entries()) {
      yield await result;
      begin(index + 1 + atATime);
    }
  } finally {
    ending.abort(new Error('another has failed'));
    await Promise.allSettled(begun);
  }
}

interface PlannedSources extends FollowedSources {
  /** The newest commit of one that is planned, for which the others wait instead of asking once more. @throws ProblemError */
  readonly look: (repository: Repository, signal: AbortSignal) => Promise<string>;
}

/** Milliseconds in which a repository is read to see whether it wants what another lets go, or creates: nothing of it may be here yet. */
const READ_MS = 20_000;

/** What the repositories are read with; `all` are those of the file, `timeout` is that of the command in milliseconds, 0: none. */
function sourcesOf(all: readonly Repository[], cache: string, timeout: number): PlannedSources {
  const mirrors = new Map<Repository, Mirror>();
  const looks = new Map<Repository, Promise<string>>();
  const opened = (repository: Repository): Mirror => {
    const known = mirrors.get(repository) ?? openMirror({ ...repository, cacheDirectory: cache });
    mirrors.set(repository, known);
    return known;
  };
  const mirror = (repository: Repository): Mirror => ({
    ...opened(repository),
    resolveRef: async (signal) => await (looks.get(repository) ?? opened(repository).resolveRef(signal)),
  });
  const look = async (repository: Repository, signal: AbortSignal): Promise<string> => {
    const begun = opened(repository).resolveRef(signal);
    looks.set(repository, begun);
    return await begun;
  };
  const reader = new CommitReader(mirror);
  // Those that do answer are planned in the time that is left.
  const waitMs = timeout === 0 ? READ_MS : Math.min(READ_MS, timeout / 2);
  return { followed: () => all, mirror, look, reader, lookMs: waitMs, waitMs };
}

async function planOnly(
  session: Session,
  repository: Repository,
  sources: PlannedSources,
): Promise<RepositoryPlan> {
  try {
    return await planRepository(session, repository, sources);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { code } = error.problem;
    throw new CliError(formatOnce(error.problem), EXIT.failed, { cause: error, code });
  }
}

/** What cannot be read, or be compared for want of a permission, is a plan with that problem: it holds no other repository up. */
async function planOneOfMany(
  session: Session,
  repository: Repository,
  sources: PlannedSources,
): Promise<RepositoryPlan> {
  try {
    return await planRepository(session, repository, sources);
  } catch (error) {
    const { interrupted } = session.io;
    const isLate = interrupted.reason instanceof DeadlineExceeded;
    if (!isLate) interrupted.throwIfAborted();
    const found = isLate
      ? problem('SourceTimeout', 'it was not read and compared in the time of --timeout', {
          next: 'Give it more time, or plan one of the others with --name.',
        })
      : error instanceof ProblemError
        ? error.problem
        : isForbidden(error)
          ? problem('Forbidden', describeFailure(error).message)
          : isUnreached(error)
            ? unreachedProblem(error.unreached, error.message)
            : undefined;
    if (found === undefined) throw error;
    const { name, url } = repository;
    return { repository: name, url, changes: [], unchanged: 0, problems: [found], notes: [] };
  }
}

/** Options that say what one repository is: in a file of several they would be about none. */
const OF_ONE = [
  'repo',
  'ref',
  'path',
  'tokenFile',
  'username',
  'caFile',
  'sshKeyFile',
  'knownHostsFile',
  'allowedSignersFile',
  'gpgKeysFile',
] as const;

/** Those that are planned, and all that the file names: those that the others of it may take something over from. */
async function repositoriesOf({ options }: Call<PlanOptions>): Promise<{
  readonly all: readonly Repository[];
  readonly chosen: readonly Repository[];
}> {
  const { repositories, repo = '.', name } = options;
  if (repositories === undefined) return { all: [], chosen: [repositoryFromFlags({ ...options, repo })] };
  const others = OF_ONE.filter((flag) => options[flag] !== undefined);
  if (others.length > 0) {
    const given = others.map((flag) => `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
    throw new CliError(
      `--repositories and ${given.join(', ')}: what is followed is said either by the file (of which --name picks one) or by options`,
      EXIT.usage,
    );
  }
  const all = await readRepositories(repositories);
  const chosen = name === undefined ? all : all.filter((one) => one.name === name);
  if (chosen.length > 0) return { all, chosen };
  if (all.length === 0) throw new CliError(`${repositories} lists no repository: there is nothing to plan`);
  throw new CliError(
    `${repositories} has no repository named "${name ?? ''}": it has ${all.map((one) => one.name).join(', ')}`,
    EXIT.usage,
  );
}

async function planRepository(
  session: Session,
  repository: Repository,
  sources: PlannedSources,
): Promise<RepositoryPlan> {
  const { look, reader } = sources;
  const { interrupted } = session.io;
  const sha = await look(repository, interrupted);
  const content = await reader.read(repository, sha, interrupted);
  const planned = await planCommit(session.client, session, repository, sha, content, {
    earlier: async (other) => await reader.readEarlier(repository, other, interrupted),
    // Without a file it may be a clone of what the workers follow.
    ...(sources.followed().length > 0 && { others: sources }),
    signal: interrupted,
  });
  return {
    ...planned,
    notes: [...planned.notes, ...unkept(planned, await glanceAtLease(session), leaseName(session))],
  };
}

/**
 * Workloads of Fairlead's own kinds that the commit brings or moves, and the leader does not keep: no other controller of the cluster
 * does either, so their pods would be rolled and healed by nobody. (Those of apps/v1 are kept by somebody in any case.)
 * @param name {@link leaseName}
 */
export function unkept(
  { changes }: Pick<RepositoryPlan, 'changes'>,
  lease: LeaseState,
  name: string,
): readonly string[] {
  return changes.flatMap(({ action, object }) => {
    const namespace = BRINGS.has(action) ? OWN_KIND.exec(object)?.[1] : undefined;
    const why = namespace === undefined ? undefined : whyNotKept(lease, { ...OWN_API, namespace }, name);
    return why === undefined
      ? []
      : [
          `${object}: ${why}: nobody rolls or heals its pods before another worker does (with a --cluster of its own)`,
        ];
  });
}

const OWN_API = { group: 'fairlead.dev', version: 'v1beta1' } as const;
/** `Kind.group namespace/name` */
const OWN_KIND = /^(?:StatefulSet|DaemonSet|Deployment)\.fairlead\.dev ([^/]+)\//;
const BRINGS: ReadonlySet<PlannedChange['action']> = new Set(['create', 'change', 'move']);

/** What is left, kept or put off changes nothing by this commit. */
function isChange({ action }: PlannedChange): boolean {
  // What is put off is made once the one that is being deleted is gone.
  return ['create', 'change', 'move', 'delete', 'detach', 'handOver', 'later'].includes(action);
}

/** The plan as text; ends with a line feed. */
export async function formatPlan(plan: RepositoryPlan, colors: Colors): Promise<string> {
  const { repository, sha, changes, unchanged, problems, contested = 0, notes } = plan;
  const blocks = await Promise.all(changes.map((change) => formatChange(change, colors)));
  const counts =
    COUNTED.map(([action, what]) => ({
      what,
      count: changes.filter((change) => change.action === action).length,
    }))
      .filter(({ what, count }) => count > 0 || ALWAYS_COUNTED.has(what))
      .map(({ what, count }) => `${String(count)} ${what}`)
      .join(', ') +
    `, ${String(unchanged)} unchanged` +
    (problems.length === 0
      ? ''
      : problems.length > contested
        ? `; nothing is applied while there are problems (${String(problems.length)})`
        : `; what is wanted twice is refused to all but one (${String(contested)})`);
  return `${[
    colors.bold(oneLine(`${repository}${sha === undefined ? '' : ` at ${shortSha(sha)}`}`)),
    ...blocks,
    ...problems.map((item) =>
      colors.bad(`✗ ${oneLine(sha === undefined ? formatOnce(item) : formatProblem(item, sha))}`),
    ),
    ...notes.map((note) => colors.held(`note: ${oneLine(note)}`)),
    sha === undefined ? 'it is not planned' : counts,
  ].join('\n')}\n`;
}

const COUNTED: readonly (readonly [action: PlannedChange['action'], what: string])[] = [
  ['create', 'to create'],
  ['change', 'to change'],
  ['move', 'to move'],
  ['delete', 'to delete'],
  ['detach', 'to detach'],
  ['handOver', 'to hand over'],
  ['later', 'put off'],
];
/** Also where there are none. */
const ALWAYS_COUNTED: ReadonlySet<string> = new Set(['to create', 'to change', 'to delete']);

const WORDS: Readonly<Record<PlannedChange['action'], string>> = {
  create: 'would be created',
  change: 'would be changed',
  move: 'would be moved',
  delete: 'would be deleted',
  leave: 'would be left alone',
  keep: 'left the commit, but would be kept',
  detach: "left the commit, and would stay as nobody's",
  handOver: 'left the commit, and would be handed over as it is',
  later: 'would be put off',
};

async function formatChange(
  { object, action, wave, dependsOn = [], why, differences, rollout }: PlannedChange,
  colors: Colors,
): Promise<string> {
  const paint = {
    create: colors.good,
    change: colors.busy,
    move: colors.busy,
    delete: colors.bad,
    leave: colors.held,
    keep: colors.held,
    detach: colors.busy,
    handOver: colors.busy,
    later: colors.held,
  }[action];
  const title = `► ${oneLine(object)} ${paint(WORDS[action])}${wave === undefined ? '' : `, in wave ${String(wave)}`}${dependsOn.length === 0 ? '' : `, after ${oneLine(dependsOn.join(', '))}`}${why === undefined ? '' : `: ${oneLine(why)}`}`;
  const blocks = await Promise.all(differences.map((difference) => formatDifference(difference, colors)));
  const pods =
    rollout === undefined
      ? []
      : [
          colors.dim(
            action === 'create'
              ? `  → ${describePods(rollout.pods)}; what is there without an owner is adopted`
              : `  → a new revision for ${describePods(rollout.pods)}`,
          ),
        ];
  return [title, ...blocks, ...pods].join('\n');
}

function describePods(pods: number | undefined): string {
  if (pods === undefined) return 'a pod on every node that it is for';
  return `${String(pods)} ${pods === 1 ? 'pod' : 'pods'}`;
}
