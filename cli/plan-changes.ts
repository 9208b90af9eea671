/** What a commit would change in the cluster: the same decisions as sync's, with a dry run instead of a write. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { Discovery } from '../kubernetes/discovery.ts';
import { checkCommit } from '../git/check.ts';
import type { CommitContent, CommitContext } from '../git/commit.ts';
import { PARALLEL, byPlace, forEachLimited, prepareCommit } from '../git/commit.ts';
import { listUnchanged } from '../git/listed-metadata.ts';
import type { Manifest } from '../git/manifests.ts';
import { DEFAULT_WAVE } from '../git/order.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { isController } from '../git/prepare.ts';
import type { Problem } from '../git/problems.ts';
import type { FollowedSources } from '../git/other-commits.ts';
import { OtherCommits } from '../git/other-commits.ts';
import { describeUnread } from '../git/prune.ts';
import type { Repository } from '../git/repositories.ts';
import { sourceIdentity } from '../git/source-url.ts';
import type { Session } from './session.ts';
import { VisibleInventory } from './visible-inventory.ts';
import { followedRows } from './followed-rows.ts';
import type { PlannedChange } from './planned-change.ts';
import type { Outcome } from './plan-object.ts';
import { describeChange, isChange, isMissing, isRefused, moved, planOrPutOff } from './plan-object.ts';
import { contestedProblems } from './plan-contested.ts';
import { planPrunes } from './plan-prunes.ts';

export interface RepositoryPlan {
  readonly repository: string;
  readonly url: string;
  /** Absent where it could not be read. */
  readonly sha?: string;
  /** In the order in which they would be applied; what stays the same is not named. */
  readonly changes: readonly PlannedChange[];
  readonly unchanged: number;
  readonly problems: readonly Problem[];
  /** How many of them are about objects that another repository creates too: one of the two is not refused. Absent: none. */
  readonly contested?: number;
  /** What could not be looked at. */
  readonly notes: readonly string[];
}

/** What a plan knows beside the commit itself. */
export interface PlanSources {
  /** As {@link CommitContext.earlier}. */
  readonly earlier?: CommitContext['earlier'];
  /** The entries of the file, where there is one: what one of them lets go another may want. */
  readonly others?: FollowedSources;
  readonly signal?: AbortSignal;
}

/**
 * Plans one commit with the client's own permissions.
 * @throws ApiError when the apiserver cannot be asked; ProblemError when the commit cannot be read
 */
export async function planCommit(
  client: KubernetesClient,
  session: Pick<Session, 'leaseNamespace' | 'cluster' | 'api'>,
  repository: Repository,
  sha: string,
  content: CommitContent,
  { earlier, others: sources, signal }: PlanSources = {},
): Promise<RepositoryPlan> {
  const store = new VisibleInventory(client, session.leaseNamespace, repository.name);
  // An entry of the workers' own file is no clone.
  if (sources === undefined) store.planned = await sourceIdentity(repository.url);
  store.plannedFor = session.cluster;
  const followed = await followedRows(client, session);
  const heals = repository.heal === true ? true : followed?.find((row) => row.name === repository.name)?.heal;
  const alone: CommitContext = {
    repository: { ...repository, heal: heals === true },
    sha,
    client,
    worker: client,
    discovery: new Discovery(client),
    store,
    workloadApi: session.api,
    // Not known: an object stays with the repository that it names.
    isFollowed: (name) => followed?.some((row) => row.name === name) !== false,
    accounts: new Map(followed?.map((row) => [row.name, row.serviceAccount ?? ''])),
    cluster: session.cluster,
    startRollingUpdate: async () => await Promise.reject(new Error('a plan starts nothing')),
    inTurn: async (_object, section) => await section(),
    ...(earlier !== undefined && { earlier }),
  };
  const others = sources && new OtherCommits({ ...alone, signal }, sources);
  const context: CommitContext = { ...alone, ...(others !== undefined && { others }) };
  // Without a conflict, force makes no difference: what the check has tried need not be tried again.
  const tried = new Map<Manifest, PlannedChange>();
  const {
    problems,
    mended,
    notes = [],
  } = await checkCommit(context, content, {
    onTried: (object, live, result) => {
      const change = describeChange(object, live, result);
      // What becomes of the pods of the others has to be asked as well.
      if (!isController(object.manifest) || change.rollout !== undefined) tried.set(object.manifest, change);
    },
  });
  const prepared = await prepareCommit(context, content);
  // The second of two of one name is among the problems.
  const objects = [
    ...new Map(prepared.objects.toReversed().map((one) => [one.label, one])).values(),
  ].toReversed();
  const planned = new Map<PreparedObject, Outcome>();
  const refused: Problem[] = [];
  const namespaces = new Set(objects.filter(isNamespace).map(({ manifest }) => manifest.name));
  const untried = objects.filter(({ manifest }) => !tried.has(manifest));
  const unchanged = await listUnchanged(context, untried);
  await forEachLimited(objects, PARALLEL, async (object) => {
    const known = tried.get(object.manifest);
    const mender = mended.get(object.label);
    const outcome = unchanged.has(object)
      ? 'unchanged'
      : mender !== undefined
        ? putOffUntil(mender, object)
        : known === undefined
          ? await planOrPutOff(context, object, heals)
          : await moved(context, object, known);
    const isPromised = isMissing(outcome) && namespaces.has(object.namespace ?? '');
    planned.set(object, outcome);
    if (isRefused(outcome) && !isPromised) refused.push(...outcome.refused);
  });
  const applied = objects.flatMap((object): readonly PlannedChange[] => {
    const outcome = planned.get(object);
    const wave = {
      ...(object.wave !== DEFAULT_WAVE && { wave: object.wave }),
      ...(object.dependsOn.length > 0 && { dependsOn: object.dependsOn }),
    };
    if (isMissing(outcome) && namespaces.has(object.namespace ?? '')) {
      const why = 'its namespace comes with this commit';
      return [{ object: object.label, action: 'create', ...wave, why, differences: [] }];
    }
    return outcome === undefined || !isChange(outcome) ? [] : [{ ...outcome, ...wave }];
  });
  const created = objects.filter((object) => {
    const outcome = planned.get(object);
    return isMissing(outcome) ? namespaces.has(object.namespace ?? '') : isCreated(outcome);
  });
  const wanted = created.length === 0 ? undefined : await others?.wanted();
  const contested = wanted === undefined ? [] : contestedProblems(repository.name, created, wanted);
  const missed = repository.prune ? await planPrunes(context, objects) : [];
  // What is not read may be what is missed.
  const isWhole = content.problems.length === 0 && prepared.problems.length === 0;
  const pruned = isWhole ? missed : [];
  return {
    repository: repository.name,
    url: repository.url,
    sha,
    changes: [...applied, ...pruned],
    unchanged: [...planned.values()].filter((outcome) => outcome === 'unchanged').length,
    problems: byPlace([...withRefused(problems, refused), ...contested]),
    ...(contested.length > 0 && { contested: contested.length }),
    notes: [
      ...store.notes,
      ...notes,
      ...(pruned.length === missed.length ? [] : [NOT_WHOLE]),
      ...(await unreadNotes(others, pruned)),
      ...(wanted === undefined || wanted.unread.length === 0
        ? []
        : [describeUnread(wanted.unread, 'created')]),
      ...(repository.impersonate === undefined
        ? []
        : [`checked with your own permissions; sync applies it as ${repository.impersonate}`]),
    ],
  };
}

const NOT_WHOLE = 'whether it would delete anything can be told when all of it can be read';

/** Where something would be deleted, of which repositories it is not known whether they want it. */
async function unreadNotes(
  others: OtherCommits | undefined,
  pruned: readonly PlannedChange[],
): Promise<readonly string[]> {
  if (!pruned.some(({ action }) => action === 'delete')) return [];
  const unread = (await others?.wanted())?.unread ?? [];
  return unread.length === 0 ? [] : [describeUnread(unread, 'deleted')];
}

/** The problems of the check, and those of objects of which it has told none: nothing that is refused may be left out. */
function withRefused(problems: readonly Problem[], refused: readonly Problem[]): readonly Problem[] {
  const told = new Set(problems.map(({ object }) => object));
  return byPlace([...problems, ...refused.filter(({ object }) => !told.has(object))]);
}

/** It would be refused before. */
function putOffUntil(mender: string, { label }: PreparedObject): PlannedChange {
  const why = `it can be tried when ${mender}, which this commit changes, is applied`;
  return { object: label, action: 'later', why, differences: [] };
}

function isCreated(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && isChange(outcome) && outcome.action === 'create';
}

function isNamespace({ manifest }: PreparedObject): boolean {
  return manifest.kind === 'Namespace' && manifest.group === '';
}
